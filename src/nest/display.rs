//! The text form of a nest. `--emit stages` prints it, and the header of each kernel repeats it as
//! a comment. Readers compare a kernel with this text, so it gives all offsets in units of the
//! nest, like the kernel, and lists every guard.

use std::{cmp::Ordering, fmt};

use super::{
    Bounds, Case, CaseValue, CopyAxis, CopyNest, Gaps, Guard, Operand, Quotient, Value,
    case::Refusal, scattered::Scattered,
};
use crate::shape::{Count, width};

impl fmt::Display for CopyNest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (width(self.src_bits), width(self.dst_bits));
        if let Some(conversion) = self.conversion {
            write!(f, "units of {src}, converted from {conversion}, of {dst}")?;
        } else {
            match self.src_bits.cmp(&self.dst_bits) {
                Ordering::Equal => write!(f, "units of {src}")?,
                Ordering::Greater => write!(f, "units of {src}, cut to {dst}")?,
                Ordering::Less if self.sign_extend => {
                    write!(f, "units of {src}, their sign extended to {dst}")?;
                }
                Ordering::Less => write!(f, "units of {src}, extended with zeros to {dst}")?,
            }
        }
        match self.refusals() {
            Some(refusals) => self.write_one_source(f, &refusals),
            None => self.write_cases(f),
        }
    }
}

impl CopyNest {
    /// Writes a copy from one source: a line for each axis with both strides, and the value that is
    /// written if a guard fails.
    fn write_one_source(
        &self,
        f: &mut fmt::Formatter<'_>,
        refusals: &[Refusal<'_>],
    ) -> fmt::Result {
        write!(f, ": {} in the source", self.src_units())?;
        if self.src().offset() != 0 {
            write!(f, ", read from unit {}", self.src().offset())?;
        }
        self.write_destination(f)?;
        for (number, CopyAxis { extent, src_stride, dst_stride }) in self.axes().enumerate() {
            let steps = Count(extent, "step");
            writeln!(f, "a{number}: {steps}, source {src_stride:+}, destination +{dst_stride}")?;
        }
        for (number, Quotient { of, by }) in self.quotients.iter().enumerate() {
            let weight = self.src().weight(Value::Quotient(number));
            writeln!(f, "q{number}: ({of}) / {by}, source {weight:+}")?;
        }
        let bounds = Bounds::of_guarded(self);
        for guard in self.reading_guards() {
            write!(f, "if not {}: ", asked(guard, &bounds))?;
            match refusals.iter().find(|refusal| refusal.guards.contains(&guard)) {
                Some(&Refusal { bits: Some(bits), .. }) if bits != 0 => {
                    writeln!(f, "fill with 0x{bits:x}")?;
                }
                _ => writeln!(f, "{}", self.gap())?,
            }
        }
        Ok(())
    }

    /// Writes one case per line, after the quotients and lookups that the cases use.
    fn write_cases(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = |number: usize| {
            let of = |case: &Case| matches!(case.take, CaseValue::Read { source, .. } if source == number);
            self.cases.iter().any(of)
        };
        let mut between = ": ";
        for (number, source) in self.sources.iter().enumerate().filter(|&(number, _)| read(number))
        {
            write!(f, "{between}{} in {}", source.units, Operand::numbered(number))?;
            between = ", ";
        }
        f.write_str(if between == ": " { ": nothing is read" } else { "" })?;
        self.write_destination(f)?;
        for (number, CopyAxis { extent, dst_stride, .. }) in self.axes().enumerate() {
            write!(f, "a{number}: {}", Count(extent, "step"))?;
            match self.scattered() {
                Some(_) => writeln!(f)?,
                None => writeln!(f, ", destination +{dst_stride}")?,
            }
        }
        for (number, lookup) in self.lookups.iter().enumerate() {
            writeln!(f, "l{number}: {lookup}")?;
        }
        for (number, Quotient { of, by }) in self.quotients.iter().enumerate() {
            writeln!(f, "q{number}: ({of}) / {by}")?;
        }
        let bounds = Bounds::of_walk(self);
        let mut ends = false;
        for Case { when, take } in &self.cases {
            if when.is_empty() {
                f.write_str(if self.cases.len() > 1 { "else " } else { "" })?;
                ends = true;
            } else {
                let asked: Vec<String> = when.iter().map(|guard| asked(guard, &bounds)).collect();
                write!(f, "if {}: ", asked.join(" and "))?;
            }
            match take {
                CaseValue::Read { source, at } => {
                    write!(f, "{} at {at}", Operand::numbered(*source))?;
                }
                CaseValue::Bits(bits) => match self.marks() {
                    Some((at, number)) => write!(f, "mark place {at} with {number}")?,
                    None => write!(f, "0x{bits:x}")?,
                },
            }
            match self.scattered() {
                Some(Scattered { at, number: None }) => writeln!(f, ", stored at {at}")?,
                _ => writeln!(f)?,
            }
        }
        // The last line describes all other positions; an empty walk has none.
        if ends || self.extents.contains(&0) { Ok(()) } else { writeln!(f, "else {}", self.gap()) }
    }

    /// Returns the treatment of places to which no case applies, as text.
    fn gap(&self) -> &'static str {
        match self.gaps {
            Gaps::Fill => "zero",
            Gaps::Keep => "keep",
        }
    }

