//! HLO text. Printed text is read again, and so are all forms that XLA has used.

use stridec::hlo::{Computation, Module, Opcode};

use super::support::hlo_cases::{hlo_cases, stablehlo_cases};

#[test]
fn what_is_printed_reads_as_the_same_module() {
    let mut compared = 0;
    for case in hlo_cases().iter().filter(|case| !case.is_invalid()) {
        let module = Module::decode(&case.bytes).unwrap();
        let text = module.to_string();
        let again = Module::parse(&text);
        let again = again.unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.id));
        // Protos have every layout, and text leaves out the layout of a scalar. JAX 0.4 has names
        // such as `<lambda>`.
        let is_plain = |it: &Computation| !it.name().contains(['<', '>']);
        if module.computations().iter().all(is_plain) {
            assert!(again.encode() == module.encode(), "{}\n{text}", case.id);
            compared += 1;
        }
        assert_eq!(again.to_string(), text, "{}", case.id);
    }
    assert!(compared > 700, "{compared}");
}

/// A module that was read from StableHLO is an ordinary HLO module, in text and as a proto.
#[test]
fn stablehlo_prints_as_hlo() {
    for case in stablehlo_cases().iter().filter(|case| case.is_ok()) {
        let module = case.module().unwrap();
        let text = module.to_string();
        assert!(text.starts_with("HloModule "), "{text}");
        let again = Module::parse(&text);
        let again = again.unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.id));
        assert_eq!(again.to_string(), text, "{}", case.id);
        let bytes = module.encode();
        assert!(Module::decode(&bytes).unwrap().encode() == bytes, "{}", case.id);
        let results = (module.parameters().len(), module.result().tuple_shapes().len().max(1));
        let nothing = case.outputs().is_empty();
        let outputs = if nothing { 1 } else { case.outputs().len() };
        assert_eq!(results, (case.inputs().len(), outputs), "{}", case.id);
    }
}

/// Returns the text of a module with one computation.
fn entry(instructions: &str) -> String {
    format!("HloModule test\n\nENTRY main {{\n{instructions}\n}}\n")
}

fn read(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the bytes of a constant.
fn constant(shape: &str, value: &str) -> Vec<u8> {
    let module = read(&entry(&format!("ROOT c = {shape} constant({value})")));
    let Opcode::Constant(literal) = module.entry().instructions()[0].opcode() else { panic!() };
    literal.bytes().to_vec()
}

const TODAY: &str = r#"HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[2,3]{1,0}, s32[])->(f32[3,2]{0,1}, /*index=1*/f32[2,3]{1,0})}, frontend_attributes={fingerprint_before_lhs="a\"}b"}

FileNames
1 "/a {b/f.py"

FunctionNames
1 "<module>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=8 end_column=20}

StackFrames
1 {file_location_id=1}

%region_0.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0), metadata={op_name="a"}
  %b = f32[] parameter(1)
  ROOT %add.1 = f32[] add(%a, %b)
}, execution_thread="main"

%fused (p: f32[2,3]) -> f32[3,2] {
  %p = f32[2,3]{1,0} parameter(0)
  ROOT %t = f32[3,2]{0,1} transpose(%p), dimensions={1,0}
}

ENTRY %main.5 (x.1: f32[2,3], n: s32[]) -> (f32[3,2], f32[2,3]) {
  %x.1 = f32[2,3]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="x" stack_frame_id=1}
  %n = s32[] parameter(1), parameter_replication={false}
  %fusion = f32[3,2]{0,1:T(8,128)} fusion(%x.1), kind=kLoop, calls=%fused, backend_config={"a":{"b":"}"},"c":[1,2]}
  %dot = f32[2,2]{1,0} dot(%x.1, %fusion), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
  %conv = f32[2,3]{1,0} convolution(%x.1, %x.1), window={size=1 pad=0_0}, dim_labels=b0f_0io->b0f, replica_groups=[1,2]<=[2]T(0)
  ROOT %tuple.3 = (f32[3,2]{0,1}, /*index=1*/f32[2,3]{1,0}) tuple(%fusion, /*index=1*/%x.1)
}
"#;

#[test]
fn dumps_of_today() {
    let module = read(TODAY);
    assert_eq!(module.name(), "jit_f");
    assert_eq!(module.computations().len(), 3);
    assert_eq!(module.parameters()[1].to_string(), "s32[]");
    assert_eq!(module.result().to_string(), "(f32[3,2]{0,1}, f32[2,3]{1,0})");
    let opcodes: Vec<&str> =
        module.entry().instructions().iter().map(|it| it.opcode().name()).collect();
    assert_eq!(opcodes, ["parameter", "parameter", "fusion", "dot", "convolution", "tuple"]);
    let lines = module.entry().instructions().iter().map(|it| it.source().map(ToString::to_string));
    assert_eq!(lines.collect::<Vec<_>>()[..2], [Some("/a {b/f.py:3".to_owned()), None]);
    assert_eq!(read(&module.to_string()), module);
}

