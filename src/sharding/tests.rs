//! Tests of shardings. Some texts describe more devices than fit in memory, to test that such texts
//! are refused quickly.

use super::*;

fn refused(text: &str) -> String {
    text.parse::<Sharding>().unwrap_err().to_string()
}

#[test]
fn hostile_sizes_cost_no_more_than_their_text() {
    assert!(refused("{devices=[4294967296,4294967296]<=[4]}").contains("fewer than 2^63 devices"));
    assert!(
        refused("{devices=[0]<=[0]}")
            .contains("tile_assignment_dimensions[0]: expected at least 1")
    );
    for text in [
        "{devices=[4611686018427387904]<=[4611686018427387904]}",
        "{devices=[99999999]<=[99999999]}",
        "{devices=[2147483648,2147483648]<=[2147483648,2147483648]T(1,0)}",
        "{mesh['a'=4611686018427387904], [{'a':(2)4}]}",
    ] {
        let sharding: Sharding = text.parse().unwrap();
        assert_eq!(sharding.to_string(), text);
        assert_eq!(sharding.as_list(), None);
        let placement = sharding.place(&"u8[3]".parse().unwrap(), None);
        if let Ok(placement) = placement {
            let last = placement.devices() - 1;
            let tile = placement.tile(last).unwrap();
            assert!(tile.is_empty() || tile.to_string() == "[2,3)", "{tile}");
        }
    }
    // No transposition expresses the canonical order of these copies, so the devices would have to
    // be listed. There are too many for a list: 3·2^41.
    let text = "{devices=[2199023255552,3]<=[3,2199023255552]T(1,0) last_tile_dim_replicate}";
    assert_eq!(text.parse::<Sharding>().unwrap().to_string(), text);
    let text = "{devices=[2199023255552,3]<=[2,3298534883328]T(1,0) last_tile_dim_replicate}";
    assert!(refused(text).contains("need a list"), "{}", refused(text));
}

#[test]
fn hostile_blocks_cost_no_more_than_their_text() {
    for (text, expected) in [
        ("{devices=[2]<=[2] blocks=[0]}", "blocks[0]: expected 1 to 2^63-1 indices, got 0"),
        ("{devices=[2]<=[2] blocks=[-3]}", "blocks[0]: expected 1 to 2^63-1 indices, got -3"),
        ("{devices=[2]<=[2] blocks=[9223372036854775808]}", "a number from -2^63 to 2^63-1"),
        (
            "{devices=[2]<=[2] blocks=[3,4]}",
            "blocks: expected 1 sizes, one for each dimension, got 2",
        ),
        ("{devices=[2,2]<=[5] blocks=[3,4]}", "iota_reshape_dims"),
        ("{replicated blocks=[3]}", "expected devices= where there are blocks"),
        ("{{devices=[2]<=[2] blocks=[3]}}", "expected an array without blocks= in a tuple"),
    ] {
        assert!(refused(text).contains(expected), "{}", refused(text));
    }
    let placed = |text: &str, shape: &str| {
        text.parse::<Sharding>().unwrap().place(&shape.parse().unwrap(), None)
    };
    let error = placed("{devices=[2]<=[2] blocks=[1]}", "u8[4611686018427387904]").unwrap_err();
    assert_eq!(
        error.to_string(),
        "blocks: expected blocks that give all devices at most 16777216 ranges, got 4611686018427387904"
    );
    // A dimension with few blocks, on many devices.
    let many = "{devices=[2,4611686018427387903]<=[9223372036854775806] blocks=[1,4]}";
    assert!(placed(many, "u8[3,9]").is_err());
    let large = "{devices=[2]<=[2] blocks=[4611686018427387904]}";
    let placement = placed(large, "u8[9223372036854775807]").unwrap();
    assert_eq!(placement.tile(1).unwrap().to_string(), "[4611686018427387904,9223372036854775807)");
    let error = placed("{devices=[2]<=[2] blocks=[3]}", "u8[4,4]").unwrap_err().to_string();
    assert!(error.contains("expected 2 dimensions"), "{error}");
}

#[test]
fn blocks_are_printed_and_read_again() {
    for (text, printed) in [
        ("{ blocks = [ 3 , 4 ] devices=[2,1]<=[2] }", "{devices=[2,1]<=[2] blocks=[3,4]}"),
        (
            "{devices=[2,1,2]1,0,3,2 last_tile_dim_replicate blocks=[3,4] shard_as 3}",
            "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate blocks=[3,4] shard_as 3}",
        ),
        ("{devices=[1,1]<=[1] blocks=[3,4]}", "{replicated}"),
    ] {
        let sharding: Sharding = text.parse().unwrap();
        assert_eq!(sharding.to_string(), printed);
        assert_eq!(printed.parse::<Sharding>().unwrap(), sharding);
    }
    let named: Sharding = "{mesh['x'=2,'y'=4], [{'y'}, {'x'}]}".parse().unwrap();
    let cyclic = named.cyclic([3, 4]).unwrap();
    assert_eq!(cyclic.to_string(), "{devices=[4,2]<=[2,4]T(1,0) blocks=[3,4]}");
    assert!(cyclic.encode().unwrap_err().to_string().contains("no such form"));
    assert!((cyclic.as_tiles().is_none() && cyclic.as_list().is_none()));
    assert!(Sharding::maximal(1).cyclic([3]).unwrap_err().to_string().contains("by tiles"));
}

