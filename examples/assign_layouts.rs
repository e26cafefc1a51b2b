//! A toy compiler's layout pass: each operation asks for the layout that it likes, and stridec compiles the copies that
//! are left between operations that disagree. Copies that move nothing are elided.
//!
//! `cargo run --no-default-features --example assign_layouts`

use stridec::{
    Error, Kernel, Operation, Target,
    shape::{Layout, Shape},
    xla::shape_util::reshape_is_bitcast,
};

/// An operation of the toy: the node that feeds it, and the order in which it reads and writes memory.
struct Node {
    name: &'static str,
    input: Option<usize>,
    extents: &'static [u64],
    /// Dimensions, minor first; `None` takes whatever comes.
    wants: Option<&'static [usize]>,
}

const NCHW: &[usize] = &[3, 2, 1, 0];
const NHWC: &[usize] = &[1, 3, 2, 0];

/// An image network; its pooled tail is `[8,64,1,1]`, where NCHW and NHWC are the same memory.
const GRAPH: [Node; 6] = [
    Node { name: "image", input: None, extents: &[8, 64, 56, 56], wants: Some(NCHW) },
    Node { name: "convolution", input: Some(0), extents: &[8, 64, 56, 56], wants: Some(NHWC) },
    Node { name: "relu", input: Some(1), extents: &[8, 64, 56, 56], wants: None },
    Node { name: "pool", input: Some(2), extents: &[8, 64, 1, 1], wants: Some(NHWC) },
    Node { name: "softmax", input: Some(3), extents: &[8, 64, 1, 1], wants: Some(NCHW) },
    Node { name: "image gradient", input: Some(2), extents: &[8, 64, 56, 56], wants: Some(NCHW) },
];

/// What the pass decides for an edge between two nodes.
enum Edge {
    /// The reader takes the memory as it lies.
    Same,
    /// Another layout by name, the same memory in fact.
    Bitcast,
    /// A kernel between the two.
    Relayout(Box<Kernel>),
}

fn main() -> Result<(), Error> {
    let layouts = assign();
    let (mut elided, mut left) = (0, 0);
    for (number, node) in GRAPH.iter().enumerate() {
        let Some(input) = node.input else { continue };
        // What the reader wants of its operand: the operand's extents in the reader's order.
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

/// The pass: a node without a wish takes its operand's layout.
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
    let operation = Operation::relayout(have.clone().into(), want.clone().into())?;
    Ok(Edge::Relayout(operation.compile(&Target::webgpu())?.into()))
}
