//! Bad input: a reason, a place, the exit code, and an output left as it was.

use prost::Message;
use stridec::proto::{stridec as request, xla};

use crate::sandbox::{Sandbox, f32s};

/// A sandbox with an input of six floats and an output to leave alone.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=6));
    sandbox.write("out.bin", "untouched");
    sandbox
}

fn refused(sandbox: &Sandbox, op: &[&str], code: i32, says: &str) -> String {
    let files = ["-i", "in.bin", "-o", "out.bin", "--device", "host"];
    let ran = sandbox.stridec(&[&["run"], op, &files].concat());
    ran.fails(code, says);
    assert_eq!(sandbox.read("out.bin"), b"untouched");
    ran.stderr
}

#[test]
fn a_caret_stands_under_the_character() {
    let sandbox = sandbox();
    for (shape, at, code) in [
        ("f32[2,3]{1,1}", "1}", 2),
        ("f32[2,3]{2,0}", "2,0}", 2),
        ("f32[2,3]{0}", "0}", 2),
        ("f99[2,3]", "f99", 2),
        ("f32[2,-3]", "-", 2),
        ("f32[2,3]{1,0:PAD(1,3)}", "1,3)", 2),
        ("f32[2,3]{1,0:T(2,-2)}", "-2", 2),
        ("f32[2,3]{1,0:L(0)}", "0)", 2),
    ] {
        let op = ["relayout", "--from", shape, "--to", "f32[2,3]"];
        let stderr = refused(&sandbox, &op, code, "error: --from: ");
        let lines: Vec<&str> = stderr.lines().collect();
        let line = lines.iter().position(|line| line.trim() == shape).expect(&stderr);
        let caret = lines[line + 1].find('^').expect(&stderr);
        assert_eq!(&lines[line][caret..][..1], &at[..1], "{stderr}");
        assert!(lines[line][caret..].starts_with(at), "{stderr}");
    }
}

#[test]
fn shapes_and_operations() {
    let sandbox = sandbox();
    let relayout = |from, to, code, says| {
        refused(&sandbox, &["relayout", "--from", from, "--to", to], code, says);
    };
    relayout("f32[2,3]", "f32[3,2]", 2, "extent");
    relayout("f32[2,3]", "f32[6]", 2, "expected 2 dimensions");
    relayout("f32[2,3]", "c64[2,3]", 3, "c64");
    relayout("f32[2,3]", "f32[2,3] strided<[0,1]>", 2, "strides");
    relayout("f32[2,3]", "f32[2,3] strided<[1,1]>", 2, "strides");
    relayout("f32[2,3]", "f32[2,3] strided<[-3,1]>", 2, "strides");
    relayout("f32[3,2]", "f32[3,2] strided<[2,3]>", 3, "interleave");
    relayout("token[]", "f32[2,3]", 3, "token");
    relayout("f32[2,3]", "f32[2,?]", 3, "?");
    relayout("f32[2,3]", "f32[2,3]{1,0:PAD(9223372036854775807,3)}", 2, "error: ");
    relayout("f8e8m0fnu[2,3]", "f8e8m0fnu[2,3]{1,0:PAD(2,4,zero)}", 2, "f8e8m0fnu");
    relayout("f32[2,4]", "f32[2,4]{0,1}", 2, "24 bytes");
    relayout("f32[2,2]", "f32[2,2]{0,1}", 2, "24 bytes");
}

#[test]
fn windows() {
    let sandbox = sandbox();
    let slice = |offsets, sizes, strides, output: &[&str], says| {
        let op = ["slice", "--from", "f32[2,3]", "--offsets", offsets, "--sizes", sizes];
        refused(&sandbox, &[&op[..], &["--strides", strides], output].concat(), 2, says);
    };
    slice("0,0", "0,3", "1,1", &[], "window_sizes[0]");
    slice(
        "0,2",
        "2,2",
        "1,1",
        &[],
        "offset + size to be at most 3, the extent of the source, got 2 + 2",
    );
    slice("0,0", "2,3", "0,1", &[], "window_strides[0]");
    slice("0,0", "2,3", "1,1", &["--output-sizes", "2,4"], "output_sizes[1]");
    slice("0,0", "2,3", "1,1", &["--output-sizes", "0,3"], "output_sizes[0]");
    slice("0", "2,3", "1,1", &[], "window_offsets");
    slice("0,-1", "2,3", "1,1", &[], "`-1`, entry 1");
    slice("0,x", "2,3", "1,1", &[], "`x`, entry 1");
    slice("0,0", "2,3", "1,1", &["--to", "f32[3,2]"], "extent");
}

