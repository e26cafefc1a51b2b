//! Writes the cases of a nest with several sources, such as a concatenation, as nested `if`s. A
//! *case* is a list of conditions, called *guards*, and the value that is written if they hold.
//!
//! If consecutive cases have a condition in common, one `if` around these cases tests it. For
//! example, the code for a concatenation inside a padded array tests the padding once.

use smallvec::SmallVec;

use super::{
    form::FormNames,
    gather::{failure, load},
    kept::{give, give_no_case},
    lookups::moving_forms,
    words::literal,
    writer::Writer,
};
use crate::nest::{
    Affine, Case, CaseValue, CopyNest, Gaps, Guard, Lookup, Quotient, Scattered, Value,
};

/// Writes the code that finds the first case whose guards hold, and returns the value of this case.
///
/// Conditions are tested in the order of the nest. A quotient is computed just before its first
/// use, because its dividend may be negative unless the conditions before that use hold. Sources
/// are bound as arrays whose elements have `element_words` words. If `row` is given, the code
/// stores a whole row instead of returning one value, and `nest` copies only the first unit of each
/// row.
pub(super) fn decide(
    writer: &mut Writer,
    nest: &CopyNest,
    names: &dyn FormNames,
    element_words: u32,
    row: Option<&RowLoop>,
) {
    let cases = nest.cases().iter().map(OpenCase::new).collect();
    // Lookups that have the same value in all iterations are computed before this code. Inlined
    // quotients need no variable, because their text is written at each use.
    let known = ComputedValues {
        quotients: (0..nest.quotients().len()).map(|number| names.is_inlined(number)).collect(),
        lookups: nest.lookups().iter().map(Lookup::is_constant).collect(),
    };
    let none = Outcome::NoCase;
    DecisionWriter { nest, names, element_words, row }.write(writer, cases, known, Some(none));
}

/// The result of a list of cases: the value of the case that applies, or no value.
#[derive(Clone, Copy)]
enum Outcome<'a> {
    Case(&'a CaseValue),
    NoCase,
}

/// A case, together with the guards that the generated code has not tested yet.
#[derive(Clone)]
struct OpenCase<'a> {
    guards: SmallVec<[&'a Guard; 4]>,
    take: &'a CaseValue,
}

impl<'a> OpenCase<'a> {
    fn new(Case { when, take }: &'a Case) -> Self {
        Self { guards: when.iter().collect(), take }
    }

    fn without(mut self, asked: &[&Guard]) -> Self {
        self.guards.retain(|guard| !asked.contains(guard));
        self
    }
}

/// The quotients and lookups that are already computed at the current line of the generated code.
#[derive(Clone)]
struct ComputedValues {
    quotients: Vec<bool>,
    lookups: Vec<bool>,
}

impl ComputedValues {
    fn has(&self, value: Value) -> bool {
        match value {
            Value::Axis(_) => true,
            Value::Quotient(number) => self.quotients[number],
            Value::Lookup(number) => self.lookups[number],
        }
    }

    fn add(&mut self, value: Value) {
        match value {
            Value::Axis(_) => {}
            Value::Quotient(number) => self.quotients[number] = true,
            Value::Lookup(number) => self.lookups[number] = true,
        }
    }
}

struct DecisionWriter<'a> {
    nest: &'a CopyNest,
    names: &'a dyn FormNames,
    element_words: u32,
    row: Option<&'a RowLoop>,
}

/// A loop over the units of a row. The first unit has the index `place` in the destination.
pub(super) struct RowLoop {
    /// The head of the loop. Its variable `at` counts units from the start of the row.
    pub(super) head: String,
}

impl RowLoop {
    /// Writes the loop, which stores `value` in each iteration.
    fn store(&self, writer: &mut Writer, value: &str) {
        writer.block(format_args!("{}", self.head), |writer| {
            let destination = writer.destination();
            writer.line(format_args!("{destination}[place + at] = {value};"));
        });
        writer.line(format_args!("return;"));
    }
}

