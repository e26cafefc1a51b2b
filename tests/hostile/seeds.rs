//! The seeds: valid inputs in every format. `fuzz/corpus/` has them as files.

use std::{fs, path::Path};

use prost::Message;
use stridec::{
    Tensor,
    hlo::Module,
    notation::dml::BufferTensorDesc,
    proto::{
        stridec::{CompileRequest, Relayout, Slice, Target, compile_request::Operation},
        xla,
    },
    shape::{Shape, to_json, to_textproto},
};

/// Shapes that use every field of the protos.
const SHAPES: [&str; 20] = [
    "f32[]",
    "f32[2,3]{0,1}",
    "f32[2,3]{0,1:PAD(3,5,zero)}",
    "c64[4]{0:PAD(6,one)}",
    "s4[8]{0:E(4)}",
    "u1[3,5]{1,0:E(1)}",
    "bf16[16,256]{1,0:T(8,128)(2,1)}",
    "f32[3,5]{1,0:T(2,2)}",
    "bf16[2,?,<=1004]{2,1,0:T(2,*,128)(2,1)L(2)E(16)S(1)SC(1:4)M(8)}",
    "f32[8,8]{1,0:D(C+,H+~)#(u32)*(u16)P(s32[2]{0})}",
    "((f32[], token[]), b(s4[8]{0:E(4)}), opaque[])",
    "(f32[<=4,?]{0,1:T(2,*,2)L(2)E(4)S(1)SC(0:1)M(8)}, b(s8[3]), token[])",
    "pred[0,3]",
    "f8e8m0fnu[4,4]{1,0:PAD(4,5,one)}",
    "f64[2,2,2,2,2,2,2,2]{0,1,2,3,4,5,6,7}",
    "s32[9223372036854775807]{0}",
    "u8[4611686018427387904,0]",
    "f32[3]{0:L(8)}",
    "f32[1,1,1,1,1,1,1,1,1,1,1,1]",
    "((((((f32[2])))))))",
];

/// Tensors that are not shapes.
const STRIDED: [&str; 4] = [
    "f32[2,3] strided<[5,1]>",
    "f32[4] strided<[-1], offset: 3>",
    "s4[2,3]{:E(4)} strided<[3,1]>",
    "u8[0,2] strided<[0,0], offset: 9>",
];