#[test]
fn protos() {
    let sandbox = sandbox();
    let shape = |change: &dyn Fn(&mut xla::Layout)| {
        let mut layout = xla::Layout {
            minor_to_major: vec![1, 0],
            tail_padding_alignment_in_elements: 1,
            ..xla::Layout::default()
        };
        change(&mut layout);
        xla::Shape {
            element_type: 11,
            dimensions: vec![2, 3],
            layout: Some(Box::new(layout)),
            ..xla::Shape::default()
        }
    };
    let refuse = |bytes: &[u8], says: &str| {
        sandbox.write("a.pb", bytes);
        let op = ["relayout", "--from", "@a.pb", "--to", "f32[2,3]"];
        let stderr = refused(&sandbox, &op, 2, says);
        assert!(stderr.contains("a.pb: "), "{stderr}");
    };
    let good = shape(&|_| {}).encode_to_vec();
    refuse(&good[..good.len() - 1], "layout");
    refuse(b"\xff\xff\xff\xff", "xla.Shape");
    refuse(&vec![0; (16 << 20) + 1], "16777216");
    refuse(&xla::Shape { element_type: 99, ..shape(&|_| {}) }.encode_to_vec(), "99");
    let layout = |change: &dyn Fn(&mut xla::Layout), says| {
        refuse(&shape(change).encode_to_vec(), says);
    };
    layout(&|layout| layout.minor_to_major = vec![1, 1], "layout.minor_to_major[1]");
    layout(&|layout| layout.padded_dimensions = vec![3], "layout.padded_dimensions");
    layout(&|layout| layout.padded_dimensions = vec![3, 2], "layout.padded_dimensions[1]");
    layout(&|layout| layout.padding_value = Some(9), "layout.padding_value");
}

#[test]
fn text_protos_show_the_line() {
    let sandbox = sandbox();
    sandbox.write("a.textproto", "element_type: F32\ndimensions: [2, x]\n");
    let op = ["relayout", "--from", "@a.textproto", "--to", "f32[2,3]"];
    let stderr = refused(&sandbox, &op, 2, "line 2");
    assert!(stderr.contains("  dimensions: [2, x]\n"), "{stderr}");
    assert!(stderr.contains('^'), "{stderr}");
    sandbox.write("deep.textproto", "tuple_shapes {".repeat(20_000));
    refused(&sandbox, &["relayout", "--from", "@deep.textproto", "--to", "f32[2]"], 2, "nested");
    sandbox.write("a.json", "{\"elementType\": \"F32\", \"nope\": 1}");
    refused(&sandbox, &["relayout", "--from", "@a.json", "--to", "f32[2,3]"], 2, "nope");
}

#[test]
fn requests() {
    let sandbox = sandbox();
    sandbox.write("empty.pb", request::CompileRequest::default().encode_to_vec());
    refused(&sandbox, &["--op", "@empty.pb"], 2, "operation");
    refused(&sandbox, &["--op", "empty.pb"], 2, "@FILE");
    refused(&sandbox, &["--op", "@empty.pb", "relayout"], 2, "cannot be used");
    refused(&sandbox, &["--op", "@empty.pb", "--from", "f32[2]"], 2, "cannot be used");
}

#[test]
fn files() {
    let sandbox = sandbox();
    let to = ["--to", "f32[2,3]"];
    refused(&sandbox, &[&["relayout", "--from", "@missing.pb"], &to[..]].concat(), 2, "missing.pb");
    refused(&sandbox, &[&["relayout", "--from", "@in.bin"], &to[..]].concat(), 2, ".textproto");
    for input in ["missing.bin", ".", "missing.npy"] {
        let op = ["run", "relayout", "--from", "f32[2,3]", "--to", "f32[2,3]", "-o", "out.bin"];
        sandbox.stridec(&[&op[..], &["-i", input]].concat()).fails(2, "cannot be read");
    }
    assert_eq!(sandbox.read("out.bin"), b"untouched");
}

#[test]
fn flags() {
    let sandbox = sandbox();
    refused(&sandbox, &["relayout", "--from", "f32[2,3]"], 2, "--to");
    refused(&sandbox, &["relayout", "--to", "f32[2,3]"], 2, "--from");
    refused(&sandbox, &["slice", "--from", "f32[2,3]", "--offsets", "0,0"], 2, "--strides");
    refused(&sandbox, &["turn", "--from", "f32[2,3]"], 2, "turn");
    let relayout = ["relayout", "--from", "f32[2,3]", "--to", "f32[2,3]", "--sizes", "1"];
    refused(&sandbox, &relayout, 2, "--sizes");
    sandbox.stridec(&["run", "relayout", "-i", "in.bin"]).fails(2, "--output");
}