impl<'a> DecisionWriter<'a> {
    /// Writes the code that returns the value of the first case in `ways` that applies. If no case
    /// applies, the code returns `otherwise`, or continues with the next line if `otherwise` is
    /// `None`. `known` lists the quotients and lookups that earlier lines have computed.
    fn write(
        &self,
        writer: &mut Writer,
        mut ways: Vec<OpenCase<'a>>,
        mut known: ComputedValues,
        mut otherwise: Option<Outcome<'a>>,
    ) {
        loop {
            // A case without guards always applies, so the cases after it are dropped.
            if let Some(open) = ways.iter().position(|way| way.guards.is_empty()) {
                otherwise = Some(Outcome::Case(ways[open].take));
                ways.truncate(open);
            }
            let Some(first) = ways.first() else { break };
            let in_all = |guard: &&Guard| ways.iter().all(|way| way.guards.contains(guard));
            let common: SmallVec<[&Guard; 4]> =
                first.guards.iter().copied().filter(|guard| in_all(guard)).collect();
            let asked = self.at_once(&common, &known);
            if let (Some(otherwise), false) = (otherwise, asked.is_empty()) {
                self.values(writer, asked.iter().map(|guard| &guard.of), &mut known);
                let failing: Vec<String> =
                    asked.iter().map(|guard| failure(self.names, guard)).collect();
                writer.block(format_args!("if {}", failing.join(" || ")), |writer| {
                    self.take(writer, otherwise, &mut known.clone());
                });
                ways = ways.into_iter().map(|way| way.without(&asked)).collect();
                continue;
            }
            // The consecutive cases that share their first guard are written inside one `if`.
            let shared = first.guards[0];
            let count = ways.iter().take_while(|way| way.guards.contains(&shared)).count();
            let rest = ways.split_off(count);
            let in_these = |guard: &&Guard| ways.iter().all(|way| way.guards.contains(guard));
            let common: SmallVec<[&Guard; 4]> =
                ways[0].guards.iter().copied().filter(|guard| in_these(guard)).collect();
            let asked = self.at_once(&common, &known);
            self.values(writer, asked.iter().map(|guard| &guard.of), &mut known);
            let holding: Vec<String> = asked.iter().map(|guard| holds(self.names, guard)).collect();
            let inner = ways.into_iter().map(|way| way.without(&asked)).collect();
            writer.block(format_args!("if {}", holding.join(" && ")), |writer| {
                self.write(writer, inner, known.clone(), None);
            });
            ways = rest;
        }
        if let Some(take) = otherwise {
            self.take(writer, take, &mut known);
        }
    }

    /// Returns the guards at the start of `guards` that a single `if` can test, because they need
    /// no quotient or lookup besides the ones for the first guard.
    fn at_once<'g>(
        &self,
        guards: &[&'g Guard],
        known: &ComputedValues,
    ) -> SmallVec<[&'g Guard; 4]> {
        let mut known = known.clone();
        if let Some(first) = guards.first() {
            self.missing(&first.of, &mut known);
        }
        let ready = |guard: &&&Guard| self.missing(&guard.of, &mut known.clone()).is_empty();
        guards.iter().take_while(ready).copied().collect()
    }

    /// Returns the quotients and lookups in `form` that no line has computed yet, and the ones that
    /// these need, in an order in which they can be computed. Marks them as computed in `known`.
    fn missing(&self, form: &Affine, known: &mut ComputedValues) -> SmallVec<[Value; 4]> {
        let mut needed: SmallVec<[Value; 4]> = SmallVec::new();
        let mut forms: SmallVec<[&Affine; 4]> = [form].into_iter().collect();
        while let Some(form) = forms.pop() {
            for &(value, _) in form.terms() {
                if !known.has(value) && !needed.contains(&value) {
                    needed.push(value);
                    forms.extend(self.forms_of(value));
                }
            }
        }
        // Repeatedly takes a value whose inputs are all computed, so that each value follows its
        // inputs.
        needed.sort_unstable();
        let mut missing = SmallVec::new();
        while !needed.is_empty() {
            let is_ready = |value: &Value| {
                let mut terms = self.forms_of(*value).into_iter().flat_map(Affine::terms);
                terms.all(|&(value, _)| known.has(value))
            };
            let ready = needed.iter().position(is_ready);
            let next = needed.remove(ready.expect("no value is made of itself"));
            known.add(next);
            missing.push(next);
        }
        missing
    }

