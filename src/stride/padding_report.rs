//! [`PaddingReport`]: the amount of memory that padding takes, and the dimension that causes most
//! of it.

use std::convert::Infallible;

use super::{Coordinate, Coordinates, StrideDescriptor, Undo};

/// The amount of padding in an allocation, and the dimension that causes the most of it.
///
/// ```
/// use stridec::{shape::Shape, stride::{PaddingReport, StrideDescriptor}};
/// // With the tiles of a TPU, 3 columns occupy rows of 128.
/// let tall = StrideDescriptor::try_from(&"f32[1024,3]{1,0:T(8,128)}".parse::<Shape>()?)?;
/// let report = PaddingReport::of(&tall);
/// assert_eq!((report.allocation_bytes, report.padding_bytes), (524_288, 512_000));
/// assert_eq!(report.dimensions[1].padded, 128);
/// assert_eq!(report.costliest, Some(1));
/// assert!((report.percent() - 97.66).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PaddingReport {
    /// The size of the tensor in memory in bytes, including the metadata prefix.
    pub allocation_bytes: u64,
    /// The number of bytes that do not hold elements.
    pub padding_bytes: u64,
    /// The padding of each logical dimension.
    pub dimensions: Vec<DimensionPadding>,
    /// The dimension with the most padding, or the first such dimension in case of a tie. `None` if
    /// the tensor has no padding.
    pub costliest: Option<usize>,
}

/// The padding of one logical dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DimensionPadding {
    /// The logical extent.
    pub extent: u64,
    /// The extent of the dimension with its padding. If a tile joins dimensions, their padding is
    /// counted for the minor one.
    pub padded: u64,
    /// The number of bytes of padding past the end of this dimension. Padding that is past the end
    /// of several dimensions counts for each of them.
    pub bytes: u64,
}

impl PaddingReport {
    /// Measures the padding of a tensor.
    #[must_use]
    pub fn of(tensor: &StrideDescriptor) -> Self {
        let bits = u128::from(tensor.element_bits());
        let allocation_bytes = tensor.image_bytes();
        let memory = u128::from(tensor.physical_elements());
        let data_bytes = u64::try_from((distinct_elements(tensor) * bits).div_ceil(8));
        let dimensions: Vec<DimensionPadding> = padded_extents(tensor)
            .into_iter()
            .zip(tensor.sizes())
            .map(|(padded, &extent)| {
                let past = u128::from(padded.saturating_sub(extent));
                let elements = memory * past / u128::from(padded.max(1));
                let bytes = u64::try_from((elements * bits).div_ceil(8)).unwrap_or(u64::MAX);
                DimensionPadding { extent, padded: padded.max(extent), bytes }
            })
            .collect();
        let most = dimensions.iter().map(|dimension| dimension.bytes).max().unwrap_or(0);
        Self {
            allocation_bytes,
            padding_bytes: allocation_bytes.saturating_sub(data_bytes.unwrap_or(u64::MAX)),
            costliest: dimensions.iter().position(|d| d.bytes == most).filter(|_| most > 0),
            dimensions,
        }
    }

    /// Returns the padding as a percentage of the allocation, or 0 if the allocation is empty.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a percentage does not need 53 bits
    pub fn percent(&self) -> f64 {
        match self.allocation_bytes {
            0 => 0.0,
            bytes => 100.0 * self.padding_bytes as f64 / bytes as f64,
        }
    }
}

/// Returns the number of elements that take memory. Elements along a stride of 0 share their memory
/// and count once.
fn distinct_elements(tensor: &StrideDescriptor) -> u128 {
    if tensor.elements() == 0 {
        return 0;
    }
    let broadcast = |dimension: usize| {
        tensor.axes().iter().any(|axis| axis.coordinate == dimension && axis.stride == 0)
    };
    let sizes = tensor.sizes().iter().enumerate();
    sizes
        .filter(|&(dimension, _)| !broadcast(dimension))
        .map(|(_, &size)| u128::from(size))
        .product()
}

