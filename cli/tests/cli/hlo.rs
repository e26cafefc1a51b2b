//! Programs on the command line: `run`, `compile` and `explain` of a module, in files, on standard
//! input and in requests.

use prost::Message;
use serde_json::Value;
use stridec::{
    hlo::Module,
    program::Program,
    proto::stridec::{CompileRequest, Language, compile_request::Operation},
};

use crate::sandbox::Sandbox;

/// Two parameters, two results.
const TEXT: &str = "HloModule pair, entry_computation_layout={(u8[2,3]{1,0}, u8[1,3]{1,0})->(u8[3,3]{0,1}, u8[3,2]{1,0})}

ENTRY main {
  x = u8[2,3] parameter(0)
  y = u8[1,3] parameter(1)
  both = u8[3,3] concatenate(x, y), dimensions={0}
  turned = u8[3,2] transpose(x), dimensions={1,0}
  ROOT out = (u8[3,3], u8[3,2]) tuple(both, turned)
}
";

/// A module with computations.
const NEGATES: &str = "ENTRY main {\n x = f32[2] parameter(0)\n ROOT y = f32[2] negate(x), metadata={op_name=\"neg\" source_file=\"layers.py\" source_line=7}\n}\n";

/// The module of [`TEXT`] as StableHLO.
const STABLEHLO: &str = "module @pair {
  func.func public @main(%arg0: tensor<2x3xui8>, %arg1: tensor<1x3xui8>) -> (tensor<3x3xui8> {mhlo.layout_mode = \"{0,1}\"}, tensor<3x2xui8>) {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<2x3xui8>, tensor<1x3xui8>) -> tensor<3x3xui8>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xui8>) -> tensor<3x2xui8>
    return %0, %1 : tensor<3x3xui8>, tensor<3x2xui8>
  }
}
";

/// A folder with the module as text and as a message, and inputs.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("m.txt", TEXT);
    sandbox.write("m.pb", Module::parse(TEXT).unwrap().encode());
    sandbox.write("x", "abcdef");
    sandbox.write("y", "uvw");
    sandbox
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn parameters_and_results_go_by_their_order() {
    for module in ["m.txt", "m.pb"] {
        let sandbox = sandbox();
        let run = format!("run hlo @{module} -i x -i y -o a -o b.npy --device host");
        let ran = sandbox.stridec(&words(&run));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(sandbox.read("a"), b"adubevcfw", "column by column, as the entry's layout says");
        assert!(sandbox.read("b.npy").ends_with(b"adbecf"));
    }
}

#[test]
fn default_layouts_are_row_major() {
    let sandbox = sandbox();
    let run = "run hlo @m.txt --layouts default -i x -i y -o a -o b --device host";
    assert_eq!(sandbox.stridec(&words(run)).code, 0);
    assert_eq!(sandbox.read("a"), b"abcdefuvw");
    sandbox.stridec(&words("compile hlo @m.txt --layouts row")).fails(2, "default");
}

#[test]
fn a_result_that_is_not_its_array_is_said_to_be_memory() {
    let sandbox = sandbox();
    let run = |layouts: &str| {
        let run = format!("run hlo @m.txt{layouts} -i x -i y -o a.npy -o b.npy --device host");
        sandbox.stridec(&words(&run)).stderr
    };
    let module = run("");
    let said = "a.npy holds the memory of u8[3,3]{0,1}, major dimensions first; --layouts default gives the array itself";
    assert!(module.contains(said) && !module.contains("b.npy"), "{module}");
    assert!(!run(" --layouts default").contains("memory of"));
}

