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

/// Checks the box of every device, and the shape of the tile.
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

/// The newest texts that the parsers of XLA and Shardy read.
#[test]
fn newest_texts_are_read_as_their_systems_read_them() {
    for (text, printed) in [
        ("{mesh['x'=2,'y'=2] [{'x'}, {'y'}]}", "{mesh['x'=2,'y'=2], [{'x'}, {'y'}]}"),
        (
            "{mesh['x'=2,'y'=2], device_ids=(3,2,1,0) [{'x'}, {'y'}]}",
            "{mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{'x'}, {'y'}]}",
        ),
        ("{mesh['x'=2] replicated}", "{mesh['x'=2], replicated}"),
        ("{mesh[], [{}, {}]}", "{mesh[], [{}, {}]}"),
        ("{mesh[], [{?}, {}]}", "{mesh[], [{?}, {}]}"),
        ("{mesh[], replicated}", "{mesh[], replicated}"),
        ("<mesh<[]>, [{}, {}]>", "{mesh[], [{}, {}]}"),
        ("<mesh<[\"x\"=2], device_ids=[0, 1]>, [{\"x\"}]>", "{mesh['x'=2], [{'x'}]}"),
        ("<mesh<[\"x\"=2]>, [{\"x\"}p10, {?}p0]>", "{mesh['x'=2], [{'x'}, {?}]}"),
        (
            "{mesh['x'=2,'y'=2], [{'x'}], unreduced=max{'y'}}",
            "{mesh['x'=2,'y'=2], [{'x'}], unreduced=max{'y'}}",
        ),
        (
            "<mesh<[\"x\"=2, \"y\"=2]>, [{\"x\"}], unreduced=sum{\"y\"}>",
            "{mesh['x'=2,'y'=2], [{'x'}], unreduced={'y'}}",
        ),
        ("{mesh['x'=2], unreduced=min}", "{mesh['x'=2], unreduced=min}"),
        ("{mesh['x'=2], unreduced}", "{mesh['x'=2], unreduced}"),
        ("{mesh['x'=2], unreduced=max{'x'}}", "{mesh['x'=2], unreduced=max}"),
    ] {
        let sharding: Sharding = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(sharding.to_string(), printed, "{text}");
        assert_eq!(printed.parse::<Sharding>().as_ref(), Ok(&sharding), "{text}");
        assert_eq!(Sharding::decode(&sharding.encode().unwrap()).as_ref(), Ok(&sharding), "{text}");
    }
    for text in [
        "<mesh<[\"a\"=2]>, [{\"a\"}p01]>",
        "<mesh<[\"a\"=2]>, [{}p1]>",
        "<mesh<[\"a\"=2]>, [{\"a\"}p]>",
        "<mesh<[], device_ids=[3]>, [{}]>",
        "{mesh['a'=2], [{'a'}p1]}",
        "{mesh['a'=2], device_ids=(0,1), [{'a'}]}",
        "{mesh['a'=2], [{'a'}], unreduced=avg{'a'}}",
        "{mesh['a'=2], unreduced={'a'}}",
        "{maximal_mesh[device_id=3], [{}]}",
    ] {
        assert!(text.parse::<Sharding>().is_err(), "{text}");
    }
    let placed = |text: &str, shape: &str| {
        let sharding: Sharding = text.parse().unwrap();
        sharding.place(&shape.parse().unwrap(), Some(2)).map(|placement| placement.tile(1))
    };
    assert!(placed("{mesh[], [{}, {}]}", "f32[2,3]").unwrap().is_some());
    assert!(placed("{mesh[], [{}, {}]}", "f32[2,3,4]").is_err());
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
