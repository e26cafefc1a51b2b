//! Converts shapes and explicit strides to a [`StrideDescriptor`]. All rules about the memory of an
//! XLA array are here: the order of dimensions, then padding, then tiles from the outermost to the
//! innermost, then the alignment of the end.

use smallvec::{SmallVec, smallvec};

use super::{Axis, Step, StrideDescriptor, StrideError, descriptor::signed, size::bytes_of};
use crate::shape::{ElementType, Layout, PaddingValue, Shape, StridedShape, Tile, TileDimension};

/// The maximum size of a tensor in memory, in bytes and in elements, as in XLA. Because of this
/// limit, all offsets in bytes and in elements fit in an `i64`.
const MAX_BYTES: u64 = i64::MAX.unsigned_abs();

/// The maximum number of characters of a layout that an error message shows.
const MOST_SHOWN: usize = 200;

impl TryFrom<&Shape> for StrideDescriptor {
    type Error = StrideError;

    /// Lowers an XLA array. The order of dimensions is applied first, then padding, then tiles. If
    /// there are padded dimensions, the padding value fills the padding of tiles too.
    ///
    /// ```
    /// use stridec::{shape::Shape, stride::StrideDescriptor};
    /// let shape: Shape = "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?;
    /// let descriptor = StrideDescriptor::try_from(&shape)?;
    /// assert!(descriptor.strides().eq([Some(1), Some(3)]));
    /// assert_eq!(descriptor.physical_elements(), 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn try_from(shape: &Shape) -> Result<Self, StrideError> {
        let element_type = shape.element_type();
        let sizes: SmallVec<[u64; 12]> = shape
            .dimensions()
            .iter()
            .enumerate()
            .map(|(dimension, extent)| {
                extent.bound().ok_or(StrideError::UnknownExtent { dimension })
            })
            .collect::<Result<_, _>>()?;
        // This layout has an empty order, which means the default order here, to avoid an
        // allocation.
        let unordered = Layout::new([]);
        let layout = shape.layout().unwrap_or(&unordered);
        refuse_unsupported(layout)?;
        let element_bits =
            element_bits(element_type, layout.element_size_in_bits, "layout.element_size_in_bits")?;
        let mut lowering = TileLowering { extents: sizes.clone(), steps: SmallVec::new() };
        let mut outer: SmallVec<[MemoryAxis; 8]> = (0..sizes.len())
            .map(|major| match shape.layout() {
                Some(layout) => layout.minor_to_major[sizes.len() - 1 - major],
                None => major,
            })
            .map(|coordinate| MemoryAxis {
                coordinate,
                extent: match layout.padded_dimensions.get(coordinate) {
                    Some(&padded) => padded,
                    None => sizes[coordinate],
                },
            })
            .collect();
        if !layout.padded_dimensions.is_empty() && !layout.tiles.is_empty() {
            outer = lowering.padded(&outer)?;
        }
        for tile in &layout.tiles {
            outer = lowering.tile(outer, tile)?;
        }
        let what = if layout.padded_dimensions.is_empty() {
            "dimensions"
        } else {
            "layout.padded_dimensions"
        };
        let mut cells = 1_u64;
        let mut axes: SmallVec<[Axis; 8]> = SmallVec::with_capacity(outer.len());
        for &MemoryAxis { coordinate, extent } in outer.iter().rev() {
            let stride = signed(cells);
            axes.push(Axis { coordinate, extent, stride });
            cells = cells
                .checked_mul(extent.max(1))
                .filter(|&n| n <= MAX_BYTES)
                .ok_or(StrideError::TooLarge { what })?;
        }
        axes.reverse();
        if axes.iter().any(|axis| axis.extent == 0) {
            cells = 0;
        }
        let is_padded = if layout.tiles.is_empty() {
            axes.iter().any(|axis| axis.extent > lowering.extents[axis.coordinate])
        } else {
            let elements = if sizes.contains(&0) { 0 } else { sizes.iter().product() };
            !layout.padded_dimensions.is_empty() && cells > elements
        };
        let padding = if is_padded {
            let value = layout.padding_value.unwrap_or(PaddingValue::Unknown);
            let bits = match layout.padding_number {
                Some(number) => element_type.padding_number_bits(number)?,
                None => element_type.padding_bits(value)?,
            };
            extended(element_type, bits, element_bits)
        } else {
            0
        };
        let physical_elements = cells
            .checked_next_multiple_of(layout.tail_padding_alignment_in_elements)
            .ok_or(StrideError::TooLarge { what: "layout.tail_padding_alignment_in_elements" })?;
        Self {
            element_type,
            element_bits,
            rank: sizes.len(),
            steps: lowering.steps,
            extents: lowering.extents,
            axes,
            offset: 0,
            prefix_bytes: layout.dynamic_shape_metadata_prefix_bytes,
            physical_elements,
            padding,
        }
        .checked(what)
    }
}