#[test]
fn an_array_in_another_order_names_the_parameter() {
    let sandbox = sandbox();
    let npy = |order: &str, shape: &str, data: &str| {
        let header = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{header:<117}\n{data}").bytes());
        bytes
    };
    sandbox.write("x.npy", npy("True", "(2, 3)", "adbecf"));
    let run = |module: &str, x: &str| {
        sandbox.stridec(&words(&format!("run hlo {module} -i {x} -i y -o a -o b --device host")))
    };
    let says = "x.npy: an array of [2, 3] in Fortran order; expected one of [2, 3] in C order (the memory of parameter 0); for \
                this array, save numpy.ascontiguousarray of it";
    run("@m.txt", "x.npy").fails(2, says);
    sandbox.write("t.txt", TEXT.replace("(u8[2,3]{1,0}, ", "(u8[2,3]{0,1}, "));
    sandbox.write("x.npy", npy("False", "(2, 3)", "abcdef"));
    run("@t.txt", "x.npy").fails(2, "; --layouts default takes this array");
    assert_eq!(run("@t.txt --layouts default", "x.npy").code, 0);
}

#[test]
fn a_result_is_chosen_and_written_to_a_file() {
    let sandbox = sandbox();
    let compiled = sandbox.stridec(&words("compile hlo @m.txt --output 1 -o k.wgsl"));
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    let printed = sandbox.stridec(&words("compile hlo @m.txt --output 1"));
    assert_eq!(sandbox.read("k.wgsl"), printed.text().as_bytes());
    let twice =
        ["compile", "relayout", "--from", "u8[2,3]", "--to", "{0,1}", "-o", "a", "--output", "b"];
    sandbox.stridec(&twice).fails(2, "-o: expected one file, got another one by --output");
}

#[test]
fn a_whole_program_is_saved() {
    let sandbox = sandbox();
    let saved = sandbox.stridec(&words("compile hlo @m.txt --emit pb"));
    let program = Program::decode(&saved.stdout).unwrap();
    assert!(program.kernels().iter().all(|kernel| kernel.proof().is_some()));
    let results = program.run_on_host(&[b"abcdef", b"uvw"]).unwrap();
    assert_eq!(results, [&b"adubevcfw"[..], b"adbecf"]);
    let one = sandbox.stridec(&words("compile hlo @m.txt --output 1 --emit pb"));
    let kernel = stridec::proto::stridec::Kernel::decode(&one.stdout[..]).unwrap();
    assert_eq!(kernel.wgsl, program.kernels()[1].wgsl);
}

#[test]
fn aliases_that_kernels_honour_are_listed() {
    let sandbox = sandbox();
    let module = |aliases: &str| {
        format!(
            "HloModule m, input_output_alias={{ {aliases} }}
             ENTRY e {{
               x = u8[4,2] parameter(0)
               y = u8[1,2] parameter(1)
               at = s32[] parameter(2)
               zero = s32[] constant(0)
               r = u8[4,2] dynamic-update-slice(x, y, at, zero)
               s = u8[1,2] reverse(y), dimensions={{1}}
               ROOT out = (u8[4,2], u8[1,2]) tuple(r, s)
             }}"
        )
    };
    let compile = |aliases: &str| -> Value {
        sandbox.write("a.txt", module(aliases));
        let compiled = sandbox.stridec(&words("compile hlo @a.txt --output 0 --emit json"));
        assert_eq!(compiled.code, 0, "{}", compiled.stderr);
        serde_json::from_str(compiled.text()).unwrap()
    };
    let both = compile("{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)");
    assert_eq!(both["aliases"], serde_json::json!([{"result": 0, "parameter": 0}]));
    assert_eq!(
        both["refused_aliases"],
        serde_json::json!([{
            "result": 1,
            "parameter": 1,
            "reason": "as far as the compiler can tell, the result is computed from places of the parameter that it overwrites",
        }])
    );
    assert_eq!(both["order"], serde_json::json!([0, 1]));
    assert!(both["wgsl"].as_str().unwrap().contains("the other bits of the word are kept"));
    // Only JSON says so, and in other outputs every result has a buffer of its own.
    let wgsl = sandbox.stridec(&words("compile hlo @a.txt --output 0"));
    assert!(!wgsl.text().contains("are kept"), "{}", wgsl.text());
    // The results of a run are as without aliases.
    sandbox.write("x", "aabbccdd");
    sandbox.write("y", "yz");
    sandbox.write("at", [2, 0, 0, 0]);
    let run = words("run hlo @a.txt -i x -i y -i at -o r -o s --device host");
    assert_eq!(sandbox.stridec(&run).code, 0);
    assert_eq!((sandbox.read("r"), sandbox.read("s")), (b"aabbyzdd".to_vec(), b"zy".to_vec()));
    assert_eq!(compile("").get("aliases"), None);
}

