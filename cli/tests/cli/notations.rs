//! Every command in docs/notations.md prints the output shown there.

use crate::sandbox::Sandbox;

/// The words of a line, as a shell splits it: at blanks, except between single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        for (number, word) in part.split(' ').enumerate() {
            if number > 0 {
                words.push(String::new());
            }
            words.last_mut().unwrap().push_str(word);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_commands_of_the_documentation() {
    let sandbox = Sandbox::new();
    let text = include_str!("../../../docs/notations.md");
    let (mut commands, mut wrong) = (0, Vec::new());
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for command in block.split("$ stridec ").skip(1) {
            let (line, expected) = command.split_once('\n').unwrap();
            let words = words(line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = sandbox.stridec(&words);
            let shown = String::from_utf8_lossy(&ran.stdout).into_owned() + &ran.stderr;
            if shown != expected {
                wrong.push(format!("{line}: expected {expected}, got {shown}"));
            }
            commands += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(commands >= 9, "{commands}");
}

#[test]
fn offsets_as_numbers_of_eight_bytes() {
    let sandbox = Sandbox::new();
    let ran = sandbox.stridec(&["offset", "f32[2,2]{0,1}", "--all", "--format", "le64"]);
    let expected: Vec<u8> = [0_u64, 2, 1, 3].into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(ran.stdout, expected);
    assert_eq!(sandbox.stridec(&["offset", "f32[0,2]", "--all"]).text(), "");
    assert_eq!(sandbox.stridec(&["offset", "f32[]", "--all"]).text(), "0\n");
    sandbox.stridec(&["offset", "f32[2]", "--index", "1", "--format", "le64"]).fails(2, "--format");
}

#[test]
fn refusals_have_the_code_of_their_kind() {
    let sandbox = Sandbox::new();
    let convert = |shape, kind| sandbox.stridec(&["convert", shape, "--as", kind]);
    convert("f32[4] strided<[0]>", "xla").fails(3, "a stride of 0 puts several elements");
    convert("f32[8,8]{1,0:T(4,4)}", "numpy").fails(3, "a tile that takes dimension 0 apart");
    convert("jax:f32[2] Layout.AUTO", "xla").fails(3, "^^^^^^^^^^^");
    convert("jax:f32[2] Layout((1,))", "xla").fails(2, "minor_to_major");
    convert("numpy:shape=(2,) dtype=floof", "xla").fails(3, "expected a dtype that XLA has");
    convert("f32[2]", "klingon").fails(2, "expected one of the notations");
    convert("(f32[2], s8[3])", "jax").fails(3, "tuple");
}

#[test]
fn a_layout_is_described_in_every_notation() {
    let ran = Sandbox::new().stridec(&["describe", "bf16[16,256]{1,0:T(8,128)(2,1)}"]);
    for line in [
        "  jax          bf16[16,256] Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)), sub_byte_element_size_in_bits=0)\n",
        "  torch        none: tiles: a tile that takes dimension 0 apart is not supported",
    ] {
        assert!(ran.text().contains(line), "{}", ran.text());
    }
}
