//! Protos. Every module is read or refused, and a module that was read can be written and read
//! again.

use prost::Message;
use stridec::{
    ErrorKind,
    hlo::{Module, SourceLine},
    internals::{
        MAX_COMPUTATIONS, MAX_INSTRUCTIONS, MAX_LITERAL_BYTES, MAX_MODULE_BYTES, hlo_proto,
    },
    shape::Shape,
    xla::shape_util,
};

use super::support::hlo_cases::hlo_cases;

#[test]
fn every_module_is_read_or_refused() {
    let (mut read, mut refused) = (0, 0);
    for case in hlo_cases() {
        match Module::decode(&case.bytes) {
            Ok(_) => {
                assert!(!case.is_invalid(), "{}", case.id);
                read += 1;
            }
            Err(error) => {
                assert!(case.is_invalid(), "{}: {error}", case.id);
                assert_eq!(error.kind(), ErrorKind::Invalid, "{}", case.id);
                println!("{}: {error} ({})", case.id, error.field().unwrap_or_default());
                refused += 1;
            }
        }
    }
    assert_eq!((read, refused), (897, 16));
}

#[test]
fn buffers_have_the_layouts_of_the_message() {
    for case in hlo_cases().iter().filter(|case| case.is_ok()) {
        let module = Module::decode(&case.bytes).unwrap();
        let leaves = |shapes: &[Shape]| {
            let mut leaves = Vec::new();
            for shape in shapes {
                add_leaves(shape, &mut leaves);
            }
            leaves
        };
        for (name, shapes) in [
            ("inputs", leaves(module.parameters())),
            ("outputs", leaves(std::slice::from_ref(module.result()))),
        ] {
            let expected = case.record[name].as_array().unwrap();
            let expected = expected.iter().map(|image| image["shape"].as_str().unwrap());
            let expected: Vec<Shape> = expected.map(|text| text.parse().unwrap()).collect();
            assert_eq!(shapes.len(), expected.len(), "{}", case.id);
            for (given, expected) in shapes.iter().zip(&expected) {
                assert!(shape_util::equal(given, expected), "{}: {given} {expected}", case.id);
            }
        }
    }
}

fn add_leaves(shape: &Shape, leaves: &mut Vec<Shape>) {
    if shape.is_array() {
        leaves.push(shape.clone());
    }
    for part in shape.tuple_shapes() {
        add_leaves(part, leaves);
    }
}

#[test]
fn what_is_written_reads_as_the_same_module() {
    for case in hlo_cases().iter().filter(|case| !case.is_invalid()) {
        let module = Module::decode(&case.bytes).unwrap();
        let again = Module::decode(&module.encode()).unwrap();
        assert_eq!(again.encode(), module.encode(), "{}", case.id);
        assert_eq!(again.computations().len(), module.computations().len(), "{}", case.id);
        for (a, b) in again.instructions().zip(module.instructions()) {
            assert_eq!((a.name(), a.opcode(), a.operands()), (b.name(), b.opcode(), b.operands()));
            assert!(shape_util::equal(a.shape(), b.shape()), "{}", case.id);
        }
    }
}

/// Returns a field of a message, with its number and its bytes.
fn field(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = inner.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    [bytes, inner.to_vec()].concat()
}

#[test]
fn each_bound_has_an_error_of_its_own() {
    let computations = field(3, &[]).repeat(MAX_COMPUTATIONS + 1);
    let instructions = field(3, &field(2, &[]).repeat(MAX_INSTRUCTIONS + 1));
    let literal = field(8, &vec![0; MAX_LITERAL_BYTES + 1]);
    let literal = field(3, &field(2, &literal));
    let name = field(3, &field(2, &field(1, &vec![b'a'; MAX_MODULE_BYTES])));
    // A message of a module alone has the shapes of the buffers too.
    let module = |computations: Vec<u8>| [field(4, &[]), computations].concat();
    let says = |bytes: Vec<u8>| {
        let error = Module::decode(&module(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        error.to_string()
    };
    let expected = "computations: expected at most 65536 computations, got 65537 or more";
    assert_eq!(says(computations), expected);
    let expected = "computations: expected at most 262144 instructions in all, got 262145 or more";
    assert_eq!(says(instructions), expected);
    let expected =
        "computations: expected constants of at most 67108864 bytes in all, got 67108865 or more";
    assert_eq!(says(literal), expected);
    let expected = "computations: expected at most 67108864 bytes beside the constants, got ";
    assert!(says(name).starts_with(expected));
    let text = format!("m {{ x = u8[] /*{}*/ parameter(0) }}", " ".repeat(MAX_MODULE_BYTES));
    let error = Module::parse(&text).unwrap_err();
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// Returns the source line of the instruction `y`, from a message.
fn line_of(module: &hlo_proto::HloModuleProto) -> Option<SourceLine> {
    let module = Module::decode(&module.encode_to_vec()).unwrap();
    let line = |module: &Module| module.entry().instructions()[1].source().cloned();
    let found = line(&module);
    assert_eq!(line(&Module::decode(&module.encode()).unwrap()), found, "the line is written");
    assert_eq!(line(&Module::parse(&module.to_string()).unwrap()), found, "the line is printed");
    found
}

#[test]
fn source_lines_stand_with_the_instruction_or_in_stack_frames() {
    let text = "ENTRY main {\n x = f32[2]{0} parameter(0)\n ROOT y = f32[2]{0} negate(x)\n}\n";
    let mut module =
        hlo_proto::HloModuleProto::decode(&Module::parse(text).unwrap().encode()[..]).unwrap();
    assert_eq!(line_of(&module), None);
    module.stack_frame_index = Some(hlo_proto::StackFrameIndexProto {
        file_names: vec!["a.py".into(), "b.py".into()],
        file_locations: vec![hlo_proto::stack_frame_index_proto::FileLocation {
            file_name_id: 2,
            line: 9,
        }],
        stack_frames: vec![hlo_proto::stack_frame_index_proto::StackFrame { file_location_id: 1 }],
    });
    let mut with = |source_file: &str, source_line, stack_frame_id| {
        let source_file = source_file.to_owned();
        module.computations[0].instructions[1].metadata =
            Some(hlo_proto::OpMetadata { source_file, source_line, stack_frame_id });
        line_of(&module)
    };
    assert_eq!(with("", 0, 1), Some(SourceLine::new("b.py", 9)));
    assert_eq!(with("c.py", 3, 1), Some(SourceLine::new("c.py", 3)));
    for [line, frame] in [[0, 0], [0, 2], [5, -1], [5, 0]] {
        assert_eq!(with("", line, frame), None, "{line} {frame}");
    }
    assert_eq!(with("c.py", 0, 1), None);
}