/// A text of XLA from 2018, with shapes in front of operands and types in front of literals.
const OF_2018: &str = "HloModule cluster_0__XlaCompiledKernel_true__.21:

%max_F32.4 (lhs.5: f32[], rhs.6: f32[]) -> f32[] {
  %lhs.5 = f32[] parameter(0)
  %rhs.6 = f32[] parameter(1)
  ROOT %maximum.7 = f32[] maximum(f32[] %lhs.5, f32[] %rhs.6)
}

ENTRY %entry (arg0.1: f32[2,3]) -> (f32[1,3]) {
  %constant.3 = s32[2]{0} constant({0, 0})
  %constant.4 = f32[2,3]{1,0} constant(f32[2,3] { { 1, 2, 3 }, { 4, 5, -inf } })
  %arg0.1 = f32[2,3]{1,0} parameter(0), metadata={op_type=\"_Arg\" op_name=\"a(b\"}
  %add.1 = f32[2,3]{1,0} add(f32[2,3]{1,0} %arg0.1, f32[2,3]{1,0} %constant.4)
  %dynamic-slice.8 = f32[1,3]{1,0} dynamic-slice(f32[2,3]{1,0} %add.1, s32[2]{0} %constant.3), dynamic_slice_sizes={1,3}
  ROOT %tuple.9 = (f32[1,3]{1,0}) tuple(f32[1,3]{1,0} %dynamic-slice.8)
}
";

#[test]
fn dumps_of_old() {
    let module = read(&OF_2018.replace(".21:", ".21"));
    assert_eq!(module.result().to_string(), "(f32[1,3]{1,0})");
    assert_eq!(read(&module.to_string()), module);
}

#[test]
fn names_shapes_and_layouts_may_lack_their_extras() {
    let module = read(
        "f { // no header\n a = f32[2,3] parameter(0)\n b = f32[] constant(1)
           c = f32[3,4]{0,1} pad(f32[2,3] a, b), padding=-1_1_1x0_1\n }",
    );
    let root = &module.entry().instructions()[module.entry().root()];
    assert_eq!((root.name(), root.shape().to_string().as_str()), ("c", "f32[3,4]{0,1}"));
    assert_eq!(module.parameters()[0].to_string(), "f32[2,3]");
    let sliced = read(&entry(
        "x = u8[9,4] parameter(0)\n ROOT y = u8[3,2] slice(x), slice={[0:9:3], [1:3]}",
    ));
    assert_eq!(sliced.result().to_string(), "u8[3,2]");
}

