//! The message of a plan is enough for another transport. The test moves an array by
//! `stridec.ReshardPlan` alone.

use std::collections::BTreeMap;

use stridec::{
    proto::stridec::{
        ReshardPlan,
        reshard_plan::{Box, Ranges, Shard},
    },
    reshard::plan,
    shape::Shape,
    sharding::Sharding,
};

/// Returns the coordinates along each dimension, from a box or from the ranges that replace the
/// box.
fn coordinates(of_box: Option<&Box>, ranges: &[Ranges]) -> Vec<Vec<u64>> {
    let list = |start: &[u64], limit: &[u64]| {
        start.iter().zip(limit).flat_map(|(&start, &limit)| start..limit).collect::<Vec<_>>()
    };
    match of_box {
        Some(of_box) => {
            assert!(ranges.is_empty());
            let dimensions = of_box.start.iter().zip(&of_box.limit);
            dimensions.map(|(&start, &limit)| list(&[start], &[limit])).collect()
        }
        None => ranges.iter().map(|ranges| list(&ranges.start, &ranges.limit)).collect(),
    }
}

/// Returns the offsets of the elements of a part, in a dense row-major shard.
fn places(part: &[Vec<u64>], shard: &[Vec<u64>]) -> Vec<usize> {
    let mut places = vec![0];
    for (part, shard) in part.iter().zip(shard) {
        let along: Vec<usize> =
            part.iter().map(|coordinate| shard.binary_search(coordinate).unwrap()).collect();
        let row = |before: &usize| {
            let start = before * shard.len();
            along.iter().map(move |place| start + place).collect::<Vec<_>>()
        };
        places = places.iter().flat_map(row).collect();
    }
    places
}

#[test]
fn the_message_of_a_plan_is_enough_to_move_an_array() {
    let shape: Shape = "u16[23,17]".parse().unwrap();
    let whole: Vec<u16> = (0..23 * 17).collect();
    let all = [(0..23).collect::<Vec<u64>>(), (0..17).collect()];
    let sides = [
        "{devices=[2,2]<=[4] blocks=[5,3]}",
        "{devices=[2,3]<=[3,2]T(1,0) blocks=[2,4]}",
        "{devices=[1,4,2]<=[8] last_tile_dim_replicate blocks=[9,1]}",
        "{devices=[4,1]<=[4]}",
    ];
    let sides = sides.map(|text| text.parse::<Sharding>().unwrap().place(&shape, None).unwrap());
    for from in &sides {
        for to in &sides {
            let message = ReshardPlan::from(&plan(&shape, from, to).unwrap());
            let shards = |side: &[Shard]| {
                let shard = |of: &Shard| (of.device, coordinates(of.r#box.as_ref(), &of.ranges));
                side.iter().map(shard).collect::<BTreeMap<_, _>>()
            };
            let (sources, destinations) = (shards(&message.from), shards(&message.to));
            let of_whole = |shard: &Vec<Vec<u64>>| -> Vec<u16> {
                places(shard, &all).into_iter().map(|place| whole[place]).collect()
            };
            let mut moved: BTreeMap<u64, Vec<u16>> = BTreeMap::new();
            for transfer in message.transfers.iter().chain(&message.copies) {
                let part = coordinates(transfer.r#box.as_ref(), &transfer.ranges);
                let (source, shard) = (&sources[&transfer.from], &destinations[&transfer.to]);
                let image = of_whole(source);
                let length = shard.iter().map(Vec::len).product();
                let destination = moved.entry(transfer.to).or_insert_with(|| vec![9999; length]);
                let (from, to) = (places(&part, source), places(&part, shard));
                assert_eq!(transfer.bytes, 2 * from.len() as u64);
                for (from, to) in from.into_iter().zip(to) {
                    destination[to] = image[from];
                }
            }
            for (device, shard) in &destinations {
                assert_eq!(moved[device], of_whole(shard), "device {device}");
            }
        }
    }
}
