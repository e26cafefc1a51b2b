//! `stridec reshard`, and `stridec describe --sharding`.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const ROWS_TO_COLUMNS: [&str; 6] =
    ["--shape", "u8[4,6]", "--from", "{devices=[4,1]<=[4]}", "--to", "{devices=[1,3]<=[3]}"];

#[test]
fn the_plan_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    let rows = ["reshard", "plan", "--shape", "f32[8192,16384]", "--from", "{devices=[4,1]<=[4]}"];
    let text = [&rows[..], &["--to", "{devices=[1,4]<=[4]}"]].concat();
    let text = sandbox.stridec(&text).text().to_owned();
    assert!(text.contains("  0 to 1: [0,2048)×[4096,8192), 33554432 bytes\n"), "{text}");
    assert!(text.contains("96.00M  busiest sender, at least 96.00M\n"), "{text}");

    let plan = [&["reshard", "plan"], &ROWS_TO_COLUMNS[..], &["--format", "json"]].concat();
    let plan: Value = serde_json::from_str(sandbox.stridec(&plan).text()).unwrap();
    assert_eq!(plan["from"]["3"], json!([[3, 4], [0, 6]]));
    assert_eq!(plan["to"]["2"], json!([[0, 4], [4, 6]]));
    let transfers = plan["transfers"].as_array().unwrap();
    assert_eq!(transfers.len(), 9);
    let first = json!({"from": 0, "to": 1, "box": [[0, 1], [2, 4]], "bytes": 2});
    assert_eq!(transfers[0], first);
    let copy = json!({"from": 1, "to": 1, "box": [[1, 2], [2, 4]], "bytes": 2});
    assert_eq!(plan["copies"][1], copy);
    let bytes = json!({"total_bytes": 18, "receive_bytes": 6, "send_bytes": 6});
    assert_eq!(plan["bounds"], bytes);
    assert_eq!((&plan["total_bytes"], &plan["send_bytes"]), (&json!(18), &json!(6)));
}

