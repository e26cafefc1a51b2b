//! Tests of the limits on input, each with its error, and of the memory that the largest inputs
//! take.

use std::time::{Duration, Instant};

use prost::Message;
use stridec::{
    Error, Tensor,
    internals::{MAX_DEPTH, MAX_SHAPES, MAX_TILES},
    proto::xla,
    shape::{MAX_INPUT_BYTES, MAX_RANK, Shape},
    sharding::Sharding,
};

use crate::{alone, entry, memory};

fn proto(shape: &xla::Shape) -> String {
    Shape::decode(&shape.encode_to_vec()).unwrap_err().to_string()
}

fn array(rank: usize) -> xla::Shape {
    xla::Shape { element_type: 11, dimensions: vec![1; rank], ..Default::default() }
}

fn tuple(parts: Vec<xla::Shape>) -> xla::Shape {
    xla::Shape { element_type: 13, tuple_shapes: parts, ..Default::default() }
}

fn token() -> xla::Shape {
    xla::Shape { element_type: 17, ..Default::default() }
}

fn notation(text: &str) -> String {
    match text.parse::<Tensor>() {
        Err(Error::Parse(error)) => error.reason().to_owned(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn rank() {
    let _alone = alone();
    let list = |rank: usize| vec!["1"; rank].join(",");
    let text = "dimensions: expected at most 64 dimensions, got 65";
    assert!(Shape::decode(&array(MAX_RANK).encode_to_vec()).is_ok());
    assert_eq!(proto(&array(MAX_RANK + 1)), text);
    assert!(format!("f32[{}]", list(MAX_RANK)).parse::<Tensor>().is_ok());
    assert_eq!(notation(&format!("f32[{}]", list(MAX_RANK + 1))), text);
    let strided = |rank| format!("f32[{0}] strided<[{0}]>", list(rank));
    assert!(strided(MAX_RANK).parse::<Tensor>().is_ok());
    assert!(notation(&strided(MAX_RANK + 1)).contains("expected at most 64 dimensions, got 65"));
}

#[test]
fn tuple_depth() {
    let _alone = alone();
    let nested = |depth: usize| (1..depth).fold(token(), |inner, _| tuple(vec![inner]));
    assert!(Shape::decode(&nested(MAX_DEPTH).encode_to_vec()).is_ok());
    let error = proto(&nested(MAX_DEPTH + 1));
    assert!(error.ends_with("expected at most 64 shapes inside one another, got 65"), "{error}");
    let text = |depth: usize| format!("{}token[]{}", "(".repeat(depth - 1), ")".repeat(depth - 1));
    assert!(text(MAX_DEPTH).parse::<Shape>().is_ok());
    let error = notation(&text(MAX_DEPTH + 1));
    assert_eq!(error, "expected shapes nested at most 64 levels deep, got more");
    // A message that is nested deeper than protobuf itself decodes gets a short error too.
    let error = proto(&nested(99));
    assert!(error.lines().count() == 1 && error.len() < 400, "{error}");
}

#[test]
fn shapes_of_a_tuple() {
    let _alone = alone();
    let parts = |count: usize| tuple(vec![token(); count]);
    assert!(Shape::decode(&parts(MAX_SHAPES - 1).encode_to_vec()).is_ok());
    assert_eq!(
        proto(&parts(MAX_SHAPES)),
        "tuple_shapes: expected at most 65536 shapes in all, got 65537"
    );
    let text = |count: usize| format!("({})", vec!["token[]"; count].join(","));
    assert!(text(MAX_SHAPES - 1).parse::<Shape>().is_ok());
    let error = notation(&text(MAX_SHAPES));
    assert_eq!(error, "expected at most 65536 shapes, got more");
}

#[test]
fn tiles() {
    let _alone = alone();
    let text = |count: usize| format!("f32[8]{{0:T(2){}}}", "(2)".repeat(count - 1));
    let tiled = text(MAX_TILES).parse::<Shape>().unwrap();
    assert_eq!(notation(&text(MAX_TILES + 1)), "layout.tiles: expected at most 64 tiles, got 65");
    let mut proto = xla::Shape::from(&tiled);
    let layout = proto.layout.as_mut().unwrap();
    layout.tiles.push(layout.tiles[0].clone());
    let error = Shape::decode(&proto.encode_to_vec()).unwrap_err().to_string();
    assert_eq!(error, "layout.tiles: expected at most 64 tiles, got 65");
}

#[test]
fn input_size() {
    let _alone = alone();
    let text = "expected at most 16777216 bytes, got 16777217";
    let long = " ".repeat(MAX_INPUT_BYTES + 1);
    assert!(Shape::decode(long.as_bytes()).unwrap_err().to_string().contains(text));
    assert!(notation(&long).contains(text));
    {
        use stridec::shape::{from_json, from_textproto};
        assert!(from_textproto::<xla::Shape>(&long).unwrap_err().to_string().contains(text));
        assert!(from_json::<xla::Shape>(&long).unwrap_err().to_string().contains(text));
    }
}

/// The maximum number of bytes of memory for each byte of a long serialized message or `.npy`
/// header.
const MOST_OF_BYTES: usize = 144;

/// The maximum number of bytes of memory for each byte of a long text.
const MOST_OF_TEXT: usize = 224;

/// The maximum number of bytes of memory for each byte of a long StableHLO text.
const MOST_OF_STABLEHLO: usize = 600;

/// The maximum number of bytes of memory for each byte of a long serialized sharding.
const MOST_OF_SHARDING: usize = 300;

fn sharding(bytes: &[u8]) -> bool {
    Sharding::decode(bytes).is_ok()
}

fn sharding_text(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).parse::<Sharding>().is_ok()
}

/// Reads the inputs that take the most memory for their length, which consist of many small parts.
/// `docs/testing.md` lists the limits.
#[test]
fn memory_of_large_inputs() {
    let _alone = alone();
    // The length of the list is just above a power of two, so its vector has just doubled its
    // capacity.
    let repeated =
        |head: &[u8], part: &[u8], tail: &[u8]| [head, &part.repeat((1 << 17) + 1), tail].concat();
    let field = |tag: u8, inner: Vec<u8>| {
        let mut bytes = vec![tag];
        prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
        [bytes, inner].concat()
    };
    let npy = |header: Vec<u8>| {
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x02\x00", &length[..], &header].concat()
    };
    let instructions = (0..30_000).map(|n| format!("{n}=u1[]a()")).collect::<Vec<_>>().concat();
    let instructions = format!("m{{{instructions}}}");
    let message = |tag: u8| repeated(&[], &[tag, 0], &[]);
    let cases: &[LargeInput] = &[
        ("shape", entry::shape, message(0x22), MOST_OF_BYTES),
        ("shape", entry::shape, field(0x2a, message(0x32)), MOST_OF_BYTES),
        ("shape", entry::shape, field(0x1a, repeated(&[], &[1], &[])), MOST_OF_BYTES),
        ("notation", entry::notation, repeated(b"(", b"(),", b")"), MOST_OF_TEXT),
        ("notation", entry::notation, repeated(b"f32[", b"1,", b"1]"), MOST_OF_TEXT),
        ("notation", entry::notation, repeated(b"f32[2]{0:T", b"(1)", b"}"), MOST_OF_TEXT),
        ("notation", entry::notation, repeated(b"f32", b"aA", b"[2]"), MOST_OF_TEXT),
        ("notation", entry::notation, repeated(b"f32[2]{0:", b"aA", b"(1)}"), MOST_OF_TEXT),
        ("notation", entry::notation, repeated(b"f32[2] ", b"9", b""), MOST_OF_TEXT),
        ("notation", entry::notation, repeated(b"/*", b"//", b"*/f"), MOST_OF_TEXT),
        ("textproto", entry::textproto, repeated(b"", b"tuple_shapes{}", b""), MOST_OF_TEXT),
        ("textproto", entry::textproto, repeated(b"dimensions:[", b"1,", b"1]"), MOST_OF_TEXT),
        ("textproto", entry::textproto, repeated(b"", b"aA", b": 1"), MOST_OF_TEXT),
        ("textproto", entry::textproto, repeated(b"element_type: ", b"aA", b""), MOST_OF_TEXT),
        ("textproto", entry::textproto, repeated(b"[", b"aA.", b"a]: 1"), MOST_OF_TEXT),
        ("json", entry::json, repeated(b"{\"", b"aA", b"\":1}"), MOST_OF_TEXT),
        ("json", entry::json, repeated(b"{\"element_type\":\"", b"aA", b"\"}"), MOST_OF_TEXT),
        ("json", entry::json, repeated(b"{\"tuple_shapes\":[", b"{},", b"{}]}"), MOST_OF_TEXT),
        ("json", entry::json, repeated(b"{\"dimensions\":[", b"1,", b"1]}"), MOST_OF_TEXT),
        (
            "npy",
            entry::npy,
            npy(repeated(b"{'shape': (", b"1,", b"), 'descr': '<f4', 'fortran_order': True}")),
            MOST_OF_BYTES,
        ),
        (
            "npy",
            entry::npy,
            npy(repeated(b"{'descr': '", b"aA", b"', 'shape': (), 'fortran_order': True}")),
            MOST_OF_BYTES,
        ),
        ("module", entry::module, field(0x1a, repeated(&[], &[0x12, 0], &[])), MOST_OF_BYTES),
        (
            "module",
            entry::module,
            field(0x1a, field(0x12, field(0x1a, message(0x22)))),
            MOST_OF_BYTES,
        ),
        (
            "module",
            entry::module,
            field(0x1a, field(0x12, field(0x42, message(0x52)))),
            MOST_OF_BYTES,
        ),
        ("sharding", sharding, message(0x2a), MOST_OF_SHARDING),
        ("sharding", sharding, field(0x72, message(0x1a)), MOST_OF_SHARDING),
        ("sharding", sharding, field(0x1a, repeated(&[], &[1], &[])), MOST_OF_SHARDING),
        ("sharding text", sharding_text, repeated(b"{", b"{manual},", b"{manual}}"), MOST_OF_TEXT),
        (
            "sharding text",
            sharding_text,
            repeated(b"{mesh['a'=2],[", b"{},", b"{}]}"),
            MOST_OF_TEXT,
        ),
        ("sharding text", sharding_text, repeated(b"{devices=[2]", b"1,", b"1}"), MOST_OF_TEXT),
        ("hlo", entry::hlo, instructions.into_bytes(), MOST_OF_TEXT),
        ("hlo", entry::hlo, repeated(b"m{x=u8[999999]constant({", b"1,", b""), MOST_OF_TEXT),
        ("hlo", entry::hlo, repeated(b"m{x=u8[]a(),", b"calls=x,", b""), MOST_OF_TEXT),
        (
            "request",
            entry::request,
            field(0x0a, field(0x0a, field(0x0a, message(0x22)))),
            MOST_OF_BYTES,
        ),
    ];
    check_memory(cases);
}

/// The longest time in which a large input is read. Work that grows with the square of the number
/// of functions took 40 seconds here; everything else takes at most 2.
const MOST_TIME_OF_LARGE: Duration = Duration::from_secs(15);

/// A format, its entry point, an input, and the memory limit in bytes for each byte of the input.
type LargeInput = (&'static str, entry::Entry, Vec<u8>, usize);

fn check_memory(cases: &[LargeInput]) {
    for (format, entry, input, most) in cases {
        let start = Instant::now();
        let taken = memory::peak(|| _ = entry(input));
        let time = start.elapsed();
        assert!(time < MOST_TIME_OF_LARGE, "{format}: {time:?} for {} bytes", input.len());
        let multiple = taken.div_ceil(input.len());
        eprintln!("{format}: {multiple} times {} bytes", input.len());
        assert!(multiple <= *most, "{format}: {taken} bytes for {}", input.len());
    }
}

#[test]
fn memory_of_large_stablehlo() {
    let _alone = alone();
    let function = "!t=tensor<i1>\nfunc.func @main(){";
    let body = |part: &str| format!("{function}{}return}}", part.repeat(33_000)).into_bytes();
    let several = |count, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
    let each = |text: &dyn Fn(usize) -> String| several(33_000, text);
    let arguments = each(&|n| format!("%{n}:!t,"));
    let arguments = format!("!t=tensor<i1>\nfunc.func @main({arguments}%a:!t){{return}}");
    let types = each(&|n| format!("tensor<{n}xi1>,"));
    let types = format!("func.func private @a({types}tensor<i1>)");
    let functions = each(&|n| format!("func.func @f{n}(){{return}}"));
    let functions = functions + "func.func @main(){return}";
    let aliases = each(&|n| format!("#a{n}=0 "));
    let splats = several(8_000, &|n| format!("%{n}=chlo.constant dense<1>:tensor<256xi8>\n"));
    let splats = format!("func.func @main(){{{splats}return}}");
    let repeated = |head: &str, part: &str, tail: &str| {
        [head, &part.repeat((1 << 17) + 1), tail].concat().into_bytes()
    };
    let cases = [
        ("operations", body(r#""a"():()->()"#)),
        ("operations", body("sdy.a:!t ")),
        ("results", body(r#""a"():()->(!t,!t,!t)"#)),
        ("arguments", arguments.into_bytes()),
        ("types", types.into_bytes()),
        ("functions", functions.into_bytes()),
        ("aliases", aliases.into_bytes()),
        ("attributes", repeated("func.func @main(){\"a\"(){", "a,", "b}:()->()return}")),
        ("brackets", repeated("#a = ", "[", "")),
        ("regions", repeated(function, "\"a\"()({", "")),
        ("splat", splats.into_bytes()),
    ];
    check_memory(
        &cases.map(|(part, input)| (part, entry::hlo as entry::Entry, input, MOST_OF_STABLEHLO)),
    );
}