#[test]
fn what_was_meant_is_named() {
    let sandbox = sandbox();
    sandbox.write("s.mlir", b"ML\xefR\x0dStableHLO_v1.0.0\x00");
    let says = "s.mlir: bytes: MLIR bytecode; expected a serialized HloModuleProto, or the module's text, which JAX's \
                `exported.mlir_module()` and `stablehlo-translate --deserialize` give";
    sandbox.stridec(&words("run hlo @s.mlir -o a")).fails(2, says);
    sandbox.stridec(&words("memory @s.mlir")).fails(2, says);
    sandbox.stridec(&words("memory m.txt")).fails(2, "expected a shape, or @m.txt for the file");
    assert_eq!(sandbox.stridec(&words("diff @m.txt m.pb")).text(), "no difference\n");
}

#[test]
fn standard_input_and_output() {
    let sandbox = sandbox();
    let run = words("run hlo @m.txt -i - -i y -o - -o b --device host");
    let ran = sandbox.stridec_with_input(&run, b"abcdef");
    assert_eq!(ran.text(), "adubevcfw");
    let run = words("run hlo @- -i x -i y -o a -o b --device host");
    for module in [TEXT.as_bytes(), &Module::parse(TEXT).unwrap().encode()] {
        let ran = sandbox.stridec_with_input(&run, module);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let twice = words("run hlo @m.txt -i - -i - -o a -o b --device host");
    sandbox.stridec_with_input(&twice, b"abcdef").fails(2, "standard input");
}

#[test]
fn wrong_numbers_of_files_name_the_shapes() {
    let sandbox = sandbox();
    let fails = |line: &str, says: &str| sandbox.stridec(&words(line)).fails(2, says);
    let one =
        "--input: expected 2 files, one for each parameter (u8[2,3]{1,0}, u8[1,3]{1,0}), got 1";
    fails("run hlo @m.txt -i x -o a -o b", one);
    let three =
        "--output: expected 2 files, one for each result (u8[3,3]{0,1}, u8[3,2]{1,0}), got 3";
    fails("run hlo @m.txt -i x -i y -o a -o b -o c", three);
    fails("run hlo @m.txt -i x -i y -o a -o a", "--output: a is given for two results");
    assert_eq!(sandbox.names(), ["m.pb", "m.txt", "x", "y"]);
}

#[test]
fn wrong_inputs_leave_nothing_behind() {
    let sandbox = sandbox();
    sandbox.write("long", "abcdefg");
    let header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }";
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(header.iter().chain(&[b' '; 58]).chain(b"\nabcdef"));
    sandbox.write("turned.npy", npy);
    let before = sandbox.names();
    let fails = |line: &str, says: &str| sandbox.stridec(&words(line)).fails(2, says);
    fails("run hlo @m.txt -i long -i y -o a -o b --device host", "long: expected 6 bytes");
    fails("run hlo @m.txt -i y -i y -o a -o b --device host", "y: expected 6 bytes");
    fails("run hlo @m.txt -i turned.npy -i y -o a -o b --device host", "turned.npy: ");
    fails("run hlo @m.txt -i none -i y -o a -o b --device host", "none: cannot be read");
    sandbox.stridec(&words("run hlo @m.txt -i x -i y -o a -o no/b --device host")).fails(1, "no/b");
    fails(
        "run hlo @m.txt --from u8[2] -i x -i y -o a -o b",
        "--from: a program takes no such flag",
    );
    fails("run hlo", "hlo: missing; expected @FILE");
    fails("run hlo m.txt -i x", "hlo: expected @FILE, got `m.txt`");
    assert_eq!(sandbox.names(), before, "no output, whole or in part");
}

