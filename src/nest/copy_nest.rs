use std::{cmp::Ordering, fmt};

use smallvec::SmallVec;

use super::{Affine, Count, Value, numbers::signed, width};

/// A copy as a loop nest over the destination's whole memory image.
///
/// The axes are the digits of a *walk*: position `p` counts the image's cells in order of address, elements, padding,
/// gaps and tail alike, so that every one is written exactly once. Cell `p` lies at element `p + dst_base` of the
/// destination; a nest whose walk passes the image's ends (`dst_base` below 0, or more cells than
/// [`dst_elements`](Self::dst_elements)) skips the cells outside it.
///
/// A cell takes the source's element at [`src`](Self::src), unless a [`Guard`] fails: then it takes the fill, or zero.
///
/// ```text
/// f32[2,3]{1,0} to f32[2,3]{0,1:PAD(3,5,one)}
/// a0: 5 steps, source +1, destination +3      if not a0 < 3: padding
/// a1: 3 steps, source +3, destination +1      if not a1 < 2: padding
/// ```
///
/// Every expression is linear in the axes but for [`Digit`]s, quotients that a tile of the source needs where it does
/// not nest in the walk. A guard must hold before a digit means anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyNest {
    /// Extents of the axes, outermost first.
    pub extents: SmallVec<[u64; 8]>,
    /// Quotients of the axes and of earlier digits.
    pub digits: SmallVec<[Digit; 4]>,
    /// Where a cell reads, in units from the start of the source's image.
    pub src: Affine,
    /// What must hold for a cell to read.
    pub guards: SmallVec<[Guard; 4]>,
    /// What is added to a walk position to give the destination's unit; 0 or below.
    pub dst_base: i64,
    /// Whole units of the source's image; no cell reads past them.
    pub src_elements: u64,
    /// The last unit that any cell reads; `None` where the source has no element.
    pub src_last: Option<u64>,
    /// Units of the destination's image.
    pub dst_elements: u64,
    /// Bytes of the source's image.
    pub src_bytes: u64,
    /// Bytes of the destination's image.
    pub dst_bytes: u64,
    /// Bits of a unit in the source.
    pub src_bits: u32,
    /// Bits of a unit in the destination; other than the source's only where the element size changes.
    pub dst_bits: u32,
    /// Whether widening repeats the sign.
    pub sign_extend: bool,
    /// Bits of a padded cell, as wide as a unit of the destination.
    pub fill: u128,
}

/// One loop of a copy: `extent` steps, each moving both cursors by a fixed stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAxis {
    /// Number of steps.
    pub extent: u64,
    /// Step in the source, in units.
    pub src_stride: i64,
    /// Step in the destination, in units.
    pub dst_stride: u64,
}

/// `⌊of / by⌋`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// The dividend, of axes and earlier digits; not negative where the guards hold.
    pub of: Affine,
    /// The divisor; at least 2 once refined.
    pub by: u64,
}

/// Holds where `0 <= of < extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// What is compared.
    pub of: Affine,
    /// The first value past the end.
    pub extent: u64,
    /// What the cell is where the guard fails. A gap wins over padding.
    pub cell: Cell,
}

/// A cell of the destination that no element fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// A gap between elements, a tile's padding, a tail, a prefix: zero.
    Gap,
    /// A cell of `padded_dimensions`, or one that the window does not cover: the fill.
    Padding,
}

impl CopyNest {
    /// The axes with the strides of both sides, outermost first.
    #[must_use]
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = CopyAxis> + '_ {
        let mut dst_stride: u64 = self.extents.iter().product();
        self.extents
            .iter()
            .enumerate()
            .map(move |(axis, &extent)| {
                dst_stride /= extent.max(1);
                CopyAxis { extent, src_stride: self.src.weight(Value::Axis(axis)), dst_stride }
            })
            .collect::<SmallVec<[CopyAxis; 8]>>()
            .into_iter()
    }

    /// Cells that the walk visits: the product of the extents.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.extents.iter().product()
    }

    /// Whether the walk visits just the cells of the image.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.dst_base == 0 && self.cells() == self.dst_elements
    }

    /// The greatest value of each axis and digit.
    #[must_use]
    pub fn lasts(&self) -> Lasts {
        let axes = self.extents.iter().map(|&extent| signed(extent) - 1).collect();
        let mut lasts = Lasts { axes, digits: SmallVec::new() };
        for Digit { of, by } in &self.digits {
            let most = of.range(|value| lasts.of(value)).1;
            lasts.digits.push(most.div_euclid(signed(*by)));
        }
        lasts
    }

    /// Where the cell at `position` of the walk reads, in units of the source, or what else it is.
    ///
    /// This is the meaning that every pass keeps.
    ///
    /// # Errors
    ///
    /// The kind of cell, where no element fills it.
    pub fn read(&self, position: u64) -> Result<u64, Cell> {
        let mut axes: SmallVec<[i64; 8]> = SmallVec::from_elem(0, self.extents.len());
        let mut rest = position;
        for (value, &extent) in axes.iter_mut().zip(&self.extents).rev() {
            *value = signed(rest % extent);
            rest /= extent;
        }
        let mut digits: SmallVec<[i64; 4]> = SmallVec::new();
        for digit in &self.digits {
            digits.push(digit.of.evaluate(at(&axes, &digits)).div_euclid(signed(digit.by)));
        }
        let failed = |cell| {
            self.guards.iter().filter(|guard| guard.cell == cell).any(|guard| {
                let value = guard.of.evaluate(at(&axes, &digits));
                u64::try_from(value).is_ok_and(|value| value < guard.extent).eq(&false)
            })
        };
        if failed(Cell::Gap) {
            return Err(Cell::Gap);
        }
        if failed(Cell::Padding) {
            return Err(Cell::Padding);
        }
        Ok(self.src.evaluate(at(&axes, &digits)).unsigned_abs())
    }

    /// Applies `change` to every expression.
    pub(super) fn map(&mut self, change: impl Fn(Affine) -> Affine) {
        let of = |form: &mut Affine| *form = change(std::mem::take(form));
        of(&mut self.src);
        self.digits.iter_mut().for_each(|digit| of(&mut digit.of));
        self.guards.iter_mut().for_each(|guard| of(&mut guard.of));
    }
}