/// The offsets, sizes and strides of a slice.
type Window = [&'static [i64]; 3];

/// Operations: the source, the destination, and the window of a slice.
const OPERATIONS: [(&str, &str, Option<Window>); 8] = [
    ("f32[8,64]{1,0}", "f32[8,64]{0,1}", None),
    ("s4[6,10]{1,0}", "s4[6,10]{1,0:E(4)}", None),
    ("f32[5,6]{0,1:T(2,3)}", "f32[5,6] strided<[7,1]>", None),
    ("f32[12,10]{1,0:T(4,2)}", "f32[12,10]{1,0:T(6,5)}", None),
    ("bf16[2,3]{0,1:PAD(3,5,one)}", "bf16[2,3]{1,0:PAD(4,4,highest)}", None),
    ("u8[5,13]", "u8[5,8]", Some([&[0, 3], &[5, 8], &[1, 1]])),
    ("f32[4,4]", "f32[2,2]", Some([&[0, 1], &[4, 3], &[-2, 2]])),
    ("token[]", "f32[2]", None),
];

/// Modules that use every opcode and every form of a literal.
const MODULES: [&str; 10] = [
    "HloModule a, entry_computation_layout={(f32[2,3]{1,0})->f32[3,2]{0,1}}\n\nENTRY %m (x: f32[2,3]) -> f32[3,2] {\n  \
     %x = f32[2,3]{1,0} parameter(0), metadata={op_name=\"x\"}\n  ROOT %t = f32[3,2]{0,1} transpose(f32[2,3]{1,0} %x), \
     dimensions={1,0}\n}\n",
    "f { p = s8[4] parameter(0) ROOT r = s8[4] reverse(p), dimensions={0} }\nENTRY m { x = s8[4] parameter(0)\n \
     y = s8[4] fusion(x), kind=kLoop, calls=f\n z = s8[4] call(y), to_apply=%f\n u = (s8[4]) tuple(y)\n \
     ROOT t = (s8[4], (s8[4])) tuple(z, u) }",
    "m { x = u8[9,4] parameter(0)\n s = u8[3,2] slice(x), slice={[0:9:3], [1:3]}\n v = u8[] constant(7)\n \
     ROOT p = u8[4,7] pad(s, v), padding=-1_2x0_1_4 }",
    "m { x = f32[4,3] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n d = f32[1,3] dynamic-slice(x, i, \
     z), dynamic_slice_sizes={1,3}\n ROOT u = f32[4,3] dynamic-update-slice(x, d, i, z) }",
    "m { x = f32[5,3] parameter(0)\n i = s32[7] constant({1,2,3,4,0,-1,9})\n ROOT g = f32[7,3] gather(x, i), \
     offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3} }",
    "f { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\nENTRY m { x = f32[5,3] parameter(0)\n i = s32[2] \
     constant({1,2})\n u = f32[2,3] constant({{1,2,3},{-inf,nan,nan(0x7)}})\n ROOT s = f32[5,3] scatter(x, i, u), \
     update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f }",
    "m { c = pred[3] constant({1,0,1})\n x = f32[3] parameter(0)\n i = f32[3] iota(), iota_dimension=0\n s = f32[3] \
     select(c, x, i)\n b = f32[2,3] broadcast(s), dimensions={1}\n k = f32[4,3] concatenate(b, b), dimensions={0}\n \
     ROOT r = f32[12]{0} reshape(k) }",
    "m { c = (c64[1], (s4[2]{0:E(4)}, bf16[])) constant(({(1, -2)}, ({-8, 7}, 1e+10)))\n g = c64[1] \
     get-tuple-element(c), index=0\n r = f32[1] real(g)\n b = u8[1,4] bitcast-convert(r)\n o = u8[1,4] opt-barrier(b)\n \
     ROOT s = u8[4] bitcast(o) }",
    "m { x = f32[<=4,?] parameter(0)\n y = f32[?,<=4] transpose(x), dimensions={1,0}\n d = f32[2,2] dot(y, x), \
     lhs_contracting_dims={1}\n t = token[] after-all()\n ROOT c = f32[2,2] custom-call(d), \
     custom_call_target=\"Sharding\", sharding={devices=[2,1]<=[2]} }",
    "m { a = s32[] parameter(0)\n b = s32[] constant(-3)\n c = s32[] add(a, b)\n d = s32[] remainder(c, b)\n e = pred[] \
     compare(c, d), direction=LT, type=SIGNED\n f = s32[] select(e, c, d)\n g = s32[] clamp(b, f, a)\n ROOT h = f8e4m3fn[] \
     convert(g) }",
];

/// StableHLO texts that use every form of an operation and of an attribute.
const STABLEHLO: [&str; 10] = [
    "module @m attributes {mhlo.xla_entry_computation_parameter_layouts = [dense<[0, 1]> : tensor<2xindex>], \
     mhlo.xla_entry_computation_parameter_tiles = [[dense<2> : tensor<2xindex>]], mhlo.xla_entry_computation_result_layout = \
     dense<[0, 1]> : tensor<2xindex>} {\n  func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {\n    return %x : \
     tensor<3x5xf32>\n  }\n}\n",
    "module @m attributes {mhlo.num_partitions = 1 : i32} {\n  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.layout_mode = \
     \"{0,1}\"} loc(\"x\")) -> (tensor<3x2xf32> {jax.result_info = \"a\\22\"}) {\n    %0 = stablehlo.transpose %arg0, dims = [1, 0] : \
     (tensor<2x3xf32>) -> tensor<3x2xf32> loc(#loc1)\n    return %0 : tensor<3x2xf32>\n  }\n}\n#loc1 = loc(\"m.py\":3:1)\n",
    "\"builtin.module\"() <{sym_name = \"m\"}> ({\n  \"func.func\"() <{function_type = (tensor<4xi8>) -> tensor<2xi8>, sym_name = \
     \"main\"}> ({\n  ^bb0(%a: tensor<4xi8>):\n    %0 = \"stablehlo.slice\"(%a) <{limit_indices = array<i64: 4>, start_indices = \
     dense<0> : tensor<1xi64>, strides = array<i64: 2>}> : (tensor<4xi8>) -> tensor<2xi8>\n    \"func.return\"(%0) : \
     (tensor<2xi8>) -> ()\n  }) : () -> ()\n}) : () -> ()\n",
    "func.func @main(%x: tensor<2xi4>) -> (tensor<2xi4>, tensor<1x2xi4>) {\n  %0:2 = call @\"<f>\"(%x) : (tensor<2xi4>) -> \
     (tensor<2xi4>, tensor<1x2xi4>)\n  return %0#0, %0#1 : tensor<2xi4>, tensor<1x2xi4>\n}\nfunc.func private @\"<f>\"(%x: \
     tensor<2xi4>) -> (tensor<2xi4>, tensor<1x2xi4>) {\n  %0 = stablehlo.reverse %x, dims = [0] : tensor<2xi4>\n  %1 = \
     stablehlo.reshape %x : (tensor<2xi4>) -> tensor<1x2xi4>\n  return %0, %1 : tensor<2xi4>, tensor<1x2xi4>\n}\n",
    "func.func @main(%x: tensor<5x3xf32>, %i: tensor<2x1xi32>) -> tensor<5x3xf32> {\n  %0 = \"stablehlo.gather\"(%x, %i) \
     <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], \
     index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>\n  %1 = \
     \"stablehlo.scatter\"(%x, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], \
     inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n  ^bb0(%a: tensor<f32>, %b: \
     tensor<f32>):\n    stablehlo.return %b : tensor<f32>\n  }) : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> \
     tensor<5x3xf32>\n  return %1 : tensor<5x3xf32>\n}\n",
    "func.func @main(%n: tensor<i32>, %x: tensor<2x2xf32>) -> tensor<2xf32> {\n  %c = stablehlo.constant dense<1> : tensor<i32>\n  \
     %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<2x2xf32>\n  cond {\n    %1 = stablehlo.compare LT, %i, %c, \
     SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %1 : tensor<i1>\n  } do {\n    stablehlo.return %c, \
     %y : tensor<i32>, tensor<2x2xf32>\n  }\n  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  %2 = stablehlo.reduce(%0#1 \
     init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>\n  return %2 : \
     tensor<2xf32>\n}\n",
    "#a = array<i64: 2>\n!t = tensor<2xf32>\nfunc.func @main(%x: !t, %i: tensor<i32>) -> !t {\n  %0 = \"stablehlo.case\"(%i) ({\n    \
     stablehlo.return %x : !t\n  }, {\n    %1 = \"stablehlo.dynamic_slice\"(%x, %i) <{slice_sizes = #a}> : (!t, tensor<i32>) -> !t\n    \
     stablehlo.return %1 : !t\n  }) : (tensor<i32>) -> !t\n  %2 = stablehlo.optimization_barrier %0 : !t\n  return %2 : !t\n}\n",
    "module {\n  sdy.mesh @mesh = <[\"x\"=8]>\n  func.func @main(%x: tensor<4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, \
     [{\"x\"}]>, tf.aliasing_output = 0 : i32}) -> tensor<6xcomplex<f32>> {\n    %0 = sdy.sharding_constraint %x <@mesh, [{}]> : \
     tensor<4xcomplex<f32>>\n    %c = stablehlo.constant dense<(1.0, -2.5)> : tensor<complex<f32>>\n    %1 = stablehlo.pad %0, %c, low = \
     [1], high = [1], interior = [0] : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>\n    return %1 : \
     tensor<6xcomplex<f32>>\n  }\n}\n",
    "func.func @main(%x: tensor<?x3xbf16, #stablehlo.bounds<4, ?>>) -> tensor<i32> {\n  %0 = stablehlo.get_dimension_size %x, dim = 0 : \
     (tensor<?x3xbf16, #stablehlo.bounds<4, ?>>) -> tensor<i32>\n  stablehlo.custom_call @check(%0) {api_version = 2 : i32, \
     has_side_effect = true} : (tensor<i32>) -> ()\n  return %0 : tensor<i32>\n}\n",
    "func.func @main() -> (tensor<2x2xi1>, tensor<9xui16>, tensor<0xf64>) {\n  %c = stablehlo.constant dense<[[true, false], [false, \
     true]]> : tensor<2x2xi1>\n  %c_0 = stablehlo.constant dense<\"0x010002000300040005000600070008000900\"> : tensor<9xui16>\n  %0 = \
     stablehlo.composite \"n.m\" %c_0 {composite_attributes = {a = 1 : i64}, decomposition = @f} : (tensor<9xui16>) -> \
     tensor<9xui16>\n  %cst = stablehlo.constant dense<> : tensor<0xf64>\n  return %c, %0, %cst : tensor<2x2xi1>, tensor<9xui16>, \
     tensor<0xf64>\n}\nfunc.func private @f(%x: tensor<9xui16>) -> tensor<9xui16> {\n  return %x : tensor<9xui16>\n}\n",
];

/// Layouts in the notations of other systems.
const OTHERS: [&str; 22] = [
    "jax:f32[2,3] Format(layout=Layout(major_to_minor=(1, 0), tiling=((8, 128), (2, 1)), sub_byte_element_size_in_bits=0), sharding=X('a'))",
    "numpy:{'shape': (2, 3), 'typestr': '<f4', 'strides': (-12, 4), 'data': (1, False), 'version': 3}",
    "torch:size=(2, 3) stride=(3, 1) storage_offset=5 dtype=torch.float32",
    "torch:f32[2, 3, 5, 7][105, 1, 21, 3]cuda:0",
    "onednn:f32[20,18,3,3] OIhw4i16o4i",
    "onednn:dims 2x3x1 strides 5x1x7",
    "tensorrt:s8[1,3,4,10] kDLA_HWC4",
    "onnxruntime:f32[2,16,8,8] NCHWc 8",
    "cute:f32[5,300] (5,(128,3)):(128,(1,1024))",
    "cute:Sw<1,4,3> o _0 o (8,16):(16,1)",
    "memref<2x3xf32, strided<[3, 1], offset: 2>, 3>",
    "memref<16x256xbf16, affine_map<(d0, d1) -> (d0 floordiv 8, d1 floordiv 128, (d0 mod 8) floordiv 2, d1 mod 128, d0 mod 2)>>",
    "dml:{\"data_type\": \"FLOAT16\", \"sizes\": [1, 3, 5, 7], \"strides\": [105, 1, 21, 3], \"total_tensor_size_in_bytes\": 212}",
    "dlpack:{\"code\": 2, \"bits\": 32, \"lanes\": 1, \"shape\": [2, 3], \"strides\": [3, 1], \"byte_offset\": 8}",
    "triton:- offset=1 -> (0, 1)\n   offset=2 -> (1, 0)\nwhere out dims are: [dim0 (size 2), dim1 (size 2)]",
    "tensorrt:[1,9,3,5] Int8(45,15:4,5,1)",
    "cublaslt:s8[20,40] COL4_4R2_8C",
    "openvino:s8[9,7,3,3] os_is_yx_osa4_isa8_osv8_isv4",
    "tvm:f32[17,9,3,3] OIHW4i16o",
    "ttnn:bf16[70,100] TILE",
    "ggml:f16 ne=[3,4,2,1] nb=[8,2,24,48]",
    "numpy:{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
];

/// Returns the seeds of a format, each with the name of its file.
pub(crate) fn seeds(format: &str) -> Vec<(String, Vec<u8>)> {
    let shapes = || SHAPES.iter().filter_map(|text| text.parse::<Shape>().ok());
    let seeds: Vec<Vec<u8>> = match format {
        "shape" => shapes().map(|shape| shape.encode()).collect(),
        "notation" => {
            let layouts = ["{1,3,2,0}", "NHWC", "1,0"];
            SHAPES
                .iter()
                .chain(&STRIDED)
                .chain(&layouts)
                .chain(&OTHERS)
                .map(|text| text.as_bytes().into())
                .collect()
        }
        "npy" => headers(),
        "request" => requests().iter().map(Message::encode_to_vec).collect(),
        "module" => MODULES
            .iter()
            .map(|text| Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).encode())
            .collect(),
        "stablehlo" => STABLEHLO.iter().map(|text| text.as_bytes().into()).collect(),
        "hlo" => MODULES.iter().map(|text| text.as_bytes().into()).collect(),
        "textproto" => texts(to_textproto, to_textproto),
        "json" => texts(to_json, to_json),
        _ => panic!("{format} has no seeds"),
    };
    assert!(seeds.len() >= 8, "{format}");
    seeds.into_iter().enumerate().map(|(n, seed)| (format!("{n:02}"), seed)).collect()
}

