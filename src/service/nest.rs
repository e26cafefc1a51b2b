//! Conversions of nests to and from the message `stridec.CopyNest`.

use crate::{
    error::{Error, SavedError},
    nest::{
        Affine, Case, CaseValue, Conversion, CopyNest, Guard, Integer, Lookup, LookupExpr,
        NestParts, Number, Operator, OutOfRange, Quotient, Scattered, SourceParts, Value,
    },
    proto::stridec::{self as proto, copy_nest as saved},
    shape::{ElementType, FieldPath},
};

impl From<&CopyNest> for proto::CopyNest {
    fn from(nest: &CopyNest) -> Self {
        let nest = NestParts::from(nest);
        let quotient = |of: &Quotient| saved::Quotient { of: Some((&of.of).into()), by: of.by };
        let lookup = |of: &Lookup| saved::Lookup {
            numbers: of.numbers.iter().map(number).collect(),
            last: of.last,
            outside_is_last: of.out_of_range == OutOfRange::Last,
        };
        let source = |of: &SourceParts| saved::Source {
            units: of.units,
            bytes: of.bytes,
            last_read: of.last_read,
        };
        let scattered = |of: &Scattered| saved::Scattered {
            at: Some((&of.at).into()),
            number: of.number.as_ref().map(Into::into),
        };
        Self {
            extents: nest.extents,
            quotients: nest.quotients.iter().map(quotient).collect(),
            lookups: nest.lookups.iter().map(lookup).collect(),
            sources: nest.sources.iter().map(source).collect(),
            cases: nest.cases.iter().map(case).collect(),
            gaps: proto::Gaps::from(nest.gaps).into(),
            dst_base: nest.dst_base,
            dst_units: nest.dst_units,
            dst_bytes: nest.dst_bytes,
            src_bits: nest.src_bits,
            dst_bits: nest.dst_bits,
            sign_extend: nest.sign_extend,
            conversion: nest
                .conversion
                .map(|of| saved::Conversion { from: of.from() as i32, to: of.to() as i32 }),
            scattered: nest.scattered.as_ref().map(scattered),
        }
    }
}

impl TryFrom<&proto::CopyNest> for CopyNest {
    type Error = Error;

    /// Builds the nest and proves that its copy stays inside the buffers, so the message need not
    /// be trusted.
    fn try_from(nest: &proto::CopyNest) -> Result<Self, Error> {
        let quotient = |of: &saved::Quotient, path: &dyn Fn() -> FieldPath| {
            let field = || path().field("of");
            Ok(Quotient { of: required_form(of.of.as_ref(), &field)?, by: of.by })
        };
        let sources = nest.sources.iter();
        let sources = sources.map(|&saved::Source { units, bytes, last_read }| SourceParts {
            units,
            bytes,
            last_read,
        });
        let scattered = nest.scattered.as_ref().map(|of| {
            let number = of.number.as_ref();
            let number =
                number.map(|form| required_form(Some(form), &|| FieldPath::of("scattered.number")));
            let at = required_form(of.at.as_ref(), &|| FieldPath::of("scattered.at"))?;
            Ok::<_, SavedError>(Scattered { at, number: number.transpose()? })
        });
        let gaps = proto::Gaps::try_from(nest.gaps)
            .map_err(|_| field(FieldPath::new("gaps"), "a number of stridec.Gaps, 0 or 1"))?;
        let parts = NestParts {
            extents: nest.extents.clone(),
            quotients: each(&nest.quotients, "quotients", quotient)?,
            lookups: each(&nest.lookups, "lookups", lookup_of)?,
            sources: sources.collect(),
            cases: each(&nest.cases, "cases", case_of)?,
            gaps: gaps.into(),
            dst_base: nest.dst_base,
            dst_units: nest.dst_units,
            dst_bytes: nest.dst_bytes,
            src_bits: nest.src_bits,
            dst_bits: nest.dst_bits,
            sign_extend: nest.sign_extend,
            conversion: nest.conversion.map(conversion).transpose()?,
            scattered: scattered.transpose()?,
        };
        Ok(parts.proved()?)
    }
}