#[test]
fn what_computes_is_not_supported() {
    let sandbox = sandbox();
    sandbox.write("n.txt", NEGATES);
    let says = "`y`, f32[2]: negate is not supported; elements are only moved and converted, and only indices are computed (layers.py:7)";
    for command in ["run hlo @n.txt -i x -o a", "compile hlo @n.txt", "explain hlo @n.txt"] {
        sandbox.stridec(&words(command)).fails(3, says);
    }
    sandbox.write("bad.txt", TEXT.replace("dimensions={1,0}", "dimensions={1,1}"));
    sandbox.write("short.pb", &Module::parse(TEXT).unwrap().encode()[..40]);
    for module in ["bad.txt", "short.pb", "none.pb"] {
        sandbox.stridec(&["compile", "hlo", &format!("@{module}")]).fails(2, module);
    }
}

#[test]
fn stablehlo_is_taken_wherever_hlo_is() {
    let sandbox = sandbox();
    sandbox.write("s.mlir", STABLEHLO);
    let run = |module: &str| {
        let run = format!("run hlo @{module} -i x -i y -o a -o b --device host");
        let ran = sandbox.stridec(&words(&run));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        [sandbox.read("a"), sandbox.read("b")]
    };
    assert_eq!(run("s.mlir"), run("m.txt"));
    for command in ["compile hlo @s.mlir --output 1", "explain hlo @s.mlir", "memory @s.mlir"] {
        let done = sandbox.stridec(&words(command));
        assert_eq!(done.code, 0, "{command}: {}", done.stderr);
        assert!(!done.text().is_empty(), "{command}");
    }
    let same = sandbox.stridec(&words("diff @s.mlir s.mlir"));
    assert_eq!(same.text(), "no difference\n");
    let read = sandbox.stridec_with_input(&words("memory @- --format json"), STABLEHLO.as_bytes());
    let report: Value = serde_json::from_str(read.text()).unwrap();
    assert_eq!(report["parameters_bytes"], 9);
    assert_eq!(report["results_bytes"], 15);
    assert_eq!(report["total_bytes"], 24);
    sandbox.write(
        "negates.mlir",
        STABLEHLO.replace("concatenate %arg0, %arg1, dim = 0", "dot %arg0, %arg1"),
    );
    let says = "`dot.0`, u8[3,3]: dot is not supported";
    sandbox.stridec(&words("run hlo @negates.mlir -i x -i y -o a -o b")).fails(3, says);
    for (from, to, says) in [
        (
            "dims = [1, 0]",
            "dims = [1, 1]",
            "line 4: instruction transpose.1 of computation main: dimensions[1]",
        ),
        ("dims = [1, 0]", "dims = [1 0]", "line 4, column 47: expected `,` or `]`"),
        ("%0, %1 :", "%0, %2 :", "line 5, column 16: expected a value from before, got `%2`"),
    ] {
        sandbox.write("bad.mlir", STABLEHLO.replace(from, to));
        sandbox.stridec(&words("compile hlo @bad.mlir")).fails(2, &format!("bad.mlir: {says}"));
    }
}

