//! The names of layouts that other systems print, compared with the same memory in the notation of
//! XLA or CuTe.

use stridec::notation::{Kind, read};

use super::table;

/// Checks that two texts have the same extents, memory and offsets.
fn is_the_same(text: &str, expected: &str) {
    let [given, expected] =
        [text, expected].map(|text| read(text).unwrap_or_else(|error| panic!("{text}: {error}")));
    let [given, expected] = [given.descriptor(), expected.descriptor()];
    assert_eq!(given.element_type(), expected.element_type(), "{text}");
    assert_eq!(given.sizes(), expected.sizes(), "{text}");
    assert_eq!(given.element_bits(), expected.element_bits(), "{text}");
    assert_eq!(table(given), table(expected), "{text}");
}

#[test]
fn names_mean_what_their_systems_say() {
    for (text, expected) in [
        ("tensorrt:s8[1,6,4,5] chw4", "s8[1,6,4,5]{3,2,1,0:T(4,1,1)}"),
        ("tensorrt:f16[1,6,4,5] TensorFormat::kHWC8", "f16[1,6,4,5]{1,3,2,0:T(8)}"),
        ("tensorrt:f16[1,6,4,5] trt.TensorFormat.CHW2", "f16[1,6,4,5]{3,2,1,0:T(2,1,1)}"),
        // A tensor of 144 channels and 128 by 128, in the three formats of a verbose log.
        ("tensorrt:[1,144,16,16] Float(36864,256,16,1)", "f32[1,144,16,16]"),
        ("tensorrt:[1,144,16,16] Int8(9216,256:4,16,1)", "s8[1,144,16,16]{3,2,1,0:T(4,1,1)}"),
        ("tensorrt:s8[1,144,16,16] Int8(1280,256:32,16,1)", "s8[1,144,16,16]{3,2,1,0:T(32,1,1)}"),
        ("tensorrt:[1,144,16,16] Half(4608,1:8,288,18)", "f16[1,144,16,16]{1,3,2,0}"),
        (
            "cudnn:f8e8m0fnu[256,8] F8_128x4",
            "cute:f8e8m0fnu ((32,4,2),(4,2)):((16,4,1024),(1,512))",
        ),
        ("cublaslt:f8e4m3fn[128,8] 128x4", "cute:f8e4m3fn ((32,4),(4,2)):((16,4),(1,512))"),
        ("cublaslt:u8[16,8] layout_8x4", "u8[16,8]{1,0:T(8,4)}"),
        ("cublaslt:f16[3,5] COL", "f16[3,5]{0,1}"),
        ("cublaslt:f16[3,5] CUBLASLT_ORDER_ROW", "f16[3,5]{1,0}"),
        ("cublaslt:s8[16,64] COL32", "cute:s8 (16,(32,2)):(32,(1,512))"),
        (
            "cublaslt:s8[16,64] CUBLASLT_ORDER_COL4_4R2_8C",
            "cute:s8 ((2,4,2),(4,2,4,2)):((128,4,256),(1,16,32,512))",
        ),
        (
            "cublaslt:s8[64,64] COL32_2R_4R4",
            "cute:s8 ((2,4,4,2),(32,2)):((32,256,64,1024),(1,2048))",
        ),
        ("openvino:f16[2,17,3,5] b_fs_yx_fsv16", "onednn:f16[2,17,3,5] aBcd16b"),
        ("openvino:f16[33,17,3,5] bs_fs_yx_bsv16_fsv16", "onednn:f16[33,17,3,5] ABcd16a16b"),
        ("openvino:f16[33,17,3,5] format::fs_b_yx_fsv32", "onednn:f16[33,17,3,5] Bacd32b"),
        ("openvino:f16[2,17,3,5] byxf", "onednn:f16[2,17,3,5] acdb"),
        ("openvino:s8[9,70,3,3] os_is_yx_osa4_isa8_osv8_isv4", "onednn:s8[9,70,3,3] OIhw4o8i8o4i"),
        ("openvino:f32[17,2,3,3,3] gs_oiyx_gsv16", "onednn:f32[17,2,3,3,3] Goihw16g"),
        ("openvino:f32[2,3,4,5,6] bzyxf", "onednn:f32[2,3,4,5,6] ndhwc"),
        ("tvm:f32[2,17,8,8] NCHW4c", "onednn:f32[2,17,8,8] aBcd4b"),
        ("tvm:f32[2,17,8,8] NHWC", "onednn:f32[2,17,8,8] acdb"),
        ("tvm:f32[17,9,3,3] OIHW4i16o", "onednn:f32[17,9,3,3] OIhw4i16o"),
        ("tvm:f32[17,9,3,3] HWIO", "onednn:f32[17,9,3,3] hwio"),
        ("tvm:f32[8,6] KN4n", "onednn:f32[8,6] aB4b"),
        ("ttnn:bf16[70,100] TILE", "bf16[70,100]{1,0:T(32,32)(16,16)}"),
        ("ttnn:bf16[100] Layout.TILE", "bf16[100]{0:T(32,32)(16,16)}"),
        ("ttnn:bf16[2,3,4] ttnn.ROW_MAJOR_LAYOUT", "bf16[2,3,4]"),
        ("ggml:ne=[3,4,1,1] nb=[4,12,48,48]", "f32[1,1,4,3]"),
        ("ggml:f16 ne=[3,4,2,1] nb=[8,2,24,48]", "f16[1,2,4,3]{2,3,1,0}"),
        ("ggml:ne=[3, 4] type=GGML_TYPE_I32", "s32[1,1,4,3]"),
        ("torch:FlexibleLayout('cpu', torch.float32, size=[8, 3], stride=[3, 1])", "f32[8,3]"),
        ("torch:bf16[16, 256]", "bf16[16,256]"),
        ("torch:bf16[16, 256]cuda:0", "bf16[16,256]"),
        ("numpy:{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "f32[2,3]"),
        ("numpy:{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", "u8[2,3,4]{0,1,2}"),
        ("jax:float32[4,8] Layout(major_to_minor=(1, 0))", "f32[4,8]{0,1}"),
        ("jax:float8_e4m3fn[4] Layout((0,))", "f8e4m3fn[4]"),
        ("onednn:u4[16,24] ab", "u4[16,24]{1,0:E(4)}"),
        ("onednn:f4e2m1fn[16,24] ba", "f4e2m1fn[16,24]{0,1:E(4)}"),
        ("onednn:bf16 dims 2x3 strides 1x2", "bf16[2,3]{0,1}"),
    ] {
        is_the_same(text, expected);
    }
    let bytes = |text: &str| read(text).unwrap().descriptor().image_bytes();
    assert_eq!(bytes("onednn:u4[16,24] ab"), 192);
    assert_eq!(bytes("onednn:s4[5,3] aB8b"), 20);
    assert_eq!(bytes("cublaslt:s8[20,40] COL4_4R2_8C"), 24 * 64);
    assert_eq!(bytes("cublaslt:u8[130,5] 128x4"), 256 * 8);
    assert_eq!(bytes("ttnn:bf16[1,100] TILE"), 2 * 32 * 128);
}

/// The aliases of `dnnl_types.h` in oneDNN 3.14, each with the tag that it equals there.
#[test]
fn every_alias_of_onednn_is_its_tag() {
    let mut count = 0;
    for line in include_str!("../../data/onednn_aliases.txt").lines() {
        let (alias, tag) = line.split_once(' ').unwrap();
        let rank = tag.bytes().take_while(u8::is_ascii_alphabetic).count();
        // The extents differ, and are not multiples of blocks.
        let extents: Vec<String> = (3..).take(rank).map(|extent: u32| extent.to_string()).collect();
        let [alias, tag] =
            [alias, tag].map(|name| format!("onednn:f32[{}] {name}", extents.join(",")));
        let [given, expected] =
            [&alias, &tag].map(|text| read(text).unwrap_or_else(|error| panic!("{text}: {error}")));
        assert_eq!(given.descriptor(), expected.descriptor(), "{alias}");
        count += 1;
    }
    assert_eq!(count, 798);
}

#[test]
fn names_are_written() {
    for (text, kind, expected) in [
        ("s8[1,8,4,5]{3,2,1,0:T(4,1,1)}", Kind::OpenVino, "s8[1,8,4,5] b_fs_yx_fsv4"),
        ("s8[1,8,4,5]{3,2,1,0:T(4,1,1)}", Kind::Tvm, "s8[1,8,4,5] NCHW4c"),
        ("f32[2,3,4,5]{1,3,2,0}", Kind::Tvm, "f32[2,3,4,5] NHWC"),
        ("bf16[64,64]{1,0:T(32,32)(16,16)}", Kind::Ttnn, "bf16[64,64] TILE"),
        ("f16[1,1,4,3]{2,3,1,0}", Kind::Ggml, "ne=[3,4,1,1] nb=[8,2,24,24] type=f16"),
        ("s8[16,64]{0,1}", Kind::CublasLt, "s8[16,64] COL"),
        ("cublaslt:s8[64,64] COL32_2R_4R4", Kind::CublasLt, "s8[64,64] COL32_2R_4R4"),
        ("openvino:f32[2,33,3,5] fs_b_yx_fsv32", Kind::OpenVino, "f32[2,33,3,5] fs_b_yx_fsv32"),
        (
            "f32[1,3,4,5]{1,3,2,0}",
            Kind::Torch,
            "size=(1, 3, 4, 5) stride=(60, 1, 15, 3) storage_offset=0 dtype=torch.float32",
        ),
    ] {
        let array = read(text).unwrap();
        let written = array.write(kind);
        assert_eq!(written.as_deref(), Ok(expected), "{text}");
        is_the_same(text, &format!("{kind}:{}", written.unwrap()));
    }
}

#[test]
fn names_without_a_meaning_here_are_refused() {
    for text in [
        "tensorrt:s8[1,6,4,5] chw5",
        "tensorrt:f16[1,144,16,16] Int8(9216,256:4,16,1)",
        "tensorrt:[1,144,16,16] Int8(9216:4,256:4,16,1)",
        "tensorrt:[1,144,16] Int8(9216,256:4,16,1)",
        "tensorrt:[1,144,16,16] 9216",
        "tensorrt:Int8(9216,256:4,16,1)",
        "cublaslt:s8[16] COL32",
        "openvino:f32[2,17,3,5] os_is_yx_osv32_isv4_swizzled_by_2",
        "openvino:f32[2,17,3,5] image_2d_rgba",
        "openvino:f32[2,17,3] bfyx",
        "tvm:f32[2,17,8,8] NCHW4c2c",
        "tvm:f32[2,17,8,8] NHW4c",
        "tvm:f32[2,17,8] NCHW",
        "tvm:f32[2,17,8,8] NCHW0c",
        "ttnn:bf16[] TILE",
        "ggml:ne=[3,4,1,1] nb=[2,6,24,24]",
        "ggml:q4_0 ne=[32,4,1,1]",
        "ggml:ne=[1,2,3,4,5]",
        "ggml:ne=[3,4] nb=[4]",
        "onednn:u4[16,24]{:E(8)} ab",
        "numpy:{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
        "numpy:{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3), }",
        "torch:FlexibleLayout('cpu', torch.float32, size=[8, 3])",
    ] {
        let error = read(text).unwrap_err();
        assert!(!error.reason().is_empty() && error.offset() <= text.len(), "{text}");
    }
}