/// Converts the message of a conversion between two element types.
fn conversion(of: saved::Conversion) -> Result<Conversion, SavedError> {
    let types = ElementType::from_number(of.from).zip(ElementType::from_number(of.to));
    let conversion = types.and_then(|(from, to)| Conversion::new(from, to));
    let path = FieldPath::new("conversion");
    conversion.ok_or_else(|| field(path, "two element types that are converted"))
}

/// Converts each entry of the list `name`. Passes `convert` a function that returns the path of the
/// entry, for use in errors.
fn each<P, T>(
    list: &[P],
    name: &'static str,
    convert: impl Fn(&P, &dyn Fn() -> FieldPath) -> Result<T, SavedError>,
) -> Result<Vec<T>, SavedError> {
    let entries = list.iter().enumerate();
    entries.map(|(index, entry)| convert(entry, &|| FieldPath::new(name).index(index))).collect()
}

fn field(field: FieldPath, expected: &'static str) -> SavedError {
    SavedError::Field { field, expected }
}

impl From<&Affine> for proto::Form {
    fn from(form: &Affine) -> Self {
        let number = |value: Value| {
            let (number, kind) = match value {
                Value::Axis(number) => (number, 0),
                Value::Quotient(number) => (number, 1),
                Value::Lookup(number) => (number, 2),
            };
            // The result fits, because a nest has at most a few hundred values.
            u32::try_from(number * 3 + kind).unwrap_or(u32::MAX)
        };
        let term =
            |&(value, weight): &(Value, i64)| proto::form::Term { value: number(value), weight };
        Self { terms: form.terms().iter().map(term).collect(), constant: form.offset() }
    }
}

fn required_form(
    form: Option<&proto::Form>,
    path: &dyn Fn() -> FieldPath,
) -> Result<Affine, SavedError> {
    let form = form.ok_or_else(|| field(path(), "a form"))?;
    let term = |sum: Affine, &proto::form::Term { value, weight }: &proto::form::Term| {
        let number = usize::try_from(value / 3).unwrap_or(usize::MAX);
        let value = match value % 3 {
            0 => Value::Axis(number),
            1 => Value::Quotient(number),
            _ => Value::Lookup(number),
        };
        sum.checked_plus(weight, &Affine::value(value))
    };
    let sum = form.terms.iter().try_fold(Affine::constant(form.constant), term);
    sum.ok_or_else(|| field(path(), "weights below 2^63"))
}

fn case(Case { when, take }: &Case) -> saved::Case {
    let guard = |guard: &Guard| saved::Guard { of: Some((&guard.of).into()), extent: guard.extent };
    let mut case = saved::Case { when: when.iter().map(guard).collect(), ..Default::default() };
    match take {
        CaseValue::Read { source, at } => {
            case.source = u32::try_from(*source).unwrap_or(u32::MAX);
            case.at = Some(at.into());
        }
        CaseValue::Bits(bits) => {
            let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(u64::MAX);
            (case.low_bits, case.high_bits) = (half(*bits), half(*bits >> 64));
        }
    }
    case
}