    fn write_destination(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "; {} in the destination", self.dst_units)?;
        if self.dst_base != 0 {
            write!(f, ", walked from unit {}", self.dst_base)?;
        }
        writeln!(f)
    }
}

/// Returns a guard as text. The lower bound is included if the form may be negative.
fn asked(guard: &Guard, bounds: &Bounds) -> String {
    let least = if bounds.of(&guard.of).0 < 0 { "0 <= " } else { "" };
    format!("{least}{guard}")
}

#[cfg(test)]
mod tests {
    use crate::{
        nest::{PositionValue, lower},
        shape::{ElementType, Shape},
        stride::StrideDescriptor,
        window::Window,
    };

    fn printed(source: &str, destination: &str) -> String {
        let [from, to] = [source, destination]
            .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
        lower(&from, &to, &Window::identity(from.sizes())).unwrap().to_string()
    }

    #[test]
    fn prints_its_units_its_axes_and_its_guards() {
        let first = |text: String| text.lines().next().unwrap().to_owned();
        for (source, destination, expected) in [
            ("s4[3]{0:E(4)}", "s4[3]", "units of 4 bits, their sign extended to 1 byte"),
            ("u4[3]{0:E(4)}", "u4[3]", "units of 4 bits, extended with zeros to 1 byte"),
            ("s4[3]", "s4[3]{0:E(4)}", "units of 1 byte, cut to 4 bits"),
            ("s8[3]", "s8[3]", "units of 1 byte"),
        ] {
            let expected = format!("{expected}: 3 in the source; 3 in the destination");
            assert_eq!(first(printed(source, destination)), expected);
        }
        // The prefix has two elements on one side and one on the other.
        let prefixes = first(printed("s4[3]{0:E(4)M(1)}", "s4[3]{0:M(1)}"));
        assert!(prefixes.contains("5 in the source, read from unit 1; 4 in"), "{prefixes}");
        // The prefix is half an element, so the nest moves half elements.
        assert_eq!(
            first(printed("f64[3]{0:M(4)}", "f64[3]{0:M(12)}")),
            "units of 4 bytes: 7 in the source, read from unit -3; 9 in the destination, walked from unit -1"
        );
        assert_eq!(
            printed("f32[2,3]", "f32[2,3]{0,1:PAD(3,5,one)}"),
            "units of 4 bytes: 6 in the source; 15 in the destination\n\
             a0: 5 steps, source +1, destination +3\n\
             a1: 3 steps, source +3, destination +1\n\
             if not a0 < 3: fill with 0x3f800000\n\
             if not a1 < 2: fill with 0x3f800000\n"
        );
        // The offset is five elements and so is the length of a row, so the first row is a gap.
        let source = StrideDescriptor::try_from(&"f32[2,3]".parse::<Shape>().unwrap()).unwrap();
        let strided = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[5, 1], 5).unwrap();
        let nest = lower(&source, &strided, &Window::identity(&[2, 3])).unwrap().to_string();
        let guards: Vec<&str> = nest.lines().filter(|line| line.starts_with("if not")).collect();
        assert_eq!(guards, ["if not 0 <= a0 - 1 < 2: zero", "if not a1 < 3: zero"]);
    }

    #[test]
    fn places_without_an_element_take_the_fill_or_zero() {
        let [dense, padded] = ["f32[2,3]", "f32[2,3]{1,0:PAD(3,4,one)}"]
            .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
        let rows = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[5, 1], 0).unwrap();
        let read = |to: &StrideDescriptor| -> Vec<PositionValue> {
            let nest = lower(&dense, to, &Window::identity(&[2, 3])).unwrap();
            (0..nest.dst_units()).map(|position| nest.read(position)).collect()
        };
        let unit = |unit| PositionValue::Unit { source: 0, unit };
        let [first, second] = [[0, 1, 2], [3, 4, 5]].map(|units| units.map(unit));
        let of = |bits: f32, count| vec![PositionValue::Bits(bits.to_bits().into()); count];
        let (padding, gap) = (|count| of(1.0, count), |count| of(0.0, count));
        assert_eq!(read(&padded), [&first[..], &padding(1), &second, &padding(5)].concat());
        assert_eq!(read(&rows), [&first[..], &gap(2), &second].concat());
    }
}
