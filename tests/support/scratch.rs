//! Programs that need several kernels, which pass values in scratch buffers.

use stridec::{
    Target,
    hlo::{Builder, Module, Opcode},
    program::{Program, compile_module},
};

/// A module, the images of its parameters, and its result.
pub struct ScratchCase {
    pub module: Module,
    pub images: Vec<Vec<u8>>,
    pub expected: Vec<u8>,
}

impl ScratchCase {
    /// Returns the program as lowered, and as compiled for a target whose kernels bind at most 7
    /// sources.
    pub fn programs(&self) -> [Program; 2] {
        let lowered = Program::lower(&self.module).unwrap();
        [lowered, compile_module(&self.module, &Target::webgpu()).unwrap()]
    }

    /// Returns the images in the form that a program takes.
    pub fn sources(&self) -> Vec<&[u8]> {
        self.images.iter().map(Vec::as_slice).collect()
    }
}

/// Returns `count` bytes in which neighbours differ.
pub fn bytes(count: usize, start: usize) -> Vec<u8> {
    (start..start + count)
        .map(|byte| (byte * 7).to_le_bytes()[0] ^ (byte >> 6).to_le_bytes()[0])
        .collect()
}

/// Returns a concatenation of `count` parameters along their first dimension. The parameter at
/// index n has n % 3 + 1 rows.
pub fn concatenate(count: usize, element: &str, columns: usize) -> ScratchCase {
    let mut builder = Builder::new("concatenate");
    let (mut operands, mut images) = (Vec::new(), Vec::new());
    for number in 0..count {
        let rows = number % 3 + 1;
        let shape = format!("{element}[{rows},{columns}]").parse().unwrap();
        operands.push(builder.parameter(shape).unwrap());
        let width = if element == "f32" { 4 } else { 1 };
        images.push(bytes(rows * columns * width, 31 * number));
    }
    let root = builder.add(Opcode::Concatenate { dimension: 0 }, &operands).unwrap();
    let expected = images.concat();
    ScratchCase { module: builder.finish("main", root).unwrap(), images, expected }
}

/// Returns a stack of 16 parameters along a new innermost dimension.
pub fn stack() -> ScratchCase {
    let mut builder = Builder::new("stack");
    let (mut operands, mut images) = (Vec::new(), Vec::new());
    for number in 0..16 {
        let operand = builder.parameter("f32[3,5]".parse().unwrap()).unwrap();
        let column = "f32[3,5,1]".parse().unwrap();
        operands.push(builder.add_as(Opcode::Reshape, &[operand], column).unwrap());
        images.push(bytes(60, 17 * number));
    }
    let root = builder.add(Opcode::Concatenate { dimension: 2 }, &operands).unwrap();
    let units = (0..15).flat_map(|unit| images.iter().map(move |image| &image[unit * 4..][..4]));
    let expected = units.flatten().copied().collect();
    ScratchCase { module: builder.finish("main", root).unwrap(), images, expected }
}

/// Returns a concatenation of nine dynamic slices, whose starts have several integer types.
pub fn dynamic_slices() -> ScratchCase {
    let mut builder = Builder::new("starts");
    let (mut parts, mut images, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..9_usize {
        let array = builder.parameter("u16[9]".parse().unwrap()).unwrap();
        let (element, width) = [("s32", 4), ("u8", 1), ("s64", 8)][number % 3];
        let start = builder.parameter(format!("{element}[]").parse().unwrap()).unwrap();
        let slice = Opcode::DynamicSlice { sizes: vec![2] };
        parts.push(builder.add(slice, &[array, start]).unwrap());
        let array = bytes(18, 19 * number);
        // A start past 7, the last one, is clamped.
        let value = (number as u64 * 2).to_le_bytes()[..width].to_vec();
        let first = (number * 2).min(7) * 2;
        expected.extend(&array[first..first + 4]);
        images.extend([array, value]);
    }
    let root = builder.add(Opcode::Concatenate { dimension: 0 }, &parts).unwrap();
    ScratchCase { module: builder.finish("main", root).unwrap(), images, expected }
}

/// Returns a program of eight levels. Each level slices the value before it at two run-time starts
/// and concatenates the parts, so that an element may come from 256 places.
pub fn doubling() -> ScratchCase {
    let mut builder = Builder::new("doubling");
    let mut value = builder.parameter("u8[64]".parse().unwrap()).unwrap();
    let starts: Vec<usize> =
        (0..2).map(|_| builder.parameter("s32[]".parse().unwrap()).unwrap()).collect();
    for _ in 0..8 {
        let sizes = || Opcode::DynamicSlice { sizes: vec![32] };
        let halves = starts.iter().map(|&start| builder.add(sizes(), &[value, start]).unwrap());
        let halves: Vec<usize> = halves.collect();
        value = builder.add(Opcode::Concatenate { dimension: 0 }, &halves).unwrap();
    }
    let module = builder.finish("main", value).unwrap();
    let array: Vec<u8> = (0..64).collect();
    let mut expected = array.clone();
    for _ in 0..8 {
        expected = [&expected[5..37], &expected[20..52]].concat();
    }
    ScratchCase { module, images: vec![array, vec![5, 0, 0, 0], vec![20, 0, 0, 0]], expected }
}

/// Returns the concatenations that the tests run, with the number of kernels that each needs.
pub fn concatenations() -> impl Iterator<Item = (ScratchCase, usize)> {
    let counts = [(7, 1), (8, 2), (9, 2), (13, 2), (14, 3), (30, 5), (100, 17)];
    counts.into_iter().flat_map(|(count, kernels)| {
        [("f32", 5), ("u8", 3)]
            .map(|(element, columns)| (concatenate(count, element, columns), kernels))
    })
}