/// The greatest value of each axis and digit of a nest, as it was when it was asked.
#[derive(Clone, Debug)]
pub struct Lasts {
    axes: SmallVec<[i64; 8]>,
    digits: SmallVec<[i64; 4]>,
}

impl Lasts {
    /// That of one of them.
    #[must_use]
    pub fn of(&self, value: Value) -> i64 {
        match value {
            Value::Axis(axis) => self.axes[axis],
            Value::Digit(digit) => self.digits[digit],
        }
    }
}

/// Looks a value up among the axes and digits of a cell.
fn at<'a>(axes: &'a [i64], digits: &'a [i64]) -> impl Fn(Value) -> i64 + 'a {
    |value| match value {
        Value::Axis(axis) => axes[axis],
        Value::Digit(digit) => digits[digit],
    }
}

impl fmt::Display for CopyNest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (width(self.src_bits), width(self.dst_bits));
        match self.src_bits.cmp(&self.dst_bits) {
            Ordering::Equal => write!(f, "units of {src}")?,
            Ordering::Greater => write!(f, "units of {src}, cut to {dst}")?,
            Ordering::Less if self.sign_extend => {
                write!(f, "units of {src}, their sign extended to {dst}")?;
            }
            Ordering::Less => write!(f, "units of {src}, extended with zeros to {dst}")?,
        }
        write!(f, ": {} in the source", self.src_elements)?;
        if self.src.offset() != 0 {
            write!(f, ", read from number {}", self.src.offset())?;
        }
        write!(f, "; {} in the destination", self.dst_elements)?;
        if self.dst_base != 0 {
            write!(f, ", walked from number {}", self.dst_base)?;
        }
        writeln!(f)?;
        for (number, CopyAxis { extent, src_stride, dst_stride }) in self.axes().enumerate() {
            let steps = Count(extent, "step");
            writeln!(f, "a{number}: {steps}, source {src_stride:+}, destination +{dst_stride}")?;
        }
        for (number, Digit { of, by }) in self.digits.iter().enumerate() {
            let weight = self.src.weight(Value::Digit(number));
            writeln!(f, "q{number}: ({of}) / {by}, source {weight:+}")?;
        }
        let lasts = self.lasts();
        for Guard { of, extent, cell } in &self.guards {
            let least = if of.range(|value| lasts.of(value)).0 < 0 { "0 <= " } else { "" };
            let cell = match cell {
                Cell::Gap => "zero".to_owned(),
                Cell::Padding => format!("fill with 0x{:x}", self.fill),
            };
            writeln!(f, "if not {least}{of} < {extent}: {cell}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        nest::{Cell, lower},
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
        // A prefix of two elements on one side, of one on the other.
        let prefixes = first(printed("s4[3]{0:E(4)M(1)}", "s4[3]{0:M(1)}"));
        assert!(prefixes.contains("5 in the source, read from number 1; 4 in"), "{prefixes}");
        // A prefix of half an element: halves are moved.
        assert_eq!(
            first(printed("f64[3]{0:M(4)}", "f64[3]{0:M(12)}")),
            "units of 4 bytes: 7 in the source, read from number -3; 9 in the destination, walked from number -1"
        );
        assert_eq!(
            printed("f32[2,3]", "f32[2,3]{0,1:PAD(3,5,one)}"),
            "units of 4 bytes: 6 in the source; 15 in the destination\n\
             a0: 5 steps, source +1, destination +3\n\
             a1: 3 steps, source +3, destination +1\n\
             if not a0 < 3: fill with 0x3f800000\n\
             if not a1 < 2: fill with 0x3f800000\n"
        );
        // A head of five elements in rows of five: the first row is a gap.
        let source = StrideDescriptor::try_from(&"f32[2,3]".parse::<Shape>().unwrap()).unwrap();
        let strided = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[5, 1], 5).unwrap();
        let nest = lower(&source, &strided, &Window::identity(&[2, 3])).unwrap().to_string();
        let guards: Vec<&str> = nest.lines().filter(|line| line.starts_with("if not")).collect();
        assert_eq!(guards, ["if not 0 <= a0 - 1 < 2: zero", "if not a1 < 3: zero"]);
    }

    #[test]
    fn what_no_element_fills_is_padding_or_a_gap() {
        let [dense, padded] = ["f32[2,3]", "f32[2,3]{1,0:PAD(3,4,one)}"]
            .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
        let rows = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[5, 1], 0).unwrap();
        let (padding, gap) = (Err(Cell::Padding), Err(Cell::Gap));
        let read = |to: &StrideDescriptor| -> Vec<Result<u64, Cell>> {
            let nest = lower(&dense, to, &Window::identity(&[2, 3])).unwrap();
            (0..nest.dst_elements).map(|position| nest.read(position)).collect()
        };
        let [first, second] = [[Ok(0), Ok(1), Ok(2)], [Ok(3), Ok(4), Ok(5)]];
        let of = |cell, count| vec![cell; count];
        assert_eq!(read(&padded), [&first[..], &of(padding, 1), &second, &of(padding, 5)].concat());
        assert_eq!(read(&rows), [&first[..], &of(gap, 2), &second].concat());
    }
}
