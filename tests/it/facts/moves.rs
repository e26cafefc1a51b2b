//! Movements of elements: relayouts, slices and packing.

use serde_json::Value;
use stridec::{
    host,
    nest::{self, CopyAxis},
    shape::{ElementType, Layout, PaddingValue, Shape},
    stride::StrideDescriptor,
    window::{Slice, Window},
    xla::{
        index_util,
        permutation_util::*,
        shape_util::{self, is_contiguous, reshape_is_bitcast},
    },
};

use super::fact::{Fact, indices, list, lower, numbers, signed, text};

fn words(shape: &Shape) -> Shape {
    shape_util::change_element_type(shape, ElementType::U32).unwrap()
}

/// Copies elements of u32. Returns the whole memory of the destination.
fn run(source: &Shape, destination: &Shape, window: &Window, memory: &[u32]) -> Vec<u32> {
    let (source, destination) = (lower(&words(source)), lower(&words(destination)));
    let nest = nest::lower(&source, &destination, window).unwrap();
    let image: Vec<u8> = memory.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut out = vec![0; usize::try_from(destination.image_bytes()).unwrap()];
    host::run(&nest, &image, &mut out).unwrap();
    out.chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn relayout(source: &Shape, destination: &Shape, memory: &[u32]) -> Vec<u32> {
    let sizes = shape_util::bounds(source).unwrap();
    run(source, destination, &Window::identity(&sizes), memory)
}

fn dense(sizes: &[u64]) -> Shape {
    Shape::new(ElementType::F32, sizes.iter().copied(), None).unwrap()
}

fn iota(sizes: &[u64]) -> Vec<u32> {
    (0..u32::try_from(sizes.iter().product::<u64>()).unwrap()).collect()
}

/// Checks the memory of an array. The values 1, 2, … represent the letters of the fact, and 0 is
/// zero.
pub fn memory_image(fact: &Fact) {
    let values = list(&fact.given["row_major_values"]);
    let mut layout = super::fact::layout(&fact.given).unwrap();
    if fact.given["padded_dimensions"].is_array() {
        assert_eq!(fact.given["padding_value"], "ZERO_PAD");
        let padded = numbers(&fact.given["padded_dimensions"]);
        layout = layout.padded(padded, Some(PaddingValue::Zero));
    }
    let sizes = numbers(&fact.given["dims"]);
    let array = Shape::new(ElementType::F32, sizes.iter().copied(), layout).unwrap();
    let numbered: Vec<u32> = (1..).take(values.len()).collect();
    let value = |n: u32| match n.checked_sub(1) {
        None => Value::from("0"),
        Some(n) => values[n as usize].clone(),
    };
    let memory = relayout(&dense(&sizes), &array, &numbered);
    fact.expect("memory", memory.into_iter().map(value).collect::<Vec<_>>());
}

pub fn tile_memory_image(fact: &Fact) {
    let shape = fact.shape();
    let sizes = shape_util::bounds(&shape).unwrap();
    if let Some(prefix) = fact.expected["memory_prefix"].as_array() {
        let memory = relayout(&dense(&sizes), &shape, &iota(&sizes));
        fact.expect("memory_prefix", memory[..prefix.len()].to_vec());
    } else {
        let tensor = lower(&shape);
        let rows: Vec<Vec<u64>> = (0..sizes[0])
            .map(|row| (0..sizes[1]).map(|column| tensor.offset(&[row, column]).unwrap()).collect())
            .collect();
        fact.expect("linear_of_row_col", rows);
    }
}

pub fn relayout_buffer(fact: &Fact) {
    let sizes = numbers(&fact.given["dims"]);
    let array = |field: &str| {
        let layout = Layout::new(indices(&fact.given[field]));
        Shape::new(ElementType::F32, sizes.iter().copied(), layout).unwrap()
    };
    let memory: Vec<u32> =
        numbers(&fact.given["src_memory"]).into_iter().map(|n| u32::try_from(n).unwrap()).collect();
    let moved = relayout(&array("from_minor_to_major"), &array("to_minor_to_major"), &memory);
    fact.expect("dst_memory", moved);
}

pub fn reinterpret(fact: &Fact) {
    let memory: Vec<u32> =
        numbers(&fact.given["memory"]).into_iter().map(|n| u32::try_from(n).unwrap()).collect();
    let read = relayout(&fact.array(), &dense(&numbers(&fact.given["dims"])), &memory);
    fact.expect("row_major_values", read);
}

pub fn identity(fact: &Fact) {
    assert_eq!(fact.expected["copy_equals_input"], true);
    let sizes = numbers(&fact.given["dims"]);
    for name in ["pred", "u32", "f32", "s32"] {
        let element_type = ElementType::from_name(name).unwrap();
        let tensor = lower(&Shape::new(element_type, sizes.iter().copied(), None).unwrap());
        let nest = nest::lower(&tensor, &tensor, &Window::identity(&sizes)).unwrap();
        let image: Vec<u8> = (1..=u8::MAX).cycle().take(tensor.image_bytes() as usize).collect();
        let mut out = vec![0; image.len()];
        host::run(&nest, &image, &mut out).unwrap();
        assert_eq!(image, out, "{name}");
    }
}

/// The values after the reshape are equal for both layouts of the source.
pub fn reshape_values(fact: &Fact) {
    let (sizes, reshaped) = (numbers(&fact.given["dims"]), numbers(&fact.given["new_dims"]));
    let values: Vec<u32> = numbers(&fact.given["row_major_values"])
        .into_iter()
        .map(|n| u32::try_from(n).unwrap())
        .collect();
    for order in [[3, 2, 1, 0], [0, 1, 2, 3]] {
        let stored =
            Shape::new(ElementType::F32, sizes.iter().copied(), Layout::new(order)).unwrap();
        let memory = relayout(&dense(&sizes), &stored, &values);
        assert_eq!(reshape_is_bitcast(&dense(&sizes), &dense(&reshaped), false), Ok(true));
        fact.expect("row_major_values", relayout(&stored, &dense(&sizes), &memory));
    }
}

pub fn transpose_rule(fact: &Fact) {
    let permutation = signed(&fact.given["perm"]);
    fact.expect("out_dims", permute(&numbers(&fact.given["dims"]), &permutation).unwrap());
    let names: Vec<String> = (0..permutation.len()).map(|i| format!("i{i}")).collect();
    let from = permute_inverse(&names, &permutation).unwrap();
    fact.expect("rule", format!("out[{}] == in[{}]", names.join(","), from.join(",")));
}

fn slice(start: &[u64], limit: &[u64], strides: &[i64]) -> Slice {
    let sizes: Vec<u64> = limit.iter().zip(start).map(|(limit, start)| limit - start).collect();
    Slice::new(start, sizes, strides)
}

/// Returns the window with the `start`, `limit` and `stride` of a fact.
fn window_of(fact: &Fact, sizes: &[u64]) -> Window {
    let [start, limit] = ["start", "limit"].map(|field| numbers(&fact.given[field]));
    let strides = match &fact.given["stride"] {
        Value::Null => vec![1; sizes.len()],
        strides => signed(strides),
    };
    Window::slice(sizes, &slice(&start, &limit, &strides)).unwrap()
}

pub fn slice_values(fact: &Fact) {
    let sizes = numbers(&fact.given["dims"]);
    let values: Vec<u32> = match &fact.given["values"] {
        Value::Array(values) => values.iter().map(|n| n.as_u64().unwrap() as u32).collect(),
        rule if rule == "iota 0" => iota(&sizes),
        rule => {
            assert_eq!(rule, "v(r,c)=(r<<10)|c");
            iota(&sizes).into_iter().map(|n| ((n / 256) << 10) | (n % 256)).collect()
        }
    };
    let window = window_of(fact, &sizes);
    let out: Vec<u64> = window.sizes().collect();
    let sliced = run(&dense(&sizes), &dense(&out), &window, &values);
    fact.expect("dims", out.clone());
    match &fact.expected["rule"] {
        Value::Null => fact.expect("values", sliced),
        rule if rule == "iota from 3072" => {
            assert!(sliced.into_iter().eq((3072..).take(1024)));
        }
        rule => {
            assert_eq!(rule, "out(r,c)=((r+128)<<10)|(c+128)");
            let expected =
                (0..128).flat_map(|r| (0..128).map(move |c| ((r + 128) << 10) | (c + 128)));
            assert!(sliced.into_iter().eq(expected));
        }
    }
}

pub fn slice_with_output_layout(fact: &Fact) {
    let (source, sizes) = (fact.array(), numbers(&fact.given["dims"]));
    let window = window_of(fact, &sizes);
    let out: Vec<u64> = window.sizes().collect();
    fact.expect("dims", out.clone());
    let layout = Layout::new(indices(&fact.given["out_m2m"]));
    let destination = Shape::new(ElementType::F32, out.iter().copied(), layout).unwrap();
    let memory = run(&source, &destination, &window, &iota(&sizes));
    let (from, to, strides) = (lower(&source), lower(&destination), signed(&fact.given["stride"]));
    index_util::for_each_index_of(&out, |index| {
        let taken: Vec<u64> =
            index.iter().zip(&strides).map(|(i, stride)| i * stride.unsigned_abs()).collect();
        let value = memory[to.offset(index).unwrap() as usize];
        assert_eq!(u64::from(value), from.offset(&taken).unwrap());
    });
}

pub fn slice_of_reshape(fact: &Fact) {
    let (sizes, reshaped) = (numbers(&fact.given["dims"]), numbers(&fact.given["reshape"]));
    assert_eq!(reshape_is_bitcast(&dense(&sizes), &dense(&reshaped), false), Ok(true));
    let window = window_of(fact, &reshaped);
    let out: Vec<u64> = window.sizes().collect();
    let sliced = run(&dense(&reshaped), &dense(&out), &window, &iota(&sizes));
    fact.expect("dims", out);
    assert!(text(&fact.expected["rule"]).starts_with(&format!("first {} elements", sliced.len())));
    assert_eq!(sliced, iota(&[sliced.len() as u64]));
}

fn copies_one_run(source: &Shape, destination: &Shape, window: &Window) -> bool {
    is_contiguous(&nest::lower(&lower(source), &lower(destination), window).unwrap())
}

pub fn slice_is_contiguous(fact: &Fact) {
    let (source, sizes) = (fact.array(), numbers(&fact.given["dims"]));
    let bounds: Vec<Vec<u64>> = list(&fact.given["slice"]).iter().map(numbers).collect();
    let column = |i: usize| bounds.iter().map(|b| b[i]).collect::<Vec<_>>();
    let strides: Vec<i64> = column(2).into_iter().map(|n| n as i64).collect();
    let window = Window::slice(&sizes, &slice(&column(0), &column(1), &strides)).unwrap();
    let out: Vec<u64> = window.sizes().collect();
    fact.expect("out_dims", out.clone());
    let layout = super::fact::layout(&fact.given);
    let destination = Shape::new(ElementType::F32, out, layout).unwrap();
    fact.expect("contiguous", copies_one_run(&source, &destination, &window));
}

pub fn gpu_memcpy(fact: &Fact) {
    assert_eq!(fact.expected["emits"], "memcpy, no kernel");
    let source: Shape = "f32[8,16]{1,0}".parse().unwrap();
    let case = text(&fact.given["case"]);
    if case == "copy with equal layouts" {
        assert!(copies_one_run(&source, &source, &Window::identity(&[8, 16])));
    } else {
        assert_eq!(case, "static slice [2:5,0:16] of f32[8,16]{1,0}");
        let window = Window::slice(&[8, 16], &slice(&[2, 0], &[5, 16], &[1, 1])).unwrap();
        assert!(copies_one_run(&source, &dense(&[3, 16]), &window));
    }
}

/// Two loops are the two dimensions of strided arrays. The nest merges them if XLA does.
pub fn coalesce_loops(fact: &Fact) {
    let loops = ["outer", "inner"].map(|l| signed(&fact.given["size_lda_ldb"][l]));
    let strided = |side: usize| {
        let sizes = loops.each_ref().map(|l| l[0].unsigned_abs());
        let strides = loops.each_ref().map(|l| l[side]);
        StrideDescriptor::strided(ElementType::F32, 0, &sizes, &strides, 0).unwrap()
    };
    let (source, destination) = (strided(1), strided(2));
    let window = Window::identity(source.sizes());
    let nest = nest::lower(&source, &destination, &window).unwrap();
    let CopyAxis { extent, src_stride, dst_stride } = nest.axes().next().unwrap();
    match &fact.expected["merged"] {
        Value::Null => assert_eq!(extent, loops[0][0].unsigned_abs()),
        merged => assert_eq!(signed(merged), [extent as i64, src_stride, dst_stride as i64]),
    }
}

pub fn pack_subbyte(fact: &Fact) {
    let (bits, values) = (fact.given["bits"].as_u64().unwrap(), numbers(&fact.given["values"]));
    let element_type = ElementType::from_name(&format!("u{bits}")).unwrap();
    let shape = |size: u64| {
        let layout = Layout::new([0]).element_size(size);
        lower(&Shape::new(element_type, [values.len() as u64], layout).unwrap())
    };
    let nest =
        nest::lower(&shape(0), &shape(bits), &Window::identity(&[values.len() as u64])).unwrap();
    let image: Vec<u8> = values.iter().map(|&n| n as u8).collect();
    let mut packed = vec![0; shape(bits).image_bytes() as usize];
    host::run(&nest, &image, &mut packed).unwrap();
    fact.expect("bytes", packed);
}
