//! The composition of two layouts, which is again a layout.

use super::{
    CuteError, CuteLayout, Mode,
    algebra::{Result, signed},
};

impl CuteLayout {
    /// Returns the composition of two layouts: the layout `R` with `R(c) = self(inner(c))`. `R` has
    /// the shape of `inner`, whose extents may be split further.
    ///
    /// ```
    /// use stridec::notation::CuteLayout;
    /// let outer: CuteLayout = "(6,2):(8,2)".parse()?;
    /// let inner: CuteLayout = "(4,3):(3,1)".parse()?;
    /// assert_eq!(outer.composition(&inner)?.to_string(), "((2,2),3):((24,2),8)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if an extent and a stride do not divide each other, if strides of `inner`
    /// overlap or are negative, or if a number overflows.
    pub fn composition(&self, inner: &Self) -> Result<Self> {
        let outer = self.coalesce().mode().leaves();
        if outer.len() > 1 {
            nested(inner)?;
        }
        Self::new(composed(&outer, inner.mode())?)
    }
}

/// Returns an error if a stride is smaller than the distance that all smaller strides together can
/// cover. With such a stride, a sum of offsets could carry from one mode into the next, so the
/// modes could not be composed one by one.
fn nested(layout: &CuteLayout) -> Result<()> {
    let mut leaves = layout.mode().leaves();
    leaves.retain(|&(extent, stride)| extent > 1 && stride > 0);
    leaves.sort_unstable_by_key(|&(_, stride)| stride);
    let mut inside = 1_u64;
    for (extent, stride) in leaves {
        if stride.unsigned_abs() < inside {
            return Err(CuteError::Overlap { stride, inside });
        }
        inside += (extent - 1) * stride.unsigned_abs();
    }
    Ok(())
}

/// Returns the composition of a coalesced layout with one mode of the inner layout, `inner`.
/// `outer` contains the leaves of the coalesced layout as pairs of an extent and a stride.
fn composed(outer: &[(u64, i64)], inner: &Mode) -> Result<Mode> {
    let (extent, stride) = match inner {
        Mode::Tuple(modes) => {
            let modes = modes.iter().map(|mode| composed(outer, mode)).collect::<Result<_>>()?;
            return Ok(Mode::Tuple(modes));
        }
        Mode::Leaf { extent, stride } => (*extent, *stride),
    };
    if stride == 0 || extent == 1 {
        return Ok(Mode::Leaf { extent, stride: if extent == 1 { 0 } else { stride } });
    }
    let mut step = u64::try_from(stride).map_err(|_| CuteError::Negative { stride })?;
    let mut left = extent;
    let mut result = Vec::new();
    let Some((&last, lower)) = outer.split_last() else {
        return Ok(Mode::Leaf { extent, stride: 0 });
    };
    let times = |step: u64, stride: i64| signed(step)?.checked_mul(stride).ok_or(CuteError::Range);
    for &(size, stride) in lower {
        if !size.is_multiple_of(step) && !step.is_multiple_of(size) {
            return Err(CuteError::Indivisible {
                what: "an extent and a stride",
                given: size,
                by: step,
            });
        }
        let here = (size / step).clamp(1, left);
        if !left.is_multiple_of(here) {
            return Err(CuteError::Indivisible { what: "extents", given: left, by: here });
        }
        if here != 1 {
            result.push((here, times(step, stride)?));
        }
        left /= here;
        step = step.div_ceil(size);
    }
    if left != 1 || result.is_empty() {
        result.push((left, times(step, last.1)?));
    }
    Ok(Mode::of_leaves(result))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{layout, small};

    /// Checks that every composition agrees with its definition at every coordinate.
    #[test]
    fn a_composition_is_one_function_after_the_other() {
        let all = small();
        let mut found = 0;
        for outer in all.iter().step_by(29) {
            for inner in all.iter().step_by(31) {
                let Ok(composed) = outer.composition(inner) else { continue };
                assert_eq!(composed.size(), inner.size(), "{outer} {inner}");
                for i in 0..inner.size() {
                    let between = u64::try_from(inner.at(i)).unwrap();
                    // Coordinates past the size of the outer layout continue along its last leaf.
                    // The composition coalesces the outer layout first, which may change the last
                    // leaf.
                    let expected = outer.coalesce().at(between);
                    assert_eq!(composed.at(i), expected, "{outer} {inner}: {composed} at {i}");
                }
                found += 1;
            }
        }
        assert!(found > 10_000, "{found}");
        assert!(layout("(4,6):(1,10)").composition(&layout("3:3")).is_err());
        assert!(layout("(4,6):(1,10)").composition(&layout("3:-1")).is_err());
    }
}
