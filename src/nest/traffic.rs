//! [`Traffic`]: the number of bytes that a nest reads and writes.

use smallvec::SmallVec;

use super::{Affine, Bounds, CaseValue, CopyNest, Depends, Gaps, Value, footprint, signed};

/// The bytes that a nest moves, each counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// The number of bytes that are read from the sources. It is an upper bound if guards depend on
    /// several axes, or on integers that are loaded at run time.
    pub(crate) read: u64,
    /// The number of bytes that are written: the whole destination, or the elements alone if gaps
    /// keep their bits.
    pub(crate) written: u64,
}

impl Traffic {
    /// Returns the traffic of a nest.
    pub(crate) fn of(nest: &CopyNest) -> Self {
        let steps = |axes: &[(i64, i64)]| -> u64 {
            axes.iter().map(|&(low, end)| (end - low).max(0).unsigned_abs()).product()
        };
        let (positions, written) = match (nest.scattered(), nest.gaps()) {
            (None, Gaps::Fill) => (nest.positions(), nest.dst_bytes()),
            (None, Gaps::Keep) => {
                let positions = footprint(nest).map_or(0, |axes| steps(&axes));
                (positions, bytes(positions, nest.dst_bits()).min(nest.dst_bytes()))
            }
            (Some(_), _) => (nest.positions(), bytes(nest.positions(), nest.dst_bits())),
        };
        let mut units: SmallVec<[u64; 4]> = nest.sources().iter().map(|_| 0).collect();
        for case in nest.cases() {
            let CaseValue::Read { source, at } = &case.take else { continue };
            let Some(bounds) = Bounds::of_case(nest, case) else { continue };
            let ranges: SmallVec<[(i64, i64); 8]> = Depends::of(nest, [at])
                .axis_numbers()
                .map(|axis| bounds.of_value(Value::Axis(axis)))
                .map(|(low, high)| (low, high + 1))
                .collect();
            units[*source] = units[*source].saturating_add(steps(&ranges));
        }
        let all = units.iter().zip(nest.sources());
        let units = all.map(|(&units, source)| units.min(source.units()));
        // A position reads at most one unit, whatever the number of cases.
        let units = units.fold(0, u64::saturating_add).min(positions);
        Self { read: bytes(units, nest.src_bits()).saturating_add(looked_up(nest)), written }
    }
}

impl CopyNest {
    /// Returns true if every element that is read is written to the place that it has in the only
    /// source, and the source and the destination have the same size. Places without an element are
    /// not compared.
    pub(crate) fn keeps_places(&self) -> bool {
        let [case] = self.cases.as_slice() else { return false };
        let CaseValue::Read { at, .. } = &case.take else { return false };
        let place = self.axes().enumerate().fold(Affine::default(), |place, (axis, of)| {
            place.plus(signed(of.dst_stride), &Affine::value(Value::Axis(axis)))
        });
        self.keeps_units()
            && self.gaps == Gaps::Fill
            && self.scattered().is_none()
            && self.sources.len() == 1
            && self.is_exact()
            && self.src_bytes() == self.dst_bytes
            && *at == place
    }

    /// Returns true if the destination has the bytes of the only source, so that one buffer serves
    /// for both.
    pub(crate) fn is_bitcast(&self) -> bool {
        self.keeps_places() && self.reading_guards().is_empty()
    }
}

/// Returns the number of bytes that lookups load. Of each source, it is at most the size.
fn looked_up(nest: &CopyNest) -> u64 {
    let sources = nest.sources().iter().enumerate();
    let loaded = sources.filter_map(|(number, source)| {
        let bits = nest.loaded_bits(number)?;
        let units = nest.lookups().iter().map(|lookup| {
            let loads = lookup.loads().filter(|load| load.0 == number).count() as u64;
            let depends = Depends::of(nest, lookup.forms());
            let steps: u64 = depends.axis_numbers().map(|axis| nest.extents()[axis]).product();
            loads.saturating_mul(steps)
        });
        Some(bytes(units.fold(0, u64::saturating_add), bits).min(source.bytes()))
    });
    loaded.fold(0, u64::saturating_add)
}

/// Returns the size of `units` units of `bits` bits in bytes, rounded up.
fn bytes(units: u64, bits: u32) -> u64 {
    units.saturating_mul(bits.into()).div_ceil(8)
}
