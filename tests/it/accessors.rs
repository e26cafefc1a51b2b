//! Accessors as text: snapshots for reviewers, and errors. `tests/gpu/accessors.rs` runs the
//! accessors.

use super::support::{
    hlo_cases::hlo_cases,
    random::{self, Random},
    scope::cases,
};
use stridec::{
    Error, ErrorKind, Tensor,
    accessor::{Access, Accessor, AccessorError},
    hlo::Module,
};

fn tensor(text: &str) -> Tensor {
    text.parse().unwrap()
}

fn layout(text: &str, access: Access) -> Result<Accessor, AccessorError> {
    Accessor::of_layout("x", &tensor(text), access)
}

/// Compares the text with `snapshots/accessors/{name}.snap`.
fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/accessors");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for line in text.lines() {
        assert!(line.chars().count() <= 110, "{name}: a line for no screen: {line}");
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn layouts() {
    for (name, text, access) in [
        ("tpu_tiles", "bf16[16,256]{1,0:T(8,128)(2,1)}", Access::Read),
        ("packed_s4", "s4[30,50]{0,1:E(4)}", Access::Read),
        ("strided", "f32[3,4,5] strided<[64,-8,1], offset: 30>", Access::Read),
        ("columns", "f32[64,48]{0,1}", Access::ReadWrite),
        ("complex", "c128[5,7]{1,0:T(2,4)}", Access::ReadWrite),
        ("prefix", "c128[5]{0:M(8)}", Access::Read),
        ("one_element", "u8[]", Access::Read),
        ("no_elements", "f32[3,0]", Access::ReadWrite),
    ] {
        check(name, layout(text, access).unwrap().wgsl());
    }
}

/// Modules with one or two results, as HLO text.
const CHAIN: &str = "HloModule chain
ENTRY main {
  p = bf16[12,40]{1,0:T(8,128)(2,1)} parameter(0)
  shaped = bf16[12,5,8] reshape(p)
  turned = bf16[5,12,8] transpose(shaped), dimensions={1,0,2}
  ROOT part = bf16[4,4,6] slice(turned), slice={[1:5], [0:12:3], [2:8]}
}";
const PADDED: &str = "HloModule padded
ENTRY main {
  a = f32[3,4] parameter(0)
  b = f32[3,2]{0,1} parameter(1)
  both = f32[3,6] concatenate(a, b), dimensions={1}
  one = f32[] constant(1)
  ROOT border = f32[5,8] pad(both, one), padding=1_1x1_1
}";
const ROWS: &str = "HloModule rows
ENTRY main {
  table = u8[50,12] parameter(0)
  indices = s64[7,1] parameter(1)
  rows = u8[7,12] gather(table, indices), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,12}
  numbers = s16[4] constant({1, -2, 300, 4})
  wide = s16[3,4] broadcast(numbers), dimensions={1}
  ROOT both = (u8[7,12], s16[3,4]) tuple(rows, wide)
}";
const PARTS: &str = "HloModule parts
ENTRY main {
  p = u8[6,4] parameter(0)
  ROOT words = u32[6] bitcast-convert(p)
}";

#[test]
fn results_of_programs() {
    for (name, text, result) in [
        ("program_of_a_chain", CHAIN, 0),
        ("program_of_a_pad", PADDED, 0),
        ("program_of_a_gather", ROWS, 0),
        ("program_of_a_constant", ROWS, 1),
        ("program_of_parts", PARTS, 0),
    ] {
        let module = Module::parse(text).unwrap();
        check(name, Accessor::of_result("result", &module, result).unwrap().wgsl());
    }
}

#[test]
fn buffers_are_those_that_are_read() {
    let module = Module::parse(ROWS).unwrap();
    let rows = Accessor::of_result("rows", &module, 0).unwrap();
    let named: Vec<_> = rows
        .buffers()
        .iter()
        .map(|of| (of.name.as_str(), of.size_in_bytes, of.last_word))
        .collect();
    assert_eq!(named, [("p0", 600, Some(149)), ("p1", 56, Some(13))]);
    assert_eq!(rows.element_bits(), 8);
    assert!(Accessor::of_result("wide", &module, 1).unwrap().buffers().is_empty());
    let tiled = layout("bf16[3,100]{1,0:T(8,128)}", Access::Read).unwrap();
    // Row 2 ends at element 355 of a tile of 1024.
    assert_eq!(tiled.buffers()[0].size_in_bytes, 2048);
    assert_eq!(tiled.buffers()[0].last_word, Some(177));
}

