//! Random programs that only move data, and images for their parameters.

use stridec::{
    hlo::{
        Builder, ComparisonDirection, Literal, Module, Opcode, PaddingDimension, SliceDimension,
    },
    shape::{Dimension, ElementType, Layout, Shape},
};

use super::{
    interpreter::{Array, Fill, to_image},
    support::random::{self, Random},
};

/// Elements of the largest value.
const MOST_ELEMENTS: u64 = 1_500;
const MOST_RANK: usize = 5;

const TYPES: [ElementType; 12] = [
    ElementType::Pred,
    ElementType::U2,
    ElementType::S4,
    ElementType::S8,
    ElementType::U8,
    ElementType::F8e4m3fn,
    ElementType::Bf16,
    ElementType::S16,
    ElementType::F32,
    ElementType::S64,
    ElementType::C64,
    ElementType::C128,
];
const STARTS: [ElementType; 4] =
    [ElementType::S32, ElementType::U8, ElementType::S64, ElementType::U32];

/// A computation while it is made: its parameters, and its values with their places.
struct Program<'a> {
    random: &'a mut Random,
    builder: Builder,
    element_type: ElementType,
    parameters: Vec<Shape>,
    values: Vec<(usize, Shape)>,
}

/// A program of up to ten instructions between its parameters and its results, up to three. Buffers have the default
/// layouts, or any: other orders, padded, in tiles.
pub(crate) fn module(random: &mut Random) -> Module {
    let element_type = random.pick(&TYPES);
    let builder = Builder::new("random");
    let (parameters, values) = (vec![], vec![]);
    let mut program = Program { random, builder, element_type, parameters, values };
    for _ in 0..=program.random.below(3) {
        let sizes = program.sizes();
        program.parameter(element_type, &sizes);
    }
    if program.random.one_in(4) {
        program.call();
    }
    for _ in 0..=program.random.below(10) {
        program.grow();
    }
    let mut roots = vec![program.values.last().unwrap().clone()];
    while program.random.one_in(4) && roots.len() < 3 {
        roots.push(program.any());
    }
    let Program { random, mut builder, parameters, .. } = program;
    let (root, result) = if roots.len() == 1 && !random.one_in(8) {
        roots.remove(0)
    } else {
        let (places, shapes): (Vec<usize>, Vec<Shape>) = roots.into_iter().unzip();
        (builder.add(Opcode::Tuple, &places).unwrap(), Shape::tuple(shapes).unwrap())
    };
    let any_layout = !random.one_in(3);
    let mut layout = |shape: &Shape| {
        if any_layout { laid_out(random, shape) } else { shape.clone() }
    };
    let entry = parameters.iter().map(&mut layout).collect();
    let result = layout(&result);
    builder.finish_with_layouts("main", root, entry, result).unwrap()
}

/// The same shape in any layout.
fn laid_out(random: &mut Random, shape: &Shape) -> Shape {
    if !shape.is_array() {
        let parts = shape.tuple_shapes().iter().map(|part| laid_out(random, part));
        return Shape::tuple(parts.collect::<Vec<_>>()).unwrap();
    }
    let sizes = sizes(shape);
    let mut layout = random::layout(random, shape.element_type(), &sizes);
    layout.element_size_in_bits = 0;
    Shape::new(shape.element_type(), sizes, layout).unwrap()
}

/// Images for the buffers that a module reads: any elements, and any bits beside them.
pub(crate) fn images(random: &mut Random, module: &Module) -> Vec<Vec<u8>> {
    module.parameters().iter().map(|shape| image(random, shape)).collect()
}

fn image(random: &mut Random, shape: &Shape) -> Vec<u8> {
    let bits = shape.element_type().bits().unwrap();
    let sizes = sizes(shape);
    let is_index = STARTS.contains(&shape.element_type()) && sizes.is_empty();
    let mut cell = || match random.below(3) {
        _ if !is_index => {
            let bytes = random.bytes(16);
            u128::from_le_bytes(bytes.try_into().unwrap()) & (u128::MAX >> (128 - bits))
        }
        0 => u128::from(random.next()) & (u128::MAX >> (128 - bits)),
        _ => random.below(6).into(),
    };
    let cells = (0..sizes.iter().product()).map(|_| cell()).collect();
    let array = Array { element_type: shape.element_type(), sizes, cells };
    let every = Array { cells: vec![u128::MAX; array.cells.len()], ..array.clone() };
    let (elements, mask) =
        (to_image(shape, &array, Fill::Zero), to_image(shape, &every, Fill::Zero));
    let beside = random.bytes(elements.len() as u64);
    let with = |((element, mask), beside): ((&u8, u8), u8)| element & mask | beside & !mask;
    elements.iter().zip(mask).zip(beside).map(with).collect()
}

