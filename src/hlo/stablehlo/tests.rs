//! These tests check the reader of StableHLO text. Valid texts are compared with the HLO
//! instructions that they become, and invalid ones with the error and its position.

use crate::{
    error_kind::ErrorKind::{self, Invalid, Unsupported},
    hlo::{Computation, MemoryReport, Module},
};

/// Parses a module with a function `@main` that has the given arguments, results and body.
fn main(arguments: &str, results: &str, body: &str) -> Module {
    let text = format!("func.func @main({arguments}) -> {results} {{\n{body}\n}}");
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the instructions of the entry computation except its parameters, as XLA prints them.
fn expressions(module: &Module) -> Vec<String> {
    let entry = module.entry_index();
    let instructions = module.entry().instructions().iter().enumerate();
    instructions
        .filter(|(_, instruction)| instruction.opcode().name() != "parameter")
        .map(|(place, instruction)| {
            let shape = instruction.shape().to_string();
            format!("{} = {shape} {}", instruction.name(), module.expression(entry, place))
        })
        .collect()
}

#[test]
fn both_syntaxes_and_both_ages_of_attributes_are_the_same() {
    let shapes = "(tensor<4x6xf32>) -> tensor<2x3xf32>";
    let generic = |attributes: &str| {
        let body = format!("%0 = \"stablehlo.slice\"(%x) {attributes} : {shapes}\n");
        main("%x: tensor<4x6xf32>", "tensor<2x3xf32>", &(body + "return %0 : tensor<2x3xf32>"))
    };
    let own = main(
        "%x: tensor<4x6xf32>",
        "tensor<2x3xf32>",
        &format!(
            "%0 = stablehlo.slice %x [0:4:2, 1:4] {{a.b = 1 : i32}} : {shapes}\n return %0 : tensor<2x3xf32>"
        ),
    );
    assert_eq!(expressions(&own), ["slice.0 = f32[2,3] slice(arg0), slice={[0:4:2], [1:4]}"]);
    for attributes in [
        "<{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 1>, strides = array<i64: 2, 1>}>",
        "{limit_indices = dense<4> : tensor<2xi64>, start_indices = dense<[0, 1]> : tensor<2xi64>, \
         strides = dense<\"0x02000000000000000100000000000000\"> : tensor<2xi64>}",
    ] {
        assert_eq!(generic(attributes), own, "{attributes}");
    }
}

#[test]
fn operations_become_the_instructions_of_xla() {
    let module = main(
        "%x: tensor<1x3xf32>, %i: tensor<i32>",
        "(tensor<2x3xf32>, tensor<3xf32>)",
        "%c = stablehlo.constant dense<0x7FC00000> : tensor<f32>
         %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>
         %1 = stablehlo.dynamic_slice %0, %i, %i, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
         %2:2 = stablehlo.optimization_barrier %0, %1 : tensor<2x3xf32>, tensor<1x3xf32>
         %3 = stablehlo.reduce(%2#1 init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>
         %4 = stablehlo.compare LT, %2#0, %0, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
         %5 = stablehlo.select %4, %0, %0 : tensor<2x3xi1>, tensor<2x3xf32>
         return %5, %3 : tensor<2x3xf32>, tensor<3xf32>",
    );
    assert_eq!(
        expressions(&module),
        [
            "c = f32[] constant(nan)",
            "broadcast.0.reshape = f32[3] reshape(arg0)",
            "broadcast.0 = f32[2,3] broadcast(broadcast.0.reshape), dimensions={1}",
            "dynamic-slice.1 = f32[1,3] dynamic-slice(broadcast.0, arg1, arg1), dynamic_slice_sizes={1,3}",
            "tuple.6 = (f32[2,3], f32[1,3]) tuple(broadcast.0, dynamic-slice.1)",
            "opt-barrier.2 = (f32[2,3], f32[1,3]) opt-barrier(tuple.6)",
            "opt-barrier.2.1 = f32[1,3] get-tuple-element(opt-barrier.2), index=1",
            "reduce.3 = f32[3] reduce(opt-barrier.2.1, c), dimensions={0}, to_apply=%region_0",
            "opt-barrier.2.0 = f32[2,3] get-tuple-element(opt-barrier.2), index=0",
            "compare.4 = pred[2,3] compare(opt-barrier.2.0, broadcast.0), direction=LT, type=TOTALORDER",
            "select.5 = f32[2,3] select(compare.4, broadcast.0, broadcast.0)",
            "tuple.13 = (f32[2,3], f32[3]) tuple(select.5, reduce.3)",
        ]
    );
}

#[test]
fn regions_take_values_from_outside_as_xla_does() {
    let module = main(
        "%n: tensor<i32>, %x: tensor<2xf32>",
        "tensor<2xf32>",
        "%c = stablehlo.constant dense<3> : tensor<i32>
         %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<2xf32>
          cond {
           %1 = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %1 : tensor<i1>
         } do {
           %1 = stablehlo.add %i, %n : tensor<i32>
           stablehlo.return %1, %y : tensor<i32>, tensor<2xf32>
         }
         %2 = \"stablehlo.case\"(%n) ({
           stablehlo.return %x : tensor<2xf32>
         }, {
           %3 = stablehlo.add %x, %0#1 : tensor<2xf32>
           stablehlo.return %3 : tensor<2xf32>
         }) : (tensor<i32>) -> tensor<2xf32>
         return %2 : tensor<2xf32>",
    );
    let text = module.to_string();
    for line in [
        // The state of the loop: its values, then the constant and the count that its regions
        // capture.
        "%tuple.3 = (s32[], f32[2], s32[], s32[]) tuple(%arg0, %arg1, %c, %arg0)",
        "%while.0 = (s32[], f32[2], s32[], s32[]) while(%tuple.3), ",
        "%compare.1 = pred[] compare(%arg0.0, %arg0.2), direction=LT",
        "ROOT %tuple.6 = (s32[], f32[2], s32[], s32[]) tuple(%add.1, %arg0.1, %arg0.2, %arg0.3)",
        // A branch with a single input takes it without a tuple around it.
        "ROOT %arg0 = f32[2] parameter(0)",
        "ROOT %conditional.2 = f32[2] conditional(%arg0, %arg1, %tuple.6), ",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(module.computations().len(), 5);
}

#[test]
fn callees_come_before_their_callers_in_any_order() {
    let body = "return %x : tensor<2xi8>";
    let calls = |name: &str| {
        format!("%0 = call @{name}(%x) : (tensor<2xi8>) -> tensor<2xi8>\n return %0 : tensor<2xi8>")
    };
    let function = |name: &str, body: &str| {
        format!("func.func private @{name}(%x: tensor<2xi8>) -> tensor<2xi8> {{\n {body}\n}}\n")
    };
    let main = function("main", &calls("\"a b\"")).replace("private", "public");
    let text = main.clone() + &function("\"a b\"", &calls("c")) + &function("c", body);
    let module = Module::parse(&text).unwrap();
    let names: Vec<&str> = module.computations().iter().map(Computation::name).collect();
    assert_eq!(names, ["c", "a b", "main"]);
    let circle = main + &function("\"a b\"", &calls("c")) + &function("c", &calls("\"a b\""));
    let error = Module::parse(&circle).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 10, column 2: expected a function that does not call itself"
    );
}

