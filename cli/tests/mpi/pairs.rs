//! Pairs of shardings and layouts: each rank writes its part of the whole.

use stridec::{
    Operation, Tensor,
    reshard::Shards,
    shape::{Layout, Shape},
    sharding::{Placement, Region, Sharding},
    window::Slice,
};

use crate::launcher::Launcher;

/// Shardings over four ranks, by name.
const SHARDINGS: [(&str, &str); 12] = [
    ("rows", "{devices=[4,1]<=[4]}"),
    ("columns", "{devices=[1,4]<=[4]}"),
    ("squares", "{devices=[2,2]<=[4]}"),
    ("crossed", "{devices=[2,2]<=[2,2]T(1,0)}"),
    ("copies", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
    ("listed", "{devices=[4,1]2,0,3,1}"),
    ("maximal-2", "{maximal device=2}"),
    ("maximal-3", "{maximal device=3}"),
    ("36-blocks", "{devices=[2,2]<=[4] blocks=[36,36]}"),
    ("7-rows", "{devices=[4,1]<=[4] blocks=[7,1]}"),
    ("16-blocks", "{devices=[2,2]<=[2,2]T(1,0) blocks=[16,8]}"),
    ("named", "{mesh['x'=2,'y'=2], [{}, {'y', 'x'}]}"),
];

/// A line for each pair: the array, both shardings, both layouts, `-` for the array's layout, and
/// further arguments.
const PAIRS: &str = "\
f32[64,96]    rows     columns  -      -
f32[64,96]    rows     columns  -      {0,1}
f32[64,96]    rows     columns  {0,1}  -
f32[64,96]    rows     columns  {0,1}  {0,1}
# Runs of 2 KiB: vectors of MPI, on both sides, and in pieces.
f32[64,4096]  squares  rows     -      -
f32[64,4096]  rows     columns  -      -
f32[64,4096]  columns  squares  -      -      --staging 20000
f32[2048,48]  rows     columns  -      {0,1}
f64[2048,48]  columns  rows     {0,1}  -      --staging 64KiB
f32[8,6,512]  {devices=[2,2,1]<=[4]}  {devices=[1,2,2]<=[4]}  -  -
f32[8,6,512]  {devices=[2,1,2]<=[4]}  {devices=[2,2,1]<=[4]}  -  {2,0,1}
# Uneven, with short and empty tiles.
bf16[9,7]     rows     columns  -      -
bf16[5,3]     squares  listed   {0,1}  -      --staging 8
u8[3,300]     rows     squares  -      -      --shards tile
u8[301,5]     crossed  rows     {0,1}  -      --shards tile
f32[0,6]      rows     columns  -      -
f32[]         {replicated}  maximal-3  -  -   --devices 4
# Copies, one device, and fewer devices on a side.
f32[64,96]    copies   columns  -      -
f32[64,96]    named    copies   -      {0,1}
f32[40,24]    {replicated}  rows  -    -      --devices 4
f32[40,24]    maximal-2  {replicated}  -  -   --devices 4
f32[40,24]    rows     {devices=[1,3]<=[3]}  -  -
f32[40,24]    {devices=[1,3]<=[3]}  crossed  -  {0,1}  --staging 100
# Blocks that are dealt out, in short runs, in pieces, and in long runs.
f64[130,100]  36-blocks  16-blocks  {0,1}  {0,1}
f64[130,100]  36-blocks  rows     -      {0,1}  --staging 2000
f32[33,70]    columns  16-blocks  {1,0:T(4,3)}  {1,0:T(2,4)}
f32[300,512]  7-rows   36-blocks  -      -
# Tiles, and packed elements.
bf16[64,256]  rows     columns  -      {1,0:T(8,128)(2,1)}
f32[50,200]   squares  rows     {1,0:T(8,128)}  -
f32[33,70]    rows     crossed  {1,0:T(4,3)}  {0,1:T(2,4)}  --staging 1KiB
u4[64,96]     rows     columns  {1,0:E(4)}  {0,1:E(4)}
u4[15,31]     squares  rows     {1,0:E(4)}  -
u4[64,96]     columns  squares  -      {1,0:T(8,16)E(4)}
c128[24,20]   listed   named    {0,1}  -      --staging 256
";

struct Pair {
    shape: &'static str,
    shardings: [&'static str; 2],
    layouts: [Option<&'static str>; 2],
    more: Vec<&'static str>,
}

fn pairs() -> Vec<Pair> {
    let lines = PAIRS.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap();
        let sharding = |word: &'static str| {
            let named = SHARDINGS.iter().find(|(name, _)| *name == word);
            named.map_or(word, |(_, sharding)| sharding)
        };
        let layout = |word: &'static str| (word != "-").then_some(word);
        Pair {
            shape: word(),
            shardings: [word(), word()].map(sharding),
            layouts: [word(), word()].map(layout),
            more: words.collect(),
        }
    });
    pairs.collect()
}

struct Side {
    placement: Placement,
    shards: Shards,
}

impl Side {
    fn new(array: &Shape, sharding: &str, layout: Option<&str>, more: &[&str]) -> Self {
        let sharding: Sharding = sharding.parse().unwrap();
        let devices = more.contains(&"--devices").then_some(4);
        let layout = layout.map(|layout| layout.parse::<Layout>().unwrap());
        let whole_tiles = more.contains(&"tile");
        let placement = sharding.place(array, devices).unwrap();
        Self { placement, shards: Shards { layout, whole_tiles } }
    }

