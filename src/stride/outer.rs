//! The outermost dimensions of memory, whose extents may vary while the memory inside them stays
//! the same.

use super::StrideDescriptor;

impl StrideDescriptor {
    /// Returns the dimensions that are outermost in memory, the outermost first, up to the
    /// innermost of `wanted`.
    ///
    /// # Errors
    ///
    /// Returns the dimension and the reason if the memory at each index of these dimensions is not
    /// contiguous, or if it depends on their extents.
    pub(crate) fn outermost(&self, wanted: &[usize]) -> Result<Vec<usize>, (usize, &'static str)> {
        let mut outer = Vec::new();
        for axis in &self.axes {
            let missing = wanted.iter().find(|dimension| !outer.contains(*dimension));
            let Some(&missing) = missing else { break };
            if axis.coordinate < self.rank {
                let extent = self.extents[axis.coordinate];
                if axis.extent != extent {
                    return Err((axis.coordinate, "the dimension is padded"));
                }
                outer.push(axis.coordinate);
            } else if axis.extent != 1 {
                return Err((missing, "a tile divides it or a dimension around it"));
            }
        }
        if let Some(&missing) = wanted.iter().find(|dimension| !outer.contains(*dimension)) {
            return Err((missing, "a tile divides it"));
        }
        let first = wanted.first().copied().unwrap_or_default();
        let mut covered = self.physical_elements;
        for &dimension in &outer {
            let axis = self.axes.iter().find(|axis| axis.coordinate == dimension);
            let (stride, extent) = axis.map_or((0, 1), |axis| (axis.stride, axis.extent));
            covered /= extent.max(1);
            if extent > 1 && u64::try_from(stride) != Ok(covered) {
                return Err((dimension, "its steps in memory have gaps, overlap or go backwards"));
            }
        }
        let items: u64 = outer.iter().map(|&dimension| self.extents[dimension]).product();
        if self.prefix_bytes > 0 || self.offset > 0 || covered * items != self.physical_elements {
            return Err((first, "the memory has a prefix, an offset or a tail"));
        }
        Ok(outer)
    }
}
