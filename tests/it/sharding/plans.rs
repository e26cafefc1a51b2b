//! Plans. Every element of every destination arrives once, no device receives an element that it
//! has already, and the fewest possible bytes are sent.

use std::collections::BTreeMap;

use serde_json::Value;
use stridec::{
    ErrorKind,
    reshard::{RankPlan, ReshardPlan, Transfer, plan, rank_plan, rounds},
    shape::Shape,
    sharding::{Placement, Region, Sharding, TileBox},
};

use super::cases::{cases, list, proto, text};

fn placements(record: &Value, shape: &Shape) -> [Placement; 2] {
    ["from", "to"].map(|side| {
        let sharding = text(record, side);
        assert_eq!(proto(record, &format!("{side}_proto_b64")).unwrap(), sharding);
        sharding.place(shape, record[format!("{side}_devices")].as_u64()).unwrap()
    })
}

/// A tile that a destination needs, with its holders, its box, and the number of its elements that
/// the plan sends.
struct Wanted {
    holders: Vec<u64>,
    region: Region,
    found: u64,
}

#[test]
fn plans_are_those_of_the_cases() {
    let (mut plans, mut transfers, mut split) = (0, 0, 0);
    for record in cases("reshard") {
        let name = record["name"].as_str().unwrap();
        let shape: Shape = record["shape"].as_str().unwrap().parse().unwrap();
        let [from, to] = placements(&record, &shape);
        let plan = plan(&shape, &from, &to).unwrap();
        let mut wanted: BTreeMap<u64, Vec<Wanted>> = BTreeMap::new();
        for transfer in record["transfers"].as_array().unwrap() {
            let holders = transfer[1].as_array().unwrap().iter();
            wanted.entry(transfer[0].as_u64().unwrap()).or_default().push(Wanted {
                holders: holders.map(|holder| holder.as_u64().unwrap()).collect(),
                region: Region::from(&TileBox::new(list(&transfer[2])).unwrap()),
                found: 0,
            });
        }
        for Transfer { from, to, region } in plan.transfers() {
            let of_device = wanted.get_mut(to).into_iter().flatten();
            let mut within =
                of_device.filter(|wanted| wanted.region.intersection(region).is_some());
            let wanted = within.next().unwrap_or_else(|| panic!("{name}: {region} to {to}"));
            assert_eq!(wanted.region.intersection(region).as_ref(), Some(region), "{name}");
            assert!(wanted.holders.contains(from), "{name}");
            wanted.found += region.elements();
            assert!(within.next().is_none());
        }
        for (device, wanted) in wanted {
            for Wanted { region, found, .. } in wanted {
                assert_eq!(found, region.elements(), "{name}: {region} to {device}");
            }
        }
        let bytes = |field: &str| u128::from(record[field].as_u64().unwrap());
        let (cost, bounds) = (plan.cost(), plan.bounds());
        assert_eq!(bounds.total_bytes, bytes("total_bytes"), "{name}");
        assert_eq!(bounds.receive_bytes, bytes("receive_bytes"), "{name}");
        assert_eq!(bounds.send_bytes, bytes("send_bytes"), "{name}");
        check(&plan);
        plans += 1;
        let given = record["transfers"].as_array().unwrap().len();
        transfers += given;
        split += plan.transfers().len() - given;
        assert!(cost.send_bytes * 100 <= bounds.send_bytes * 101, "{name}");
    }
    println!("{plans} plans of {transfers} transfers, {split} more where boxes are split");
    assert_eq!(plans, 217);
}

/// Checks the laws of a plan, from the plan alone. They hold for all placements in which each
/// device has one tile.
fn check(plan: &ReshardPlan) {
    let (cost, bounds) = (plan.cost(), plan.bounds());
    // A sender may exceed its bound by 1%. If its share is small, the share must be exact.
    assert!(cost.send_bytes * 100 <= bounds.send_bytes * 101, "{cost:?} {bounds:?}");
    check_arrivals(plan);
}