    /// The image of a device's shard: its box of the array, and zeros.
    fn image(&self, array: &Shape, whole: &[u8], device: u64) -> Option<Vec<u8>> {
        let shape = self.shards.shape(array, &self.placement, device).unwrap()?;
        let region = self.placement.region(device).unwrap();
        let part = part(array, whole, &region);
        if !self.shards.whole_tiles || region.is_empty() {
            let tensor = Tensor::try_from(shape).unwrap();
            let bytes = tensor.descriptor().image_bytes();
            if region.is_empty() {
                return Some(vec![0; usize::try_from(bytes).unwrap()]);
            }
            let dense = Tensor::dense(array.element_type(), region.sizes()).unwrap();
            return Some(run(&Operation::relayout(dense, tensor).unwrap(), &part));
        }
        // The rows of a whole tile, which are bytes here, have a pitch of their own.
        let sizes: Vec<u64> = region.sizes().collect();
        let tensor = Tensor::try_from(shape).unwrap();
        let tensor = tensor.descriptor();
        let mut image = vec![0; usize::try_from(tensor.image_bytes()).unwrap()];
        for (number, byte) in (0..).zip(&part) {
            let place = tensor.offset(&[number / sizes[1], number % sizes[1]]).unwrap();
            image[usize::try_from(place).unwrap()] = *byte;
        }
        Some(image)
    }
}

/// A part of the array, dense.
fn part(array: &Shape, whole: &[u8], region: &Region) -> Vec<u8> {
    if region.is_empty() {
        return Vec::new();
    }
    let sizes: Vec<u64> = region.sizes().collect();
    if let Some(tile) = region.as_box() {
        let starts: Vec<u64> = tile.ranges().iter().map(|(start, _)| *start).collect();
        let ones = vec![1; sizes.len()];
        let slice = Slice::new(starts, sizes, ones);
        return run(
            &Operation::slice(array.clone().try_into().unwrap(), &slice, None).unwrap(),
            whole,
        );
    }
    // Row by row, range by range, of matrices whose elements are whole bytes.
    let [rows, columns] = &region.dimensions().collect::<Vec<_>>()[..] else { panic!("a matrix") };
    let [_, width] = array.dimensions() else { panic!("a matrix") };
    let width = usize::try_from(width.bound().unwrap()).unwrap();
    let bytes = usize::try_from(array.element_type().storage_bits().unwrap() / 8).unwrap();
    let mut part = Vec::new();
    for row in rows.iter().flat_map(|&(start, limit)| start..limit) {
        for &(start, limit) in *columns {
            let at = |column| {
                let [row, column] = [row, column].map(|at| usize::try_from(at).unwrap());
                (row * width + column) * bytes
            };
            part.extend_from_slice(&whole[at(start)..at(limit)]);
        }
    }
    part
}

fn run(operation: &Operation, source: &[u8]) -> Vec<u8> {
    let bytes = operation.destination_descriptor().image_bytes();
    let mut image = vec![0xaa; usize::try_from(bytes).unwrap()];
    operation.run_on_host(source, &mut image).unwrap();
    image
}

fn check(launcher: &Launcher, Pair { shape, shardings: [from, to], layouts, more }: &Pair) {
    let array: Shape = shape.parse().unwrap();
    let bytes = Tensor::try_from(array.clone()).unwrap().descriptor().image_bytes();
    let low = if shape.starts_with("u4") { 15 } else { 255 };
    let mut state = 1_u32;
    let whole: Vec<u8> = (0..bytes)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 & low
        })
        .collect();
    let source = Side::new(&array, from, layouts[0], more);
    let destination = Side::new(&array, to, layouts[1], more);
    for device in 0..4 {
        if let Some(image) = source.image(&array, &whole, device) {
            launcher.write(&format!("x.{device}.bin"), image);
        }
    }
    let mut args = vec!["--shape", shape, "--from", from, "--to", to];
    args.extend(["-i", "x.{rank}.bin", "-o", "y.{rank}.bin"]);
    for (flag, layout) in ["--from-layout", "--to-layout"].into_iter().zip(layouts) {
        if let Some(layout) = layout {
            args.extend([flag, layout]);
        }
    }
    args.extend(more);
    let ran = launcher.run(&args);
    assert!(ran.success, "{args:?}: {}", ran.stderr);
    let mut expected = Vec::new();
    for device in 0..4 {
        if let Some(image) = destination.image(&array, &whole, device) {
            let name = format!("y.{device}.bin");
            assert!(launcher.read(&name) == image, "{args:?}: rank {device} has other bytes");
            expected.push(name);
        }
    }
    let outputs = launcher.names().into_iter().filter(|name| !name.starts_with('x'));
    assert_eq!(outputs.collect::<Vec<_>>(), expected, "{args:?}");
    for name in launcher.names() {
        std::fs::remove_file(launcher.path(&name)).unwrap();
    }
}

#[test]
fn ranks_write_their_parts_of_the_whole() {
    let Some(launcher) = Launcher::find() else { return };
    let pairs = pairs();
    assert_eq!(pairs.len(), 34);
    for pair in &pairs {
        check(&launcher, pair);
    }
}

/// The pairs that show if another MPI works too.
#[test]
fn a_few_pairs() {
    let Some(launcher) = Launcher::find() else { return };
    let pairs = pairs();
    for number in [1, 4, 7, 10, 23, 29] {
        check(&launcher, &pairs[number]);
    }
}