fn texts<E: std::fmt::Debug>(
    of_shape: impl Fn(&xla::Shape) -> Result<String, E>,
    of_request: impl Fn(&CompileRequest) -> Result<String, E>,
) -> Vec<Vec<u8>> {
    let shapes = SHAPES.iter().filter_map(|text| text.parse::<Shape>().ok());
    let shapes = shapes.map(|shape| of_shape(&xla::Shape::from(&shape)));
    let requests = requests();
    let requests = requests.iter().map(of_request);
    shapes.chain(requests).map(|text| text.unwrap().into_bytes()).collect()
}

/// Returns the message of a tensor, or of a shape that has no memory.
fn message(text: &str) -> stridec::proto::stridec::Tensor {
    use stridec::proto::stridec::tensor::Kind;
    if let Ok(tensor) = text.parse::<Tensor>() {
        return (&tensor).try_into().unwrap();
    }
    let shape: Shape = text.parse().unwrap();
    stridec::proto::stridec::Tensor { kind: Some(Kind::Shape((&shape).into())) }
}

fn requests() -> Vec<CompileRequest> {
    let unsigned = |of: &[i64]| of.iter().map(|n| n.unsigned_abs()).collect();
    let tensor = |text: &str| Some(message(text));
    let requests = OPERATIONS.iter().map(|&(from, to, slice)| {
        let (source, destination) = (tensor(from), tensor(to));
        match slice {
            None => Operation::Relayout(Relayout { source, destination }),
            Some([offsets, sizes, strides]) => Operation::Slice(Slice {
                source,
                destination,
                window_offsets: unsigned(offsets),
                window_sizes: unsigned(sizes),
                window_strides: strides.to_vec(),
                output_sizes: vec![],
            }),
        }
    });
    let dml: Tensor = BufferTensorDesc::try_from(&stridec::proto::stridec::BufferTensorDesc {
        data_type: 1,
        sizes: vec![2, 3],
        strides: vec![5, 1],
        total_tensor_size_in_bytes: 40,
        ..Default::default()
    })
    .unwrap()
    .try_into()
    .unwrap();
    let dml = Operation::Relayout(Relayout {
        source: Some((&dml).try_into().unwrap()),
        destination: tensor("f32[2,3]{0,1}"),
    });
    let target = Target {
        preset: "webgpu-cpu".into(),
        max_compute_workgroups_per_dimension: Some(8),
        max_compute_invocations_per_workgroup: Some(16),
        ..Default::default()
    };
    requests
        .chain([dml])
        .map(|operation| CompileRequest { operation: Some(operation), ..Default::default() })
        .chain([CompileRequest { target: Some(target.clone()), ..Default::default() }])
        .map(|request| match &request.operation {
            Some(Operation::Slice(_)) => CompileRequest { target: Some(target.clone()), ..request },
            _ => request,
        })
        .collect()
}