#[test]
fn constants_of_every_form() {
    assert_eq!(constant("pred[]", "true"), [1]);
    assert_eq!(constant("pred[2]{0}", "{false, 1}"), [0, 1]);
    assert_eq!(constant("s4[2]", "{-8, 7}"), [8, 7]);
    assert_eq!(constant("u64[]", "18446744073709551615"), [0xff; 8]);
    assert_eq!(constant("f32[]", "nan"), 0x7fc0_0000_u32.to_le_bytes());
    assert_eq!(constant("f32[]", "-nan(0x7)"), 0xff80_0007_u32.to_le_bytes());
    assert_eq!(constant("bf16[]", "1e+10"), 0x5015_u16.to_le_bytes());
    assert_eq!(constant("f8e4m3fn[2]", "{448, -0}"), [0x7e, 0x80]);
    let c64 = [1_f32, -2.0].map(f32::to_le_bytes).concat();
    assert_eq!(constant("c64[1]", "{(1, -2)}"), c64);
    let rows = "{ /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 4 } }, /*i0=1*/ { {5,6}, {7,8} } }";
    assert_eq!(constant("u8[2,2,2]{0,1,2}", rows), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(constant("u8[2,0]", "{ {  }, {  } }").is_empty());
    assert_eq!(constant("(u8[], (u8[2], s8[]))", "(1, ({2, 3}, -1))"), [1, 2, 3, 0xff]);
}

#[test]
fn errors_say_the_line_and_what_was_expected() {
    let mut wrong = Vec::new();
    for (text, says) in [
        ("", "line 1, column 1: expected `ENTRY` and a computation, got the end"),
        (
            "HloModule a\n\nENTRY b {\n}",
            "line 3, column 7: expected at least one instruction, got none",
        ),
        ("HloModule a /* b", "line 1, column 13: the comment does not end; `*/` ends it"),
        (
            "a { x = f32[2]{1} parameter(0) }",
            "line 1, column 16: layout.minor_to_major[0]: expected 0 to 0, got 1",
        ),
        ("a { x = f32[2 parameter(0) }", "line 1, column 15: expected `,` or `]`, got `parameter`"),
        ("a { x = f32[2] }", "line 1, column 16: expected an opcode, got '}'"),
        ("a {\n x = s8[] constant(300)\n}", "line 2, column 20: expected a value of s8, got `300`"),
        (
            "a {\n x = s8[2] constant({...})\n}",
            "line 2: instruction x of computation a: literal: missing; expected the value of the constant, which dumps leave out that elide large ones",
        ),
        (
            "a {\n x = s8[] copy(y)\n}",
            "line 2: instruction x of computation a: operand_ids[0]: `y` is not known; expected an instruction before this one, of the same computation",
        ),
        (
            "a {\n x = s8[] call(), to_apply=%b\n}",
            "line 2: instruction x of computation a: called_computation_ids[0]: `b` is not known; expected a computation before this one",
        ),
        (
            "a {\n x = s8[2] parameter(0)\n y = s8[2] copy(s8[3] x)\n}",
            "line 3: instruction y of computation a: operand_ids[0]: expected s8[3], as stands before its name, got s8[2]",
        ),
        (
            "a {\n x = s8[] parameter(0)\n x = s8[] copy(x)\n}",
            "line 3, column 2: an instruction before this one is called `x`",
        ),
        (
            "a {\n x = s8[] parameter(0)\n y = s8[3] pad(x, x), padding=1\n}",
            "line 3, column 31: expected `low_high` or `low_high_interior` for each dimension, with `x` between them",
        ),
        ("a {\n x = s8[] parameter(0), a=\"\n}", "line 2, column 27: the string does not end"),
    ] {
        let given = Module::parse(text).unwrap_err().to_string();
        if given != says {
            wrong.push(format!("{text}\n{given}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Computations and parameters for instructions whose shapes are inferred.
const BEFORE_UNDECLARED: &str = "HloModule m
    add { a = f32[] parameter(0)
        b = f32[] parameter(1)
        ROOT c = f32[] add(a, b) }
    pair { a = f32[] parameter(0)
        b = s32[] parameter(1)
        c = f32[] parameter(2)
        d = s32[] parameter(3)
        ROOT r = (f32[], s32[]) tuple(a, b) }
    second { a = f32[] parameter(0)
        ROOT b = f32[] parameter(1) }
    less { a = f32[] parameter(0)
        b = f32[] parameter(1)
        c = s32[] parameter(2)
        d = s32[] parameter(3)
        ROOT r = pred[] compare(a, b), direction=LT }
    half { a = f32[4] parameter(0)
        ROOT b = f32[4] negate(a) }
    ENTRY e {
        x = f32[4,6]{0,1} parameter(0)
        y = f32[4,6]{1,0} parameter(1)
        h = bf16[4,6]{0,1} parameter(2)
        p = pred[4,6]{1,0} parameter(3)
        i = s32[4,6]{0,1} parameter(4)
        s = f32[] parameter(5)
        z = s32[] parameter(6)
        d = f32[<=4,6]{0,1} parameter(7)
        c = c64[4,6]{0,1} parameter(8)
        v = s32[2] parameter(9)
        u = f32[6] parameter(10)
        w = f32[4] parameter(11)
        q = pred[] parameter(12)
        n = s4[4,6]{0,1:E(4)} parameter(13)
        ROOT r = ";

/// Instructions without shapes, and the shapes that the parser of jaxlib 0.10.2 infers for them.
const UNDECLARED: [(&str, &str); 53] = [
    ("negate(x)", "f32[4,6]{0,1}"),
    ("add(x, y)", "f32[4,6]{0,1}"),
    ("add(x, h)", "f32[4,6]{0,1}"),
    ("add(h, x)", "f32[4,6]{0,1}"),
    ("compare(x, y), direction=LT", "pred[4,6]{0,1}"),
    ("compare(x, h), direction=LT", "pred[4,6]{0,1}"),
    ("select(p, x, h)", "f32[4,6]{1,0}"),
    ("select(p, h, h)", "bf16[4,6]{1,0}"),
    ("select(q, x, y)", "f32[4,6]{0,1}"),
    ("select(p, n, n)", "s4[4,6]{1,0:E(4)}"),
    ("clamp(s, x, s)", "f32[4,6]{0,1}"),
    ("is-finite(x)", "pred[4,6]{0,1}"),
    ("abs(c)", "f32[4,6]{0,1}"),
    ("real(c)", "f32[4,6]{0,1}"),
    ("complex(x, y)", "c64[4,6]{0,1}"),
    ("not(n)", "s4[4,6]{0,1:E(4)}"),
    ("copy(x)", "f32[4,6]{0,1}"),
    ("tuple(x, tuple(x))", "(f32[4,6]{0,1}, (f32[4,6]{0,1}))"),
    ("transpose(x), dimensions={1,0}", "f32[6,4]{1,0}"),
    ("transpose(y), dimensions={1,0}", "f32[6,4]{0,1}"),
    ("transpose(n), dimensions={1,0}", "s4[6,4]{1,0:E(4)}"),
    ("reverse(x), dimensions={0}", "f32[4,6]{0,1}"),
    ("pad(x, s), padding=1_2_3x0_0", "f32[16,6]{1,0}"),
    ("pad(d, s), padding=1_2x0_0", "f32[<=7,6]{1,0}"),
    ("concatenate(x, y), dimensions={1}", "f32[4,12]{1,0}"),
    ("concatenate(x, h), dimensions={0}", "f32[8,6]{1,0}"),
    ("concatenate(d, y), dimensions={0}", "f32[<=8,6]{1,0}"),
    ("concatenate(y, d), dimensions={1}", "f32[<=4,12]{1,0}"),
    ("clamp(d, y, d)", "f32[4,6]{1,0}"),
    ("complex(y, d)", "c64[<=4,6]{1,0}"),
    (
        "gather(x, v), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, \
         index_vector_dim=0, slice_sizes={1,1}",
        "f32[]",
    ),
    (
        "gather(x, v), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, \
         index_vector_dim=1, slice_sizes={1,6}",
        "f32[2,6]{1,0}",
    ),
    ("reduce(x, s), dimensions={0}, to_apply=add", "f32[6]{0}"),
    ("reduce(d, s), dimensions={1}, to_apply=add", "f32[<=4]{0}"),
    ("reduce(x, i, s, z), dimensions={0}, to_apply=pair", "(f32[6]{0}, s32[6]{0})"),
    ("sort(x, i), dimensions={0}, to_apply=less", "(f32[4,6]{0,1}, s32[4,6]{0,1})"),
    (
        "scatter(x, v, s), update_window_dims={}, inserted_window_dims={0,1}, \
         scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=second",
        "f32[4,6]{0,1}",
    ),
    ("call(w), to_apply=half", "f32[4]{0}"),
    ("conditional(q, w, w), true_computation=half, false_computation=half", "f32[4]{0}"),
    ("get-dimension-size(d), dimensions={0}", "s32[]"),
    ("map(x, y), dimensions={0,1}, to_apply=add", "f32[4,6]{1,0}"),
    ("cosine(x)", "f32[4,6]{0,1}"),
    ("atan2(x, h)", "f32[4,6]{0,1}"),
    ("dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[4]{0}"),
    ("negate(d)", "f32[<=4,6]{0,1}"),
    ("add(d, y)", "f32[<=4,6]{0,1}"),
    ("add(y, d)", "f32[<=4,6]{1,0}"),
    ("select(p, y, d)", "f32[<=4,6]{1,0}"),
    ("compare(y, d), direction=EQ", "pred[<=4,6]{1,0}"),
    ("after-all()", "token[]"),
    ("domain(x), domain={kind=\"sharding\"}", "f32[4,6]{0,1}"),
    ("reduce-window(x, s), window={size=2x2 stride=2x2}, to_apply=add", "f32[2,3]{1,0}"),
    ("set-dimension-size(x, z), dimensions={0}", "f32[<=4,6]{0,1}"),
];

#[test]
fn shapes_that_are_left_out_are_those_of_xla() {
    for (instruction, expected) in UNDECLARED {
        let text = format!("{BEFORE_UNDECLARED}{instruction} }}");
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{instruction}: {error}"));
        let shape = module.result().clone().with_default_layouts();
        assert_eq!(shape.to_string(), expected, "{instruction}");
    }
    for instruction in ["reshape(x)", "convert(x)", "iota(), iota_dimension=0", "constant(7)"] {
        let error = Module::parse(&format!("{BEFORE_UNDECLARED}{instruction} }}")).unwrap_err();
        assert!(error.to_string().contains("shape: "), "{instruction}: {error}");
    }
}
