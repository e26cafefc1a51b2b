//! `stridec run … --onto FILE`: elements are written into the bytes of a file.

use crate::sandbox::{Ran, Sandbox};

const TO: &str = "u8[2,3] strided<[5,1], offset: 1>";

fn run(sandbox: &Sandbox, to: &str, onto: &str, output: &str) -> Ran {
    let args = ["run", "relayout", "--from", "u8[2,3]", "--to", to, "-i", "in.bin"];
    sandbox.stridec(&[&args[..], &["--onto", onto, "-o", output, "--device", "host"]].concat())
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", b"abcdef");
    sandbox
}

#[test]
fn every_other_byte_stays_and_so_does_the_size() {
    let sandbox = sandbox();
    for (onto, expected) in
        [("123456789", "1abc56def"), ("123456789-and-more", "1abc56def-and-more")]
    {
        sandbox.write("onto.bin", onto);
        assert_eq!(run(&sandbox, TO, "onto.bin", "out.bin").text(), "");
        assert_eq!(sandbox.read("out.bin"), expected.as_bytes());
        assert_eq!(sandbox.read("onto.bin"), onto.as_bytes());
    }
    // The output may replace the file itself.
    assert_eq!(run(&sandbox, TO, "out.bin", "out.bin").text(), "");
    assert_eq!(sandbox.read("out.bin"), b"1abc56def-and-more");
    assert_eq!(run(&sandbox, TO, "onto.bin", "-").stdout, b"1abc56def-and-more");
}

#[test]
fn padding_and_the_bits_around_elements_stay() {
    let sandbox = sandbox();
    sandbox.write("onto.bin", [b'-'; 12]);
    assert_eq!(run(&sandbox, "u8[2,3]{1,0:PAD(3,4,one)}", "onto.bin", "out.bin").text(), "");
    assert_eq!(sandbox.read("out.bin"), b"abc-def-----");
    sandbox.write("nibbles.bin", [0x21]);
    sandbox.write("onto.bin", [0xff, 0xff, 0xff]);
    let args = ["run", "relayout", "--from", "u4[2]{0:E(4)}", "--to", "u4[2]{:E(4)} strided<[2]>"];
    let files = ["-i", "nibbles.bin", "--onto", "onto.bin", "-o", "-", "--device", "host"];
    assert_eq!(sandbox.stridec(&[&args[..], &files].concat()).stdout, [0xf1, 0xf2, 0xff]);
}

#[test]
fn slices_go_into_a_file_too() {
    let sandbox = sandbox();
    sandbox.write("onto.bin", "123456");
    let args = ["run", "slice", "--from", "u8[2,3]", "--offsets", "0,1", "--sizes", "2,2"];
    let rest = ["--strides", "1,1", "--to", "u8[2,2] strided<[3,1], offset: 1>", "-i", "in.bin"];
    let files = ["--onto", "onto.bin", "-o", "-", "--device", "host"];
    let ran = sandbox.stridec(&[&args[..], &rest, &files].concat());
    assert_eq!(ran.stdout, b"1bc4ef", "{}", ran.stderr);
}

#[test]
fn arrays_keep_their_header() {
    let sandbox = sandbox();
    sandbox.write("old.bin", b"uvwxyz");
    let fill = |input: &str, output: &str| sandbox.relayout("u8[2,3]", "u8[2,3]", input, output);
    assert_eq!(fill("old.bin", "onto.npy").text(), "");
    assert_eq!(run(&sandbox, "u8[2,3]", "onto.npy", "out.npy").text(), "");
    assert_eq!(fill("in.bin", "expected.npy").text(), "");
    assert_eq!(sandbox.read("out.npy"), sandbox.read("expected.npy"));
    sandbox.write("long.bin", "123456789-and-more");
    run(&sandbox, TO, "long.bin", "out.npy").fails(2, "expected --onto with 9 bytes");
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let sandbox = sandbox();
    sandbox.write("onto.bin", "12345678");
    let says = "expected at least 9 bytes (the memory of u8[2,3] strided<[5,1], offset: 1>), got 8";
    run(&sandbox, TO, "onto.bin", "out.bin").fails(2, says);
    run(&sandbox, TO, "none.bin", "out.bin").fails(2, "none.bin");
    assert_eq!(sandbox.names(), ["in.bin", "onto.bin"]);
    sandbox.write("m.hlo", "HloModule m ENTRY e { ROOT x = u8[6] parameter(0) }");
    let args = ["run", "hlo", "@m.hlo", "-i", "in.bin", "-o", "out.bin", "--onto", "onto.bin"];
    sandbox.stridec(&args).fails(2, "--onto: expected a relayout or a slice, got a program");
}