fn headers() -> Vec<Vec<u8>> {
    let header = |version: u8, text: &str| {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        bytes.extend(&length[..if version == 1 { 2 } else { 4 }]);
        bytes.extend(text.bytes());
        bytes
    };
    [
        (1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"),
        (1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n"),
        (1, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n"),
        (2, "{\"shape\":(3L,),'fortran_order':True,  'descr':'|u1'}\n"),
        (3, "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 0, 7), }\n"),
        (1, "{'descr': '>i8', 'fortran_order': False, 'shape': (2,), }\n"),
        (1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n"),
        (1, "{'descr': '|V2', 'fortran_order': False, 'shape': (18446744073709551615, 2), }\n"),
    ]
    .map(|(version, text)| header(version, text))
    .to_vec()
}

/// Compares the files in `fuzz/corpus/` with these seeds. `UPDATE_CORPUS=1` writes the files.
#[test]
fn the_corpus_holds_the_seeds() {
    let _alone = crate::alone();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    if !package.is_dir() {
        return; // a published crate has no `fuzz/`
    }
    for (format, _) in crate::FORMATS {
        let folder = package.join("corpus").join(format);
        if std::env::var_os("UPDATE_CORPUS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            for (name, seed) in seeds(format) {
                fs::write(folder.join(name), seed).unwrap();
            }
        }
        for (name, seed) in seeds(format) {
            assert_eq!(fs::read(folder.join(&name)).unwrap(), seed, "{format}/{name}");
        }
    }
}
