//! Habits from other programs and common mistakes: the message shows the correct form.

use prost::Message;
use stridec::{
    proto::{stridec as proto, xla},
    shape::{Shape, to_textproto},
};

use crate::sandbox::Sandbox;

/// Returns the text on stderr, without `error: `.
fn refused(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let ran = sandbox.stridec(args);
    ran.fails(code, "error: ");
    ran.stderr["error: ".len()..].trim_end().to_owned()
}

#[test]
fn shapes_without_quotes() {
    let sandbox = Sandbox::new();
    let expected = |shape: &str, braces: &str| {
        format!(
            "the shell took `{braces}` apart; write the shape in single quotes: '{shape}{braces}'"
        )
    };
    let cases: [(&[&str], &str, &str); 4] = [
        (&["describe", "f32[2,3]0", "f32[2,3]1"], "f32[2,3]", "{0,1}"),
        (&["explain", "f32[2,3,4]0", "f32[2,3,4]2", "f32[2,3,4]1"], "f32[2,3,4]", "{0,2,1}"),
        (
            &["compile", "relayout", "--from=f32[2,3]1", "--from=f32[2,3]0", "--to", "NC"],
            "f32[2,3]",
            "{1,0}",
        ),
        (&["compile", "relayout", "--from", "f32[2,3]", "--to", "0", "1"], "", "{0,1}"),
    ];
    for (args, shape, braces) in cases {
        assert_eq!(refused(&sandbox, args, 2), expected(shape, braces));
    }
}

#[test]
fn shapes_without_flags() {
    let args = ["compile", "relayout", "f32[2,3]", "f32[2,3]{0,1}"];
    assert_eq!(
        refused(&Sandbox::new(), &args, 2),
        "`relayout` takes its shapes from flags: --from 'f32[2,3]' --to 'f32[2,3]{0,1}'"
    );
}

#[test]
fn extents_in_the_order_of_memory() {
    let sandbox = Sandbox::new();
    let to = |from, to| refused(&sandbox, &["compile", "relayout", "--from", from, "--to", to], 2);
    let says = to("f32[2,3,4,5]", "f32[2,4,5,3]");
    let hint = "; a relayout keeps the logical extents; for this order in memory, use --to '{1,3,2,0}' or NHWC";
    assert!(says.ends_with(hint), "{says}");
    let says = to("f32[2,3]", "f32[3,2]");
    assert!(says.ends_with(" use --to '{0,1}'"), "{says}");
    assert!(!to("f32[2,3]", "f32[2,4]").contains("order in memory"));
}

#[test]
fn a_layout_without_braces() {
    let args = ["compile", "relayout", "--from", "f32[2,3]", "--to", "0,1"];
    let expected = "--to: expected a layout in braces, '{0,1}', or a shape, got `0,1`";
    assert_eq!(refused(&Sandbox::new(), &args, 2), expected);
}

#[test]
fn names_of_types_from_elsewhere() {
    let sandbox = Sandbox::new();
    for (name, meant) in [("float32", "f32"), ("i32", "s32"), ("int4", "s4"), ("F32", "f32")] {
        let shape = format!("{name}[2,3]");
        let expected = format!(
            "expected XLA's name `{meant}`, got `{name}`\n  {shape}\n  {}",
            "^".repeat(name.len())
        );
        assert_eq!(refused(&sandbox, &["describe", &shape], 2), expected);
    }
}

#[test]
fn newlines_of_arguments_are_escaped() {
    let sandbox = Sandbox::new();
    for args in [
        &["describe", "f32[2]", "a\nb"][..],
        &["describe", "f32[2]", "--a\nb"],
        &["a\nb"],
        &["offset", "f32[2]", "--index", "0,a\nb"],
        &["describe", "a\nb"],
    ] {
        let says = refused(&sandbox, args, 2);
        assert!(says.contains("a\\nb"), "{says}");
    }
}

fn shape() -> xla::Shape {
    xla::Shape::from(&"f32[100,11]{0,1:PAD(120,11,one)}".parse::<Shape>().unwrap())
}

#[test]
fn endings_and_standard_input() {
    let sandbox = Sandbox::new();
    let expected = sandbox.stridec(&["describe", "f32[100,11]{0,1:PAD(120,11,one)}"]);
    let (binary, text) = (shape().encode_to_vec(), to_textproto(&shape()).unwrap());
    let json = stridec::shape::to_json(&shape()).unwrap();
    for (file, bytes) in [
        ("a.pb", &binary[..]),
        ("a.binpb", &binary),
        ("a.textproto", text.as_bytes()),
        ("a.pbtxt", text.as_bytes()),
        ("a.txtpb", text.as_bytes()),
        ("a.json", json.as_bytes()),
    ] {
        sandbox.write(file, bytes);
        assert_eq!(sandbox.stridec(&["describe", &format!("@{file}")]).text(), expected.text());
        let ran = sandbox.stridec_with_input(&["describe", "@-"], bytes);
        assert_eq!(ran.text(), expected.text(), "{file}");
    }
    sandbox.stridec(&["describe", "@a.proto"]).fails(
        2,
        "error: a.proto: expected a file name that ends in .pb or .binpb (binary), in .textproto, .pbtxt or .txtpb \
         (text format), or in .json\n",
    );
}

#[test]
fn standard_input_is_read_once() {
    let sandbox = Sandbox::new();
    let once =
        "two arguments read standard input, `-`; it can be read once, so give one of them a file";
    let binary = shape().encode_to_vec();
    for args in [
        &["compile", "relayout", "--from", "@-", "--to", "@-"][..],
        &["run", "relayout", "--from", "@-", "--to", "{1,0}", "-i", "-", "-o", "-"],
    ] {
        let ran = sandbox.stridec_with_input(args, &binary);
        ran.fails(2, once);
    }
    let compile =
        ["compile", "relayout", "--from", "f32[2,3]", "--to", "{0,1}", "--emit", "stages"];
    let stages = sandbox.stridec(&compile).stdout;
    sandbox.stridec_with_input(&["diff", "-", "-"], &stages).fails(2, once);
}

#[test]
fn messages_that_are_no_shape() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.pb", "");
    sandbox.write("empty.json", "{}");
    let tensor = |text: &str| Some((&text.parse::<stridec::Tensor>().unwrap()).try_into().unwrap());
    let relayout =
        proto::Relayout { source: tensor("f32[2,3]"), destination: tensor("f32[2,3]{0,1}") };
    let request = proto::CompileRequest {
        operation: Some(proto::compile_request::Operation::Relayout(relayout)),
        ..proto::CompileRequest::default()
    };
    sandbox.write("request.pb", request.encode_to_vec());
    for (file, says) in [
        ("empty.pb", "empty; expected a serialized xla.Shape"),
        ("empty.json", "element_type: missing; expected a serialized xla.Shape"),
        ("request.pb", "a stridec.CompileRequest; expected an xla.Shape. --op takes a request"),
    ] {
        let says = format!("{file}: {says}");
        assert_eq!(refused(&sandbox, &["describe", &format!("@{file}")], 2), says);
    }
}

#[test]
fn folders_that_are_not_there() {
    let sandbox = Sandbox::new();
    let args =
        ["compile", "relayout", "--from", "f32[2,3]", "--to", "{0,1}", "-o", "no/such/k.wgsl"];
    assert_eq!(
        refused(&sandbox, &args, 1),
        "no/such/k.wgsl: cannot be written: the folder no/such does not exist"
    );
}