#[test]
fn constants_have_the_values_that_mlir_writes() {
    let value = |constant: &str| {
        let kind = constant.rsplit(" : ").next().unwrap();
        let body = format!("%c = stablehlo.constant {constant}\n return %c : {kind}");
        expressions(&main("", kind, &body)).join("; ")
    };
    for (constant, expected) in [
        ("dense<[[true, false]]> : tensor<1x2xi1>", "c = pred[1,2] constant({{1, 0}})"),
        ("dense<\"0x0501\"> : tensor<9xi1>", "c = pred[9] constant({...})"),
        ("dense<\"0x05\"> : tensor<4xi1>", "c = pred[4] constant({1, 0, 1, 0})"),
        ("dense<\"0x01000001\"> : tensor<4xi1>", "c = pred[4] constant({1, 0, 0, 1})"),
        ("dense<-7> : tensor<2xi4>", "c = s4[2] constant({-7, -7})"),
        ("dense<0xFFF00000> : tensor<i32>", "c = s32[] constant(-1048576)"),
        ("dense<18446744073709551615> : tensor<ui64>", "c = u64[] constant(18446744073709551615)"),
        ("dense<(1.0, -2.5)> : tensor<complex<f32>>", "c = c64[] constant((1.0, -2.5))"),
        ("dense<[1.0e200, -0.0]> : tensor<2xf32>", "c = f32[2] constant({inf, -0.0})"),
        ("dense<2.929690e-02> : tensor<f8E4M3FN>", "c = f8e4m3fn[] constant(0.029296875)"),
        ("dense<\"0x0000C07F\"> : tensor<2xf32>", "c = f32[2] constant({nan, nan})"),
        ("dense<> : tensor<0x3xf64>", "c = f64[0,3] constant({})"),
        (
            "dense<1.5> : tensor<1000xbf16>",
            "c.element = bf16[] constant(1.5); c = bf16[1000] broadcast(c.element), dimensions={}",
        ),
    ] {
        assert_eq!(value(constant), expected, "{constant}");
    }
}