/// Checks that every element arrives once, and that no transfer is unnecessary.
fn check_arrivals(plan: &ReshardPlan) {
    let (cost, bounds) = (plan.cost(), plan.bounds());
    assert_eq!((cost.total_bytes, cost.receive_bytes), (bounds.total_bytes, bounds.receive_bytes));
    let mut sent: BTreeMap<u64, u128> = BTreeMap::new();
    for Transfer { from, region, .. } in plan.transfers() {
        *sent.entry(*from).or_default() += u128::from(plan.bytes(region));
    }
    assert_eq!(cost.send_bytes, sent.into_values().max().unwrap_or(0));
    let mut arrived: BTreeMap<u64, Vec<&Region>> = BTreeMap::new();
    for Transfer { from, to, region } in plan.transfers().iter().chain(plan.copies()) {
        let own = plan.from().region(*from).unwrap();
        assert_eq!(own.intersection(region).as_ref(), Some(region));
        arrived.entry(*to).or_default().push(region);
    }
    for Transfer { to, region, .. } in plan.transfers() {
        assert!(plan.from().region(*to).is_none_or(|own| own.intersection(region).is_none()));
    }
    for (device, tile) in plan.to().regions() {
        let boxes = arrived.remove(&device).unwrap_or_default();
        let elements: u64 = boxes.iter().map(|region| region.elements()).sum();
        assert_eq!(elements, tile.elements());
        if boxes.len() < 100 {
            for (at, region) in boxes.iter().enumerate() {
                assert_eq!(tile.intersection(region).as_ref(), Some(*region));
                assert!(boxes[..at].iter().all(|other| other.intersection(region).is_none()));
            }
        }
    }
    assert!(arrived.is_empty());
    check_parts(plan);
}

/// The parts of the devices are the parts of the plan, and their rounds move the same elements.
fn check_parts(plan: &ReshardPlan) {
    let devices = plan.from().devices().max(plan.to().devices());
    let mut parts: Vec<RankPlan> = Vec::new();
    for device in 0..devices {
        let part = rank_plan(plan.from(), plan.to(), device).unwrap();
        let of = |of: &dyn Fn(&&Transfer) -> bool| -> Vec<Transfer> {
            plan.transfers().iter().filter(of).cloned().collect()
        };
        assert_eq!(part.sends, of(&|transfer| transfer.from == device));
        assert_eq!(part.receives, of(&|transfer| transfer.to == device));
        let copy = plan.copies().iter().find(|copy| copy.to == device);
        assert_eq!(part.copy.as_ref(), copy.map(|copy| &copy.region));
        parts.push(part);
    }
    if plan.transfers().len() > 200 {
        return;
    }
    let bytes = plan.element_bytes();
    let greatest = plan.transfers().iter().map(|transfer| plan.bytes(&transfer.region)).max();
    for staging in [2 * bytes.max(greatest.unwrap_or(0) / 16), greatest.unwrap_or(0) + 2 * bytes] {
        let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
        for (device, part) in (0..).zip(&parts) {
            for round in rounds(part, device, devices, bytes, staging).unwrap() {
                let in_flight = round.sends.iter().chain(&round.receives);
                let total: u64 = in_flight.map(|transfer| plan.bytes(&transfer.region)).sum();
                assert!(total <= staging, "{total} of {staging}");
                let partners = |list: &[Transfer]| {
                    list.windows(2).all(|w| (w[0].from, w[0].to) == (w[1].from, w[1].to))
                };
                assert!(partners(&round.sends) && partners(&round.receives));
                for (pieces, list) in [(&mut sent, round.sends), (&mut received, round.receives)] {
                    for piece in list {
                        let key = (round.number, piece.from, piece.to);
                        pieces.entry(key).or_insert_with(Vec::new).push(piece.region);
                    }
                }
            }
        }
        assert_eq!(sent, received);
        let moved = sent.values().flatten().map(Region::elements).sum::<u64>();
        assert_eq!(u128::from(moved * bytes), plan.cost().total_bytes);
    }
}

#[test]
fn balanced_boxes_and_odd_splits() {
    let shape: Shape = "f32[103,7]".parse().unwrap();
    let rows = |cuts: &[u64], copies: u64| {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ranges: Vec<(u64, u64)> = starts.zip(cuts.iter().copied()).collect();
        let boxes = (0..).zip(ranges).flat_map(|(at, range)| {
            let region = TileBox::new([range, (0, 7)]).unwrap();
            (0..copies).map(move |copy| (at * copies + copy, region.clone()))
        });
        Sharding::boxes(boxes.collect::<Vec<_>>()).unwrap().place(&shape, None).unwrap()
    };
    let xla = |text: &str| text.parse::<Sharding>().unwrap().place(&shape, None).unwrap();
    let sides = [
        rows(&[26, 52, 78, 103], 1),
        rows(&[10, 11, 103], 5),
        rows(&[103], 3),
        xla("{devices=[1,7]<=[7]}"),
        xla("{devices=[5,1,3]<=[3,5]T(1,0) last_tile_dim_replicate}"),
        xla("{devices=[2,1,6]<=[12] last_tile_dim_replicate}"),
        xla("{devices=[1,2,6]11,10,9,8,7,6,5,4,3,2,1,0 last_tile_dim_replicate}"),
    ];
    for from in &sides {
        for to in &sides {
            check(&plan(&shape, from, to).unwrap());
        }
    }
}