impl TryFrom<&StridedShape> for StrideDescriptor {
    type Error = StrideError;

    /// Lowers an array with explicit strides.
    fn try_from(shape: &StridedShape) -> Result<Self, StrideError> {
        let (element_type, bits) = (shape.element_type(), shape.element_size_in_bits());
        Self::strided(element_type, bits, shape.sizes(), shape.strides(), shape.offset())
    }
}

impl StrideDescriptor {
    /// Creates the descriptor of a tensor from its sizes, strides and offset, all in elements. The
    /// memory is the smallest one that contains all elements.
    ///
    /// An `element_size_in_bits` of 0 means the width of the element type, rounded up to whole
    /// bytes.
    ///
    /// ```
    /// use stridec::{shape::ElementType, stride::StrideDescriptor};
    /// // Rows of 3 padded to 5: A B C x x D E F.
    /// let rows = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[5, 1], 0)?;
    /// assert_eq!((rows.physical_elements(), rows.offset(&[1, 2])?), (8, 7));
    /// # Ok::<(), stridec::stride::StrideError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the numbers of sizes and strides differ, if the memory exceeds 2^63-1
    /// bytes, or if a negative stride reaches below the start of the memory.
    pub fn strided(
        element_type: ElementType,
        element_size_in_bits: u64,
        sizes: &[u64],
        strides: &[i64],
        offset: u64,
    ) -> Result<Self, StrideError> {
        if strides.len() != sizes.len() {
            return Err(StrideError::Count {
                field: "strides",
                given: strides.len(),
                rank: sizes.len(),
            });
        }
        let too_large = StrideError::TooLarge { what: "strides" };
        let element_bits =
            element_bits(element_type, element_size_in_bits, "element_size_in_bits")?;
        let empty = sizes.contains(&0);
        let (mut low, mut high) = (0_i64, 0_i64);
        for (&size, &stride) in sizes.iter().zip(strides) {
            let span = i64::try_from(size.saturating_sub(1))
                .ok()
                .and_then(|steps| steps.checked_mul(stride))
                .ok_or(too_large.clone())?;
            let end = if span < 0 { &mut low } else { &mut high };
            *end = end.checked_add(span).ok_or(too_large.clone())?;
        }
        let base = i64::try_from(offset).map_err(|_| too_large.clone())?;
        let least = base.checked_add(low).ok_or(too_large.clone())?;
        if least < 0 && !empty {
            return Err(StrideError::BelowStart {
                offset,
                given: least,
                least: low.unsigned_abs(),
            });
        }
        let last = base.checked_add(high).ok_or(too_large.clone())?;
        let mut axes: SmallVec<[Axis; 8]> = sizes
            .iter()
            .zip(strides)
            .enumerate()
            .map(|(coordinate, (&extent, &stride))| Axis { coordinate, extent, stride })
            .collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride.unsigned_abs()));
        let mut elements = 1_u64;
        for &size in sizes {
            elements = elements
                .checked_mul(size.max(1))
                .filter(|&n| n <= MAX_BYTES)
                .ok_or(StrideError::TooLarge { what: "sizes" })?;
        }
        Self {
            element_type,
            element_bits,
            rank: sizes.len(),
            steps: SmallVec::new(),
            extents: sizes.into(),
            axes,
            offset,
            prefix_bytes: 0,
            physical_elements: if empty { 0 } else { last.unsigned_abs() + 1 },
            padding: 0,
        }
        .checked("strides")
    }

    /// Returns the dense row-major descriptor with the same sizes and element type.
    pub(crate) fn dense(&self) -> Self {
        let mut span = 1;
        let mut axes: SmallVec<[Axis; 8]> = smallvec![];
        for (coordinate, &extent) in self.sizes().iter().enumerate().rev() {
            axes.push(Axis { coordinate, extent, stride: span });
            span *= signed(extent.max(1));
        }
        axes.reverse();
        Self {
            element_type: self.element_type,
            element_bits: self.element_bits,
            rank: self.rank,
            steps: smallvec![],
            extents: self.sizes().into(),
            axes,
            offset: 0,
            prefix_bytes: 0,
            physical_elements: self.elements(),
            padding: 0,
        }
    }

    /// Returns the tensor without its metadata prefix. Offsets do not change, because they count
    /// from the end of the prefix.
    pub(crate) fn without_prefix(&self) -> Self {
        Self { prefix_bytes: 0, ..self.clone() }
    }

    /// Returns the tensor with its memory extended to `physical_elements`. The additional places at
    /// the end hold no elements.
    ///
    /// # Errors
    ///
    /// Returns an error if `physical_elements` is less than the current size, or if the memory
    /// exceeds 2^63-1 bytes.
    pub(crate) fn with_physical_elements(
        mut self,
        physical_elements: u64,
    ) -> Result<Self, StrideError> {
        let least = self.physical_elements;
        if physical_elements < least {
            return Err(StrideError::PhysicalElements { given: physical_elements, least });
        }
        self.physical_elements = physical_elements;
        self.checked("physical_elements")
    }

    /// Returns the descriptor unchanged, or an error that names the field `what` if the tensor
    /// exceeds 2^63-1 bytes.
    fn checked(self, what: &'static str) -> Result<Self, StrideError> {
        bytes_of(self.physical_elements, self.element_bits)
            .and_then(|bytes| bytes.checked_add(self.prefix_bytes))
            .filter(|&bytes| bytes <= MAX_BYTES && self.physical_elements <= MAX_BYTES)
            .map(|_| self)
            .ok_or(StrideError::TooLarge { what })
    }
}