#[test]
fn dynamic_extents_and_tokens_have_shapes() {
    let module = main(
        "%x: tensor<?x3xf32, #stablehlo.bounds<8, ?>>, %t: !stablehlo.token",
        "(tensor<?x?xui8>, !stablehlo.token)",
        "%0 = stablehlo.custom_call @f(%x) : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x?xui8>
         %1 = stablehlo.after_all %t, %t : !stablehlo.token
         return %0, %1 : tensor<?x?xui8>, !stablehlo.token",
    );
    let parameters: Vec<String> = module.parameters().iter().map(ToString::to_string).collect();
    assert_eq!(parameters, ["f32[<=8,3]", "token[]"]);
    assert_eq!(module.result().to_string(), "(u8[?,?], token[])");
    let reshape = main(
        "%x: tensor<6xf32>, %s: tensor<2xi32>",
        "tensor<2x3xf32>",
        "%0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<2x3xf32>
         return %0 : tensor<2x3xf32>",
    );
    assert_eq!(expressions(&reshape), ["reshape.0 = f32[2,3] reshape(arg0)"]);
}

#[test]
fn sharding_operations_return_their_operand() {
    let module = main(
        "%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}",
        "tensor<4xf32>",
        "%0 = sdy.sharding_constraint %x <@mesh, [{\"y\", ?}]> : tensor<4xf32>
         %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = \"{replicated}\"} : (tensor<4xf32>) -> tensor<4xf32>
         %2 = sdy.all_gather [{\"x\"}] %1 out_sharding=<@mesh, [{}]> : tensor<4xf32>
         sdy.sharding_group %2 group_id=21 : tensor<4xf32>
         %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={\"x\"} (%y: tensor<4xf32>) {
           sdy.return %y : tensor<4xf32>
         } : (tensor<4xf32>) -> tensor<4xf32>
         return %3 : tensor<4xf32>",
    );
    let target = "custom_call_target=\"Sharding\"";
    assert_eq!(
        expressions(&module),
        [
            format!("custom-call.0 = f32[4] custom-call(arg0), {target}"),
            format!("custom-call.1 = f32[4] custom-call(custom-call.0), {target}"),
            format!("custom-call.2 = f32[4] custom-call(custom-call.1), {target}"),
            "call.3 = f32[4] call(custom-call.2), to_apply=%region_0".to_owned(),
        ]
    );
}

#[test]
fn locations_give_source_lines() {
    let text = "#loc1 = loc(\"x\")
        func.func @main(%x: tensor<2xf32> loc(\"x\")) -> tensor<2xf32> {
          %0 = stablehlo.reverse %x, dims = [0] : tensor<2xf32> loc(#loc3)
          %1 = stablehlo.reverse %0, dims = [0] : tensor<2xf32> loc(fused<\"m\">[\"b.py\":7:1, \"c.py\":8:1])
          %2 = stablehlo.reverse %1, dims = [0] : tensor<2xf32> loc(#loc4)
          return %2 : tensor<2xf32> loc(unknown)
        } loc(unknown)
        #loc2 = loc(\"a \\22b\\22.py\":534:46 to :69)
        #loc3 = loc(\"f\"(callsite(#loc2 at #loc1)))
        #loc4 = loc(#loc4)";
    let module = Module::parse(text).unwrap();
    let lines: Vec<String> = module
        .entry()
        .instructions()
        .iter()
        .map(|it| it.source().map(ToString::to_string).unwrap_or_default())
        .collect();
    assert_eq!(lines, ["", "a \"b\".py:534", "b.py:7", ""]);
}

#[test]
fn memory_is_that_of_the_instructions() {
    let text = "module { func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
        %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
        return %0 : tensor<3x2xf32> } }";
    let report = MemoryReport::of_text(text).unwrap();
    let of_hlo = MemoryReport::of_text(&Module::parse(text).unwrap().to_string()).unwrap();
    assert_eq!(report, of_hlo);
    assert_eq!((report.total_bytes, report.parameters_bytes, report.results_bytes), (48, 24, 24));
}

/// Lines of a function that have an error, the kind of the error, and its message.
const LINES_WITH_ERRORS: &[(&str, ErrorKind, &str)] = &[
    (
        "%0 = \"stablehlo.constant\"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<3xi32>",
        Invalid,
        "line 2, column 50: expected s32[3], the type of the result, got s32[2]",
    ),
    (
        "%0 = stablehlo.abs %y : tensor<2x3xf32>",
        Invalid,
        "line 2, column 20: expected a value from before, got `%y`",
    ),
    (
        "%0 = stablehlo.abs %x#1 : tensor<2x3xf32>",
        Invalid,
        "line 2, column 20: expected one of the 1 results of `%x`",
    ),
    (
        "%x = stablehlo.abs %x : tensor<2x3xf32>",
        Invalid,
        "line 2, column 1: expected a new name, got `%x` again",
    ),
    (
        "%0 = stablehlo.abs %x : tensor<3x2xf32>",
        Invalid,
        "line 2, column 25: expected f32[2,3], the type of operand 0, got f32[3,2]",
    ),
    ("%0 = stablehlo.abs %x", Invalid, "line 3, column 1: expected `,` or `:`, got `return`"),
    (
        "%0 = stablehlo.abs %x, : tensor<2x3xf32>",
        Invalid,
        "line 2, column 24: expected an operand or an attribute, got ':'",
    ),
    (
        "%0:2 = stablehlo.abs %x : tensor<2x3xf32>",
        Invalid,
        "line 2, column 1: expected 1 names, one for each result, got 2",
    ),
    ("%0 = stablehlo.abs %x : tensor<2x3xf32", Invalid, "line 4, column 1: expected `>`, got `}`"),
    (
        "%0 = stablehlo.abs %x : tensor<2x3xf31>",
        Invalid,
        "line 2, column 36: expected an element type such as f32, i8 or ui8, got `f31`",
    ),
    (
        "%0 = stablehlo.abs %x : tensor<*xf32>",
        Unsupported,
        "line 2, column 32: expected a tensor of a known rank, got `*`",
    ),
    (
        "%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32, 2.0:15>>",
        Unsupported,
        "line 2, column 34: expected elements such as f32, i8 or ui8, got `!quant.uniform<i8:f32, 2.0:15>`",
    ),
    (
        "%0 = arith.negf %x : tensor<2x3xf32>",
        Unsupported,
        "line 2, column 1: expected an operation of stablehlo, mhlo, chlo, sdy or func, got `arith.negf`",
    ),
    (
        "%0 = stablehlo.transpose %x : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        Invalid,
        "line 2, column 1: expected an attribute `permutation` of stablehlo.transpose",
    ),
    (
        "%0 = stablehlo.transpose %x, dims = [0, 1.5] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        Invalid,
        "line 2, column 42: expected `,` or `]`, got `.5`",
    ),
    (
        "%0 = stablehlo.transpose %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        Invalid,
        "line 2: instruction transpose.0 of computation main: dimensions[1]: expected 0 to 1, got 2",
    ),
    (
        "%0 = stablehlo.compare LT, %x, %x, NONE : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
        Invalid,
        "line 2, column 36: expected FLOAT, TOTALORDER, SIGNED, UNSIGNED or NOTYPE, got `NONE`",
    ),
    (
        "%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>",
        Invalid,
        "line 2, column 31: expected a list of 3 elements, got 2",
    ),
    (
        "%0 = stablehlo.constant dense<1> : tensor<f32>",
        Invalid,
        "line 2, column 31: expected a value of f32, got `1`",
    ),
    (
        "%0 = stablehlo.constant dense<256> : tensor<i8>",
        Invalid,
        "line 2, column 31: expected a value of s8, got `256`",
    ),
    (
        "%0 = stablehlo.constant dense<\"0x00\"> : tensor<2xi16>",
        Invalid,
        "line 2, column 31: expected 4 bytes, or 2 for all elements, got 1",
    ),
    (
        "%0 = stablehlo.constant dense_resource<__elided__> : tensor<2xi16>",
        Invalid,
        "line 2: instruction constant.0 of computation main: literal: missing; expected the value of the constant, which dumps leave out that elide large ones",
    ),
    (
        "%0 = stablehlo.constant dense_resource<a> : tensor<2xi16>",
        Unsupported,
        "line 2, column 25: expected the value of the constant, got the name of a resource; `dense<…>` has the value",
    ),
    (
        "%0 = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0, 1>}> ({\n^bb0(%a: tensor<f32>):\n %1 = \"stablehlo.reshape\"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>\n stablehlo.return %a : tensor<f32>\n}) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        Unsupported,
        "line 2, column 1: expected regions that use only their arguments and constants",
    ),
    (
        "return %x : tensor<2x3xf32>\n^bb1:",
        Unsupported,
        "line 3, column 1: expected a region of one block, got another",
    ),
    ("return %x : tensor<2x3xf32>", Invalid, "line 3, column 1: expected `}` after the return"),
];

/// Texts that have an error, and its message.
const TEXTS_WITH_ERRORS: &[(&str, &str)] = &[
    ("module @m {", "line 1, column 12: expected a module or a function, got the end"),
    ("module @m { }", "line 1, column 14: expected a function `@main`, got the end"),
    ("module @m { } module @n { }", "line 1, column 15: expected one module, got another"),
    ("func.func @main() {\n}", "line 2, column 1: expected a return at the end of the region"),
    ("func.func @main()", "line 1, column 1: expected a function with a body, got a declaration"),
    (
        "func.func @main() {return} func.func @main() {return}",
        "line 1, column 28: expected a new name, got the function `main` again",
    ),
    (
        "func.func @a() {return} func.func @b() {return}",
        "line 1, column 25: expected a function `@main`, got several functions of other names",
    ),
    (
        "func.func @main(%x: i32) {return}",
        "line 1, column 21: expected a tensor, a tuple or a token, got another type",
    ),
    (
        "module @m { vhlo.func_v1 @main() }",
        "line 1, column 13: expected a module or a function, got `vhlo.func_v1`",
    ),
    (
        "func.func @main() -> tensor<2xi8> {return}",
        "line 1, column 36: expected values of the types of the function's results: s8[2]",
    ),
    (
        "func.func @main(%x: tensor<2xi8> {mhlo.layout_mode = \"{1}\"}) {return}",
        "line 1, column 54: expected a layout such as `{0,1}`: layout.minor_to_major[0]: expected 0 to 0, got 1",
    ),
];

/// Errors in the syntax name the line and the column of the mistake, and say what is accepted.
#[test]
fn errors_have_a_place() {
    let error = |text: &str| match Module::parse(text) {
        Ok(module) => panic!("{text}\n{module}"),
        Err(error) => error,
    };
    for (line, kind, says) in LINES_WITH_ERRORS {
        let head = "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32>";
        let error = error(&format!("{head} {{\n{line}\nreturn %x : tensor<2x3xf32>\n}}"));
        assert_eq!((error.to_string().as_str(), error.kind()), (*says, *kind), "{line}");
    }
    for (text, says) in TEXTS_WITH_ERRORS {
        assert_eq!(error(text).to_string(), *says, "{text}");
    }
}

/// XLA writes layouts into the attributes of the module when it converts HLO to StableHLO, as
/// PyTorch/XLA does.
#[test]
fn buffers_have_the_layouts_of_the_module() {
    let buffers = |attributes: &str| {
        let text = format!(
            "module @IrToHlo.12 attributes {{mhlo.is_dynamic = false, {attributes}}} {{
               func.func @main(%x: tensor<2x3xf32>, %y: tensor<4xi32> {{mhlo.layout_mode = \"default\"}})
                   -> (tensor<2x3xf32>, tensor<4xi32>) {{
                 return %x, %y : tensor<2x3xf32>, tensor<4xi32>
               }}
             }}"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let parameters: Vec<String> = module.parameters().iter().map(ToString::to_string).collect();
        format!("{} -> {}", parameters.join(", "), module.result())
    };
    let orders = "[dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]";
    let tiles = "[[dense<[2, 2]> : tensor<2xindex>, dense<2> : tensor<2xindex>], []]";
    let of = "mhlo.xla_entry_computation";
    assert_eq!(buffers("a.b = 1 : i32"), "f32[2,3], s32[4] -> (f32[2,3], s32[4])");
    assert_eq!(
        buffers(&format!("{of}_parameter_layouts = {orders}, {of}_result_layout = [{orders}]")),
        "f32[2,3]{0,1}, s32[4]{0} -> (f32[2,3]{0,1}, s32[4]{0})"
    );
    assert_eq!(
        buffers(&format!("{of}_parameter_layouts = {orders}, {of}_parameter_tiles = {tiles}")),
        "f32[2,3]{0,1:T(2,2)(2,2)}, s32[4]{0} -> (f32[2,3], s32[4])"
    );
}

#[test]
fn entries_are_named_main_or_are_the_only_public_function() {
    let text = "module @m.n_1 {
        func.func private @a(%x: tensor<2xi8>) -> tensor<2xi8> { return %x : tensor<2xi8> }
        func.func @f.b(%x: tensor<2xi8> {mhlo.layout_mode = \"default\"}) {
          %0 = func.call @a(%x) : (tensor<2xi8>) -> tensor<2xi8>
          func.return
        }
      }";
    let module = Module::parse(text).unwrap();
    assert_eq!((module.name(), module.entry().name()), ("m.n_1", "f.b"));
    assert_eq!(module.result().to_string(), "()");
}