    /// Returns the expressions from which a quotient or a lookup is computed; none for an axis.
    fn forms_of(&self, value: Value) -> SmallVec<[&'a Affine; 4]> {
        match value {
            Value::Axis(_) => SmallVec::new(),
            Value::Quotient(number) => [&self.nest.quotients()[number].of].into_iter().collect(),
            Value::Lookup(number) => self.nest.lookups()[number].forms().collect(),
        }
    }

    /// Writes variables for the quotients and lookups in `forms` that no line has computed yet.
    fn values<'f>(
        &self,
        writer: &mut Writer,
        forms: impl Iterator<Item = &'f Affine>,
        known: &mut ComputedValues,
    ) {
        for form in forms {
            for value in self.missing(form, known) {
                match value {
                    Value::Axis(_) => {}
                    Value::Quotient(number) => {
                        let Quotient { of, by } = &self.nest.quotients()[number];
                        let of = self.names.dividend(of);
                        writer.line(format_args!("let {value} = {of} / {by}u;"));
                    }
                    Value::Lookup(number) => {
                        let forms = moving_forms(&self.nest.lookups()[number]);
                        let given: Vec<String> =
                            forms.iter().map(|form| self.names.form(form)).collect();
                        let given = given.join(", ");
                        let lookup = writer.function("lookup");
                        writer.line(format_args!("let {value} = {lookup}{number}({given});"));
                    }
                }
            }
        }
    }

    /// Writes the end of a branch: the code that stores a row.
    fn take_row(
        &self,
        writer: &mut Writer,
        row: &RowLoop,
        take: Outcome,
        known: &mut ComputedValues,
    ) {
        let bits = self.nest.dst_bits().into();
        match take {
            Outcome::Case(CaseValue::Read { source, at }) => {
                self.values(writer, [at].into_iter(), known);
                writer.line(format_args!("let read = {};", self.names.form(at)));
                let source = writer.source(*source);
                row.store(writer, &format!("{source}[read + at]"));
            }
            Outcome::Case(CaseValue::Bits(fill)) => row.store(writer, &literal(bits, *fill)),
            Outcome::NoCase if self.nest.gaps() == Gaps::Keep => {
                writer.noted(format_args!("return;"), format_args!("kept"));
            }
            Outcome::NoCase => row.store(writer, &literal(bits, 0)),
        }
    }

    /// Writes the end of a branch: the code that returns the value of a case, or the value if no
    /// case applies.
    fn take(&self, writer: &mut Writer, take: Outcome, known: &mut ComputedValues) {
        if let (Outcome::Case(_), Some(Scattered { at, number: None })) =
            (&take, self.nest.scattered())
        {
            self.values(writer, [at].into_iter(), known);
            writer.line(format_args!("let place = {};", self.names.form(at)));
        }
        if let Some(row) = self.row {
            return self.take_row(writer, row, take, known);
        }
        match take {
            Outcome::NoCase => give_no_case(writer, self.nest),
            Outcome::Case(CaseValue::Bits(_)) if self.nest.marks().is_some() => {
                let Some((at, number)) = self.nest.marks() else { return };
                self.values(writer, [at, number].into_iter(), known);
                let [at, number] = [at, number].map(|form| self.names.form(form));
                let destination = writer.destination();
                writer.line(format_args!("atomicMax(&{destination}[{at}], {number});"));
                writer.line(format_args!("return;"));
            }
            Outcome::Case(CaseValue::Bits(bits)) => {
                let value = literal(self.nest.dst_bits().into(), *bits);
                give(writer, self.nest, format_args!("{value}"), None);
            }
            Outcome::Case(CaseValue::Read { source, at }) => {
                self.values(writer, [at].into_iter(), known);
                writer.line(format_args!("let read = {};", self.names.form(at)));
                load(writer, self.nest, *source, self.element_words);
            }
        }
    }
}

/// Returns the WGSL condition for a guard, `0 <= of < extent`. A single comparison in `u32` tests
/// both bounds, because a negative value wraps around to a number greater than every extent.
pub(super) fn holds(names: &dyn FormNames, Guard { of, extent }: &Guard) -> String {
    match extent {
        1 => format!("{} == 0u", names.form(of)),
        _ => format!("{} < {extent}u", names.form(of)),
    }
}
