//! Shardings that a text of a few bytes says and that no memory could hold.

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
    // Copies whose order no transposition says would be listed: 2^41 times 3 of them.
    let text = "{devices=[2199023255552,3]<=[3,2199023255552]T(1,0) last_tile_dim_replicate}";
    assert_eq!(text.parse::<Sharding>().unwrap().to_string(), text);
    let text = "{devices=[2199023255552,3]<=[2,3298534883328]T(1,0) last_tile_dim_replicate}";
    assert!(refused(text).contains("need a list"), "{}", refused(text));
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

/// As JAX 0.10.2 writes them.
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
fn boxes_are_those_of_cuts() {
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
    assert_eq!((placement.tile_number(7), placement.tile(1)), (None, None));
    assert_eq!(placement.tile_shape(), [3, 2]);
    for (given, expected) in [
        (&[(0, [(0, 3), (0, 2)]), (1, [(2, 5), (0, 2)])][..], "another ends at 3"),
        (&[(0, [(0, 3), (0, 2)]), (1, [(4, 5), (0, 2)])], "none with index 3"),
        (&[(0, [(0, 3), (0, 1)]), (1, [(3, 5), (1, 2)])], "4 for these cuts"),
        (&[(0, [(0, 3), (0, 1)]), (0, [(3, 5), (1, 2)])], "0 twice"),
        (&[], "at least one device"),
    ] {
        let error = boxes(given).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
