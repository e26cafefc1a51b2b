//! The pages that the browser opens.

use stridec::{
    Operation, Target,
    explain::{ProgramPicture, html},
    hlo::Module,
    program::Ways,
    stride::StrideDescriptor,
    window::Slice,
};

/// A page and the result that it must show.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) page: String,
    /// The result that the page must report, or `none` for a page without a button.
    pub(crate) expected: &'static str,
    /// The offsets of the elements in row-major order, in the source and in the destination.
    pub(crate) places: [Option<Vec<u64>>; 2],
}

const RELAYOUTS: [(&str, &str); 22] = [
    ("f32[4,6]{1,0}", "f32[4,6]{0,1}"),
    ("f32[64,256]{1,0}", "f32[64,256]{0,1}"),
    ("f32[2,8,12,12]{3,2,1,0}", "f32[2,8,12,12]{1,3,2,0}"),
    ("f32[2,3]", "f32[2,3]{0,1:PAD(3,5,zero)}"),
    ("f32[2,3]", "f32[2,3]{0,1:PAD(3,5,one)}"),
    ("f16[5,7]{0,1:PAD(6,9,highest)}", "f16[5,7]{1,0:PAD(8,8,lowest)}"),
    ("c64[3,4]{1,0}", "c64[3,4]{0,1:PAD(4,4,one)}"),
    ("f32[3,5]", "f32[3,5]{1,0:T(2,2)}"),
    ("bf16[16,256]", "bf16[16,256]{1,0:T(8,128)(2,1)}"),
    ("bf16[16,256]{1,0:T(8,128)(2,1)}", "bf16[16,256]{0,1}"),
    ("s8[20,200]{1,0:T(8,128)(4,1)}", "s8[20,200]{1,0:T(8,128)}"),
    ("u8[9,10]{1,0:T(4)}", "u8[9,10]{0,1:T(6)}"),
    ("s4[3,5]", "s4[3,5]{0,1:E(4)}"),
    ("s4[6,10]{1,0:E(4)}", "s4[6,10]{0,1}"),
    ("u4[16,32]{1,0:E(4)}", "u4[16,32]{0,1:E(4)}"),
    ("u2[7,9]{1,0:E(2)}", "u2[7,9]{0,1:T(2,4)E(2)}"),
    ("pred[3,11]{1,0:E(1)}", "pred[3,11]{0,1:E(1)}"),
    ("f64[3,5]", "f64[3,5]{0,1:T(2,2)}"),
    ("c128[2,3,4]{2,1,0}", "c128[2,3,4]{0,1,2}"),
    ("f32[2,3,4,5,6]", "f32[2,3,4,5,6]{0,2,4,1,3}"),
    ("f32[1,3,5,6] strided<[200,60,9,1], offset: 11>", "f32[1,3,5,6]{1,3,2,0}"),
    ("s32[5]", "s32[5]{0:L(8)M(16)}"),
];

/// The source, the offsets, sizes and strides of the slice, and the destination.
type SliceCase<'a> = (&'a str, &'a [u64], &'a [u64], &'a [i64], Option<&'a str>);

const SLICES: [SliceCase<'_>; 5] = [
    ("f32[4,4]", &[0, 1], &[4, 3], &[2, 2], None),
    ("f32[1,1,4,4]", &[0, 0, 0, 1], &[1, 1, 4, 3], &[1, 1, -2, 2], None),
    ("u8[10,33]", &[1, 2], &[9, 30], &[-3, 1], None),
    ("bf16[20,200]{1,0:T(8,128)(2,1)}", &[3, 5], &[16, 190], &[1, -1], Some("bf16[16,190]{0,1}")),
    ("s4[9,30]{1,0:E(4)}", &[1, 1], &[8, 29], &[2, 3], Some("s4[4,10]{1,0:E(4)}")),
];

/// A module with a tiled result and with a start that is known only at run time; a table of
/// constants; elements that are split into bytes; an array that is too large for a page; a result
/// without elements.
const PROGRAMS: [&str; 4] = [
    "HloModule two, entry_computation_layout={(f32[4,6]{1,0}, f32[2,6]{1,0}, s32[])->(f32[6,4]{1,0}, f32[8,3]{1,0:T(8,128)})}
     ENTRY main {
       x = f32[4,6] parameter(0)
       y = f32[2,6] parameter(1)
       at = s32[] parameter(2)
       zero = f32[] constant(0)
       origin = s32[] constant(0)
       both = f32[6,6] concatenate(x, y), dimensions={0}
       turned = f32[6,6] transpose(both), dimensions={1,0}
       kept = f32[6,4] slice(turned), slice={[0:6], [1:5]}
       rows = f32[6,3] dynamic-slice(both, origin, at), dynamic_slice_sizes={6,3}
       padded = f32[8,3] pad(rows, zero), padding=1_1x0_0
       ROOT out = (f32[6,4], f32[8,3]) tuple(kept, padded)
     }",
    "HloModule table
     ENTRY main {
       x = u8[2,3] parameter(0)
       c = u8[2,2] constant({{1, 2}, {3, 4}})
       ROOT out = u8[2,5] concatenate(x, c), dimensions={1}
     }",
    "HloModule apart
     ENTRY main {
       x = u32[3] parameter(0)
       parts = u8[3,4] bitcast-convert(x)
       turned = u8[4,3] transpose(parts), dimensions={1,0}
       none = u8[0,3] slice(turned), slice={[0:0], [0:3]}
       ROOT out = (u8[4,3], u8[0,3]) tuple(turned, none)
     }",
    "HloModule large
     ENTRY main {
       x = bf16[200,300,4] parameter(0)
       y = bf16[40,300,4] parameter(1)
       both = bf16[240,300,4] concatenate(x, y), dimensions={0}
       ROOT out = bf16[300,240,4] transpose(both), dimensions={1,0,2}
     }",
];

