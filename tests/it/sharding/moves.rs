//! Simulated reshards between random pairs of shardings. Every byte is compared with a relayout of
//! the whole array on one machine.
//!
//! `STRIDEC_CASES=20000 cargo test --test it moves` runs more cases.

use std::{collections::BTreeMap, fmt::Write as _};

use stridec::{
    Operation, Tensor,
    reshard::{Shards, simulate},
    shape::{Layout, Shape},
    sharding::{Placement, Region, Sharding, TileBox},
    window::Slice,
};

use super::{mutations::Random, support::scope};

/// Returns a sharding of `rank` dimensions in one of its forms, over a mesh of 1 to 4 axes and 1 to
/// 64 devices.
fn sharding(random: &mut Random, rank: usize) -> (Sharding, Option<u64>) {
    let kind = random.below(20);
    if kind == 0 {
        return (Sharding::replicated(), Some(1 + random.below(12) as u64));
    }
    if kind == 1 {
        let devices = 1 + random.below(12);
        return (Sharding::maximal(random.below(devices) as u64), Some(devices as u64));
    }
    let mut devices = 1;
    let mut axes = Vec::new();
    for _ in 0..=random.below(4) {
        let size = 1 + random.below(6);
        if devices * size <= 64 {
            devices *= size;
            axes.push(size);
        }
    }
    let mut dimensions = vec![Vec::new(); rank];
    let mut refs = Vec::new();
    for (axis, &size) in axes.iter().enumerate() {
        if size == 4 && random.below(2) == 0 {
            refs.extend([format!("'a{axis}':(1)2"), format!("'a{axis}':(2)2")]);
        } else {
            refs.push(format!("'a{axis}'"));
        }
    }
    // Consecutive parts of one axis would be a single part, so they are avoided.
    while let Some(axis) = (!refs.is_empty()).then(|| refs.remove(random.below(refs.len()))) {
        let at = random.below(rank + 1);
        if at < rank
            && !(axis.ends_with(":(2)2")
                && dimensions[at].last().is_some_and(|last: &String| last[..4] == axis[..4]))
        {
            dimensions[at].push(axis);
        }
    }
    let mut ids: Vec<usize> = (0..devices).collect();
    if random.below(2) == 0 {
        for at in (1..devices).rev() {
            ids.swap(at, random.below(at + 1));
        }
    }
    let order = if ids.is_sorted() {
        String::new()
    } else {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        format!(", device_ids=({})", ids.join(","))
    };
    let axes: Vec<String> =
        axes.iter().enumerate().map(|(axis, size)| format!("'a{axis}'={size}")).collect();
    let dimensions: Vec<String> =
        dimensions.iter().map(|axes| format!("{{{}}}", axes.join(", "))).collect();
    let text = format!("{{mesh[{}]{order}, [{}]}}", axes.join(","), dimensions.join(", "));
    let named: Sharding = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let other = match random.below(3) {
        0 => named.as_tiles(),
        1 => named.as_list(),
        _ => None,
    };
    let sharding = other.unwrap_or(named);
    // The blocks have various sizes, some larger than any extent.
    if random.below(2) == 0 {
        let largest = [2, 3, 9, 300][random.below(4)];
        let blocks: Vec<u64> = (0..rank).map(|_| 1 + random.below(largest) as u64).collect();
        return (sharding.cyclic(blocks).unwrap(), Some(devices as u64));
    }
    (sharding, Some(devices as u64))
}

/// Returns a sharding whose parts are lists of ranges. The parts cover an array of these sizes and
/// may overlap.
fn parts(random: &mut Random, sizes: &[u64]) -> Sharding {
    let devices = 1 + random.below(6) as u64;
    let mut regions: Vec<Vec<Vec<(u64, u64)>>> = Vec::new();
    for _ in 0..devices {
        regions.push(
            sizes
                .iter()
                .map(|&size| {
                    let mut limits: Vec<u64> = (0..2 * random.below(4))
                        .map(|_| random.below(usize::try_from(size).unwrap() + 1) as u64)
                        .collect();
                    limits.sort_unstable();
                    limits.chunks(2).map(|pair| (pair[0], pair[1])).collect()
                })
                .collect(),
        );
    }
    // One device has the whole array, so that every index lies on some device.
    let whole = random.below(regions.len());
    regions[whole] = sizes.iter().map(|&size| vec![(0, size)]).collect();
    let regions = (0..).zip(regions);
    let regions = regions.map(|(device, of)| (device, Region::from_ranges(of).unwrap()));
    Sharding::regions(regions.collect::<Vec<_>>()).unwrap()
}

