//! Texts that are made to break a parser. Each gets an answer in time and without a panic, and an
//! error has a position inside the text.

use std::time::{Duration, Instant};

use stridec::notation::{Kind, read};

/// The prefix of each notation, and pieces of its texts.
const PIECES: [(&str, &[&str]); 15] = [
    ("jax:f32[2,3] ", &["Layout(", "major_to_minor=", "(0, 1)", "tiling=", "((", "sharding=", "'"]),
    ("numpy:", &["shape=", "(2, 3)", "strides=", "{'shape': ", "dtype=", "'<f4'", "["]),
    ("torch:", &["size=", "f32[2, 3]", "[3, 1]", "FixedLayout(", "stride=", "torch.float32", "("]),
    (
        "onednn:f32[2,17,3,5] ",
        &["nChw", "aBcd", "16c", "16b", "dims ", "2x3", " strides ", "wino_fmt"],
    ),
    ("tensorrt:f16[2,17,3,5] ", &["kCHW2", "kDLA_HWC4", "k", "{:E(4)}"]),
    ("tensorrt:[1,9,3,5] ", &["Int8(", "135,", "15:4", ",5,1)", "9223372036854775807", ")"]),
    ("cublaslt:s8[20,40] ", &["COL32", "_2R_4R4", "128x4", "CUBLASLT_ORDER_", "::", "."]),
    ("openvino:f16[2,17,3,5] ", &["b_fs_yx_fsv16", "bs", "_", "fsv", "osa4", "format::"]),
    ("tvm:f32[2,17,8,8] ", &["NCHW", "4c", "16n", "N", "0c", "18446744073709551615c"]),
    ("ggml:", &["f16 ", "ne=[3,4,1,1]", " nb=", "[4,12,48,48]", "type=", "q4_0", "(", "-1"]),
    ("cute:", &["((2,4),8)", ":", "((1,16),2)", "(", "_4", "Sw<1,4,3> o ", "_1@0", "f16 "]),
    (
        "memref",
        &[
            "<2x3xf32",
            ", ",
            "affine_map<(d0, d1) -> (",
            "d0 floordiv 8",
            " mod 4",
            "strided<[",
            ">",
            "(",
        ],
    ),
    ("dml:", &["{", "\"sizes\": ", "[2, 3]", ", \"data_type\": ", "\"FLOAT32\"", "}"]),
    ("dlpack:", &["{\"code\": 2, ", "\"bits\": 32, ", "\"shape\": ", "[2, 3]", "}", "\"lanes\": "]),
    (
        "triton:",
        &[
            "- offset=1 -> ",
            "(0, 1)",
            "offset=2 -> ",
            "where out dims are: ",
            "[dim0 (size 4), ",
            "dim1 (size 8)]",
        ],
    ),
];

/// Numbers that overflow, control characters, and characters of several bytes.
const ODD: [&str; 9] = [
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999999999",
    "\u{0}",
    "\u{1b}[31m",
    "\u{202e}",
    "ä",
    "\u{1f980}",
    "\n",
];

/// Reads a text, and writes the result in every notation.
fn answers(text: &str) {
    let start = Instant::now();
    match read(text) {
        Ok(array) => {
            for kind in Kind::ALL {
                let _ = array.write(kind);
            }
        }
        Err(error) => {
            assert!(error.offset() <= text.len() && text.is_char_boundary(error.offset()));
            assert!(text.is_char_boundary(error.offset() + error.len()), "{text:?}: {error}");
            assert!(error.reason().len() < 1000);
        }
    }
    let most = Duration::from_secs(5);
    assert!(start.elapsed() < most, "{} bytes took {:?}", text.len(), start.elapsed());
}

#[test]
fn one_piece_over_and_over() {
    for (before, pieces) in PIECES {
        for piece in pieces.iter().chain(&ODD).chain(&["(", "[", "{", ",", "1,", " ", "<", ":"]) {
            for count in [1, 2, 70, 100_000 / piece.len()] {
                answers(&format!("{before}{}", piece.repeat(count)));
            }
        }
    }
}

#[test]
fn pieces_side_by_side() {
    for (before, pieces) in PIECES {
        let all: Vec<&str> = pieces.iter().chain(&ODD).copied().collect();
        for first in &all {
            for second in &all {
                answers(&format!("{before}{first}{second}"));
                answers(&format!("{before}{first} {second})"));
            }
        }
    }
}

