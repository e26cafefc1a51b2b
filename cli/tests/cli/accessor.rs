//! `stridec compile accessor`.

use stridec::{
    accessor::{Access, Accessor},
    hlo::Module,
};

use crate::sandbox::Sandbox;

const MODULE: &str = "HloModule pair
ENTRY main {
  x = u8[2,3] parameter(0)
  turned = u8[3,2] transpose(x), dimensions={1,0}
  ROOT out = (u8[2,3], u8[3,2]) tuple(x, turned)
}
";

#[test]
fn the_functions_of_a_layout() {
    let sandbox = Sandbox::new();
    let text = |line: &str| {
        let ran = sandbox.stridec(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        ran.text().to_owned()
    };
    let expected = |name: &str, shape: &str, access| {
        Accessor::of_layout(name, &shape.parse().unwrap(), access).unwrap().wgsl().to_owned()
    };
    let tiled = "bf16[16,256]{1,0:T(8,128)(2,1)}";
    assert_eq!(
        text(&format!("compile accessor {tiled} --name x")),
        expected("x", tiled, Access::Read)
    );
    assert_eq!(
        text("compile accessor f32[2,3]"),
        expected("tensor", "f32[2,3]", Access::ReadWrite)
    );
    assert_eq!(
        text("compile accessor f32[2,3] --access read --emit wgsl"),
        expected("tensor", "f32[2,3]", Access::Read)
    );
    assert!(text("compile accessor f32[2,3] --emit hlsl").contains("uint tensor_bits("));
}

#[test]
fn the_function_of_a_result() {
    let sandbox = Sandbox::new();
    sandbox.write("m.txt", MODULE);
    let module = Module::parse(MODULE).unwrap();
    for number in 0..2 {
        let output = number.to_string();
        let line = ["compile", "accessor", "hlo", "@m.txt", "--output", &output, "-o", "f.wgsl"];
        let ran = sandbox.stridec(&line);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let expected = Accessor::of_result("result", &module, number).unwrap();
        assert_eq!(String::from_utf8(sandbox.read("f.wgsl")).unwrap(), expected.wgsl());
    }
}

#[test]
fn refusals() {
    let sandbox = Sandbox::new();
    sandbox.write("m.txt", MODULE);
    for (line, code, message) in [
        ("compile accessor", 2, "accessor: missing; expected SHAPE, or `hlo @FILE`"),
        ("compile accessor f32[2] f32[2]", 2, "unexpected argument"),
        ("compile accessor f32[2] --name 0", 2, "name: expected a WGSL identifier"),
        ("compile accessor bf16[2] --access read-write", 3, "expected elements of whole words"),
        ("compile accessor f32[2] --emit glsl", 3, "naga writes whole shaders only"),
        ("compile accessor f32[2] --emit stages", 2, "--emit: expected wgsl, spirv, msl, hlsl"),
        ("compile accessor f32[2] --target lavapipe", 2, "--target: an accessor has no target"),
        ("compile accessor f32[2] --to f32[2]", 2, "--to: an accessor takes no such flag"),
        ("compile accessor hlo", 2, "hlo: missing; expected @FILE"),
        (
            "compile accessor hlo @m.txt",
            2,
            "--output: missing; expected the number of one of the 2",
        ),
        ("compile accessor hlo @m.txt --output 2", 2, "--output: expected the number of a result"),
        ("compile accessor hlo @m.txt --output 0 --access read-write", 2, "--access: the result"),
        ("compile relayout --from f32[2] --to f32[2] --name x", 2, "--name: only `compile"),
        ("run accessor f32[2] -i a -o b", 2, "accessor: only `compile` makes accessors"),
        ("explain accessor f32[2]", 2, "accessor: only `compile` makes accessors"),
    ] {
        let ran = sandbox.stridec(&line.split(' ').collect::<Vec<_>>());
        assert!(ran.code == code && ran.stderr.contains(message), "{line}: {}", ran.stderr);
    }
}