/// Returns the extent of each dimension including its padding. Along an axis of memory, this is the
/// next greater stride divided by the stride of the axis.
fn padded_extents(tensor: &StrideDescriptor) -> Coordinates<u64> {
    let mut places: Coordinates<u64> = tensor.extents().into();
    let mut axes: Vec<_> = tensor
        .axes()
        .iter()
        .filter(|axis| axis.stride != 0 && axis.extent > 1)
        .map(|axis| (axis.stride.unsigned_abs(), axis.coordinate))
        .collect();
    axes.sort_unstable();
    let memory = tensor.physical_elements().saturating_sub(tensor.base_offset());
    for (number, &(stride, coordinate)) in axes.iter().enumerate() {
        // The memory may end inside the last row, so a partial row counts.
        let room = match axes.get(number + 1) {
            Some(&(next, _)) => next / stride,
            None => memory.div_ceil(stride),
        };
        places[coordinate] = places[coordinate].max(room);
    }
    let Ok(()) = tensor.undo(&mut PlaceCounts, &mut places);
    places
}

/// Runs the steps of a descriptor backwards to compute the padded extent of each dimension of the
/// array from the extents of the axes of memory.
struct PlaceCounts;

impl Undo for PlaceCounts {
    type Value = u64;
    type Error = Infallible;

    fn join(
        &mut self,
        _: Coordinate<'_, u64>,
        _: u64,
        quotient: u64,
        remainder: u64,
    ) -> Result<u64, Infallible> {
        Ok(quotient.saturating_mul(remainder))
    }

    fn unfold(
        &mut self,
        major: Coordinate<'_, u64>,
        _: Coordinate<'_, u64>,
        fold: u64,
    ) -> Result<[u64; 2], Infallible> {
        // If two dimensions are joined, their padding is counted for the minor one.
        Ok([*major.value, fold.div_ceil((*major.value).max(1))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn report(text: &str) -> PaddingReport {
        PaddingReport::of(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn the_dimension_that_pays() {
        for (text, allocation, padding, padded, costliest) in [
            ("f32[2,3]", 24, 0, &[2, 3][..], None),
            ("f32[2,3]{0,1:PAD(3,5,zero)}", 60, 36, &[3, 5], Some(1)),
            ("f32[1000,3]{1,0:T(8,128)}", 512_000, 500_000, &[1000, 128], Some(1)),
            ("f32[3,1000]{1,0:T(8,128)}", 32_768, 20_768, &[8, 1024], Some(0)),
            ("bf16[16,256]{1,0:T(8,128)(2,1)}", 8192, 0, &[16, 256], None),
            ("u8[20]{0:T(6)(4)}", 32, 12, &[32], Some(0)),
            ("f32[3]{0:L(8)}", 32, 20, &[8], Some(0)),
            ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 49_728, 448, &[2, 7, 8, 11, 11], Some(4)),
            ("f32[5]{0:T(2,3)}", 48, 28, &[6], Some(0)),
            ("f32[]", 4, 0, &[], None),
            ("f32[0,3]", 0, 0, &[0, 3], None),
            ("s4[3]{0:E(4)}", 2, 0, &[3], None),
        ] {
            let report = report(text);
            assert_eq!(report.allocation_bytes, allocation, "{text}");
            assert_eq!(report.padding_bytes, padding, "{text}");
            let given: Vec<u64> = report.dimensions.iter().map(|d| d.padded).collect();
            assert_eq!((given, report.costliest), (padded.to_vec(), costliest), "{text}");
        }
    }

    #[test]
    #[allow(clippy::float_cmp)] // both are exact
    fn padding_in_percent() {
        assert_eq!(report("f32[2,3]{0,1:PAD(3,5,zero)}").percent(), 60.0);
        assert_eq!(report("f32[0,3]").percent(), 0.0);
    }

    #[test]
    fn strides_pad_the_dimension_inside_them() {
        let element_type = crate::shape::ElementType::F32;
        let rows = StrideDescriptor::strided(element_type, 0, &[2, 3], &[5, 1], 0).unwrap();
        let report = PaddingReport::of(&rows);
        assert_eq!((report.allocation_bytes, report.padding_bytes), (32, 8));
        assert_eq!(report.costliest, Some(1));
        let broadcast = StrideDescriptor::strided(element_type, 0, &[2, 3], &[0, 1], 0).unwrap();
        assert_eq!(PaddingReport::of(&broadcast).padding_bytes, 0);
    }
}
