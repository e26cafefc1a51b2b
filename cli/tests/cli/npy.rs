//! `.npy` files, written here by hand.

use crate::sandbox::{Sandbox, f32s};

/// A file in the form of numpy 1.x and 2.x.
fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    file.extend(text.into_bytes());
    file.extend(data);
    file
}

#[test]
fn the_output_is_the_memory_as_numpy_writes_it() {
    let sandbox = Sandbox::new();
    sandbox.write("in.npy", npy("<f4", "False", "(2, 3)", &f32s(1..=6)));
    for (to, shape, data) in [
        ("f32[2,3]{0,1}", "(3, 2)", vec![1, 4, 2, 5, 3, 6]),
        ("f32[2,3]{1,0:PAD(2,4,zero)}", "(2, 4)", vec![1, 2, 3, 0, 4, 5, 6, 0]),
        ("f32[2,3]{1,0:T(2,2)}", "(1, 2, 2, 2)", vec![1, 2, 4, 5, 3, 0, 6, 0]),
        ("f32[2,3]{1,0:L(8)}", "(8,)", vec![1, 2, 3, 4, 5, 6, 0, 0]),
        ("f32[2,3] strided<[4,1]>", "(7,)", vec![1, 2, 3, 0, 4, 5, 6]),
    ] {
        assert_eq!(sandbox.relayout("f32[2,3]", to, "in.npy", "out.npy").text(), "");
        assert_eq!(sandbox.read("out.npy"), npy("<f4", "False", shape, &f32s(data)), "{to}");
        assert_eq!(sandbox.relayout(to, "f32[2,3]", "out.npy", "back.npy").text(), "");
        assert_eq!(sandbox.read("back.npy"), sandbox.read("in.npy"), "{to}");
    }
}

#[test]
fn the_file_says_its_shape_and_order() {
    let sandbox = Sandbox::new();
    let run = |input, to| {
        let files = ["-i", input, "-o", "out.bin", "--device", "host"];
        sandbox.stridec(&[&["run", "relayout", "--to", to], &files[..]].concat())
    };
    sandbox.write("c.npy", npy("<f4", "False", "(2, 3)", &f32s(1..=6)));
    sandbox.write("f.npy", npy("<f4", "True", "(2, 3)", &f32s([1, 4, 2, 5, 3, 6])));
    for input in ["c.npy", "f.npy"] {
        assert_eq!(run(input, "f32[2,3]").text(), "");
        assert_eq!(sandbox.read("out.bin"), f32s(1..=6), "{input}");
        run(input, "f32[3,2]").fails(2, "extent");
        run(input, "c64[2,3]").fails(3, "f32");
    }
    let slice = ["run", "slice", "--offsets", "0,1", "--sizes", "2,2", "--strides", "-1,1"];
    let ran =
        sandbox.stridec(&[&slice[..], &["-i", "f.npy", "-o", "-", "--device", "host"]].concat());
    assert_eq!(ran.stdout, f32s([5, 6, 2, 3]), "{}", ran.stderr);
    sandbox.write("raw.bin", f32s(1..=6));
    run("raw.bin", "f32[2,3]").fails(2, "--from");
}

#[test]
fn fortran_order_is_a_layout() {
    let sandbox = Sandbox::new();
    sandbox.write("f.npy", npy("<f4", "True", "(2, 3)", &f32s([1, 4, 2, 5, 3, 6])));
    assert_eq!(sandbox.relayout("f32[2,3]{0,1}", "f32[2,3]", "f.npy", "out.bin").text(), "");
    assert_eq!(sandbox.read("out.bin"), f32s(1..=6));
    for from in ["f32[2,3]", "f32[3,2]{0,1}", "f32[3,2]", "f32[6]"] {
        sandbox.relayout(from, from, "f.npy", "no.bin").fails(2, "f.npy: an array of [2, 3]");
    }
}

