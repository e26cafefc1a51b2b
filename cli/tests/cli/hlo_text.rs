//! HLO text as an input of commands.

use crate::sandbox::Sandbox;

#[test]
fn text_runs_as_protos_do() {
    let sandbox = Sandbox::new();
    let text = "ENTRY main {\n x = u8[2,3] parameter(0)\n ROOT y = u8[3,2] transpose(x), dimensions={1,0}\n}\n";
    sandbox.write("m.txt", text);
    sandbox.write("x", "abcdef");
    let path = |name: &str| sandbox.path(name).display().to_string();
    let module = format!("@{}", path("m.txt"));
    let ran = sandbox.stridec(&[
        "run",
        "hlo",
        &module,
        "-i",
        &path("x"),
        "-o",
        &path("y"),
        "--device",
        "host",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(sandbox.read("y"), b"adbecf");
    sandbox
        .write("m.txt", "ENTRY main {\n x = u8[2,3] parameter(0)\n ROOT y = u8[3,2] copy(x)\n}\n");
    let says = "m.txt: line 3: instruction y of computation main: shape: expected u8[2,3], which the operands and \
                attributes give, got u8[3,2]";
    sandbox.stridec(&["run", "hlo", &module, "-i", &path("x"), "-o", "-"]).fails(2, says);
}
