//! The layout assignment of a toy compiler. Some operations require a layout. If two operations
//! disagree, stridec compiles a relayout between them, unless both layouts are the same bytes.
//!
//! `cargo run --no-default-features --example assign_layouts`

use stridec::{
    Error, Kernel, Operation, Target,
    shape::{Layout, Shape},
    xla::shape_util::reshape_is_bitcast,
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
    Relayout(Box<Kernel>),
}

fn main() -> Result<(), Error> {
    let layouts = assign();
    let (mut elided, mut left) = (0, 0);
    for (number, node) in GRAPH.iter().enumerate() {
        let Some(input) = node.input else { continue };
        // The reader requires its operand in the reader's own layout.
        let have = shape(GRAPH[input].extents, layouts[input])?;
        let want = shape(GRAPH[input].extents, layouts[number])?;
        print!("{} -> {}: ", GRAPH[input].name, node.name);
        match edge(&have, &want)? {
            Edge::Same => println!("{have}"),
            Edge::Bitcast => {
                elided += 1;
                println!("{have} to {want} is a bitcast, elided");
            }
            Edge::Relayout(kernel) => {
                left += 1;
                let bytes = kernel.source_bytes + kernel.destination_bytes;
                println!("{have} to {want}: a {} kernel, {bytes} bytes moved", kernel.strategy);
            }
        }
    }
    println!("{left} relayouts left, {elided} bitcasts elided");
    Ok(())
}

/// Returns the layout of each node: the required one, or else the layout of its operand.
fn assign() -> Vec<&'static [usize]> {
    let mut layouts: Vec<&[usize]> = vec![];
    for node in &GRAPH {
        let inherited = node.input.map_or(NCHW, |input| layouts[input]);
        layouts.push(node.wants.unwrap_or(inherited));
    }
    layouts
}

fn shape(extents: &[u64], minor_to_major: &[usize]) -> Result<Shape, Error> {
    let layout = Layout::new(minor_to_major.iter().copied());
    Ok(Shape::new(stridec::shape::ElementType::F32, extents.iter().copied(), Some(layout))?)
}

fn edge(have: &Shape, want: &Shape) -> Result<Edge, Error> {
    if have == want {
        return Ok(Edge::Same);
    }
    // Between equal extents, a reshape is the identity.
    if reshape_is_bitcast(have, want, false)? {
        return Ok(Edge::Bitcast);
    }
    let operation = Operation::relayout(have.clone().try_into()?, want.clone().try_into()?)?;
    Ok(Edge::Relayout(operation.compile(&Target::webgpu())?.into()))
}
