//! `stridec offset`.

use crate::sandbox::Sandbox;

#[test]
fn indices_and_offsets() {
    let sandbox = Sandbox::new();
    for (shape, index, offset) in [
        ("f32[3,5]{1,0:T(2,2)}", "2,3", "17"),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", "128", "1"),
        ("f32[2,2,3]", "1,0,1", "7"),
        ("f32[2,3]{0,1:PAD(3,5,zero)}", "1,2", "7"),
        ("f32[4] strided<[-1], offset: 3>", "0", "3"),
        ("f32[]", "", "0"),
    ] {
        let ran = sandbox.stridec(&["offset", shape, "--index", index]);
        assert_eq!(ran.text(), format!("{offset}\n"), "{shape}");
        let ran = sandbox.stridec(&["offset", shape, "--linear", offset]);
        assert_eq!(ran.text(), format!("{index}\n"), "{shape}");
    }
}

#[test]
fn padding_and_shared_places() {
    let sandbox = Sandbox::new();
    let linear = |shape, offset| sandbox.stridec(&["offset", shape, "--linear", offset]);
    assert_eq!(linear("f32[3,5]{1,0:T(2,2)}", "18").text(), "padding\n");
    assert_eq!(linear("f32[2,3] strided<[0,1]>", "2").text(), "0,2\n");
}

#[test]
fn places_outside_are_invalid() {
    let sandbox = Sandbox::new();
    let offset = |args: &[&str]| sandbox.stridec(&[&["offset", "f32[2,3]"], args].concat());
    offset(&["--linear", "6"]).fails(2, "6");
    offset(&["--index", "2,0"]).fails(2, "expected a number below 2");
    offset(&["--index", "0"]).fails(2, "index");
    offset(&["--index", "-1,0"]).fails(2, "`-1`, entry 0");
    offset(&["--linear", "-1"]).fails(2, "--linear");
    offset(&[]).fails(2, "--linear");
    offset(&["--linear", "1", "--index", "0,1"]).fails(2, "cannot be used");
}