#[test]
fn a_blocked_layout_is_the_array_of_its_blocks() {
    let sandbox = Sandbox::new();
    // nChw8c with one row of images, beside the same with the dimensions of XLA's tile
    let blocked = "onednn:f32[2,9,1,3] nChw8c";
    let data: Vec<u8> = (0..54).collect();
    sandbox.write("plain.npy", npy("<f4", "False", "(2, 9, 1, 3)", &f32s(data.clone())));
    assert_eq!(sandbox.relayout("f32[2,9,1,3]", blocked, "plain.npy", "blocked.npy").text(), "");
    let image = sandbox.read("blocked.npy");
    let header = String::from_utf8_lossy(&image[..128]).into_owned();
    assert!(header.contains("'shape': (2, 2, 1, 3, 8)"), "{header}");
    for shape in ["(2, 2, 1, 3, 8)", "(2, 2, 1, 3, 8, 1, 1)"] {
        sandbox.write("in.npy", npy("<f4", "False", shape, &image[128..]));
        assert_eq!(sandbox.relayout(blocked, "f32[2,9,1,3]", "in.npy", "back.bin").text(), "");
        assert_eq!(sandbox.read("back.bin"), f32s(data.clone()));
    }
    sandbox.write("in.npy", npy("<f4", "False", "(2, 3, 2, 1, 8)", &image[128..]));
    let says = "expected one of [2, 2, 1, 3, 8] in C order";
    sandbox.relayout(blocked, "f32[2,9,1,3]", "in.npy", "no.bin").fails(2, says);
}

#[test]
fn types_that_numpy_lacks_are_unsigned_integers() {
    let sandbox = Sandbox::new();
    for (kind, layout, descr, shape, bytes) in [
        ("bf16", "", "<u2", "(4,)", 8),
        ("f8e4m3fn", "", "|u1", "(4,)", 4),
        ("f6e2m3fn", "", "|u1", "(4,)", 4),
        ("s4", "", "|u1", "(4,)", 4),
        ("s4", "{0:E(4)}", "|u1", "(2,)", 2),
        ("u1", "{0:E(1)}", "|u1", "(1,)", 1),
        ("pred", "", "|b1", "(4,)", 4),
        ("f16", "", "<f2", "(4,)", 8),
        ("u64", "", "<u8", "(4,)", 32),
        ("c64", "", "<c8", "(4,)", 32),
        ("c128", "", "<c16", "(4,)", 64),
    ] {
        let tensor = format!("{kind}[4]{layout}");
        let file = npy(descr, "False", shape, &(1..=bytes).map(|n| n % 2).collect::<Vec<u8>>());
        sandbox.write("in.npy", &file);
        assert_eq!(sandbox.relayout(&tensor, &tensor, "in.npy", "out.npy").text(), "");
        assert_eq!(sandbox.read("out.npy"), file, "{tensor}");
    }
}

#[test]
fn what_is_not_the_image_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("out.npy", "untouched");
    let data = f32s(1..=6);
    for (file, says) in [
        (npy(">f4", "False", "(2, 3)", &data), "newbyteorder"),
        (npy("<i4", "False", "(2, 3)", &data), "'<i4'"),
        (npy("<f4", "False", "(3, 2)", &data), "[3, 2]"),
        (npy("<f4", "False", "(6,)", &data), "[6]"),
        (npy("<f4", "False", "(2, 3)", &data[..20]), "20 bytes"),
        (npy("<f4", "False", "(2, 3)", &[&data[..], &[0]].concat()), "25 bytes"),
        (npy("[('a', '<f4')]", "False", "(2, 3)", &data), "error: "),
        (npy("|O", "False", "(2, 3)", &data), "'|O'"),
        (npy("<f4", "False", "(18446744073709551615, 2)", &data), "error: "),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "header"),
        (b"not numpy's".to_vec(), "NUMPY"),
        (vec![], "NUMPY"),
    ] {
        sandbox.write("in.npy", file);
        let ran = sandbox.relayout("f32[2,3]", "f32[2,3]{0,1}", "in.npy", "out.npy");
        ran.fails(2, says);
        assert!(ran.stderr.contains("in.npy: "), "{}", ran.stderr);
        // Without `--from`, an array of integers would be converted.
        if says == "'<i4'" {
            continue;
        }
        let args = ["run", "relayout", "--to", "f32[2,3]", "-i", "in.npy", "-o", "out.npy"];
        let ran = sandbox.stridec(&[&args[..], &["--device", "host"]].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
    }
    assert_eq!(sandbox.read("out.npy"), b"untouched");
    assert_eq!(sandbox.names(), ["in.npy", "out.npy"]);
}

