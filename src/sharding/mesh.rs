//! [`Mesh`]: an array of devices with named axes, such as `x` of 2 and `y` of 4 over 8 devices.
//! [`AxisRef`]: an axis of a mesh, or a part of an axis, to which a sharding refers.

use std::collections::BTreeSet;

use super::{
    ShardingError,
    digits::{DigitPermutation, RadixDigit},
    error::rule,
    kind::field,
    tiling::Ids,
};
use crate::shape::FieldPath;

/// An array of devices with named axes. A sharding refers to these axes to specify the ones that
/// divide each dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mesh {
    /// The name and size of each axis, major to minor.
    pub(super) axes: Vec<(String, u64)>,
    /// The devices, row-major over the axes.
    pub(super) ids: Ids,
    /// The stride of each axis: the product of the sizes of all later axes.
    strides: Vec<u64>,
}

/// An axis of a mesh, or a part of an axis. For example, an axis of size 8 has the parts `(1, 2)`,
/// the most significant bit of a coordinate, and `(2, 4)`, the other two bits. In general, the part
/// `(pre, k)` of an axis of size `n` maps the coordinate `c` to `(c div (n / (pre·k))) mod k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AxisRef {
    pub(super) axis: usize,
    /// The numbers `pre` and `k`, or `None` for the whole axis.
    pub(super) part: Option<(u64, u64)>,
}

impl AxisRef {
    /// Returns the range of the axis that this reference covers, as the pair of `pre` and `pre·k`.
    /// For a whole axis, the pair is 1 and the size of the axis.
    fn span(self, mesh: &Mesh) -> (u64, u64) {
        match self.part {
            Some((pre, size)) => (pre, pre * size),
            None => (1, mesh.axes[self.axis].1),
        }
    }

    pub(super) fn size(self, mesh: &Mesh) -> u64 {
        self.part.map_or(mesh.axes[self.axis].1, |(_, size)| size)
    }

    /// Returns a sort key that orders references as in the mesh: by axis, and by part inside an
    /// axis.
    pub(super) fn order(self, mesh: &Mesh) -> (usize, u64, u64) {
        (self.axis, self.span(mesh).0, self.size(mesh))
    }

    /// Returns true if `next` is the part of the same axis that directly follows this part.
    pub(super) fn continues_in(self, next: Self) -> bool {
        match (self.part, next.part) {
            (Some((pre, size)), Some((after, _))) => self.axis == next.axis && pre * size == after,
            _ => false,
        }
    }
}

impl Mesh {
    /// Creates a mesh after checking the names and sizes of its axes. `ids` is called with the
    /// number of devices, and returns the order of the devices.
    pub(super) fn new(
        axes: Vec<(String, u64)>,
        ids: impl FnOnce(u64) -> Result<Ids, ShardingError>,
    ) -> Result<Self, ShardingError> {
        let path = |axis| field("mesh").field("axes").index(axis);
        let mut names = BTreeSet::new();
        for (axis, (name, _)) in axes.iter().enumerate() {
            if !names.insert(name.as_str()) {
                return Err(rule(path(axis).field("name"), "each name once", format!("{name:?}")));
            }
            if name.contains('\'') && name.contains('"') {
                let printable = "a name without one of the two quotes";
                return Err(rule(path(axis).field("name"), printable, format!("{name:?}")));
            }
        }
        let sizes: Vec<u64> = axes.iter().map(|(_, size)| *size).collect();
        let devices = product(&sizes, |axis| path(axis).field("size"))?;
        let mut strides = vec![1; sizes.len()];
        for axis in (1..sizes.len()).rev() {
            strides[axis - 1] = strides[axis] * sizes[axis];
        }
        Ok(Self { axes, ids: ids(devices)?, strides })
    }

    pub(super) fn devices(&self) -> u64 {
        self.axes.iter().map(|(_, size)| size).product()
    }

    /// Returns the coordinate of a device along `axis`, as a digit of its row-major position in the
    /// mesh.
    pub(super) fn digit(&self, axis: AxisRef) -> RadixDigit {
        let (_, end) = axis.span(self);
        let (_, size) = self.axes[axis.axis];
        RadixDigit { size: axis.size(self), stride: size / end * self.strides[axis.axis] }
    }

    /// Returns the axes and parts of axes that no reference in `used` covers, in mesh order. The
    /// references in `used` must have passed [`CheckedAxes`].
    pub(super) fn rest(&self, used: &[AxisRef]) -> Vec<AxisRef> {
        let mut used = used.to_vec();
        used.sort_by_key(|axis| axis.order(self));
        let mut used = used.into_iter().peekable();
        let mut rest = Vec::new();
        for (axis, (_, size)) in self.axes.iter().enumerate() {
            let mut from = 1;
            while let Some(next) = used.next_if(|next| next.axis == axis) {
                let (pre, end) = next.span(self);
                if pre > from {
                    rest.push(AxisRef { axis, part: Some((from, pre / from)) });
                }
                from = end;
            }
            if from < *size {
                rest.push(AxisRef { axis, part: Some((from, size / from)) });
            }
        }
        rest
    }

    /// Returns true if the devices are in the order 0, 1, 2, and so on.
    pub(super) fn is_plain(&self) -> bool {
        matches!(&self.ids, Ids::Iota(digits) if digits.is_identity())
    }
}