#[test]
fn files_are_moved() {
    let sandbox = Sandbox::new();
    for (rank, row) in ["abcdef", "ghijkl", "mnopqr", "stuvwx"].iter().enumerate() {
        sandbox.write(&format!("x.{rank}.bin"), row);
    }
    let files = ["-i", "x.{rank}.bin", "-o", "y.{rank}.bin", "--to-layout", "{0,1}"];
    let simulate = [&["reshard", "simulate"], &ROWS_TO_COLUMNS[..], &files].concat();
    for staging in [&[][..], &["--staging", "2"], &["--staging", "64MiB"]] {
        assert_eq!(sandbox.stridec(&[&simulate[..], staging].concat()).text(), "");
        let columns = ["y.0.bin", "y.1.bin", "y.2.bin"].map(|name| sandbox.read(name));
        assert_eq!(columns, [b"agmsbhnt", b"cioudjpv", b"ekqwflrx"].map(Vec::from));
    }
    // Back again, through .npy, from tiles with the boxes at their front.
    let back = [
        "reshard",
        "simulate",
        "--shape",
        "u8[4,6]",
        "--from",
        "{devices=[1,3]<=[3]}",
        "--from-layout",
        "{0,1}",
        "--to",
        "@boxes.json",
        "-i",
        "y.{rank}.bin",
        "-o",
        "z{rank}.npy",
    ];
    sandbox.write("boxes.json", r#"{"0": [[0, 3], [0, 6]], "1": [[3, 4], [0, 6]]}"#);
    assert_eq!(sandbox.stridec(&back).text(), "");
    assert!(sandbox.read("z0.npy").ends_with(b"abcdefghijklmnopqr"));
    assert!(sandbox.read("z1.npy").ends_with(b"stuvwx"));
    let tile =
        [&back[..10], &["-i", "y.{rank}.bin", "-o", "t{rank}.bin", "--shards", "tile"]].concat();
    assert_eq!(sandbox.stridec(&tile).text(), "");
    assert_eq!(sandbox.read("t1.bin"), b"stuvwx\0\0\0\0\0\0\0\0\0\0\0\0");
}

#[test]
fn shards_without_elements_need_no_files() {
    let sandbox = Sandbox::new();
    // Of 3 rows on 4 devices, the last has none.
    for (rank, row) in ["ab", "cd", "ef"].iter().enumerate() {
        sandbox.write(&format!("x.{rank}.bin"), row);
    }
    let simulate = |shards: &[&str]| {
        let args = ["reshard", "simulate", "--shape", "u8[3,2]", "--from", "{devices=[4,1]<=[4]}"];
        let to = ["--to", "{devices=[1,2]<=[2]}", "-i", "x.{rank}.bin", "-o", "y.{rank}.bin"];
        sandbox.stridec(&[&args[..], &to, shards].concat())
    };
    for shards in [&[][..], &["--shards", "tile"]] {
        assert_eq!(simulate(shards).text(), "");
        assert_eq!(["y.0.bin", "y.1.bin"].map(|name| sandbox.read(name)), [b"ace", b"bdf"]);
    }
    sandbox.write("x.3.bin", "gh");
    simulate(&[]).fails(2, "expected 0 bytes (the memory of u8[0,2], a shard without elements)");
}

#[test]
fn parts_of_lists_of_ranges() {
    let sandbox = Sandbox::new();
    // Four query heads and two key heads on two devices, as the ranges of rows.
    let fused = r#"{"0": [[[0, 2], [4, 5]], [[0, 2]]], "1": [[[2, 4], [5, 6]], [[0, 2]]]}"#;
    sandbox.write("fused.json", fused);
    sandbox.write("x.bin", "aabbccddeeff");
    let simulate = |from: [&str; 2], to: [&str; 2]| {
        let args = ["reshard", "simulate", "--devices", "2", "--shape", "u8[6,2]"];
        let args = [&args[..], &["--from", from[0], "-i", from[1]]].concat();
        sandbox.stridec(&[&args[..], &["--to", to[0], "-o", to[1]]].concat())
    };
    let whole = ["{maximal device=0}", "x.bin"];
    assert_eq!(simulate(whole, ["@fused.json", "q.{rank}.bin"]).text(), "");
    assert_eq!(["q.0.bin", "q.1.bin"].map(|name| sandbox.read(name)), [b"aabbee", b"ccddff"]);
    assert_eq!(simulate(["@fused.json", "q.{rank}.bin"], [whole[0], "y.bin"]).text(), "");
    assert_eq!(sandbox.read("y.bin"), b"aabbccddeeff");
    // What `describe` writes is read.
    let describe = ["describe", "u8[6,2]", "--format", "json", "--sharding"];
    let blocks = sandbox.stridec(&[&describe[..], &["{devices=[2,1]<=[2] blocks=[1,2]}"]].concat());
    sandbox.write("blocks.json", blocks.text());
    let again = sandbox.stridec(&[&describe[..], &["@blocks.json"]].concat());
    let [blocks, again] = [blocks, again]
        .map(|ran| serde_json::from_str::<Value>(ran.text()).unwrap()["devices"].clone());
    assert_eq!((&blocks, &blocks["0"][0]), (&again, &json!([[0, 1], [2, 3], [4, 5]])));
}

#[test]
fn nothing_is_written_where_something_is_wrong() {
    let sandbox = Sandbox::new();
    for rank in 0..3 {
        sandbox.write(&format!("x.{rank}.bin"), "abcdef");
    }
    sandbox.write("y.0.bin", "as it was");
    let files = ["-i", "x.{rank}.bin", "-o", "y.{rank}.bin"];
    let simulate = [&["reshard", "simulate"], &ROWS_TO_COLUMNS[..], &files].concat();
    sandbox.stridec(&simulate).fails(2, "x.3.bin: cannot be read");
    sandbox.write("x.3.bin", "abcdefg");
    sandbox.stridec(&simulate).fails(2, "x.3.bin: expected 6 bytes");
    sandbox.write("x.3.bin", "abcdef");
    let staging = [&simulate[..], &["--staging", "1"]].concat();
    sandbox.stridec(&staging).fails(2, "staging: expected at least 2 bytes");
    let one = [&["reshard", "simulate"], &ROWS_TO_COLUMNS[..], &["-i", "x", "-o", "y"]].concat();
    sandbox.stridec(&one).fails(2, "{rank}");
    let folder = [
        &["reshard", "simulate"],
        &ROWS_TO_COLUMNS[..],
        &["-i", "x.{rank}.bin", "-o", "f{rank}/y"],
    ]
    .concat();
    sandbox.stridec(&folder).fails(1, "the folder f0 does not exist");
    let run = [&["reshard", "run"], &ROWS_TO_COLUMNS[..], &files].concat();
    // With MPI, a program that was not started by a launcher is one rank.
    let (code, says) = if cfg!(feature = "mpi") { (2, "mpirun -n 4") } else { (4, "without MPI") };
    sandbox.stridec(&run).fails(code, says);
    assert_eq!(sandbox.names(), ["x.0.bin", "x.1.bin", "x.2.bin", "x.3.bin", "y.0.bin"]);
    assert_eq!(sandbox.read("y.0.bin"), b"as it was");
}

#[test]
fn shardings_that_are_wrong_or_no_movement() {
    let sandbox = Sandbox::new();
    let plan = |from: &str| {
        sandbox.stridec(&[
            "reshard",
            "plan",
            "--shape",
            "f32[4,4]",
            "--from",
            from,
            "--to",
            "{devices=[4,1]<=[4]}",
        ])
    };
    plan("{devices=[2,2]<=[3]}").fails(2, "--from: iota_reshape_dims: expected 4 devices");
    plan("{devices=[2,2]<=4}").fails(2, "\n  {devices=[2,2]<=4}\n                  ^");
    plan("{replicated}").fails(2, "the number of devices, which this sharding does not say");
    plan("{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}").fails(3, "which takes an addition");
    plan("{devices=[99999999,1]<=[99999999]}").fails(3, "at most 16777216 devices");
    sandbox.write("boxes.json", r#"{"0": [[0, 3], [0, 4]], "1": [[2, 4], [0, 4]]}"#);
    assert!(plan("@boxes.json").text().contains("0 to 2: [2,3)×"));
    sandbox.write("boxes.json", r#"{"0": [[[0, 1], [3, 4]], [[0, 4]]], "1": [[1, 3], [0, 4]]}"#);
    assert!(plan("@boxes.json").text().contains("0 to 3: [3,4)×[0,4)"));
    sandbox.write("boxes.json", r#"{"0": [[[3, 4], [0, 1]], [[0, 4]]], "1": [[1, 3], [0, 4]]}"#);
    plan("@boxes.json").fails(2, "a list of such ranges, in ascending order");
    sandbox.write("s.json", r#"{"type": "OTHER", "tileAssignmentDimensions": [2, 2], "iotaReshapeDims": [4], "iotaTransposePerm": [0]}"#);
    assert_eq!(plan("@s.json").code, 0);
    sandbox.write("s.pb", b"\x08\x03\x1a\x02\x02\x02\x4a\x01\x04\x52\x01\x00");
    assert_eq!(plan("@s.pb").code, 0);
    sandbox.write("s.pb", b"\x08\x03\x1a\x02\x02\x02\x4a\x01\x04\x52\x01\x01");
    plan("@s.pb").fails(2, "s.pb: iota_transpose_perm[0]: expected an axis of 0 to 0, got 1");
    let replicated = ["--from", "{replicated}", "--to", "{maximal device=1}", "--devices", "2"];
    let plan = [&["reshard", "plan", "--shape", "f32[4,4]"][..], &replicated].concat();
    assert!(sandbox.stridec(&plan).text().contains("64B  stay where they are"));
}

#[test]
fn the_boxes_of_an_array() {
    let sandbox = Sandbox::new();
    let describe = |sharding: &str, more: &[&str]| {
        let args = [&["describe", "f32[12,30]", "--sharding", sharding][..], more].concat();
        sandbox.stridec(&args)
    };
    let named = describe("<mesh<[\"x\"=2, \"y\"=4]>, [{\"x\"}, {\"y\"}]>", &[]);
    let expected = "f32[12,30] {mesh['x'=2,'y'=4], [{'x'}, {'y'}]}
  or {devices=[2,4]<=[8]}
  or {devices=[2,4]0,1,2,3,4,5,6,7}
  tile [6, 8]
  0: [0,6)×[0,8)
";
    assert!(named.text().starts_with(expected), "{}", named.text());
    let json = describe("{devices=[2,4]<=[8]}", &["--devices", "8", "--format", "json"]);
    let json: Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!(json["sharding"], "{devices=[2,4]<=[8]}");
    assert_eq!(
        (&json["tile_shape"], &json["devices"]["7"]),
        (&json!([6, 8]), &json!([[6, 12], [24, 30]]))
    );
    assert_eq!(json["element_type"], "f32");
    let manual = describe("{manual}", &["--devices", "4", "--format", "json"]);
    let manual: Value = serde_json::from_str(manual.text()).unwrap();
    assert_eq!((&manual["devices"], &manual["tile_shape"]), (&Value::Null, &json!([12, 30])));
    describe("{devices=[2,4]<=[8]}", &["--devices", "9"]).fails(2, "expected 9 devices");
    describe("{devices=[2,4]<=[8]}", &["--format", "pb"]).fails(2, "text or json");
}
