//! Writes the functions of an accessor, which kernels of other projects call: one returns the
//! offset of an element, one returns its bits, and one stores it.
//!
//! The functions do the work of a single iteration of a copy into a dense array of all elements.
//! The loop counters of this copy are the coordinates of an element, which the caller passes. If an
//! element consists of several *units*, the copy moves it in several parts.

use smallvec::SmallVec;

use super::{
    choose::quotients,
    conversion::conversion,
    form::FormNames,
    gather::{constant_lookups, first_case, unit_at_read},
    lookups::lookups,
    proof::last_words,
    remainders::RemainderNames,
    words::{literal, type_name},
    writer::Writer,
};
use crate::{
    nest::{Affine, CopyNest, Value, signed},
    shape::{Count, width},
};

/// The name of the innermost loop counter if an element consists of several units. It counts the
/// units of one element.
const PART: &str = "part";

/// The input from which the functions of an accessor are written.
pub(crate) struct AccessorFunctions<'a> {
    /// The common start of the names of all functions.
    pub(crate) name: &'a str,
    /// The copy of all elements into a dense array. Its loops have not been merged, so each
    /// dimension still has a loop of its own.
    pub(crate) nest: &'a CopyNest,
    /// The extents of that dense array.
    pub(crate) extents: &'a [u64],
    /// The number of units in an element.
    pub(crate) parts: u32,
    /// The buffer of each source of the nest.
    pub(crate) sources: Vec<ReadBuffer>,
}

/// The buffer from which the functions read a source of the nest.
#[derive(Clone, Debug)]
pub(crate) struct ReadBuffer {
    /// The name of the WGSL variable.
    pub(crate) name: String,
    /// The size in 32-bit words: the number that the caller binds, or the length of a constant.
    pub(crate) words: u64,
}