#[test]
fn empty_copies_are_sorted_and_groups_kept() {
    for (text, printed) in [
        (
            "{devices=[2,2]1,0,3,2 last_tile_dim_replicate}",
            "{devices=[2,2]0,1,2,3 last_tile_dim_replicate}",
        ),
        ("{ devices = [ 4 ] <= [ 2 , 2 ] T( 0 , 1 ) }", "{devices=[4]<=[4]}"),
        ("{replicated shard_as 3}", "{replicated shard_as 3}"),
        (
            "{devices=[2]<=[2] shard_like 0 metadata={op_name=\"a}\\\"{\"}}",
            "{devices=[2]<=[2] shard_like 0}",
        ),
        ("{}", "{}"),
        ("{maximal_mesh[device_id=3]}", "{maximal_mesh[device_id=3]}"),
        ("{mesh[], replicated}", "{mesh[], replicated}"),
        ("{mesh[\"it's\"=2], [{\"it's\"}]}", "{mesh[\"it's\"=2], [{\"it's\"}]}"),
        ("{mesh['x'=4], [{'0':(1)2}]}", "{mesh['x'=4], [{'x':(1)2}]}"),
    ] {
        let sharding: Sharding = text.parse().unwrap();
        assert_eq!(sharding.to_string(), printed);
        let again = Sharding::decode(&sharding.encode().unwrap()).unwrap();
        assert_eq!(again, sharding, "{text}");
    }
}

/// Parses the mesh and the sharding in a module that JAX 0.10.2 wrote.
#[test]
fn the_text_of_a_module() {
    let mesh = r#"sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}"#;
    let sharding = parse_shardy(r#"#sdy.sharding<@mesh, [{"x"}, {"y"}]>"#, Some(mesh)).unwrap();
    assert_eq!(sharding.to_string(), "{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}");
    assert!(parse_shardy("<@mesh, []>", None).is_err());
    assert!(parse_shardy("<@m, []>", Some(mesh)).is_err());
    let one: Sharding = "<mesh<[], device_ids=[3]>, []>".parse().unwrap();
    assert_eq!(one.to_string(), "{maximal_mesh[device_id=3]}");
}

#[test]
fn boxes_cover_every_index() {
    let boxes = |boxes: &[(u64, [(u64, u64); 2])]| {
        Sharding::boxes(
            boxes.iter().map(|(device, ranges)| (*device, TileBox::new(*ranges).unwrap())),
        )
    };
    let rows = boxes(&[
        (4, [(0, 3), (0, 2)]),
        (0, [(3, 5), (0, 2)]),
        (2, [(0, 3), (0, 2)]),
        (7, [(5, 5), (0, 2)]),
    ]);
    let placement = rows.unwrap().place(&"u8[5,2]".parse().unwrap(), None).unwrap();
    assert_eq!(placement.devices(), 8);
    assert_eq!(placement.tile(2), placement.tile(4));
    assert!(placement.tile_numbers(7).is_empty() && placement.tile(1).is_none());
    assert_eq!(placement.tile_shape(), [3, 2]);
    for (given, expected) in [
        (&[(0, [(0, 3), (0, 2)]), (1, [(4, 5), (0, 2)])][..], "none with index 3"),
        (&[(0, [(0, 3), (0, 1)]), (1, [(3, 5), (1, 2)])], "none with [0,3)×[1,2)"),
        (&[(0, [(0, 3), (0, 1)]), (0, [(3, 5), (1, 2)])], "0 twice"),
        (&[], "at least one device"),
    ] {
        let error = boxes(given).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn parts_that_overlap_share_tiles() {
    // Each device has separate query heads, and two devices share each key head.
    let parts = [[(0, 2), (8, 9)], [(2, 4), (8, 9)], [(4, 6), (9, 10)], [(6, 8), (9, 10)]];
    let parts = (0..).zip(parts).map(|(device, rows)| {
        (device, Region::from_ranges([rows.to_vec(), vec![(0, 3)]]).unwrap())
    });
    let sharding = Sharding::regions(parts).unwrap();
    let placement = sharding.place(&"u8[10,3]".parse().unwrap(), None).unwrap();
    assert_eq!(placement.tile_count(), 6);
    assert_eq!(placement.tile_numbers(1)[..], [1, 4]);
    assert_eq!((placement.rank_in_tile(1, 4), placement.holders(4).len()), (Some(1), 2));
    assert_eq!(placement.region(1).unwrap().to_string(), "[2,4)∪[8,9)×[0,3)");
    assert_eq!(placement.tile_shape(), [3, 3]);
    assert!(sharding.to_string().starts_with(r#"{"0": [[[0, 2], [8, 9]], [[0, 3]]], "1": "#));
    for ranges in [&[(3, 2)][..], &[(0, 3), (2, 4)], &[(4, 5), (0, 1)]] {
        assert_eq!(Region::from_ranges([ranges.iter().copied()]), None);
    }
}
