//! Placements of `torch.distributed`, as the part of each rank.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use stridec::sharding::{Region, Sharding as Parsed};

use crate::{
    errors::{inside, invalid, unsupported},
    numbers::{numbers, shown},
};

/// Returns the sharding of torch's placements, an entry for each dimension of the mesh. Each
/// `Shard` divides the part that the entries before it leave, as `torch.chunk` does.
pub(crate) fn of_placements(
    shape: &[u64],
    mesh: &Bound<'_, PyAny>,
    placements: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<Parsed> {
    let (extents, ranks) = match mesh.getattr_opt("mesh")? {
        Some(ranks) => {
            let flat = ranks
                .call_method0("flatten")
                .and_then(|flat| flat.call_method0("tolist")?.extract::<Vec<u64>>());
            let flat =
                flat.map_err(|_| invalid("mesh.mesh", "a tensor of ranks", shown(&ranks)))?;
            (numbers(&ranks.getattr("shape")?, "mesh.shape")?, flat)
        }
        None => {
            let extents: Vec<u64> = numbers(mesh, "mesh")?;
            let count = extents.iter().try_fold(1_u64, |count, &extent| count.checked_mul(extent));
            let count = count.filter(|&count| count <= stridec::reshard::MAX_DEVICES);
            let count =
                count.ok_or_else(|| invalid("mesh", "at most 2^24 devices", shown(mesh)))?;
            (extents, (0..count).collect())
        }
    };
    let mut divided = Vec::new();
    let expected = "a sequence with a placement for each dimension of the mesh";
    let broken = |_| invalid(argument, expected, shown(placements));
    for placement in placements.try_iter().map_err(broken)? {
        divided.push(sharded(&placement?, shape.len(), argument)?);
    }
    if divided.len() != extents.len() || ranks.iter().collect::<BTreeSet<_>>().len() != ranks.len()
    {
        let expected = format!("{} placements, one for each dimension of the mesh", extents.len());
        return Err(invalid(argument, &expected, divided.len()));
    }
    let region = |place: u64| {
        let mut part: Vec<(u64, u64)> = shape.iter().map(|&extent| (0, extent)).collect();
        let mut rest = place;
        let mut coordinates = Vec::new();
        for &extent in extents.iter().rev() {
            coordinates.push(rest % extent);
            rest /= extent;
        }
        for ((dimension, &count), at) in divided.iter().zip(&extents).zip(coordinates.iter().rev())
        {
            if let Some(dimension) = *dimension {
                let (start, end) = part[dimension];
                let chunk = (end - start).div_ceil(count);
                let first = end.min(start.saturating_add(chunk.saturating_mul(*at)));
                part[dimension] = (first, end.min(first.saturating_add(chunk)));
            }
        }
        Region::from_ranges(part.into_iter().map(|range| [range]))
    };
    let parts = (0_u64..).zip(&ranks).filter_map(|(place, &rank)| Some((rank, region(place)?)));
    Parsed::regions(parts).map_err(|error| inside(argument, error))
}

/// Returns the dimension that a placement divides, or `None` if it replicates.
fn sharded(placement: &Bound<'_, PyAny>, rank: usize, argument: &str) -> PyResult<Option<usize>> {
    let is = |method: &str| placement.call_method0(method).and_then(|is| is.is_truthy());
    if is("is_replicate").unwrap_or(false) {
        return Ok(None);
    }
    if placement.get_type().name()? != "Shard" {
        return Err(unsupported(argument, "Shard or Replicate", shown(placement)));
    }
    let dimension = placement.getattr("dim").and_then(|dimension| dimension.extract::<i64>());
    let dimension = dimension.map_err(|_| {
        invalid(argument, "a Shard with the number of a dimension", shown(placement))
    })?;
    let signed = i64::try_from(rank)?;
    let counted = if dimension < 0 { dimension + signed } else { dimension };
    let expected = format!("a dimension of {rank}");
    let found = usize::try_from(counted).ok().filter(|&dimension| dimension < rank);
    found.map(Some).ok_or_else(|| invalid(argument, &expected, shown(placement)))
}