impl AccessorFunctions<'_> {
    /// Returns, for each source, the index of the last 32-bit word that the functions read for
    /// coordinates inside the array. An entry is `None` if the functions do not read the source.
    /// The whole result is `None` if a read cannot be proved to stay inside its buffer.
    pub(crate) fn last_words(&self) -> Option<SmallVec<[Option<u64>; 1]>> {
        let last = last_words(self.nest)?;
        let is_inside = |(last, buffer): (&Option<u64>, &ReadBuffer)| {
            last.is_none_or(|last| last < buffer.words && buffer.words <= u32::MAX.into())
        };
        last.iter().zip(&self.sources).all(is_inside).then_some(last)
    }

    /// Writes the functions `offset` and `bits` for a layout, and also `store` if `stores` is true.
    /// The name of each function begins with [`name`](Self::name). `prefix` is the number of units
    /// before the element at offset 0.
    pub(crate) fn of_layout(&self, prefix: u64, stores: bool) -> String {
        let mut writer = self.writer();
        let (name, parameters, index) = (self.name, self.parameters(&[]), self.index(&[]));
        let (names, element) = (self.names(), self.element());
        let element_bits = self.nest.dst_bits() * self.parts;
        let kind = type_name(element_bits.into());
        writer.comment(
            "",
            format_args!(
                "The offset of {element} in memory, in elements of {}.",
                width(element_bits)
            ),
        );
        writer.block(format_args!("fn {name}_offset({parameters}) -> u32"), |writer| {
            quotients(writer, self.nest, &names);
            let offset = self.offset(prefix);
            writer.line(format_args!("return {};", names.form(&offset)));
        });
        writer.blank();
        let offset = format!("{name}_offset({index})");
        let at = |scale: u32, part: &str| {
            let scaled = if scale == 1 { offset.clone() } else { format!("{offset} * {scale}u") };
            let prefix = if prefix == 0 { String::new() } else { format!(" + {prefix}u") };
            let part = if part.is_empty() { String::new() } else { format!(" + {part}") };
            format!("{scaled}{prefix}{part}")
        };
        let read = if self.parts == 1 { at(1, "") } else { at(self.parts, PART) };
        self.bits(&mut writer, |writer| {
            if self.nest.src_bits() == 32 {
                return writer.line(format_args!("return {name}[{read}];"));
            }
            writer.line(format_args!("let read = {read};"));
            let unit = unit_at_read(writer, self.nest.src_bits(), 0, 1);
            writer.line(format_args!("return {unit};"));
        });
        if stores {
            writer.blank();
            writer.comment("", format_args!("Replaces the bits of {element}."));
            let parameters = self.parameters(&[&format!("bits: {kind}")]);
            writer.block(format_args!("fn {name}_store({parameters})"), |writer| {
                let words = element_bits / 32;
                if words == 1 {
                    return writer.line(format_args!("{name}[{}] = bits;", at(1, "")));
                }
                let first = match prefix {
                    0 => format!("{offset} * {words}u"),
                    _ => format!("({}) * {words}u", at(1, "")),
                };
                writer.line(format_args!("let first = {first};"));
                writer.line(format_args!("{name}[first] = bits.x;"));
                for (word, letter) in (1..words).zip(["y", "z", "w"]) {
                    writer.line(format_args!("{name}[first + {word}u] = bits.{letter};"));
                }
            });
        }
        writer.finish()
    }

    /// Writes the function `bits` for a result of a program, together with the functions that it
    /// calls. The name of each function begins with [`name`](Self::name).
    pub(crate) fn of_result(&self) -> String {
        let mut writer = self.writer();
        lookups(&mut writer, self.nest);
        if let Some(of) = self.nest.conversion() {
            conversion(&mut writer, of, (self.nest.src_bits(), self.nest.dst_bits()));
        }
        let names = self.names();
        self.bits(&mut writer, |writer| {
            constant_lookups(writer, self.nest);
            first_case(writer, self.nest, &names, 1);
        });
        writer.finish()
    }

    fn writer(&self) -> Writer {
        let sources = self.sources.iter().map(|buffer| buffer.name.clone()).collect();
        Writer::of_functions(sources, format!("{}_", self.name))
    }

    /// Returns the names of the loop counters: `d0`, `d1` and so on for the dimensions with more
    /// than one index, and `part` for the units of an element if there are several.
    fn names(&self) -> RemainderNames<'_> {
        let dimensions = self.extents.iter().enumerate().filter(|&(_, &extent)| extent > 1);
        let mut axes: SmallVec<[String; 8]> =
            dimensions.map(|(dimension, _)| format!("d{dimension}")).collect();
        if self.parts > 1 {
            axes.push(PART.to_owned());
        }
        RemainderNames::new(self.nest, axes)
    }

    /// Returns the parameter list of a function, such as `d0: u32, d1: u32`, followed by `more`.
    fn parameters(&self, more: &[&str]) -> String {
        coordinates(self.extents.len(), ": u32", more)
    }

    /// Returns the words for an element in the comments of the functions, such as
    /// `element (d0, d1)`.
    fn element(&self) -> String {
        match self.extents {
            [] => "the element".to_owned(),
            _ => format!("element ({})", self.index(&[])),
        }
    }

    /// Returns the argument list for an element, such as `d0, d1`, followed by `more`.
    fn index(&self, more: &[&str]) -> String {
        coordinates(self.extents.len(), "", more)
    }

    /// Returns the offset of an element, counted in elements from the end of the prefix. `prefix`
    /// is the number of units in the prefix.
    fn offset(&self, prefix: u64) -> Affine {
        let mut at = self.nest.src().clone();
        if self.parts > 1 {
            let axis = Value::Axis(self.nest.extents().len() - 1);
            at.substitute(axis, &Affine::constant(0));
        }
        let parts = i64::from(self.parts);
        let constant = Affine::constant((at.offset() - signed(prefix)) / parts);
        let add = |form: Affine, &(value, weight): &(Value, i64)| {
            form.plus(weight / parts, &Affine::value(value))
        };
        at.terms().iter().fold(constant, add)
    }

    fn bits_comment(&self, writer: &mut Writer) {
        let bits = self.nest.dst_bits() * self.parts;
        let element = self.element();
        match bits {
            0..32 => writer.comment(
                "",
                format_args!("The {} of {element}, in the low bits.", Count(bits.into(), "bit")),
            ),
            32 => writer.comment("", format_args!("The 32 bits of {element}.")),
            _ => writer
                .comment("", format_args!("The {bits} bits of {element}, the low word first.")),
        }
    }

    /// Writes the function `bits`. If an element is a single unit, `body` writes the code of
    /// `bits`. Otherwise `body` writes the code of a function `part`, which returns one unit of an
    /// element, and `bits` combines the results of several calls of `part`.
    fn bits(&self, writer: &mut Writer, body: impl FnOnce(&mut Writer)) {
        let (name, unit, parts) = (self.name, self.nest.dst_bits(), self.parts);
        let (parameters, kind) = (self.parameters(&[]), type_name((unit * parts).into()));
        if parts == 1 {
            self.bits_comment(writer);
            return writer.block(format_args!("fn {name}_bits({parameters}) -> {kind}"), body);
        }
        let (element, width) = (self.element(), width(unit));
        writer.comment(
            "",
            format_args!("Part `{PART}` of the {parts} parts of {element}, of {width} each."),
        );
        let head = self.parameters(&[&format!("{PART}: u32")]);
        let part_kind = type_name(unit.into());
        writer.block(format_args!("fn {name}_part({head}) -> {part_kind}"), body);
        writer.blank();
        self.bits_comment(writer);
        writer.block(format_args!("fn {name}_bits({parameters}) -> {kind}"), |writer| {
            let value = |part: u32| format!("{name}_part({})", self.index(&[&format!("{part}u")]));
            let in_word = (32 / unit).clamp(1, parts);
            let word = |first: u32| {
                let shifted = |part: u32| match part {
                    0 => value(first),
                    _ => format!("({} << {}u)", value(first + part), part * unit),
                };
                (0..in_word).map(shifted).collect::<Vec<_>>().join(" | ")
            };
            let words: Vec<String> = (0..parts / in_word).map(|of| word(of * in_word)).collect();
            match &words[..] {
                [word] => writer.line(format_args!("return {word};")),
                _ => writer.list(&format!("return {kind}("), &words, ");"),
            }
        });
    }
}