/// A kernel can use two accessors, although both have lookups with helper functions of equal names.
#[test]
fn accessors_stand_beside_each_other() {
    let module = Module::parse(
        "HloModule rows
         ENTRY main {
           x = f32[8,6] parameter(0)
           i = s64[] parameter(1)
           three = s64[] constant(3)
           at = s64[] add(i, three)
           zero = s64[] constant(0)
           ROOT row = f32[1,6] dynamic-slice(x, at, zero), dynamic_slice_sizes={1,6}
         }",
    )
    .unwrap();
    let [a, b] = ["a", "b"].map(|name| Accessor::of_result(name, &module, 0).unwrap());
    stridec::wgsl::validate(&(a.declared() + b.wgsl())).unwrap();
}

#[test]
fn refusals_name_the_way_out() {
    let error = |accessor: Result<Accessor, AccessorError>| Error::from(accessor.unwrap_err());
    for (given, expected) in [
        (
            error(layout("bf16[4]", Access::ReadWrite)),
            "store: expected elements of whole words of 32 bits, got elements of 16 bits; two \
             invocations that store into one word would lose one of the elements, so read with \
             this accessor, and write with a relayout",
        ),
        (
            error(layout("f32[4]{0:M(2)}", Access::ReadWrite)),
            "store: expected elements that start at words of 32 bits, got a prefix of 2 bytes \
             before them; bind the buffer after the prefix, and leave the prefix out of the layout",
        ),
        (
            error(layout("f32[4,3] strided<[0,1]>", Access::ReadWrite)),
            "store: expected a stride of at least 1 in dimension 0",
        ),
        (
            error(layout("f32[65536,65536]", Access::Read)),
            "accessor: source: expected at most 4294967231 units",
        ),
        (
            error(layout("f64[3000000000]", Access::Read)),
            "buffer x: expected at most 4294967295 words of 32 bits, as many as an index counts, \
             got 6000000000; split the array along its outermost dimension",
        ),
        (
            error(Accessor::of_result("result", &Module::parse(PADDED).unwrap(), 1)),
            "result: expected a number below 1, got 1",
        ),
    ] {
        assert!(given.to_string().starts_with(expected), "{given}");
    }
    for name in ["", "0x", "a-b", "_a", "fn", "u32"] {
        let error = Accessor::of_layout(name, &tensor("f32[4]"), Access::Read).unwrap_err();
        assert_eq!(Error::from(error.clone()).kind(), ErrorKind::Invalid);
        assert!(error.to_string().starts_with("name: "), "{error}");
    }
    let large = "HloModule large
        ENTRY main {
          numbers = s32[3000] iota(), iota_dimension=0
          backwards = s32[3000] reverse(numbers), dimensions={0}
          zero = s32[] parameter(0)
          ROOT part = s32[2000] dynamic-slice(backwards, zero), dynamic_slice_sizes={2000}
        }";
    let refused = Accessor::of_result("result", &Module::parse(large).unwrap(), 0).unwrap_err();
    assert!(matches!(refused, AccessorError::Constant { given: 12000, .. }), "{refused}");
}

/// Returns a kernel that calls every function of an accessor once.
fn caller(accessor: &Accessor, rank: usize) -> String {
    let name = accessor.name();
    let index: Vec<String> = (0..rank).map(|dimension| format!("id.x + {dimension}u")).collect();
    let index = index.join(", ");
    let has = |function: &str| accessor.wgsl().contains(&format!("fn {name}_{function}("));
    let mut more = Vec::new();
    if has("offset") {
        more.push(format!("out[0] = {name}_offset({index});"));
    }
    let separator = if rank == 0 { "" } else { ", " };
    if has("store") {
        more.push(format!("{name}_store({index}{separator}bits);"));
    }
    let more = more.join("\n    ");
    let word = if accessor.element_bits() > 32 { ".x" } else { "" };
    format!(
        "{}
@group(1) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let bits = {name}_bits({index});
    out[1] = bits{word};
    {more}
}}
",
        accessor.declared()
    )
}