/// Blocks that are dealt out in turn, resharded to and from each other and all other shardings.
#[test]
fn blocks_that_are_dealt_out() {
    let shape: Shape = "f64[103,70]".parse().unwrap();
    let sides = [
        "{devices=[2,2]<=[4] blocks=[36,36]}",
        "{devices=[2,2]<=[2,2]T(1,0) blocks=[16,8]}",
        "{devices=[3,2]<=[6] blocks=[5,9]}",
        "{devices=[1,4]<=[4] blocks=[1,1]}",
        "{devices=[4,1]3,1,2,0 blocks=[200,1]}",
        "{devices=[5,2,3]<=[30] last_tile_dim_replicate blocks=[7,11]}",
        "{devices=[2,1]<=[2]}",
        "{devices=[1,3,4]<=[12] last_tile_dim_replicate}",
        "{maximal device=1}",
        "{replicated}",
    ];
    let sides = sides.map(|text| {
        let sharding: Sharding = text.parse().unwrap();
        sharding.place(&shape, sharding.devices().is_none().then_some(4)).unwrap()
    });
    for from in &sides {
        for to in &sides {
            check(&plan(&shape, from, to).unwrap());
        }
    }
    // Each pair of ranks has one message, for any number of blocks.
    let plan = plan(&shape, &sides[0], &sides[1]).unwrap();
    assert_eq!((plan.transfers().len(), plan.copies().len()), (12, 4));
    let first = &plan.transfers()[0].region;
    assert_eq!(first.to_string(), "[0,16)∪[32,36)∪[72,80)∪[96,103)×[8,16)∪[24,32)");
}

/// Parts that are lists of ranges, which may overlap: fused projections of attention, and halos.
#[test]
fn parts_of_lists_of_ranges() {
    let shape: Shape = "f32[32,6]".parse().unwrap();
    let parts = |rows: &[&[(u64, u64)]]| {
        let regions = (0..).zip(rows).map(|(device, rows)| {
            (device, Region::from_ranges([rows.to_vec(), vec![(0, 6)]]).unwrap())
        });
        Sharding::regions(regions).unwrap().place(&shape, None).unwrap()
    };
    let xla = |text: &str| text.parse::<Sharding>().unwrap().place(&shape, None).unwrap();
    let sides = [
        // 16 query heads, 8 key heads and 8 value heads, on two devices and on four.
        parts(&[&[(0, 8), (16, 20), (24, 28)], &[(8, 16), (20, 24), (28, 32)]]),
        parts(&[
            &[(0, 4), (16, 18), (24, 26)],
            &[(4, 8), (18, 20), (26, 28)],
            &[(8, 12), (20, 22), (28, 30)],
            &[(12, 16), (22, 24), (30, 32)],
        ]),
        // There are more devices than halves of the keys, so two devices share each half.
        parts(&[
            &[(0, 4), (16, 20), (24, 28)],
            &[(4, 8), (16, 20), (24, 28)],
            &[(8, 12), (20, 24), (28, 32)],
            &[(12, 16), (20, 24), (28, 32)],
        ]),
        // Rows with halos of two rows.
        parts(&[&[(0, 10)], &[(6, 18)], &[(14, 26)], &[(22, 32)]]),
        // A device without rows.
        parts(&[&[(0, 1), (3, 32)], &[], &[(1, 3)]]),
        xla("{devices=[4,1]<=[4]}"),
        xla("{devices=[2,3]<=[6]}"),
        xla("{devices=[2,1]<=[2] blocks=[3,1]}"),
        xla("{devices=[1,2,3]<=[6] last_tile_dim_replicate}"),
    ];
    for from in &sides {
        for to in &sides {
            check_arrivals(&plan(&shape, from, to).unwrap());
        }
    }
    // From two devices to four. Each device keeps the elements that it has already.
    let halves = plan(&shape, &sides[0], &sides[1]).unwrap();
    assert_eq!((halves.transfers().len(), halves.copies().len()), (3, 1));
    assert_eq!(halves.transfers()[0].region.to_string(), "[4,8)∪[18,20)∪[26,28)×[0,6)");
}

#[test]
fn what_is_no_movement_of_data_is_refused() {
    let records = cases("refused");
    for record in &records {
        let shape: Shape = record["shape"].as_str().unwrap().parse().unwrap();
        let [from, to] = ["from", "to"].map(|side| {
            text(record, side).place(&shape, record[format!("{side}_devices")].as_u64())
        });
        let planned = from.and_then(|from| plan(&shape, &from, &to?));
        let error = planned.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        println!("{}: {error}", record["why"].as_str().unwrap());
    }
    assert_eq!(records.len(), 3);
    let shape: Shape = "f32[4]".parse().unwrap();
    let many: Sharding = "{devices=[99999999]<=[99999999]}".parse().unwrap();
    let many = many.place(&shape, None).unwrap();
    let error = plan(&shape, &many, &many).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(rank_plan(&many, &many, 3).is_err());
}