#[test]
fn escapes_do_not_reach_the_terminal() {
    let sandbox = sandbox();
    for op in [
        ["relayout", "--from", "f32[\u{1b}[31m2]", "--to", "f32[2]"],
        ["relayout", "--from", "@\u{1b}[31m.pb", "--to", "f32[2]"],
        ["relayout", "--fr\u{1b}[31mom", "f32[2]", "--to", "f32[2]"],
        ["\u{1b}[31m", "--from", "f32[2]", "--to", "f32[2]"],
        ["slice", "--from", "f32[2]", "--offsets", "\u{1b}[31m"],
    ] {
        let stderr = refused(&sandbox, &op, 2, "error: ");
        assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
    }
}

/// Files may also hold terminal escapes: as names, as strings, as lines that are shown.
#[test]
fn escapes_of_files_do_not_reach_the_terminal() {
    let sandbox = sandbox();
    let escape = "\u{1b}[31m\u{9b}1m\u{202e}";
    let header = format!("{{'descr': '{escape}', 'fortran_order': False, 'shape': (2,), }}");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    npy.extend(header.bytes());
    sandbox.write("a.npy", npy);
    sandbox.write("a.json", format!("{{\"{escape}\": 1}}"));
    sandbox.write("b.json", format!("{{\"element_type\": \"{escape}\"}}"));
    sandbox.write("a.textproto", format!("layout {{ # {escape}\n{escape}: 1 }}"));
    sandbox.write("b.textproto", format!("element_type: F32 # {escape}\ndimensions: x {escape}"));
    let stages = "\n== destination\n== nest\n== schedule\n== kernel\n";
    sandbox.write("a.snap", format!("\n== source\n{escape}{stages}"));
    sandbox.write("b.snap", format!("\n== source\n{escape}{escape}{stages}"));
    let named = format!("{escape}.npy");
    sandbox.write(&named, "");
    let output = ["--to", "f32[2]", "-o", "out.bin", "--device", "host"];
    let mut runs = vec![sandbox.stridec(&["diff", "a.snap", "b.snap"])];
    assert!(runs[0].text().contains("changed: source"), "{}", runs[0].text());
    for input in ["a.npy", &named, &format!("{escape}.bin")] {
        runs.push(sandbox.stridec(&[&["run", "relayout", "-i", input][..], &output].concat()));
    }
    for shape in ["@a.json", "@b.json", "@a.textproto", "@b.textproto", &format!("@{escape}")] {
        runs.push(sandbox.stridec(&["describe", shape]));
    }
    for ran in runs {
        let shown = ran.stderr + std::str::from_utf8(&ran.stdout).unwrap();
        assert!(!shown.is_empty());
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown:?}");
    }
}

/// The error for a file is a few short lines, however deep or long the file is.
#[test]
fn errors_are_a_few_lines() {
    let sandbox = sandbox();
    let deep =
        (0..90).fold(xla::Shape { element_type: 17, ..xla::Shape::default() }, |inner, _| {
            xla::Shape { element_type: 13, tuple_shapes: vec![inner], ..xla::Shape::default() }
        });
    sandbox.write("deep.pb", deep.encode_to_vec());
    let recursive = (0..300).fold(vec![0x10, 0x11], |inner, _| {
        let mut outer = vec![0x10, 0x0d, 0x22];
        prost::encode_length_delimiter(inner.len(), &mut outer).unwrap();
        [outer, inner].concat()
    });
    sandbox.write("recursive.pb", recursive);
    sandbox.write("long.json", format!("{{\"{}\": 1}}", "a".repeat(100_000)));
    sandbox.write("long.textproto", format!("{}: 1", "a".repeat(100_000)));
    let long = format!("f32[2]{{0:{}(1)}}", "A".repeat(100_000));
    for shape in ["@deep.pb", "@recursive.pb", "@long.json", "@long.textproto", &long] {
        let ran = sandbox.stridec(&["describe", shape]);
        ran.fails(2, "error: ");
        let lines = ran.stderr.lines().count();
        assert!(lines <= 4 && ran.stderr.len() < 800, "{lines} lines: {}", ran.stderr);
    }
}

#[test]
fn a_huge_destination_is_an_error_and_no_crash() {
    let sandbox = sandbox();
    let to = "f32[2,3]{1,0:PAD(2,30000000000000000)}";
    let op = ["relayout", "--from", "f32[2,3]", "--to", to];
    // The disk is too small for a file; elsewhere, memory is.
    refused(&sandbox, &op, 1, "cannot be written");
    let files = ["-i", "in.bin", "-o", "-", "--device", "host"];
    sandbox.stridec(&[&["run"], &op[..], &files].concat()).fails(1, "memory");
}
