//! Tests with texts that XLA and TensorFlow print, accept or reject.

use super::{Notation, ParseError, parse_leaf_path};
use crate::shape::{
    DimLevelType, Dimension, ElementType, Format, Layout, MAX_DEPTH, PaddingValue, Shape,
    ShapeError, SplitConfig, StridedShape, Tile, TileDimension,
};

fn parse(text: &str) -> Shape {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn layout_of(text: &str) -> Layout {
    parse(text).layout().unwrap().clone()
}

#[test]
fn what_xla_prints_parses_and_prints_the_same() {
    for text in [
        "f32[2,3,4]{0,1,2}",
        "f32[2,3,4]{0,1,2:T(512,1024)}",
        "bf16[2,3,4]{1,2,0:T(16,256)(2,1)}",
        "pred[8,8,8]{0,2,1:E(32)}",
        "bf16[2,3,1004]{2,1,0:T(2,*,128)}",
        "f32[]{:T(256)}",
        "f32[<=23,44,<=55]",
        "f32[?,784]{1,0}",
        "opaque[]",
        "token[]",
        "()",
        "b(s32[])",
        "((opaque[], f32[], u32[1,2]{1,0}, s32[3,4]{0,1}), u32[1,2]{1,0}, token[])",
        "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])",
        "pred[123,456]{1,0:S(3)SC(0:10)(1:4,5)}",
        "f32[8,8]{1,0:D(C+,H+~)T(2,2)L(100)#(u32)*(u16)E(42)S(-1)SC(0:3)P((s32[2]{0}, token[]))M(8)}",
        "f32[2,3]{0,1:PAD(3,5,zero)}",
        "f32[2,3]{0,1:PAD(3,5)}",
        "f32[2,3]{0,1:PAD(unknown)}",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn every_element_type_parses() {
    for kind in ElementType::ALL.into_iter().filter(|kind| kind.bits().is_some()) {
        let shape = parse(&format!("{kind}[2]"));
        assert_eq!((shape.element_type(), shape.rank()), (kind, 1));
    }
}

#[test]
fn layouts_and_tiles_print_and_parse_alone() {
    for text in ["{}", "{1,2,0}", "{3,2,1,0:T(*,*,42,123)}", "{3,2,1,0:T(42,123)(4,5)L(100)E(42)}"]
    {
        assert_eq!(text.parse::<Layout>().unwrap().to_string(), text);
    }
    assert_eq!("(7,8)".parse::<Tile>().unwrap().to_string(), "(7,8)");
    assert_eq!("{1,1}".parse::<Layout>().unwrap_err().offset(), 3);
    assert_eq!("(7,0)".parse::<Tile>().unwrap_err().offset(), 3);
    assert!("{no layout}".parse::<Layout>().is_err());
    assert_eq!("{1,0}".parse(), Ok(Layout::new([1, 0])));
    assert_eq!("{1,0:T(8,128)}".parse(), Ok(Layout::new([1, 0]).tiled([8, 128])));
}

#[test]
fn each_attribute_reaches_its_field() {
    let layout =
        layout_of("pred[123,456]{1,0:T(2,128)L(4)E(8)S(3)SC(1:200)M(16)PAD(124,460,lowest)}");
    let expected = Layout {
        tail_padding_alignment_in_elements: 4,
        element_size_in_bits: 8,
        memory_space: 3,
        split_configs: vec![SplitConfig { dimension: 1, split_indices: vec![200] }],
        dynamic_shape_metadata_prefix_bytes: 16,
        ..Layout::new([1, 0])
            .tiled([TileDimension::Size(2), TileDimension::Size(128)])
            .padded([124, 460], Some(PaddingValue::Lowest))
    };
    assert_eq!(layout, expected);

    let layout = layout_of("f32[2,3,4]{2,1,0:D(D,C+,S~)#(u8)*(u64)P(s32[])}");
    let sparse = layout.sparse.unwrap();
    let levels = [DimLevelType::Dense, DimLevelType::Compressed, DimLevelType::Singleton];
    assert_eq!(sparse.dim_level_types, levels);
    assert_eq!(sparse.dim_unique, [true, false, true]);
    assert_eq!(sparse.dim_ordered, [true, true, false]);
    assert_eq!(sparse.index_primitive_type, Some(ElementType::U8));
    assert_eq!(sparse.pointer_primitive_type, Some(ElementType::U64));
    assert_eq!(sparse.physical_shape, Some(parse("s32[]")));

    let dimensions = [Dimension::Fixed(1), Dimension::AtMost(2), Dimension::Unbounded];
    assert_eq!(parse("f32[1,<=2,?]").dimensions(), dimensions);
}

#[test]
fn blanks_comments_and_old_spellings_are_read() {
    for (text, canonical) in [
        ("f32[123,456,789]{0,1,2:T(2, * , 128)}", "f32[123,456,789]{0,1,2:T(2,*,128)}"),
        ("(f32[1572864],s8[5120,1024])", "(f32[1572864], s8[5120,1024])"),
        ("f32[2,3] {1,0}", "f32[2,3]{1,0}"),
        (" f32 [ 2 , 3 ] /*two by three*/ { 1 , 0 } ", "f32[2,3]{1,0}"),
        ("f32[123,456]dense{0,1}", "f32[123,456]{0,1}"),
        ("u32[1,2]{no layout}", "u32[1,2]"),
        ("f32[]{}", "f32[]"),
        ("f32[02]", "f32[2]"),
    ] {
        assert_eq!(parse(text).to_string(), canonical, "{text}");
    }
    assert_eq!(layout_of("f32[123,456]dense{0,1}").format, Format::Dense);
    assert_eq!(parse("u32[1,2]{no layout}").layout(), None);
}

#[test]
fn layouts_can_be_left_out_of_print() {
    let text =
        "((opaque[], f32[], u32[1,2]{1,0}, s32[3,4]{0,1}), b(u32[1,2]{1,0}), f32[]{:T(256)})";
    let printed = parse(text).without_layout().to_string();
    assert_eq!(printed, "((opaque[], f32[], u32[1,2], s32[3,4]), b(u32[1,2]), f32[])");
}

/// Texts that are refused, each with the part that the error points at, and a part of the error
/// message.
const REFUSED: &[(&str, &str, &str)] = &[
    ("f32[123,456]foobar{0,1}", "foobar", "expected the end"),
    ("f32[123,456]{foo}", "foo", "a dimension number"),
    ("f32[123,456,789]{1:T(2, * , 128)}", "1", "expected 3 entries"),
    ("b()", ")", "an element type"),
    ("b(token[])", "token[]", "expected one array in a buffer"),
    ("b((f32[]))", "(f32[])", "expected one array in a buffer"),
    ("f32[123,456]sparse{10}", "sparse", "a sparse array gives no place to each element"),
    ("f32[123,456]dense{foo}", "foo", "a dimension number"),
    ("f32[2,3]{1,1}", "1", "expected each dimension once"),
    ("f32[2,3]{2,0}", "2", "expected 0 to 1"),
    ("f32[2,3]{0,-1}", "-1", "expected 0 to 1"),
    ("f32[2,3]{}", "", "expected 2 entries"),
    ("f32[2,3]{1,0,}", "}", "a dimension number"),
    ("f32[2,3]{1,0:T(2,-2)}", "-2", "expected 1 to 2^63-1"),
    ("f32[2,3]{1,0:T(2,0)}", "0", "expected 1 to 2^63-1"),
    ("f32[2,3]{1,0:T(2,*)}", "*", "the last has none"),
    ("f32[2,3]{1,0:T}", "}", "`(`"),
    ("f32[2,3]{1,0:L(0)}", "0", "expected 1 to 2^63-1"),
    ("f32[2,3]{1,0:E(-4)}", "-4", "expected 0 to 2^63-1"),
    ("f32[2,3]{1,0:E(4)T(2)}", "T", "got `T` after `E`"),
    ("f32[2,3]{1,0:E(4)E(4)}", "E", "each once"),
    ("f32[2,3]{1,0:Q(4)}", "Q", "an attribute"),
    ("f32[2,3]{1,0:#(f32)}", "f32", "expected an unsigned integer"),
    ("f32[2,3]{1,0:D(C)}", "(C)", "expected 2 entries"),
    ("f32[2]{0:D(X)}", "X", "a level"),
    ("f32[2]{0:D(D+)}", "D+", "a dense level is unique and ordered"),
    ("f32[4,6,10]{0,1,2:SC(3:1)}", "3", "expected 0 to 2"),
    ("f32[4,6,10]{0,1,2:SC(0:1)(0:2)}", "0", "expected each dimension once"),
    ("f32[4,6,10]{0,1,2:SC(0:2,2)}", "2", "expected an index greater than 2"),
    ("f32[4,6,10]{0,1,2:SC(0:10)}", "10", "expected 0 to 9"),
    ("f32[2,3]{0,1:PAD(3,2,zero)}", "2", "expected at least 3"),
    ("f32[2,3]{0,1:PAD(3,zero)}", "(3,zero)", "expected 2 entries"),
    ("f32[2,3]{0,1:PAD(3,5,blue)}", "blue", "zero, one, lowest, highest or unknown"),
    ("f32[2,3]{0,1:PAD(zero,3)}", "3", "`)`"),
    ("f32[2,3]{0,1:PAD(2,3,value(1),2)}", "2", "`)`"),
    ("f32[2,3]{0,1:PAD(2,3,value(x))}", "x", "a number"),
    ("f32[2,3]{0,1:PAD(zero,one)}", "one", "`)`"),
    ("f32[2,3]{0,1:PAD()}", "()", "no padding"),
    ("f32[?,3]{0,1:PAD(3,5)}", "3", "in dimension 0, got `?`"),
    ("f32[2,-3]", "-3", "expected 0 to 2^63-1"),
    ("f32[2,9223372036854775808]", "9223372036854775808", "an int64 does not hold"),
    ("u8[4611686018427387904,4]", "[4611686018427387904,4]", "fewer than 2^63 bytes"),
    ("f32[2", "", "`,` or `]`"),
    ("f32[2,]", "]", "an extent"),
    ("", "", "an element type"),
    ("f33[2]", "f33", "an element type"),
    ("tuple[]", "tuple", "an element type"),
    ("token[2]", "token[2]", "expected token[]"),
    ("token[]{}", "{", "no layout"),
    ("f32[2] f32[2]", "f32", "expected the end"),
    ("f32[2]{0} strided<[1]>", "strided", "only `{:E(n)}`"),
    ("(f32[2] strided<[1]>)", "strided", "stand alone"),
    ("f32[2,3] strided<[1]>", "[1]", "expected 2 entries"),
    ("f32[<=2] strided<[1]>", "<=2", "no fixed extent"),
    ("f32[2] strided<[1], offset: -1>", "-1", "expected 0 to 2^63-1"),
    ("f32[2] strided<[1], base: 1>", "base", "`offset`"),
    ("(f32[2], (s8[3], pred[]))#1,2", "2", "expected a number below 2"),
    ("(f32[2])#-1", "-1", "expected the number of a part"),
    ("f32[2]#0", "0", "which has no parts"),
    ("f32[2] strided<[1]>#0", "#", "has no parts"),
];

#[test]
fn what_is_refused_is_pointed_at() {
    for &(text, part, says) in REFUSED {
        let error = text.parse::<Notation>().unwrap_err();
        let place = error.offset()..error.offset() + error.len();
        assert_eq!(text.get(place), Some(part), "{text}: {error}");
        assert!(error.reason().contains(says), "{text}: {error}");
        assert!(!error.to_string().contains('\n'), "{text}: {error}");
    }
}

#[test]
fn the_second_of_two_equal_numbers_is_pointed_at() {
    for (text, offset) in [
        ("f32[2,3]{1,1}", 11),
        ("f32[4,6,10]{0,1,2:SC(0:1)(0:2)}", 26),
        ("f32[4,6,10]{0,1,2:SC(0:2,2)}", 25),
        ("(f32[2], f32[2,3]{0,0})", 20),
        ("f32[2]{0:P(f32[2,3]{0,0})}", 22),
    ] {
        assert_eq!(text.parse::<Shape>().unwrap_err().offset(), offset, "{text}");
    }
    let error = "f32[2,3]{1,1}".parse::<Shape>().unwrap_err();
    assert!(matches!(error.invalid_shape(), Some(ShapeError::Duplicate { given: 1, .. })));
}

#[test]
fn strides_print_and_parse() {
    for text in [
        "f32[1,1,3,5] strided<[15,15,5,1]>",
        "f32[1,3,224,224] strided<[153228,51076,226,1], offset: 227>",
        "s4[8]{:E(4)} strided<[2]>",
        "f32[2,3] strided<[0,-1], offset: 2>",
        "f32[] strided<[]>",
    ] {
        assert_eq!(text.parse::<Notation>().unwrap().to_string(), text);
        assert_eq!(text.parse::<StridedShape>().unwrap().to_string(), text);
        assert!(text.parse::<Shape>().is_err(), "{text}");
    }
    let shape: StridedShape = "s4[8]{:E(4)}strided< [ -2 ] , offset : 14 >".parse().unwrap();
    assert_eq!(shape, StridedShape::new(ElementType::S4, [8], [-2], 14, 4).unwrap());
    assert!("f32[2]".parse::<StridedShape>().is_err());
}

#[test]
fn a_suffix_names_a_part_of_a_tuple() {
    let leaf = |text: &str| text.parse::<Notation>().unwrap().to_string();
    assert_eq!(leaf("(f32[2]{0}, (s8[3], pred[]))#1,0"), "s8[3]");
    assert_eq!(leaf("(f32[2]{0}, (s8[3], pred[])) # 1"), "(s8[3], pred[])");
    assert_eq!(parse_leaf_path("1,0"), Ok(vec![1, 0]));
    assert!(parse_leaf_path("").is_err());
    assert!("(f32[2])#0".parse::<Shape>().is_err());
}

#[test]
fn hostile_nesting_and_counts_are_errors() {
    let deep = |depth: usize| "(".repeat(depth) + "f32[]" + &")".repeat(depth);
    assert!(deep(MAX_DEPTH - 1).parse::<Shape>().is_ok());
    let error = deep(MAX_DEPTH).parse::<Shape>().unwrap_err();
    assert_eq!((error.offset(), error.invalid_shape()), (MAX_DEPTH, None));
    for open in ["(", "f32[2]{0:P(", "b(", "/*", "f32[1]{0:T("] {
        assert!(open.repeat(if cfg!(miri) { 1_000 } else { 100_000 }).parse::<Notation>().is_err());
    }
    if !cfg!(miri) {
        let wide = "(".to_string() + &"(),".repeat(70_000) + "())";
        assert!(
            wide.parse::<Shape>().unwrap_err().reason().contains("expected at most 65536 shapes")
        );
    }
    let rank = |rank: usize| format!("f32[1{}]", ",1".repeat(rank - 1));
    assert!(rank(64).parse::<Shape>().is_ok());
    assert!(rank(65).parse::<Shape>().is_err());
    let order = |rank: usize| {
        let order: Vec<String> = (0..rank).map(|dimension| dimension.to_string()).collect();
        format!("{{{}}}", order.join(","))
    };
    assert!(order(64).parse::<Layout>().is_ok());
    assert!(order(65).parse::<Layout>().is_err());
    let tiles = |tiles: usize| format!("f32[1]{{0:T{}}}", "(1)".repeat(tiles));
    assert!(tiles(64).parse::<Shape>().is_ok());
    assert!(tiles(65).parse::<Shape>().is_err());
}

/// Checks that the parser does not panic on any text, and that a parsed value can be printed and
/// parsed again.
#[test]
fn no_text_panics() {
    const SEEDS: [&str; 6] = [
        "bf16[16,256]{1,0:T(8,128)(2,1)E(16)}",
        "(f32[<=2,?], (s8[3]{0:L(4)S(1)}, token[]), b(pred[]))#1,0",
        "f32[8,8]{1,0:D(C+,H+~)#(u32)*(u16)SC(0:3)(1:4,5)P(s32[2]{0})M(8)}",
        "f32[2,3]{0,1:PAD(3,5,lowest)}",
        "s4[1,3]{:E(4)} strided<[-15,0], offset: 227>",
        "u32[1,2]dense{no layout} /*index=5*/ opaque[]",
    ];
    const PIECES: [&str; 24] = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "<=",
        ",",
        ":",
        "*",
        "?",
        "#",
        "+",
        "~",
        "-",
        "0",
        "9223372036854775807",
        " ",
        "/*",
        "*/",
        "é",
        "T",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let mut accepted = 0;
    // Miri takes several milliseconds for each text.
    let rounds = if cfg!(miri) { 400 } else { 200_000 };
    for round in 0..rounds {
        let mut text: Vec<char> = SEEDS[round % SEEDS.len()].chars().collect();
        for _ in 0..=random(3) {
            let (at, end) = (random(text.len()), random(4));
            let end = (at + end).min(text.len());
            let piece = PIECES[random(PIECES.len())];
            match random(3) {
                0 => drop(text.drain(at..end)),
                1 => drop(text.splice(at..at, piece.chars())),
                _ => drop(text.splice(at..end, piece.chars())),
            }
            if text.is_empty() {
                text.push('f');
            }
        }
        let text: String = text.into_iter().collect();
        match text.parse::<Notation>() {
            Ok(notation) => {
                accepted += 1;
                let printed = notation.to_string();
                let again: Result<Notation, ParseError> = printed.parse();
                assert_eq!(again.map(|again| again.to_string()), Ok(printed), "{text}");
            }
            Err(error) => {
                let end = error.offset() + error.len();
                assert!(text.get(error.offset()..end).is_some(), "{text}: {error}");
            }
        }
    }
    assert!(accepted > rounds / 200, "{accepted} accepted");
}

#[test]
fn other_systems_names_of_types_are_told_xlas() {
    for (name, meant) in [
        ("float32", "f32"),
        ("F32", "f32"),
        ("BF16", "bf16"),
        ("bfloat16", "bf16"),
        ("half", "f16"),
        ("i32", "s32"),
        ("int4", "s4"),
        ("uint8", "u8"),
        ("ui8", "u8"),
        ("bool", "pred"),
        ("complex64", "c64"),
        ("float8_e4m3fn", "f8e4m3fn"),
    ] {
        let error = format!("{name}[2,3]").parse::<Shape>().unwrap_err();
        assert_eq!(error.reason(), format!("expected XLA's name `{meant}`, got `{name}`"));
        assert_eq!((error.offset(), error.len()), (0, name.len()));
    }
    for name in ["f99", "int5", "i", "u", "tensor", "Tuple", "B"] {
        let error = format!("{name}[2]").parse::<Shape>().unwrap_err();
        assert!(!error.reason().contains("XLA's name"), "{error}");
    }
}
