//! The layout assignment of a toy compiler. Some operations require a layout, and the others get
//! the one whose relayouts take the least time. If two operations disagree, stridec compiles a
//! relayout between them, unless both layouts are the same bytes.
//!
//! `cargo run --no-default-features --example assign_layouts`

use stridec::{
    Error, Estimate, Kernel, Operation, Target,
    shape::{Layout, Shape},
};

/// An operation: the node that it reads, its shape, and the layout that it requires.
struct Node {
    name: &'static str,
    input: Option<usize>,
    extents: &'static [u64],
    /// The dimensions from minor to major; `None` if any layout will do.
    wants: Option<&'static [usize]>,
}

const NCHW: &[usize] = &[3, 2, 1, 0];
const NHWC: &[usize] = &[1, 3, 2, 0];

/// An image network. After pooling the shape is `[8,64,1,1]`, for which NCHW and NHWC are the same
/// bytes.
const GRAPH: [Node; 6] = [
    Node { name: "image", input: None, extents: &[8, 64, 56, 56], wants: Some(NCHW) },
    Node { name: "convolution", input: Some(0), extents: &[8, 64, 56, 56], wants: Some(NHWC) },
    Node { name: "relu", input: Some(1), extents: &[8, 64, 56, 56], wants: None },
    Node { name: "pool", input: Some(2), extents: &[8, 64, 1, 1], wants: Some(NHWC) },
    Node { name: "softmax", input: Some(3), extents: &[8, 64, 1, 1], wants: Some(NCHW) },
    Node { name: "image gradient", input: Some(2), extents: &[8, 64, 56, 56], wants: Some(NCHW) },
];

/// The layout change between a node and a reader of it.
enum Edge {
    /// Both have the same layout.
    Same,
    /// The layouts differ, but are the same bytes.
    Bitcast,
    /// A kernel between the two.
    Relayout(Box<Kernel>, Estimate),
}

fn main() -> Result<(), Error> {
    // The times are those of the adapter on which the rates of the target were measured: write a
    // target for yours with `stridec calibrate`.
    let target = Target::webgpu();
    let layouts = assign(&target)?;
    let (mut elided, mut left) = (0, vec![]);
    for (number, node) in GRAPH.iter().enumerate() {
        let Some(input) = node.input else { continue };
        // The reader requires its operand in the reader's own layout.
        let have = shape(GRAPH[input].extents, layouts[input])?;
        let want = shape(GRAPH[input].extents, layouts[number])?;
        print!("{} -> {}: ", GRAPH[input].name, node.name);
        match edge(&have, &want, &target)? {
            Edge::Same => println!("{have}"),
            Edge::Bitcast => {
                elided += 1;
                println!("{have} to {want} is a bitcast, elided");
            }
            Edge::Relayout(kernel, estimate) => {
                let bytes = estimate.bytes_read + estimate.bytes_written;
                let microseconds = estimate.nanoseconds / 1e3;
                println!(
                    "{have} to {want}: a {} kernel, {bytes} bytes moved in {microseconds:.1} µs",
                    kernel.strategy
                );
                left.push(estimate);
            }
        }
    }
    let microseconds = left.iter().copied().sum::<Estimate>().nanoseconds / 1e3;
    println!("{} relayouts left, of {microseconds:.1} µs; {elided} bitcasts elided", left.len());
    Ok(())
}

/// Returns the layout of each node: the required one, or else the one with the least time of the
/// relayouts from its operand and to the readers that require a layout.
fn assign(target: &Target) -> Result<Vec<&'static [usize]>, Error> {
    let mut layouts: Vec<&[usize]> = vec![];
    for (number, node) in GRAPH.iter().enumerate() {
        let mut best = (f64::INFINITY, NCHW);
        for layout in node.wants.map_or(vec![NCHW, NHWC], |wants| vec![wants]) {
            let from_operand =
                node.input.map(|input| (GRAPH[input].extents, layouts[input], layout));
            let readers = GRAPH.iter().filter(|reader| reader.input == Some(number));
            let to_readers = readers.filter_map(|of| Some((node.extents, layout, of.wants?)));
            let mut nanoseconds = 0.0;
            for (extents, from, to) in from_operand.into_iter().chain(to_readers) {
                let (from, to) = (shape(extents, from)?, shape(extents, to)?);
                let operation = Operation::relayout(from.try_into()?, to.try_into()?)?;
                nanoseconds += operation.estimate(target)?.nanoseconds;
            }
            if nanoseconds < best.0 {
                best = (nanoseconds, layout);
            }
        }
        layouts.push(best.1);
    }
    Ok(layouts)
}

fn shape(extents: &[u64], minor_to_major: &[usize]) -> Result<Shape, Error> {
    let layout = Layout::new(minor_to_major.iter().copied());
    Ok(Shape::new(stridec::shape::ElementType::F32, extents.iter().copied(), Some(layout))?)
}

fn edge(have: &Shape, want: &Shape, target: &Target) -> Result<Edge, Error> {
    if have == want {
        return Ok(Edge::Same);
    }
    let operation = Operation::relayout(have.clone().try_into()?, want.clone().try_into()?)?;
    let estimate = operation.estimate(target)?;
    if estimate == Estimate::default() {
        return Ok(Edge::Bitcast);
    }
    Ok(Edge::Relayout(operation.compile(target)?.into(), estimate))
}