/// Returns the size of an element in memory, in bits: `given`, which is the `n` of `E(n)`, or the
/// width of the type rounded up to whole bytes if `given` is 0.
fn element_bits(
    element_type: ElementType,
    given: u64,
    field: &'static str,
) -> Result<u32, StrideError> {
    let (Some(limit), Some(storage)) = (element_type.bits(), element_type.storage_bits()) else {
        return Err(StrideError::NoElements { element_type });
    };
    match given {
        0 => Ok(storage),
        1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 => u32::try_from(given)
            .ok()
            .filter(|&bits| bits >= limit)
            .ok_or(StrideError::ElementSize { field, given, element_type, limit }),
        _ => Err(StrideError::Unsupported {
            field,
            value: format!("E({given})"),
            accepted: "expected 1, 2, 4, 8, 16, 32, 64 or 128",
        }),
    }
}

/// Widens the bits of a value from the width of the type to `element_bits`. Signed integers are
/// sign-extended.
fn extended(element_type: ElementType, value: u128, element_bits: u32) -> u128 {
    match element_type.bits() {
        Some(bits) if element_type.is_signed_integer() && value >> (bits - 1) & 1 == 1 => {
            (value | u128::MAX << bits) & (u128::MAX >> (128 - element_bits))
        }
        _ => value,
    }
}