/// The position and the reason of an error, shown as a caret under the text.
#[test]
fn errors_point_at_the_character() {
    for (text, marked, reason) in [
        ("jaks:f32[2] Layout((0,))", "jaks", "expected one of the notations"),
        ("jax:f33[2] Layout((0,))", "f33", "expected an element type"),
        ("jax:f32[2,3] Layout((0, 1, 2))", "(0, 1, 2)", "expected 2 dimensions"),
        ("jax:f32[2,3] Layout((0, x))", "x", "expected a number"),
        ("jax:f32[2,3] Layout((0, 1), tile=())", "tile", "expected one of major_to_minor"),
        ("jax:f32[2,3] Layout((0, 1)) x", "x", "expected the end"),
        ("jax:f32[2,3] Layout.AUTO", "Layout.AUTO", "leave the layout to the compiler"),
        ("numpy:shape=(2, 3) strides=(12,) dtype=float32", "(12,)", "expected 2 values"),
        ("numpy:shape=(4,) strides=(6,) dtype=float32", "(6,)", "expected a multiple of 4"),
        ("numpy:shape=(4,) dtype='>f4'", "'>f4'", "little-endian"),
        ("torch:size=(2,) stride=(-1,)", "(-1,)", "torch has no others"),
        ("torch:f31[2][1]", "f31", "as fx prints it"),
        ("torch:f32[2][1", "", "expected `,` or `]`"),
        ("onednn:f32[2,17,3,5] nCCw8c", "nCCw8c", "each letter once"),
        ("onednn:f32[2,17,3,5] nchw8c", "nchw8c", "capitals"),
        ("onednn:f32[2,17,3,5] nChw8", "nChw8", "behind each size"),
        ("onednn:f32[2,17,3] nchw", "nchw", "expected 3 letters"),
        ("onednn:f32[2,17,3,5] undef", "undef", "gives a place to each element"),
        ("cute:(4,2):(1,4,8)", "(1,4,8)", "nested as the shape is"),
        ("cute:(4,5):(_1@1,_1@0)", "@", "strides of a basis"),
        ("cute:(4,0):(1,4)", "0", "expected an extent from 1 on"),
        ("cute:Sw<1,2,1> o _0 o (8,16):(16,1)", "(8,16):(16,1)", "swizzle"),
        ("cute:()", ")", "expected a number"),
        ("memref<?x3xf32>", "?", "not known here"),
        ("memref<*xf32>", "*", "unranked"),
        ("memref<2x3xf33>", "f33", "expected an element type"),
        ("memref<2x3xf32, offset: 5, strides: [1, 2]>", "offset", "a memory space"),
        ("memref<2x3xf32, affine_map<(d0, d1) -> (d2)>>", "d2", "below d2"),
        (
            "memref<2x3xf32, affine_map<(d0, d1) -> ((d0 + d1) mod 2)>>",
            "mod 2",
            "a part of one dimension",
        ),
        (
            "dml:{\"data_type\": \"FLOAT31\", \"sizes\": [2]}",
            "\"FLOAT31\"",
            "a data type of DirectML",
        ),
        (
            "dml:{\"data_type\": \"FLOAT32\", \"sizes\": [0]}",
            "{\"data_type\": \"FLOAT32\", \"sizes\": [0]}",
            "sizes[0]",
        ),
        (
            "dlpack:{\"code\": 2, \"bits\": 32, \"shape\": [2], \"byte_offset\": 6}",
            "6",
            "a whole number of elements",
        ),
        (
            "triton:- offset=1 -> (3, 0)\nwhere out dims are: [a (size 4), b (size 1)]",
            "3, 0",
            "swizzle",
        ),
        (
            "triton:- offset=2 -> (1)\nwhere out dims are: [a (size 2)]",
            "2",
            "the next power of two",
        ),
        ("cudnn:s8[2,17,3,5] NC/4HW4", "NC/4HW4", "has no NC/4HW4"),
        ("tensorrt:s8[2,17,3,5] kCHW3", "kCHW3", "expected one of kLINEAR"),
    ] {
        let error = read(text).unwrap_err();
        let found = &text[error.offset()..error.offset() + error.len()];
        assert_eq!(found, marked, "{text}: {error}");
        assert!(error.reason().contains(reason), "{text}: {error}");
    }
}
