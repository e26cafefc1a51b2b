//! `stridec memory`, and `stridec diff` of two modules.

use serde_json::Value;
use stridec::hlo::Module;

use crate::sandbox::Sandbox;

const TEXT: &str =
    "HloModule m, entry_computation_layout={(f32[1024,3]{1,0:T(8,128)})->f32[1024,3]{0,1:T(8,128)}}

ENTRY main {
  x = f32[1024,3]{1,0:T(8,128)} parameter(0)
  n = f32[1024,3]{1,0:T(8,128)} exponential(x)
  ROOT y = f32[1024,3]{0,1:T(8,128)} copy(n)
}
";

#[test]
fn a_table_for_people() {
    let sandbox = Sandbox::new();
    sandbox.write("dump.txt", TEXT);
    let expected = "    bytes   unpadded   factor  shape
   512.0K      12.0K    42.7x  f32[1024,3]{1,0:T(8,128)}  n (main)
                              480.0K less as f32[1024,3]{0,1:T(8,128)}
   512.0K      12.0K    42.7x  f32[1024,3]{1,0:T(8,128)}  x (main)
                              480.0K less as f32[1024,3]{0,1:T(8,128)}
    32.0K      12.0K     2.7x  f32[1024,3]{0,1:T(8,128)}  y (main)

   512.0K  parameters
    32.0K  results
   512.0K  temporaries
    1.03M  in all
  1020.0K  of it padding
";
    let file = format!("@{}", sandbox.path("dump.txt").display());
    assert_eq!(sandbox.stridec(&["memory", &file]).text(), expected);
    let one = sandbox.stridec(&["memory", &file, "--top", "1"]);
    assert!(one.text().contains("\nand 2 more; `top` says how many are shown\n"), "{}", one.text());
}

#[test]
fn json_for_programs() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "m.pb",
        Module::parse("ENTRY main { ROOT x = f32[1024,3]{1,0:T(8,128)} parameter(0) }")
            .unwrap()
            .encode(),
    );
    let file = format!("@{}", sandbox.path("m.pb").display());
    for (argument, name, computation) in
        [(file.as_str(), "x", "main"), ("f32[1024,3]{1,0:T(8,128)}", "", "")]
    {
        let ran = sandbox.stridec(&["memory", argument, "--format", "json"]);
        let report: Value = serde_json::from_str(ran.text()).unwrap();
        let instruction = &report["instructions"][0];
        assert_eq!(instruction["name"], name);
        assert_eq!(instruction["computation"], computation);
        assert_eq!(instruction["shape"], "f32[1024,3]{1,0:T(8,128)}");
        assert_eq!(instruction["elements"], 3072);
        assert_eq!(instruction["unpadded_bytes"], 12_288);
        assert_eq!(instruction["bytes"], 524_288);
        assert_eq!(instruction["padding_bytes"], 512_000);
        assert_eq!(instruction["cheapest"]["bytes"], 32_768);
        assert_eq!(report["total_bytes"], 524_288);
        assert_eq!(report["total_padding_bytes"], 512_000);
    }
}

/// `--tiles tpu`: a shape in every order of its dimensions, and a module whose layouts have no
/// tiles.
#[test]
fn shapes_without_tiles_get_those_of_a_tpu() {
    let sandbox = Sandbox::new();
    let tiled = |arguments: &[&str]| {
        sandbox.stridec(&[&["memory", "--tiles", "tpu"][..], arguments].concat()).text().to_owned()
    };
    assert_eq!(
        tiled(&["f32[1024,3]"]),
        "    bytes   unpadded   factor  shape\n    \
         16.0K      12.0K     1.3x  f32[1024,3]{0,1:T(4,128)}\n   \
         512.0K      12.0K    42.7x  f32[1024,3]{1,0:T(8,128)}\n"
    );
    let rows = |arguments: &[&str]| {
        let report: Value = serde_json::from_str(&tiled(arguments)).unwrap();
        let rows = report["instructions"].as_array().unwrap().iter();
        rows.map(|row| row["bytes"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let shape = "bf16[2,3,4,5]";
    let few = rows(&[shape, "--format", "json"]);
    let all = rows(&[shape, "--format", "json", "--top", "100"]);
    assert_eq!((few.len(), all.len()), (8, 24));
    assert_eq!(few[..], all[..8]);
    assert!(all.is_sorted(), "{all:?}");
    // 3 · 4 tiles of 2 rows of 128 elements, each of 512 bytes.
    assert_eq!(all[0], 6144);
    sandbox.write("m.hlo", "ENTRY main { ROOT x = bf16[4096,50257] parameter(0) }");
    let file = format!("@{}", sandbox.path("m.hlo").display());
    let report: Value = serde_json::from_str(&tiled(&[&file, "--format", "json"])).unwrap();
    assert_eq!(report["instructions"][0]["shape"], "bf16[4096,50257]{1,0:T(8,128)(2,1)}");
    assert_eq!(report["total_bytes"], 4096 * 50_304 * 2);
    sandbox.stridec(&["memory", "f32[2]", "--tiles", "gpu"]).fails(2, "possible values: tpu");
}

#[test]
fn what_is_no_module_is_invalid() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "hello\n");
    sandbox.write("a.pb", [1, 2, 3]);
    let memory = |name: &str| {
        let file = format!("@{}", sandbox.path(name).display());
        sandbox.stridec(&["memory", &file])
    };
    memory("a.txt").fails(2, "a.txt: line 2, column 1: expected `{`, got the end");
    memory("a.pb")
        .fails(2, "a.pb: bytes: truncated, or no field; expected a serialized xla.HloModuleProto");
    memory("b.pb").fails(2, "cannot be read");
    sandbox
        .stridec(&["memory", "f32[2] strided<[2]>"])
        .fails(2, "expected an XLA shape, got strides");
}

#[test]
fn two_modules_differ() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", TEXT);
    sandbox.write("b.txt", TEXT.replace("x = f32[1024,3]{1,0:T", "x = f32[1024,3]{0,1:T"));
    sandbox.write("stages.txt", "operation\n== source");
    let path = |name: &str| sandbox.path(name).display().to_string();
    let diff = |a: &str, b: &str| sandbox.stridec(&["diff", "--exit-code", &path(a), &path(b)]);
    assert_eq!(diff("a.txt", "a.txt").text(), "no difference\n");
    let ran = diff("a.txt", "b.txt");
    assert_eq!(ran.code, 1);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(
        text.starts_with("changed: layouts, bytes\nthe same: copies, instructions\n"),
        "{text}"
    );
    assert!(text.contains("+ parameter x: f32[1024,3]{0,1:T(8,128)} (-480.0K)\n"), "{text}");
    diff("a.txt", "stages.txt").fails(2, "expected two snapshots or two modules, got one of each");
}