/// If `STRIDEC_WGSL` names a folder, kernels with accessors are written to it, for other
/// validators.
#[test]
fn random_kernels_are_valid() {
    let folder = std::env::var_os("STRIDEC_WGSL").map(std::path::PathBuf::from);
    if let Some(folder) = &folder {
        std::fs::create_dir_all(folder).unwrap();
    }
    let check = |name: String, accessor: &Accessor, rank: usize| {
        let kernel = caller(accessor, rank);
        stridec::wgsl::validate(&kernel)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{kernel}"));
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("accessor-{name}.wgsl")), &kernel).unwrap();
        }
    };
    let (mut random, mut stored) = (Random(11), 0);
    let cases = cases(300);
    for case in 0..cases {
        let operation = match case % 2 {
            0 => random::relayout(&mut random),
            _ => random::operation(&mut random),
        };
        let tensor = operation.source_side.tensor();
        let accessor = match Accessor::of_layout("x", &tensor, Access::ReadWrite) {
            Err(error) if error.is_store() => {
                Accessor::of_layout("x", &tensor, Access::Read).unwrap()
            }
            accessor => {
                stored += 1;
                accessor.unwrap()
            }
        };
        check(format!("layout-{case}"), &accessor, tensor.descriptor().rank());
    }
    assert!(stored > cases / 8, "{stored}");
    for (at, case) in hlo_cases().iter().filter(|case| case.is_ok()).enumerate().step_by(3) {
        let (module, program) = (case.module().unwrap(), case.lower().unwrap());
        for (number, result) in program.results().iter().enumerate() {
            let accessor = match Accessor::of_result("result", &module, number) {
                Err(AccessorError::Scratch { .. } | AccessorError::Constant { .. }) => continue,
                accessor => accessor.unwrap(),
            };
            check(format!("result-{at}-{number}"), &accessor, result.descriptor().rank());
        }
    }
}

#[cfg(feature = "backends")]
mod translated {
    use std::process::Command;

    use stridec::backend::Language;

    use super::*;

    fn accessors() -> Vec<Accessor> {
        let mut accessors: Vec<Accessor> = [
            ("bf16[16,256]{1,0:T(8,128)(2,1)}", Access::Read),
            ("s4[30,50]{0,1:E(4)}", Access::Read),
            ("c128[5,7]{1,0:T(2,4)}", Access::ReadWrite),
        ]
        .map(|(text, access)| layout(text, access).unwrap())
        .into();
        for (text, result) in [(CHAIN, 0), (PADDED, 0), (ROWS, 0), (ROWS, 1), (PARTS, 0)] {
            let module = Module::parse(text).unwrap();
            accessors.push(Accessor::of_result("result", &module, result).unwrap());
        }
        accessors
    }

    #[test]
    fn functions_keep_their_names() {
        for accessor in accessors() {
            for language in [Language::Msl, Language::Hlsl] {
                let text = String::from_utf8(accessor.translate(language).unwrap()).unwrap();
                let name = accessor.name();
                assert!(text.starts_with(&format!("// {name}: ")), "{text}");
                assert!(text.contains(&format!(" {name}_bits(")), "{text}");
                assert!(!text.contains("main"), "{text}");
            }
            let refused = accessor.translate(Language::Glsl).unwrap_err().to_string();
            assert!(refused.contains("call the functions from a WGSL kernel"), "{refused}");
        }
    }

    /// Checks that the SPIR-V exports each function once, and that `spirv-val` accepts it if that
    /// program is installed.
    #[test]
    fn spirv_is_a_library() {
        let folder = tempfile::tempdir().unwrap();
        for accessor in accessors() {
            let bytes = accessor.translate(Language::Spirv).unwrap();
            let functions = accessor.wgsl().lines().filter(|line| line.starts_with("fn ")).count();
            let words: Vec<u32> =
                bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            let (mut at, mut exports) = (5, 0);
            while at < words.len() {
                let is_export = words[at] & 0xffff == 71 && words[at + 2] == 41;
                exports += usize::from(is_export);
                at += (words[at] >> 16) as usize;
            }
            assert_eq!(exports, functions, "{}", accessor.wgsl());
            let path = folder.path().join("accessor.spv");
            std::fs::write(&path, bytes).unwrap();
            let checked =
                Command::new("spirv-val").args(["--target-env", "spv1.3"]).arg(&path).output();
            if let Ok(checked) = checked {
                let message = String::from_utf8_lossy(&checked.stderr).into_owned();
                assert!(checked.status.success(), "{message}{}", accessor.wgsl());
            }
        }
    }
}