/// Returns a layout of the shards: an order of the dimensions, sometimes with tiles or packed
/// elements.
fn layout(random: &mut Random, rank: usize, packed: bool) -> Option<Layout> {
    if random.below(4) == 0 && !packed {
        return None;
    }
    let mut order: Vec<usize> = (0..rank).collect();
    for at in (1..rank).rev() {
        order.swap(at, random.below(at + 1));
    }
    let mut layout = Layout::new(order);
    match random.below(5) {
        0 if rank >= 2 => layout = layout.tiled([2_u64, 4]),
        1 if rank >= 2 => layout = layout.tiled([4_u64, 3]).tiled([2_u64, 1]),
        2 if rank >= 1 => layout = layout.tiled([3_u64]),
        _ => {}
    }
    Some(if packed { layout.element_size(4) } else { layout })
}

/// Returns the bytes of a part of `array`, as a shard of `shape`.
fn part(array: &Shape, image: &[u8], region: &Region, shape: &Shape) -> Vec<u8> {
    let destination = Tensor::try_from(shape.clone()).unwrap();
    let operation = if region.is_empty() {
        let empty = Tensor::dense(array.element_type(), region.sizes()).unwrap();
        Operation::relayout(empty, destination).unwrap()
    } else if let Some(tile) = region.as_box() {
        let starts: Vec<u64> = tile.ranges().iter().map(|(start, _)| *start).collect();
        let sizes: Vec<u64> = tile.sizes().collect();
        let ones = vec![1; sizes.len()];
        let slice = Slice::new(starts, sizes, ones);
        Operation::slice(array.clone().try_into().unwrap(), &slice, Some(destination)).unwrap()
    } else {
        let dense = dense(array, region.sizes());
        let bytes = Tensor::try_from(dense.clone()).unwrap().descriptor().image_bytes();
        let mut collected = vec![0; usize::try_from(bytes).unwrap()];
        collect(array, image, region, &dense, &mut collected);
        return part(&dense, &collected, &whole(region.sizes()), shape);
    };
    let mut bytes =
        vec![0xaa; usize::try_from(operation.destination_descriptor().image_bytes()).unwrap()];
    let image = if region.is_empty() { &[][..] } else { image };
    operation.run_on_host(image, &mut bytes).unwrap();
    bytes
}

/// Returns a dense array with the element type of another, packed in the same way.
fn dense(array: &Shape, sizes: impl IntoIterator<Item = u64>) -> Shape {
    let bits = array.layout().unwrap().element_size_in_bits;
    let layout = Layout::default_for_rank(array.rank()).element_size(bits);
    Shape::new(array.element_type(), sizes, layout).unwrap()
}

/// Returns the region of a whole array.
fn whole(sizes: impl IntoIterator<Item = u64>) -> Region {
    Region::from(&TileBox::new(sizes.into_iter().map(|size| (0, size))).unwrap())
}

/// Copies the elements of a part of an array to the front of a dense array, bit by bit, in the
/// order of their indices.
fn collect(array: &Shape, image: &[u8], region: &Region, to: &Shape, bytes: &mut [u8]) {
    let [of_array, of_part] = [array, to].map(|shape| Tensor::try_from(shape.clone()).unwrap());
    let bits = u64::from(of_array.descriptor().element_bits());
    let coordinates: Vec<Vec<u64>> = region
        .dimensions()
        .map(|ranges| ranges.iter().flat_map(|&(start, limit)| start..limit).collect())
        .collect();
    let mut index = vec![0; coordinates.len()];
    for number in 0..region.elements() {
        let mut rest = number;
        for (at, coordinates) in index.iter_mut().zip(&coordinates).rev() {
            *at = rest % coordinates.len() as u64;
            rest /= coordinates.len() as u64;
        }
        let places = index.iter().zip(&coordinates);
        let there: Vec<u64> =
            places.map(|(&at, coordinates)| coordinates[usize::try_from(at).unwrap()]).collect();
        let (to, from) = (
            of_part.descriptor().offset(&index).unwrap() * bits,
            of_array.descriptor().offset(&there).unwrap() * bits,
        );
        for bit in 0..bits {
            let at = |bit: u64| (usize::try_from(bit / 8).unwrap(), bit % 8);
            let ((from, from_bit), (to, to_bit)) = (at(from + bit), at(to + bit));
            let value = image[from] >> from_bit & 1;
            bytes[to] = bytes[to] & !(1 << to_bit) | value << to_bit;
        }
    }
}

struct Pair {
    array: Shape,
    from: (Placement, Shards),
    to: (Placement, Shards),
    staging: Option<u64>,
    text: String,
}