/// Returns the list `d0, d1, …` of an element's coordinates, each followed by `after`. The entries
/// of `more` follow in the same list.
fn coordinates(rank: usize, after: &str, more: &[&str]) -> String {
    let own = (0..rank).map(|dimension| format!("d{dimension}{after}"));
    own.chain(more.iter().map(|&more| more.to_owned())).collect::<Vec<_>>().join(", ")
}

/// Returns the functions of an array that has no elements, so no coordinates are valid. The
/// function `bits` returns 0, and so does `offset`, which only layouts have. The function `store`
/// does nothing.
pub(crate) fn of_nothing(
    name: &str,
    rank: usize,
    bits: u32,
    stores: bool,
    is_layout: bool,
) -> String {
    let mut writer = Writer::of_functions(Vec::new(), String::new());
    let parameters = coordinates(rank, ": u32", &[]);
    let (kind, zero) = (type_name(bits.into()), literal(bits.into(), 0));
    if is_layout {
        let head = format!("fn {name}_offset({parameters}) -> u32");
        writer.block(format_args!("{head}"), |writer| writer.line(format_args!("return 0u;")));
        writer.blank();
    }
    let head = format!("fn {name}_bits({parameters}) -> {kind}");
    writer.block(format_args!("{head}"), |writer| writer.line(format_args!("return {zero};")));
    if stores {
        writer.blank();
        let parameters = coordinates(rank, ": u32", &[&format!("bits: {kind}")]);
        let head = format!("fn {name}_store({parameters})");
        writer.block(format_args!("{head}"), |_| {});
    }
    writer.finish()
}

/// Returns the WGSL declaration of a constant array of 32-bit words that contains `bytes`. Zeros
/// fill the rest of the last word.
pub(crate) fn constant(name: &str, bytes: &[u8]) -> String {
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        match u32::from_le_bytes(word) {
            0 => "0u".to_owned(),
            word => format!("0x{word:x}u"),
        }
    };
    let words: Vec<String> = bytes.chunks(4).map(word).collect();
    let mut writer = Writer::of_functions(Vec::new(), String::new());
    let kind = format!("array<u32, {}>", words.len());
    writer.line(format_args!("const {name}: {kind} = {kind}({});", words.join(", ")));
    writer.blank();
    writer.finish()
}

/// Returns a WGSL comment with these lines. Breaks lines that are too long.
pub(crate) fn comment(lines: &[String]) -> String {
    let mut writer = Writer::of_functions(Vec::new(), String::new());
    for line in lines {
        writer.comment("", format_args!("{line}"));
    }
    writer.finish()
}
