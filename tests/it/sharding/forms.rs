//! All forms of a sharding agree, and give every device its box.

use serde_json::Value;
use stridec::{
    ErrorKind,
    shape::Shape,
    sharding::{NotWhole, Sharding, parse_shardy},
};

use super::{
    base64,
    cases::{cases, placed, proto, ranges, text},
};

/// The box of every device, and the tile's shape.
fn check_boxes(sharding: &Sharding, record: &Value) {
    let shape: Shape = record["shape"].as_str().unwrap().parse().unwrap();
    let placement = sharding.place(&shape, record["num_devices"].as_u64());
    if record["devices"].is_null() {
        assert_eq!(placement.unwrap_err().kind(), ErrorKind::Unsupported, "{sharding}");
        return;
    }
    let placement = placement.unwrap_or_else(|error| panic!("{sharding}: {error}"));
    assert_eq!(placed(&placement), ranges(&record["devices"]), "{sharding}");
    if let Some(tile) = record["tile_shape"].as_array() {
        let tile: Vec<u64> = tile.iter().map(|side| side.as_u64().unwrap()).collect();
        assert_eq!(placement.tile_shape(), tile, "{sharding}");
    }
}

#[test]
fn every_form_reads_to_the_same_sharding() {
    let (mut shardings, mut forms, mut boxes) = (0, 0, 0);
    for record in cases("sharding") {
        let sharding = text(&record, "sharding");
        let bytes = base64::decode(record["proto_b64"].as_str().unwrap());
        assert_eq!(Sharding::decode(&bytes).unwrap(), sharding);
        assert_eq!(sharding.encode().unwrap(), bytes, "{sharding}");
        check_boxes(&sharding, &record);
        let given: Vec<&str> = sharding.not_whole().into_iter().map(NotWhole::name).collect();
        let expected = record["not_whole"].as_array();
        let expected: Vec<&str> =
            expected.into_iter().flatten().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(given, expected, "{sharding}");
        boxes += record["devices"].as_object().map_or(0, serde_json::Map::len);
        for also in record["also"].as_array().unwrap() {
            let mut read = Vec::new();
            if let Some(text) = also["sharding"].as_str() {
                read.push(
                    text.parse::<Sharding>().unwrap_or_else(|error| panic!("{text}: {error}")),
                );
            }
            read.extend(proto(also, "proto_b64"));
            if let Some(text) = also["sdy"].as_str() {
                read.push(parse_shardy(text, also["sdy_mesh"].as_str()).unwrap());
            }
            for other in &read {
                assert_eq!(other, &read[0]);
                let again: Sharding = other.to_string().parse().unwrap();
                assert_eq!(&again, other);
                let same = other == &sharding
                    || Some(other) == sharding.as_tiles().as_ref()
                    || other.as_tiles().as_ref() == Some(&sharding)
                    || other.as_list() == sharding.as_list();
                assert!(same, "{other} for {sharding}");
                check_boxes(other, &record);
                forms += 1;
            }
        }
        shardings += 1;
    }
    println!("{shardings} shardings, {forms} other forms of them, {boxes} boxes");
    assert_eq!((shardings, boxes), (89, 897));
}

#[test]
fn the_leaves_of_tuples() {
    let tuples = cases("tuple");
    for record in &tuples {
        let sharding = text(record, "sharding");
        assert_eq!(proto(record, "proto_b64").as_ref(), Some(&sharding));
        let bytes = base64::decode(record["proto_b64"].as_str().unwrap());
        assert_eq!(sharding.encode().unwrap(), bytes);
        let leaves = sharding.leaves().unwrap();
        let expected = record["leaves"].as_array().unwrap();
        assert_eq!(leaves.len(), expected.len());
        for (leaf, record_of_leaf) in leaves.iter().zip(expected) {
            assert_eq!(leaf.to_string(), record_of_leaf["sharding"].as_str().unwrap());
            let mut of_leaf = record_of_leaf.clone();
            of_leaf["num_devices"] = record["num_devices"].clone();
            check_boxes(leaf, &of_leaf);
        }
        let shape = record["shape"].as_str().unwrap().parse().unwrap();
        assert!(sharding.place(&shape, record["num_devices"].as_u64()).is_err());
    }
    println!("{} tuples", tuples.len());
    assert_eq!(tuples.len(), 5);
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let records = cases("invalid");
    for record in &records {
        let read = match record["sharding"].as_str() {
            Some(text) => text.parse(),
            None => Sharding::decode(&base64::decode(record["proto_b64"].as_str().unwrap())),
        };
        let shape: Shape = record["shape"].as_str().unwrap().parse().unwrap();
        let placed = read
            .and_then(|sharding: Sharding| sharding.place(&shape, record["num_devices"].as_u64()));
        let error = placed.expect_err(&record.to_string());
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        println!("{}: {error}", record["why"].as_str().unwrap());
    }
    assert_eq!(records.len(), 25);
}