fn pair(random: &mut Random) -> Pair {
    let rank = random.below(5);
    let types = ["u8", "s4", "bf16", "f32", "c64", "c128", "pred"];
    let element_type = types[random.below(types.len())];
    let longest = [200, 200, 24, 9, 6][rank];
    let sizes: Vec<String> = (0..rank)
        .map(|_| if random.below(40) == 0 { 0 } else { 1 + random.below(longest) })
        .map(|size| size.to_string())
        .collect();
    let array: Shape = format!("{element_type}[{}]", sizes.join(",")).parse().unwrap();
    let mut text = array.to_string();
    let mut side = |random: &mut Random| {
        let (sharding, devices) = if random.below(5) == 0 {
            let sizes = array.dimensions().iter().map(|size| size.bound().unwrap());
            (parts(random, &sizes.collect::<Vec<_>>()), None)
        } else {
            sharding(random, rank)
        };
        let packed = element_type == "s4" && random.below(2) == 0;
        let layout = layout(random, rank, packed);
        let printed = layout.clone().map(|layout| {
            Shape::new(array.element_type(), vec![9; rank], layout).unwrap().to_string()
        });
        write!(text, ", {sharding} {printed:?}").unwrap();
        let placement = sharding.place(&array, devices).unwrap();
        (placement, Shards { layout, whole_tiles: random.below(4) == 0 })
    };
    let (from, to) = (side(random), side(random));
    let staging = (random.below(2) == 0).then(|| 32 + random.below(400) as u64);
    Pair { array, from, to, staging, text }
}

#[test]
fn simulated_moves_equal_the_relayout_of_the_whole() {
    let count = usize::try_from(scope::cases(400)).unwrap();
    let seed = std::env::var("STRIDEC_SEED").map_or(1, |seed| seed.parse::<u64>().unwrap());
    let mut random = Random(0x2545_f491_4f6c_dd1d ^ seed << 20);
    let (mut shards, mut bytes, mut staged, mut dealt) = (0, 0, 0, 0);
    for _ in 0..count {
        let Pair { array, from, to, staging, text } = pair(&mut random);
        // The elements are packed, so that every value of an element fits every layout.
        let packed = array.element_type().name() == "s4";
        let all = Layout::default_for_rank(array.rank()).element_size(if packed { 4 } else { 0 });
        let sizes = array.dimensions().iter().map(|size| size.bound().unwrap());
        let all = Shape::new(array.element_type(), sizes, all).unwrap();
        let length = Tensor::try_from(all.clone()).unwrap().descriptor().image_bytes();
        let mut image: Vec<u8> =
            (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        let elements: u64 = array.dimensions().iter().map(|size| size.bound().unwrap()).product();
        if packed
            && elements % 2 == 1
            && let Some(last) = image.last_mut()
        {
            *last &= 15;
        }
        if array.element_type().name() == "pred" {
            for byte in &mut image {
                *byte &= 1;
            }
        }
        let mut sources = BTreeMap::new();
        for (device, tile) in from.0.regions() {
            let shape = from.1.shape(&array, &from.0, device).unwrap().unwrap();
            sources.insert(
                device,
                shard(&all, &image, &tile, &shape, from.1.whole_tiles, &mut random),
            );
        }
        let sources: BTreeMap<u64, &[u8]> =
            sources.iter().map(|(device, image)| (*device, &image[..])).collect();
        let moved = simulate(&array, (&from.0, &from.1), (&to.0, &to.1), staging, &sources)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(moved.len(), to.0.regions().count(), "{text}");
        staged += usize::from(staging.is_some());
        let is_dealt =
            |side: &Placement| side.regions().any(|(_, region)| region.as_box().is_none());
        dealt += usize::from(is_dealt(&from.0) || is_dealt(&to.0));
        for (device, tile) in to.0.regions() {
            let shape = to.1.shape(&array, &to.0, device).unwrap().unwrap();
            let given = &moved[&device];
            if to.1.whole_tiles {
                let front = whole(tile.sizes());
                let dense = Shape::new(array.element_type(), tile.sizes(), None).unwrap();
                if !tile.is_empty() {
                    assert_eq!(
                        part(&shape, given, &front, &dense),
                        part(&all, &image, &tile, &dense),
                        "{text}"
                    );
                }
            } else {
                assert_eq!(given, &part(&all, &image, &tile, &shape), "{text}, device {device}");
            }
            shards += 1;
            bytes += given.len();
        }
    }
    println!(
        "{count} pairs, {staged} of them staged, {dealt} with blocks dealt out: {shards} shards of {bytes} bytes"
    );
    assert!(dealt * 8 > count);
}

/// Returns the bytes of a source's shard. If the shard is a whole tile, the rest of the tile is
/// random.
fn shard(
    array: &Shape,
    image: &[u8],
    region: &Region,
    shape: &Shape,
    whole_tile: bool,
    random: &mut Random,
) -> Vec<u8> {
    if !whole_tile {
        return part(array, image, region, shape);
    }
    let sizes: Vec<u64> = shape.dimensions().iter().map(|size| size.bound().unwrap()).collect();
    let dense = dense(array, sizes.iter().copied());
    let tensor = Tensor::try_from(dense.clone()).unwrap();
    let descriptor = tensor.descriptor();
    let mut noise: Vec<u8> =
        (0..descriptor.image_bytes()).map(|_| u8::try_from(random.below(2)).unwrap()).collect();
    collect(array, image, region, &dense, &mut noise);
    part(&dense, &noise, &whole(sizes), shape)
}