#[test]
fn buffers_past_a_binding_are_refused_with_what_helps() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "m.txt",
        "ENTRY main {
           x = u8[16384,16384] parameter(0)
           y = u8[1,16384] parameter(1)
           ROOT z = u8[16385,16384] concatenate(x, y), dimensions={0}
         }",
    );
    let ran = sandbox.stridec(&words("compile hlo @m.txt"));
    ran.fails(
        3,
        "kernel of result 0, u8[16385,16384]: source: expected an image of at most 134217728 bytes",
    );
    let help = "; for a device that binds more, give --target adapter or --limit \
                max_storage_buffer_binding_size=268435456; `stridec run` cuts the steps of such a program into parts";
    assert!(ran.stderr.contains(help), "{}", ran.stderr);
    let raised = "compile hlo @m.txt --limit max_storage_buffer_binding_size=268451840";
    let ran = sandbox.stridec(&words(raised));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_result_is_chosen() {
    let sandbox = sandbox();
    let compile = |rest: &str| sandbox.stridec(&words(&format!("compile hlo @m.pb{rest}")));
    compile("").fails(2, "--output: missing; expected the number of one of the 2 results");
    compile(" --output 2").fails(2, "--output: expected the number of a result, below 2, got `2`");
    let wgsl = compile(" --output 1").text().to_owned();
    assert!(wgsl.contains("// result 1 of pair") && wgsl.contains("fn main("), "{wgsl}");
    let stages = compile(" --emit stages").text().to_owned();
    assert!(stages.contains("result 0") && stages.contains("result 1"), "{stages}");
    let kernel: Value = serde_json::from_str(compile(" --output 1 --emit json").text()).unwrap();
    assert_eq!(kernel["entryPoint"], "main");
    for language in ["msl", "hlsl", "glsl"] {
        compile(&format!(" --output 0 --emit {language}")).text();
    }
    assert_eq!(&compile(" --output 0 --emit spirv").stdout[..4], &[3, 2, 35, 7]);
}

#[test]
fn a_request_holds_a_module() {
    let sandbox = sandbox();
    let request = |module: Vec<u8>| CompileRequest {
        operation: Some(Operation::HloModule(module)),
        language: Language::Msl.into(),
        ..CompileRequest::default()
    };
    let module = Module::parse(TEXT).unwrap().encode();
    sandbox.write("request.pb", request(module).encode_to_vec());
    let ran = sandbox.stridec(&words("run --op @request.pb -i x -i y -o a -o b --device host"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(sandbox.read("a"), b"adubevcfw");
    let compiled = sandbox.stridec(&words("compile --op @request.pb --output 0"));
    assert_eq!(compiled.text(), sandbox.stridec(&words("compile hlo @m.pb --output 0")).text());
    let drawn = sandbox.stridec(&words("explain --op @request.pb")).text().to_owned();
    assert_eq!(drawn, sandbox.stridec(&words("explain hlo @m.pb")).text());
    sandbox
        .stridec(&words("bench --op @request.pb"))
        .fails(2, "only `run`, `compile` and `explain`");
    sandbox.write("bad.pb", request(vec![1, 2, 3]).encode_to_vec());
    sandbox
        .stridec(&words("compile --op @bad.pb"))
        .fails(2, "bad.pb: hlo_module: bytes: truncated");
}

#[test]
fn sources_and_ways_are_drawn() {
    let sandbox = sandbox();
    let explain = |rest: &str| sandbox.stridec(&words(&format!("explain hlo @m.pb{rest}")));
    let all = explain("").text().to_owned();
    assert!(all.contains("RESULT 0  u8[3,3]{0,1}") && all.contains("RESULT 1"), "{all}");
    assert!(!all.contains('\u{1b}'), "no colour in a pipe");
    let one = explain(" --output 0 --element 2,1").text().to_owned();
    assert!(one.contains("It is y at (0,1), byte 1.") && !one.contains("RESULT 1"), "{one}");
    explain(" --svg a.svg --html a.html").text();
    assert!(sandbox.read("a.svg").starts_with(b"<svg "));
    let page = String::from_utf8(sandbox.read("a.html")).unwrap();
    assert!(page.contains("id=\"run\"") && page.contains("fn main("), "{page}");
    explain(" --element 2,1").fails(2, "--element: expected --output N with it");
    explain(" --output 0 --element 3,0")
        .fails(2, "--element: expected an index of u8[3,3]{0,1}, got `3,0`");
    explain(" --output 2").fails(2, "below 2, got `2`");
    explain(" --input x").fails(2, "--input: expected 2 files");
    let shape = ["explain", "u8[2]", "--element", "1"];
    sandbox.stridec(&shape).fails(2, "--element: only `hlo` takes this flag");
}