/// Checks the axis references of a sharding one by one. A part must divide its axis, and no two
/// references may overlap.
pub(super) struct CheckedAxes<'a> {
    mesh: &'a Mesh,
    /// The ranges of each axis that earlier references cover, as pairs of `pre` and `pre·k`. They
    /// do not overlap, so there are at most 63 for each axis.
    spans: Vec<Vec<(u64, u64)>>,
}

impl<'a> CheckedAxes<'a> {
    pub(super) fn new(mesh: &'a Mesh) -> Self {
        Self { mesh, spans: vec![Vec::new(); mesh.axes.len()] }
    }

    /// Checks a reference against the mesh and against all earlier references.
    pub(super) fn add(&mut self, path: FieldPath, axis: AxisRef) -> Result<(), ShardingError> {
        let (name, size) = &self.mesh.axes[axis.axis];
        let part = |name| path.clone().field("sub_axis_info").field(name);
        if let Some((pre, parts)) = axis.part {
            let end = pre.checked_mul(parts).filter(|end| size % end == 0);
            if end.is_none() {
                let divides = format!("pre_size times size to divide {size}, the axis {name:?}");
                return Err(rule(part("size"), divides, format!("{pre} times {parts}")));
            }
            if parts >= *size {
                let below = format!("less than {size}, the whole axis {name:?}");
                return Err(rule(part("size"), below, parts));
            }
        }
        let (start, end) = axis.span(self.mesh);
        let spans = &mut self.spans[axis.axis];
        for &(other, until) in spans.iter() {
            // The ranges of an axis of size 1 are empty, but two references to the axis still
            // overlap.
            let whole = axis.part.is_none() || (other, until) == (1, *size);
            if whole || start < until && other < end {
                let once = format!("each part of the axis {name:?} once");
                return Err(rule(path, once, "a part that overlaps another"));
            }
            let (later, earlier_end) = if start < other { (other, end) } else { (start, until) };
            if later % earlier_end != 0 {
                let nested = format!("a pre_size that is a multiple of {earlier_end}");
                return Err(rule(part("pre_size"), nested, later));
            }
        }
        spans.push((start, end));
        Ok(())
    }
}

/// Returns the product of `extents` after checking that each extent is at least 1 and that the
/// product fits an `i64`.
pub(super) fn product(
    extents: &[u64],
    path: impl Fn(usize) -> FieldPath,
) -> Result<u64, ShardingError> {
    let mut total = 1_u64;
    for (at, &extent) in extents.iter().enumerate() {
        if extent == 0 {
            return Err(rule(path(at), "at least 1", extent));
        }
        total = total
            .checked_mul(extent)
            .filter(|total| i64::try_from(*total).is_ok())
            .ok_or_else(|| rule(path(at), "fewer than 2^63 devices in all", extent))?;
    }
    Ok(total)
}

/// Returns `ids` as unsigned integers after checking that it is a permutation of `0..count`.
pub(super) fn listed(
    ids: &[i64],
    count: u64,
    path: &FieldPath,
    what: &str,
) -> Result<Vec<u64>, ShardingError> {
    if ids.len() as u64 != count {
        return Err(rule(path.clone(), format!("{count} devices, {what}"), ids.len()));
    }
    let mut seen = vec![false; ids.len()];
    let mut listed = Vec::with_capacity(ids.len());
    for (at, &id) in ids.iter().enumerate() {
        let slot = usize::try_from(id).ok().filter(|&id| id < seen.len());
        let Some(slot) = slot else {
            return Err(rule(
                path.clone().index(at),
                format!("a device of 0 to {}", count - 1),
                id,
            ));
        };
        if std::mem::replace(&mut seen[slot], true) {
            let once = "each device once";
            return Err(rule(path.clone().index(at), once, format!("{id} twice")));
        }
        listed.push(slot as u64);
    }
    Ok(listed)
}

/// Returns the permutation of `0..count` that results from a reshape to `sizes` and a transposition
/// by `perm`. Returns an error if `sizes` or `perm` is invalid.
pub(super) fn iota(
    sizes: &[i64],
    perm: &[i64],
    count: u64,
    paths: [&FieldPath; 2],
    what: &str,
) -> Result<DigitPermutation, ShardingError> {
    let path = |axis| paths[0].clone().index(axis);
    let mut natural = Vec::with_capacity(sizes.len());
    for (axis, &size) in sizes.iter().enumerate() {
        natural.push(u64::try_from(size).map_err(|_| rule(path(axis), "at least 1", size))?);
    }
    let total = product(&natural, path)?;
    if total != count {
        return Err(rule(paths[0].clone(), format!("{count} devices, {what}"), total));
    }
    let length = format!("one entry for each of {} axes", sizes.len());
    if perm.len() != sizes.len() {
        return Err(rule(paths[1].clone(), length, perm.len()));
    }
    let mut seen = vec![false; perm.len()];
    let mut axes = Vec::with_capacity(perm.len());
    for (at, &axis) in perm.iter().enumerate() {
        let path = || paths[1].clone().index(at);
        let slot = usize::try_from(axis).ok().filter(|&axis| axis < seen.len());
        let Some(slot) = slot else {
            return Err(rule(path(), format!("an axis of 0 to {}", perm.len() - 1), axis));
        };
        if std::mem::replace(&mut seen[slot], true) {
            return Err(rule(path(), "each axis once", format!("{axis} twice")));
        }
        axes.push(slot);
    }
    Ok(DigitPermutation::transposed(&natural, &axes))
}
