//! Placements of `torch.distributed`, as the part of each rank.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use stridec::sharding::{Region, Sharding as Parsed};

use crate::{
    errors::{inside, invalid, unsupported},
    numbers::{counted, numbers, shown},
    sharding::MOST_RANGES,
};

/// Returns the sharding of torch's placements, an entry for each dimension of the mesh. Each
/// `Shard` divides the part that the entries before it leave, as `torch.chunk` does. `fields` are
/// the names of the mesh and of the placements in messages.
pub(crate) fn of_placements(
    shape: &[u64],
    mesh: &Bound<'_, PyAny>,
    placements: &Bound<'_, PyAny>,
    fields: [&str; 2],
) -> PyResult<Parsed> {
    let [of_mesh, argument] = fields;
    let (extents, ranks) = ranks_of(mesh, shape.len(), of_mesh)?;
    let mut divided = Vec::new();
    let expected = "a sequence with a placement for each dimension of the mesh";
    let broken = |_| invalid(argument, expected, shown(placements));
    // An iterator that has no end is not read further than is needed.
    for placement in placements.try_iter().map_err(broken)?.take(extents.len() + 1) {
        divided.push(sharded(&placement?, shape.len(), argument)?);
    }
    if divided.len() != extents.len() {
        let expected = counted(extents.len(), "placement") + ", one for each dimension of the mesh";
        let more = divided.len() > extents.len();
        let given = if more { "more".to_owned() } else { divided.len().to_string() };
        return Err(invalid(argument, &expected, given));
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

/// Returns the extents of a mesh, and the rank at each of its places. The parts of an array of
/// `rank` dimensions on so many devices must not be too many to be listed.
fn ranks_of(mesh: &Bound<'_, PyAny>, rank: usize, field: &str) -> PyResult<(Vec<u64>, Vec<u64>)> {
    let tensor = mesh.getattr_opt("mesh")?;
    let extents: Vec<u64> = match &tensor {
        Some(ranks) => numbers(&ranks.getattr("shape")?, &format!("{field}.shape"))?,
        None => numbers(mesh, field)?,
    };
    let count = extents.iter().fold(1_u64, |count, &extent| count.saturating_mul(extent));
    if count == 0 {
        return Err(invalid(field, "at least one device", format!("{extents:?}")));
    }
    if count.saturating_mul(rank.max(1) as u64) > MOST_RANGES {
        let expected = format!("at most {MOST_RANGES} ranges in all");
        return Err(unsupported(field, &expected, format!("{count} devices")));
    }
    let Some(tensor) = tensor else { return Ok((extents, (0..count).collect())) };
    let field = format!("{field}.mesh");
    let flat = tensor
        .call_method0("flatten")
        .and_then(|flat| flat.call_method0("tolist")?.extract::<Vec<u64>>());
    let ranks = flat.map_err(|_| invalid(&field, "a tensor of ranks", shown(&tensor)))?;
    if ranks.len() as u64 != count {
        let expected = format!("{count} ranks, the product of its extents");
        return Err(invalid(&field, &expected, ranks.len()));
    }
    let mut seen = BTreeSet::new();
    match ranks.iter().find(|&&rank| !seen.insert(rank)) {
        Some(rank) => Err(invalid(&field, "each rank once", format!("{rank} twice"))),
        None => Ok((extents, ranks)),
    }
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