pub(crate) fn sizes(shape: &Shape) -> Vec<u64> {
    shape
        .dimensions()
        .iter()
        .map(|dimension| match dimension {
            Dimension::Fixed(size) => *size,
            _ => panic!("{shape} has a bound"),
        })
        .collect()
}

impl Program<'_> {
    fn sizes(&mut self) -> Vec<u64> {
        let rank = usize::try_from(self.random.below(MOST_RANK as u64)).unwrap();
        let most = [1, 40, 16, 9, 5][rank];
        let size = |random: &mut Random| if random.one_in(60) { 0 } else { 1 + random.below(most) };
        (0..rank).map(|_| size(self.random)).collect()
    }

    fn parameter(&mut self, element_type: ElementType, sizes: &[u64]) -> usize {
        let shape = Shape::new(element_type, sizes.iter().copied(), None).unwrap();
        let place = self.builder.parameter(shape.clone()).unwrap();
        self.parameters.push(shape.clone());
        self.values.push((place, shape));
        place
    }

    /// Makes what there is so far a function, and calls it.
    fn call(&mut self) {
        for _ in 0..=self.random.below(3) {
            self.grow();
        }
        let (root, result) = self.values.last().unwrap().clone();
        let computation = self.builder.computation("callee", root).unwrap();
        self.values.clear();
        let operands: Vec<usize> = std::mem::take(&mut self.parameters)
            .iter()
            .map(|shape| self.parameter(shape.element_type(), &sizes(shape)))
            .collect();
        let place = self.builder.add(Opcode::Call { computation }, &operands).unwrap();
        self.values.push((place, result));
    }

    /// An array of the program's type, of the last ones above all.
    fn any(&mut self) -> (usize, Shape) {
        let of_type = |value: &&(usize, Shape)| value.1.element_type() == self.element_type;
        let values: Vec<_> = self.values.iter().filter(of_type).collect();
        let last = values.len() - 1;
        let back = match self.random.below(3) {
            0 => self.random.below(values.len() as u64),
            _ => 0,
        };
        values[last - usize::try_from(back).unwrap()].clone()
    }

    fn push(&mut self, opcode: Opcode, operands: &[usize], sizes: &[u64]) {
        let shape = Shape::new(self.element_type, sizes.iter().copied(), None).unwrap();
        let place = self
            .builder
            .add_as(opcode, operands, shape.clone())
            .unwrap_or_else(|error| panic!("{error}"));
        self.values.push((place, shape));
    }

    /// A scalar of the program's type: a constant, or a parameter.
    fn scalar(&mut self) -> usize {
        let shape = Shape::new(self.element_type, [], None).unwrap();
        if self.random.one_in(3) {
            let found = self.values.iter().find(|value| value.1 == shape).map(|value| value.0);
            return found.unwrap_or_else(|| self.parameter(self.element_type, &[]));
        }
        let bytes = self.element_type.bits().unwrap().div_ceil(8);
        let bytes = self.random.bytes(bytes.into());
        let literal = Literal::new(&shape, bytes).unwrap();
        self.builder.add(Opcode::Constant(literal.into()), &[]).unwrap()
    }

    /// Starts along `rank` dimensions: constants and parameters, one type for all.
    fn starts(&mut self, rank: usize) -> Vec<usize> {
        let element_type = self.random.pick(&STARTS);
        let shape = Shape::new(element_type, [], None).unwrap();
        let one = |program: &mut Self| {
            if program.random.one_in(2) {
                return program.parameter(element_type, &[]);
            }
            let mut bytes = vec![0; element_type.bits().unwrap() as usize / 8];
            bytes[0] = u8::try_from(program.random.below(7)).unwrap();
            let literal = Literal::new(&shape, bytes).unwrap();
            program.builder.add(Opcode::Constant(literal.into()), &[]).unwrap()
        };
        (0..rank).map(|_| one(self)).collect()
    }

    /// Adds an instruction; or none, where the one that was drawn does not fit.
    fn grow(&mut self) {
        let (operand, shape) = self.any();
        let sizes = sizes(&shape);
        let (rank, count) = (sizes.len(), sizes.iter().product::<u64>());
        let dimension = |random: &mut Random| usize::try_from(random.below(rank as u64)).unwrap();
        match self.random.below(16) {
            0 | 1 => {
                let sizes = self.regrouped(count, &sizes);
                self.push(Opcode::Reshape, &[operand], &sizes);
            }
            2 | 3 => {
                let dimensions = self.random.permutation(rank);
                let out: Vec<u64> = dimensions.iter().map(|&dimension| sizes[dimension]).collect();
                self.push(Opcode::Transpose { dimensions }, &[operand], &out);
            }
            4 if rank < MOST_RANK => {
                let more = 1 + self.random.below(4);
                if count * more > MOST_ELEMENTS {
                    return;
                }
                let places = self.random.permutation(rank + 1);
                let mut out = vec![more; rank + 1];
                let dimensions = places[..rank].to_vec();
                for (&size, &place) in sizes.iter().zip(&dimensions) {
                    out[place] = size;
                }
                self.push(Opcode::Broadcast { dimensions }, &[operand], &out);
            }
            5 => {
                let mut dimensions = vec![];
                for &size in &sizes {
                    let start = self.random.below(size + 1).min(self.random.below(size + 1));
                    let limit = size - self.random.below(size - start + 1) / 2;
                    let stride = self.random.pick(&[1, 1, 1, 2, 3]);
                    dimensions.push(SliceDimension { start, limit, stride });
                }
                let extent = |of: &SliceDimension| (of.limit - of.start).div_ceil(of.stride);
                let out: Vec<u64> = dimensions.iter().map(extent).collect();
                self.push(Opcode::Slice { dimensions }, &[operand], &out);
            }
            6 if rank > 0 => {
                let mut dimensions = self.random.permutation(rank);
                dimensions.truncate(1 + dimension(self.random));
                self.push(Opcode::Reverse { dimensions }, &[operand], &sizes);
            }
            7 => self.pad(operand, &sizes),
            8 | 9 if rank > 0 => {
                let along = dimension(self.random);
                let others: Vec<(usize, Shape)> = self.values.clone();
                let fits = |other: &&(usize, Shape)| {
                    let of = self::sizes(&other.1);
                    other.1.element_type() == self.element_type
                        && of.len() == rank
                        && (0..rank).all(|d| d == along || of[d] == sizes[d])
                };
                let others: Vec<_> = others.iter().filter(fits).collect();
                let (mut operands, mut out) = (vec![operand], sizes.clone());
                for _ in 0..=self.random.below(3) {
                    let other = usize::try_from(self.random.below(others.len() as u64)).unwrap();
                    operands.push(others[other].0);
                    out[along] += self::sizes(&others[other].1)[along];
                }
                if out.iter().product::<u64>() <= MOST_ELEMENTS {
                    self.push(Opcode::Concatenate { dimension: along }, &operands, &out);
                }
            }
            10 => {
                let part: Vec<u64> =
                    sizes.iter().map(|&size| size - self.random.below(size + 1) / 2).collect();
                let starts = self.starts(rank);
                let operands = [vec![operand], starts].concat();
                self.push(Opcode::DynamicSlice { sizes: part.clone() }, &operands, &part);
            }
            11 => {
                let part: Vec<SliceDimension> = sizes
                    .iter()
                    .map(|&size| {
                        let limit = size - self.random.below(size + 1) / 2;
                        SliceDimension { start: 0, limit, stride: 1 }
                    })
                    .collect();
                let extents: Vec<u64> = part.iter().map(|of| of.limit).collect();
                let (from, _) = self.same_as(&sizes);
                self.push(Opcode::Slice { dimensions: part }, &[from], &extents);
                let update = self.values.last().unwrap().0;
                let starts = self.starts(rank);
                let operands = [vec![operand, update], starts].concat();
                self.push(Opcode::DynamicUpdateSlice, &operands, &sizes);
            }
            12 if rank > 1 => self.triangle(operand, &sizes),
            13 => self.push(Opcode::Copy, &[operand], &sizes),
            14 => {
                let sizes = self.regrouped(count, &sizes);
                let layout = Layout::new(self.random.permutation(sizes.len()));
                let shape = Shape::new(self.element_type, sizes, layout).unwrap();
                let place = self.builder.add_as(Opcode::Bitcast, &[operand], shape.clone());
                self.values.push((place.unwrap(), shape));
            }
            15 => self.swap_bytes(operand, &sizes),
            _ => {}
        }
    }

    /// An array of the program's type and these sizes.
    fn same_as(&mut self, sizes: &[u64]) -> (usize, Shape) {
        let fits = |value: &&(usize, Shape)| {
            value.1.element_type() == self.element_type && self::sizes(&value.1) == sizes
        };
        let same: Vec<_> = self.values.iter().filter(fits).cloned().collect();
        same[usize::try_from(self.random.below(same.len() as u64)).unwrap()].clone()
    }

    /// Other sizes of as many elements: a dimension split, two joined, or all of them anew.
    fn regrouped(&mut self, count: u64, sizes: &[u64]) -> Vec<u64> {
        let mut out = sizes.to_vec();
        let splits = self.random.one_in(2) && !out.is_empty() && out.len() < MOST_RANK;
        if splits {
            let at = usize::try_from(self.random.below(out.len() as u64)).unwrap();
            let divisors: Vec<u64> =
                (1..=out[at]).filter(|&by| out[at].is_multiple_of(by)).collect();
            if let Some(last) = divisors.len().checked_sub(1) {
                let by = divisors[usize::try_from(self.random.below(last as u64 + 1)).unwrap()];
                out[at] /= by;
                out.insert(at + usize::from(self.random.one_in(2)), by);
                return out;
            }
        }
        if out.len() > 1 {
            let at = usize::try_from(self.random.below(out.len() as u64 - 1)).unwrap();
            out[at] *= out[at + 1];
            out.remove(at + 1);
            return out;
        }
        vec![count]
    }

    fn pad(&mut self, operand: usize, sizes: &[u64]) {
        let value = self.scalar();
        let mut out = vec![];
        let mut dimensions = vec![];
        for &size in sizes {
            let interior_padding = self.random.pick(&[0, 0, 0, 1, 2]);
            let spread = size + size.saturating_sub(1) * interior_padding;
            let mut edge = || {
                let crops = self.random.one_in(4);
                let least = if crops { -i64::try_from(spread / 2).unwrap() } else { 0 };
                let random = i64::try_from(self.random.below(4)).unwrap();
                if crops { least.max(-random) } else { random }
            };
            let (low, high) = (edge(), edge());
            let extent = i64::try_from(spread).unwrap() + low + high;
            out.push(u64::try_from(extent).unwrap());
            dimensions.push(PaddingDimension {
                edge_padding_low: low,
                edge_padding_high: high,
                interior_padding,
            });
        }
        if out.iter().product::<u64>() <= MOST_ELEMENTS {
            self.push(Opcode::Pad { dimensions }, &[operand, value], &out);
        }
    }

    /// Takes elements apart into bytes, and puts these together in the opposite order.
    fn swap_bytes(&mut self, operand: usize, sizes: &[u64]) {
        use ElementType::{Bf16, F32, S16, S64};
        let bytes = u64::from(self.element_type.bits().unwrap() / 8);
        if ![Bf16, F32, S16, S64].contains(&self.element_type) || sizes.len() == MOST_RANK {
            return;
        }
        let apart: Vec<u64> = sizes.iter().copied().chain([bytes]).collect();
        let shape = Shape::new(ElementType::U8, apart, None).unwrap();
        let place = self.builder.add_as(Opcode::BitcastConvert, &[operand], shape).unwrap();
        let reverse = Opcode::Reverse { dimensions: vec![sizes.len()] };
        let place = self.builder.add(reverse, &[place]).unwrap();
        self.push(Opcode::BitcastConvert, &[place], sizes);
    }

    /// Keeps the elements on one side of a diagonal, as `tril` does, and takes the others from a value.
    fn triangle(&mut self, operand: usize, sizes: &[u64]) {
        let rank = sizes.len();
        let dimensions = self.random.permutation(rank);
        let indices = Shape::new(ElementType::S32, sizes.iter().copied(), None).unwrap();
        let mut iota = |dimension| {
            self.builder.add_as(Opcode::Iota { dimension }, &[], indices.clone()).unwrap()
        };
        let (rows, columns) = (iota(dimensions[0]), iota(dimensions[1]));
        let direction = self.random.pick(&[
            ComparisonDirection::Ge,
            ComparisonDirection::Lt,
            ComparisonDirection::Gt,
            ComparisonDirection::Le,
        ]);
        let compare = Opcode::Compare { direction, total_order: false };
        let mask = self.builder.add(compare, &[rows, columns]).unwrap();
        let value = self.scalar();
        self.push(Opcode::Broadcast { dimensions: vec![] }, &[value], sizes);
        let filled = self.values.last().unwrap().0;
        self.push(Opcode::Select, &[mask, operand, filled], sizes);
    }
}