#[test]
fn messages_about_arrays_say_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.write("f.npy", npy("<f4", "True", "(2, 3)", &f32s(1..=6)));
    let from = |from| sandbox.relayout(from, "{1,0}", "f.npy", "out.bin");
    from("f32[2,3]").fails(
        2,
        "error: f.npy: an array of [2, 3] in Fortran order; expected one of [2, 3] in C order (the memory of the \
         source); for this array, leave --from out or give --from 'f32[2,3]{0,1}'\n",
    );
    from("f32[3,2]{0,1}").fails(
        2,
        "an array of [2, 3] in Fortran order; expected one of [2, 3] in C order (the memory of the source), or of \
         [3, 2] in Fortran order (its elements)\n",
    );
    assert_eq!(from("f32[2,3]{0,1}").text(), "");
    let run = |input| {
        let args = ["run", "relayout", "--to", "{0,1}", "-i", input, "-o", "out.bin"];
        sandbox.stridec(&[&args[..], &["--device", "host"]].concat())
    };
    sandbox.write("v2.npy", npy("|V2", "False", "(2, 3)", &[0; 12]));
    run("v2.npy").fails(
        2,
        "error: v2.npy: dtype '|V2' names no element type, which numpy writes for ml_dtypes' bfloat16; if it is, \
         give --from 'bf16[2,3]' with the array's extents\n",
    );
    assert_eq!(sandbox.relayout("bf16[2,3]", "{0,1}", "v2.npy", "out.bin").text(), "");
    sandbox.write("v1.npy", npy("|V1", "False", "(2, 3)", &[0; 6]));
    run("v1.npy").fails(2, "ml_dtypes' 8-bit floats and 4-bit integers");
    run("a.npz").fails(2, "error: a.npz: a .npz file is a zip archive of .npy files");
    let ran = sandbox.relayout("bf16[2,3]", "{0,1}", "v2.npy", "out.NPZ");
    ran.fails(2, "error: out.NPZ: a .npz file is a zip archive of .npy files");
}

/// A pipe may never end; only the header and the image are read from it.
#[test]
#[cfg(target_os = "linux")]
fn an_endless_file_is_refused() {
    let sandbox = Sandbox::new();
    for (start, says) in [
        (npy("<f4", "False", "(2, 3)", &[]), "expected 24 bytes (the memory of f32[2,3]), got "),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "a header of 4294967295 bytes"),
        (vec![], "expected \\x93NUMPY"),
    ] {
        sandbox.write("start", start);
        let script =
            "mkfifo in.npy; cat start /dev/zero >in.npy & \"$@\"; code=$?; rm in.npy; exit $code";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_stridec"), "run", "relayout"]);
        command.args(["--to", "{0,1}", "-i", "in.npy", "-o", "out.bin", "--device", "host"]);
        let output = command.current_dir(sandbox.path("")).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn a_table_is_a_file_of_entries() {
    let sandbox = Sandbox::new();
    let inverted: Vec<u8> = (0..=255_u8).rev().collect();
    sandbox.write("in.npy", npy("|u1", "False", "(2, 3)", &[0, 1, 2, 253, 254, 255]));
    sandbox.write("one.npy", npy("|u1", "False", "(256,)", &inverted));
    sandbox
        .write("rows.npy", npy("|u1", "False", "(2, 256)", &[&inverted[..], &[7; 256]].concat()));
    sandbox.write("raw.bin", &inverted);
    let run = |table: &[&str]| {
        let files = ["-i", "in.npy", "-o", "out.bin", "--device", "host"];
        sandbox.stridec(&[&["run", "relayout", "--to", "{0,1}"], &files[..], table].concat())
    };
    for table in ["one.npy", "raw.bin"] {
        assert_eq!(run(&["--table", table]).text(), "");
        assert_eq!(sandbox.read("out.bin"), [255, 2, 254, 1, 253, 0], "{table}");
    }
    assert_eq!(run(&["--table", "rows.npy", "--table-dimension", "d0"]).text(), "");
    assert_eq!(sandbox.read("out.bin"), [255, 7, 254, 7, 253, 7]);
    run(&["--table", "rows.npy"]).fails(2, "expected one of [256]");
    run(&["--table", "rows.npy", "--table-dimension", "d1"]).fails(2, "[3, 256]");
    run(&["--table", "one.npy", "--table-dimension", "d2"]).fails(2, "below 2");
    run(&["--table", "one.npy", "--table-dimension", "2"]).fails(2, "such as d3");
    run(&["--table", "absent.npy"]).fails(2, "absent.npy");
    run(&["--table-dimension", "d1"]).fails(2, "--table");
    let kernel =
        ["compile", "relayout", "--from", "u8[2,3]", "--to", "{0,1}", "--table", "raw.bin"];
    assert!(sandbox.stridec(&kernel).text().contains("source1[read / 4u]"));
    let wide = ["compile", "relayout", "--from", "s16[2,3]", "--to", "{0,1}", "--table", "raw.bin"];
    sandbox.stridec(&wide).fails(3, "at most 8 bits");
    let program = ["run", "hlo", "@m.pb", "--table", "raw.bin", "-i", "in.npy", "-o", "out.bin"];
    sandbox.stridec(&program).fails(2, "--table");
}