/// Returns relayouts, slices, and single layouts: padded, tiled, with elements below a byte, and
/// without elements.
pub(crate) fn all() -> Vec<Case> {
    let mut cases: Vec<Case> =
        RELAYOUTS.iter().map(|(from, to)| case(&relayout(from, to), "pass")).collect();
    for (from, offsets, sizes, strides, to) in SLICES {
        let slice = Slice::new(offsets, sizes, strides);
        let destination = to.map(|to| to.parse().unwrap());
        let operation = Operation::slice(from.parse().unwrap(), &slice, destination).unwrap();
        cases.push(case(&operation, "pass"));
    }
    cases.push(case(&relayout("f32[0,4]", "f32[0,4]{0,1}"), "pass"));
    let layouts = [
        "bf16[16,256]{1,0:T(8,128)(2,1)}",
        "f32[2,3,4]{0,2,1}",
        "f32[3,4096]",
        "u1[3,100]{1,0:E(1)}",
        "f32[2,3,5]{2,1,0:T(*,4,8)}",
        "f32[1000,3]{1,0:T(8,128)}",
        "f32[]",
        "f32[0]",
    ];
    for notation in layouts {
        let tensor: stridec::Tensor = notation.parse().unwrap();
        cases.push(Case {
            name: notation.into(),
            page: tensor.draw(|picture| html(picture, None)),
            expected: "none",
            places: [Some(places(tensor.descriptor())), None],
        });
    }
    cases.extend(PROGRAMS.iter().map(|text| program(text)));
    cases
}

/// Returns kernels with one mistake each: in a read, in a write, and in text that does not compile.
pub(crate) fn wrong() -> Vec<Case> {
    let right = case(&relayout("f32[64,256]{1,0}", "f32[64,256]{0,1}"), "fail");
    let changes = [("read = ", "read = 1u + "), ("write = ", "write = 4u - "), ("let ", "lte ")];
    let changed = changes.iter().map(|(text, by)| {
        let (head, tail) = right.page.split_once("<pre id=\"wgsl\"").unwrap();
        let (kernel, tail) = tail.split_once("</pre>").unwrap();
        assert!(kernel.contains(text), "{kernel}");
        let kernel = kernel.replace(text, by);
        Case {
            name: format!("{text} as {by}"),
            page: format!("{head}<pre id=\"wgsl\"{kernel}</pre>{tail}"),
            expected: "fail",
            places: right.places.clone(),
        }
    });
    let mut changed: Vec<Case> = changed.collect();
    let right = program(PROGRAMS[0]);
    assert!(right.page.contains("source1["), "{}", right.page);
    let page = right.page.replace("source1[", "source1[0u * ");
    changed.push(Case { page, expected: "fail", ..right });
    changed
}

fn program(text: &str) -> Case {
    let module = Module::parse(text).unwrap();
    let ways = Ways::new(&module).unwrap();
    Case {
        name: module.name().into(),
        page: ProgramPicture::new(&ways).html(&Target::webgpu()).unwrap(),
        expected: "pass",
        places: [None, None],
    }
}

fn relayout(from: &str, to: &str) -> Operation {
    Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap()
}

fn case(operation: &Operation, expected: &'static str) -> Case {
    Case {
        name: operation.title().into(),
        page: operation.compilation(&Target::webgpu()).unwrap().page(),
        expected,
        places: [
            Some(places(operation.source_descriptor())),
            Some(places(operation.destination_descriptor())),
        ],
    }
}

/// Returns the offsets of the elements in row-major order of their indices.
fn places(descriptor: &StrideDescriptor) -> Vec<u64> {
    let sizes = descriptor.sizes();
    (0..descriptor.elements())
        .map(|mut number| {
            let mut index = vec![0; sizes.len()];
            for (value, size) in index.iter_mut().zip(sizes).rev() {
                *value = number % size;
                number /= size;
            }
            descriptor.offset(&index).unwrap()
        })
        .collect()
}