/// Rejects layouts with fields that can be parsed and printed but not lowered.
fn refuse_unsupported(layout: &Layout) -> Result<(), StrideError> {
    let refuse = |field, accepted| {
        // The layout is truncated, because it may contain thousands of split indices or a large
        // physical shape.
        let mut value = layout.to_string();
        if let Some((end, _)) = value.char_indices().nth(MOST_SHOWN) {
            value.truncate(end);
            value.push('…');
        }
        Err(StrideError::Unsupported { field, value, accepted })
    };
    if !layout.split_configs.is_empty() {
        return refuse("layout.split_configs", "expected an array in one memory");
    }
    if !layout.is_dense() {
        return refuse("layout.dim_level_types", "expected a dense array");
    }
    Ok(())
}

/// A dimension of memory while tiles are applied: a coordinate, and the number of elements for
/// which there is room along it.
#[derive(Clone, Copy)]
struct MemoryAxis {
    coordinate: usize,
    extent: u64,
}

/// The extents and steps of the tiles applied so far.
struct TileLowering {
    extents: SmallVec<[u64; 12]>,
    steps: SmallVec<[Step; 4]>,
}

impl TileLowering {
    /// Pads each axis to its extent in memory, before tiles are applied. The padding is expressed
    /// as a split by the padded extent: the remainder equals the coordinate, but its axis has room
    /// for the padded extent.
    fn padded(&mut self, outer: &[MemoryAxis]) -> Result<SmallVec<[MemoryAxis; 8]>, StrideError> {
        let rank = outer.len();
        let extents = outer.iter().map(|axis| axis.extent.max(1));
        let tile = Tile::new(extents);
        let is_empty = outer.iter().any(|axis| axis.extent == 0);
        let unpadded = outer
            .iter()
            .map(|axis| MemoryAxis { extent: self.extents[axis.coordinate], ..*axis })
            .collect();
        let mut outer = self.tile(unpadded, &tile)?;
        if !is_empty {
            // The quotients are always 0, because no index reaches the padded extent.
            outer.drain(..rank);
        }
        Ok(outer)
    }

    /// Applies one tile to the most minor axes in `outer`, and returns all resulting axes. A `*`
    /// joins an axis with the next one.
    fn tile(
        &mut self,
        mut outer: SmallVec<[MemoryAxis; 8]>,
        tile: &Tile,
    ) -> Result<SmallVec<[MemoryAxis; 8]>, StrideError> {
        let tile = &tile.dimensions;
        while outer.len() < tile.len() {
            let unit = self.step(Step::Unit, &[1]);
            outer.insert(0, self.place(unit));
        }
        let covered: SmallVec<[MemoryAxis; 8]> = outer.drain(outer.len() - tile.len()..).collect();
        let mut inner: SmallVec<[MemoryAxis; 8]> = smallvec![];
        let mut folded: Option<usize> = None;
        for (place, size) in covered.iter().zip(tile) {
            let of = match folded {
                None => place.coordinate,
                Some(major) => {
                    let extent = self.extents[major]
                        .checked_mul(self.extents[place.coordinate])
                        .ok_or(StrideError::TooLarge { what: "layout.tiles" })?;
                    self.step(Step::Fold { major, minor: place.coordinate }, &[extent])
                }
            };
            match *size {
                TileDimension::Combine => folded = Some(of),
                TileDimension::Size(by) => {
                    folded = None;
                    let quotient =
                        self.step(Step::Split { of, by }, &[self.extents[of].div_ceil(by), by]);
                    outer.push(self.place(quotient));
                    inner.push(self.place(quotient + 1));
                }
            }
        }
        // A `*` at the end has no next dimension to join, so its axis stays as it is.
        outer.extend(folded.map(|of| self.place(of)));
        outer.append(&mut inner);
        Ok(outer)
    }

    /// Appends a step and the extents of its results, and returns the number of the first new
    /// coordinate.
    fn step(&mut self, step: Step, extents: &[u64]) -> usize {
        self.steps.push(step);
        self.extents.extend_from_slice(extents);
        self.extents.len() - extents.len()
    }