fn case_of(case: &saved::Case, path: &dyn Fn() -> FieldPath) -> Result<Case, SavedError> {
    let guards = case.when.iter().enumerate();
    let guards = guards.map(|(index, guard)| {
        let path = || path().field("when").index(index).field("of");
        Ok(Guard { of: required_form(guard.of.as_ref(), &path)?, extent: guard.extent })
    });
    let take = match &case.at {
        Some(_) => CaseValue::Read {
            source: index(case.source),
            at: required_form(case.at.as_ref(), &|| path().field("at"))?,
        },
        None => CaseValue::Bits(u128::from(case.high_bits) << 64 | u128::from(case.low_bits)),
    };
    Ok(Case { when: guards.collect::<Result<_, SavedError>>()?, take })
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The operations on two numbers, each with its equivalent in the message.
const OPERATORS: [(Operator, saved::number::Operation); 15] = {
    use saved::number::Operation as Saved;
    [
        (Operator::And, Saved::And),
        (Operator::Or, Saved::Or),
        (Operator::Add, Saved::Add),
        (Operator::Subtract, Saved::Subtract),
        (Operator::Multiply, Saved::Multiply),
        (Operator::Divide, Saved::Divide),
        (Operator::Remainder, Saved::Remainder),
        (Operator::Minimum, Saved::Minimum),
        (Operator::Maximum, Saved::Maximum),
        (Operator::Equal, Saved::Equal),
        (Operator::NotEqual, Saved::NotEqual),
        (Operator::GreaterEqual, Saved::GreaterEqual),
        (Operator::Greater, Saved::Greater),
        (Operator::LessEqual, Saved::LessEqual),
        (Operator::Less, Saved::Less),
    ]
};

fn number(Number { integer, of }: &Number) -> saved::Number {
    use saved::number::Operation;
    let place = |operand: usize| u32::try_from(operand).unwrap_or(u32::MAX);
    let (mut number, operation) = (
        saved::Number::default(),
        match of {
            LookupExpr::Load { .. } => Operation::Load,
            LookupExpr::Index(_) => Operation::Index,
            LookupExpr::Constant(_) => Operation::Constant,
            LookupExpr::Convert(_) => Operation::Convert,
            LookupExpr::Select(..) => Operation::Select,
            LookupExpr::Binary(operator, ..) => {
                let known = OPERATORS.iter().find(|known| known.0 == *operator);
                known.expect("a list of all operators").1
            }
        },
    );
    (number.bits, number.is_signed) = (integer.bits, integer.is_signed);
    number.operation = operation.into();
    match of {
        LookupExpr::Load { source, at } => {
            (number.source, number.at) = (place(*source), Some(at.into()));
        }
        LookupExpr::Index(at) => number.at = Some(at.into()),
        // The message keeps the low 64 bits, which are enough for `number_of` to restore the value.
        LookupExpr::Constant(value) => {
            let signed = Integer { bits: 64, is_signed: true };
            number.constant = i64::try_from(signed.wrap(*value)).unwrap_or_default();
        }
        LookupExpr::Convert(a) => number.operands = vec![place(*a)],
        LookupExpr::Select(holds, a, b) => number.operands = [*holds, *a, *b].map(place).into(),
        LookupExpr::Binary(_, a, b) => number.operands = [*a, *b].map(place).into(),
    }
    number
}

fn number_of(number: &saved::Number, path: &dyn Fn() -> FieldPath) -> Result<Number, SavedError> {
    use saved::number::Operation;
    let is_type =
        [1, 8, 16, 32, 64].contains(&number.bits) && (number.bits > 1 || !number.is_signed);
    if !is_type {
        return Err(field(
            path().field("bits"),
            "an integer of 8, 16, 32 or 64 bits, or a predicate",
        ));
    }
    let integer = Integer { bits: number.bits, is_signed: number.is_signed };
    let form = || required_form(number.at.as_ref(), &|| path().field("at"));
    let operation = Operation::try_from(number.operation)
        .map_err(|_| field(path().field("operation"), "a number of the enum Operation"))?;
    let operands: Vec<usize> = number.operands.iter().map(|&operand| index(operand)).collect();
    let of = match (operation, &operands[..]) {
        (Operation::Load, []) => LookupExpr::Load { source: index(number.source), at: form()? },
        (Operation::Index, []) => LookupExpr::Index(form()?),
        (Operation::Constant, []) => LookupExpr::Constant(integer.wrap(number.constant.into())),
        (Operation::Convert, &[a]) => LookupExpr::Convert(a),
        (Operation::Select, &[holds, a, b]) => LookupExpr::Select(holds, a, b),
        (operation, operands) => {
            let known = OPERATORS.iter().find(|of| of.1 == operation);
            let (Some(known), &[a, b]) = (known, operands) else {
                let expected = "as many operands as the operation has";
                return Err(field(path().field("operands"), expected));
            };
            LookupExpr::Binary(known.0, a, b)
        }
    };
    Ok(Number { integer, of })
}

fn lookup_of(lookup: &saved::Lookup, path: &dyn Fn() -> FieldPath) -> Result<Lookup, SavedError> {
    let numbers = lookup.numbers.iter().enumerate();
    let numbers =
        numbers.map(|(index, number)| number_of(number, &|| path().field("numbers").index(index)));
    Ok(Lookup {
        numbers: numbers.collect::<Result<_, _>>()?,
        last: lookup.last,
        out_of_range: if lookup.outside_is_last { OutOfRange::Last } else { OutOfRange::Clamp },
    })
}