    fn place(&self, coordinate: usize) -> MemoryAxis {
        MemoryAxis { coordinate, extent: self.extents[coordinate] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_other_forms_are_refused() {
        let lowered = |change: fn(&mut Layout)| {
            let mut layout = Layout::new([1, 0]);
            change(&mut layout);
            let shape = Shape::new(ElementType::F32, [2, 3], Some(layout)).unwrap();
            StrideDescriptor::try_from(&shape)
        };
        assert!(lowered(|_| {}).is_ok());
        for (change, expected) in [
            (
                (|layout| layout.format = crate::shape::Format::Sparse) as fn(&mut Layout),
                "layout.dim_level_types",
            ),
            (|layout| *layout = "{1,0:D(D,C)}".parse().unwrap(), "layout.dim_level_types"),
            (|layout| *layout = "{1,0:SC(0:1)}".parse().unwrap(), "layout.split_configs"),
        ] {
            let error = lowered(change).unwrap_err();
            assert!(
                matches!(error, StrideError::Unsupported { field, .. } if field == expected),
                "{error}"
            );
        }
    }

    #[test]
    fn padding_is_a_value_only_where_something_is_padded() {
        for (text, expected) in [
            ("f32[2,3]{1,0:PAD(2,3,one)}", 0),
            ("f32[2,3]{1,0:PAD(2,4,one)}", 0x3f80_0000),
            ("f32[2,3]{1,0:PAD(2,4)}", 0),
            ("f32[2,3]{1,0:T(2,4)PAD(2,3,one)}", 0x3f80_0000),
            ("f32[2,4]{1,0:T(2,4)PAD(2,4,one)}", 0),
            ("s8[5]{0:T(4)PAD(5,value(-3))}", 0xfd),
            ("s4[5]{0:PAD(6,value(-3))}", 0xfd),
            ("u8[5]{0:PAD(6,value(128))}", 128),
            ("f32[2,4]{1,0:T(2,4)PAD(3,4,one)}", 0x3f80_0000),
        ] {
            let shape: Shape = text.parse().unwrap();
            assert_eq!(StrideDescriptor::try_from(&shape).unwrap().padding(), expected, "{text}");
        }
    }

    /// Checks that elements of a padded and tiled array have the same places as in a tiled array
    /// whose extents are the padded ones.
    #[test]
    fn tiles_apply_to_padded_dimensions() {
        for (text, whole) in [
            ("s8[5,3]{1,0:T(4,2)PAD(6,7,lowest)}", "s8[6,7]{1,0:T(4,2)}"),
            ("s8[5,3]{0,1:T(4)(2)PAD(9,3,lowest)}", "s8[9,3]{0,1:T(4)(2)}"),
            ("s8[2,3,5]{2,1,0:T(2,*,4)PAD(2,4,6,lowest)}", "s8[2,4,6]{2,1,0:T(2,*,4)}"),
            ("s8[5]{0:T(2,3)PAD(7,lowest)}", "s8[7]{0:T(2,3)}"),
            ("s8[0,3]{1,0:T(2,2)PAD(2,3,lowest)}", "s8[2,3]{1,0:T(2,2)}"),
            ("s8[0,3]{1,0:T(2,2)PAD(0,4,lowest)}", "s8[0,4]{1,0:T(2,2)}"),
        ] {
            let [padded, whole] = [text, whole]
                .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
            assert_eq!(padded.physical_elements(), whole.physical_elements(), "{text}");
            crate::xla::index_util::for_each_index_of(padded.sizes(), |index| {
                let offset = padded.offset(index).unwrap();
                assert_eq!(Ok(offset), whole.offset(index), "{text}");
                assert_eq!(padded.index(offset).unwrap().as_deref(), Some(index), "{text}");
            });
        }
    }

    #[test]
    fn signs_are_repeated_to_the_end_of_an_element() {
        for (element_type, value, element_bits, expected) in [
            (ElementType::S4, 0x8, 8, 0xf8),
            (ElementType::S4, 0x8, 4, 0x8),
            (ElementType::S4, 0x7, 8, 0x7),
            (ElementType::U4, 0x8, 8, 0x8),
            (ElementType::S8, 0x80, 32, 0xffff_ff80),
            (ElementType::S64, 1 << 63, 128, u128::MAX << 63),
        ] {
            assert_eq!(extended(element_type, value, element_bits), expected, "{element_type}");
        }
    }
}
