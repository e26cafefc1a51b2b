//! Random chains of instructions that move elements, with values of up to 2^32 elements. Such a
//! value is too large to run, so [`Chain::origin`] says where a single element comes from.

use stridec::{
    hlo::{Builder, Literal, Module, Opcode, PaddingDimension, SliceDimension},
    shape::{ElementType, Layout, Shape},
};

use super::super::random::Random;

/// Element types of each width that a chain may move. XLA keeps an element of a narrow type in a
/// byte.
const TYPES: [ElementType; 6] = [
    ElementType::U8,
    ElementType::Bf16,
    ElementType::F32,
    ElementType::F32,
    ElementType::F64,
    ElementType::C128,
];

/// The maximum rank of a value.
const MOST_RANK: usize = 6;

/// A chain of instructions. Each instruction moves the elements of the value before it.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) module: Module,
    /// The extents of each value: first the parameters, then the result of each step.
    sizes: Vec<Vec<u64>>,
    /// The number of parameters, which are the first values.
    parameters: usize,
    steps: Vec<Step>,
    /// The indices of the values that are results of the module.
    results: Vec<usize>,
}

/// One instruction of a chain. `of` has the indices of its operands among the values.
#[derive(Clone, Debug)]
enum Step {
    Transpose { of: usize, dimensions: Vec<usize> },
    Reshape { of: usize },
    Slice { of: usize, dimensions: Vec<SliceDimension> },
    Reverse { of: usize, dimensions: Vec<usize> },
    Broadcast { of: usize, dimensions: Vec<usize> },
    Pad { of: usize, dimensions: Vec<PaddingDimension> },
    Concatenate { of: Vec<usize>, dimension: usize },
}

/// The origin of an element of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementOrigin {
    /// An element of a parameter: the index of the parameter, and the element's position in
    /// row-major order.
    Parameter(usize, u64),
    /// The padding value of a `pad`, which is zero.
    Padding,
}

/// The limits of a random chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The maximum number of elements of a value.
    pub(crate) elements: u64,
    /// The maximum number of steps.
    pub(crate) steps: u64,
    /// True if a chain has only transposes and reshapes.
    pub(crate) only_shapes: bool,
}

/// A chain to which steps are being added.
struct Growth<'a> {
    random: &'a mut Random,
    limits: Limits,
    sizes: Vec<Vec<u64>>,
    parameters: usize,
    steps: Vec<Step>,
}

/// Returns a random chain. Its last value is a result, and sometimes others are too.
pub(crate) fn chain(random: &mut Random, limits: Limits) -> Chain {
    let element_type = random.pick(&TYPES);
    let mut growth = Growth { random, limits, sizes: Vec::new(), parameters: 0, steps: Vec::new() };
    let first = growth.first_sizes();
    growth.sizes.push(first.clone());
    growth.parameters = 1;
    // A second parameter gives concatenations another operand.
    if !limits.only_shapes && growth.random.one_in(3) {
        growth.sizes.push(first);
        growth.parameters = 2;
    }
    let steps = 1 + growth.random.below(limits.steps);
    while (growth.steps.len() as u64) < steps {
        growth.grow();
    }
    let Growth { random, sizes, parameters, steps, .. } = growth;
    let mut results = vec![sizes.len() - 1];
    while random.one_in(6) && results.len() < 3 {
        results.push(parameters + usize::try_from(random.below(steps.len() as u64)).unwrap());
    }
    let module = module(random, element_type, (&sizes, parameters), &steps, &results);
    Chain { module, sizes, parameters, steps, results }
}

/// Returns a shape with the default layout.
fn shape(element_type: ElementType, sizes: &[u64]) -> Shape {
    Shape::new(element_type, sizes.iter().copied(), None).unwrap()
}

/// Builds the module of a chain. Its parameters and results have the default layouts, or any order
/// of their dimensions.
fn module(
    random: &mut Random,
    element_type: ElementType,
    (sizes, parameters): (&[Vec<u64>], usize),
    steps: &[Step],
    results: &[usize],
) -> Module {
    let mut builder = Builder::new("chain");
    let mut places: Vec<usize> = sizes[..parameters]
        .iter()
        .map(|sizes| builder.parameter(shape(element_type, sizes)).unwrap())
        .collect();
    for (step, sizes) in steps.iter().zip(&sizes[parameters..]) {
        let shape = shape(element_type, sizes);
        let (opcode, operands) = match step.clone() {
            Step::Transpose { of, dimensions } => (Opcode::Transpose { dimensions }, vec![of]),
            Step::Reshape { of } => (Opcode::Reshape, vec![of]),
            Step::Slice { of, dimensions } => (Opcode::Slice { dimensions }, vec![of]),
            Step::Reverse { of, dimensions } => (Opcode::Reverse { dimensions }, vec![of]),
            Step::Broadcast { of, dimensions } => (Opcode::Broadcast { dimensions }, vec![of]),
            Step::Concatenate { of, dimension } => (Opcode::Concatenate { dimension }, of),
            Step::Pad { of, dimensions } => (Opcode::Pad { dimensions }, vec![of]),
        };
        let mut operands: Vec<usize> = operands.into_iter().map(|value| places[value]).collect();
        if let Step::Pad { .. } = step {
            let scalar = self::shape(element_type, &[]);
            let zeros = vec![0; element_type.bits().unwrap().div_ceil(8) as usize];
            let zero = Literal::new(&scalar, zeros).unwrap();
            operands.push(builder.add(Opcode::Constant(zero.into()), &[]).unwrap());
        }
        places.push(builder.add_as(opcode, &operands, shape).unwrap());
    }
    let any_layout = random.one_in(3);
    let mut laid_out = |sizes: &[u64]| {
        let order = any_layout.then(|| Layout::new(random.permutation(sizes.len())));
        Shape::new(element_type, sizes.iter().copied(), order).unwrap()
    };
    let entry = sizes[..parameters].iter().map(|sizes| laid_out(sizes)).collect();
    let of_results: Vec<Shape> = results.iter().map(|&value| laid_out(&sizes[value])).collect();
    let (root, result) = match (results, &of_results[..]) {
        ([one], [result]) => (places[*one], result.clone()),
        _ => {
            let values: Vec<usize> = results.iter().map(|&value| places[value]).collect();
            (builder.add(Opcode::Tuple, &values).unwrap(), Shape::tuple(of_results).unwrap())
        }
    };
    builder.finish_with_layouts("main", root, entry, result).unwrap()
}

impl Growth<'_> {
    /// Returns extents whose product is at most the limit. Half of the products are near the limit
    /// and have small factors. The others have any order of magnitude.
    fn first_sizes(&mut self) -> Vec<u64> {
        if self.random.one_in(2) {
            let elements = self.limits.elements;
            let most = elements - self.random.below(elements / 2);
            let count = self.round(most);
            return self.factored(count);
        }
        let mut left = self.up_to(self.limits.elements);
        let rank = usize::try_from(1 + self.random.below(4)).unwrap();
        let mut sizes: Vec<u64> = (1..rank)
            .map(|_| {
                let size = self.up_to(left);
                left /= size;
                size
            })
            .collect();
        sizes.push(left.max(1));
        let order = self.random.permutation(rank);
        order.into_iter().map(|place| sizes[place]).collect()
    }

    /// Returns a number from 1 to `most`, of any order of magnitude. Half of the numbers have small
    /// factors.
    fn up_to(&mut self, most: u64) -> u64 {
        let bits = self.random.below(u64::from(most.ilog2()) + 1);
        let number = (1 << bits) + self.random.below(1 << bits);
        let number = number.clamp(1, most);
        if self.random.one_in(2) { number } else { self.round(number) }
    }

    /// Returns a number from `most / 7` to `most` that has only the factors 2, 3, 5 and 7.
    fn round(&mut self, most: u64) -> u64 {
        let mut round = 1;
        loop {
            let next = round * self.random.pick(&[2, 2, 2, 3, 3, 5, 7]);
            if next > most {
                return round;
            }
            round = next;
        }
    }

    /// Adds a random step to the last value. Adds none if the step does not fit the value or the
    /// limits.
    fn grow(&mut self) {
        let of = self.sizes.len() - 1;
        let sizes = self.sizes[of].clone();
        let rank = sizes.len();
        let some = |random: &mut Random| -> Vec<usize> {
            (0..rank).filter(|_| random.one_in(2)).collect()
        };
        let kinds = if self.limits.only_shapes { 5 } else { 10 };
        match self.random.below(kinds) {
            0 | 1 if rank > 1 => {
                let dimensions = self.random.permutation(rank);
                let out = dimensions.iter().map(|&dimension| sizes[dimension]).collect();
                self.push(Step::Transpose { of, dimensions }, out);
            }
            2 => {
                let out = self.regrouped(&sizes);
                self.push(Step::Reshape { of }, out);
            }
            3 | 4 => {
                let out = self.factored(sizes.iter().product());
                self.push(Step::Reshape { of }, out);
            }
            5 => {
                let random = &mut *self.random;
                let dimensions: Vec<SliceDimension> = sizes
                    .iter()
                    .map(|&size| {
                        if random.one_in(2) {
                            return SliceDimension { start: 0, limit: size, stride: 1 };
                        }
                        let start = random.below(size.div_ceil(4));
                        let limit = size - random.below((size - start).div_ceil(4));
                        let stride = random.pick(&[1, 1, 1, 2, 3]);
                        SliceDimension { start, limit, stride }
                    })
                    .collect();
                let out =
                    dimensions.iter().map(|of| (of.limit - of.start).div_ceil(of.stride)).collect();
                self.push(Step::Slice { of, dimensions }, out);
            }
            6 => {
                let dimensions = some(self.random);
                self.push(Step::Reverse { of, dimensions }, sizes);
            }
            7 if rank < MOST_RANK => {
                let at = usize::try_from(self.random.below(rank as u64 + 1)).unwrap();
                let size = 1 + self.random.below(5);
                let mut out = sizes;
                out.insert(at, size);
                let dimensions = (0..=rank).filter(|&dimension| dimension != at).collect();
                self.push(Step::Broadcast { of, dimensions }, out);
            }
            8 => {
                let random = &mut *self.random;
                let dimensions: Vec<PaddingDimension> = sizes
                    .iter()
                    .map(|&size| {
                        let least = -i64::try_from(size / 4).unwrap().min(3);
                        let mut edge = || random.pick(&[0, 0, 1, 3, least]);
                        let (edge_padding_low, edge_padding_high) = (edge(), edge());
                        let interior_padding = random.pick(&[0, 0, 0, 0, 1]);
                        PaddingDimension { edge_padding_low, edge_padding_high, interior_padding }
                    })
                    .collect();
                let out = dimensions.iter().zip(&sizes).map(|(of, &size)| {
                    let spread = size + (size - 1) * of.interior_padding;
                    let edges = of.edge_padding_low + of.edge_padding_high;
                    u64::try_from(i64::try_from(spread).unwrap() + edges).unwrap()
                });
                let out = out.collect();
                self.push(Step::Pad { of, dimensions }, out);
            }
            9 if rank > 0 => {
                let dimension = usize::try_from(self.random.below(rank as u64)).unwrap();
                let fits: Vec<usize> = (0..self.sizes.len())
                    .filter(|&other| {
                        let other = &self.sizes[other];
                        let agrees = |d: usize| d == dimension || other[d] == sizes[d];
                        other.len() == rank && (0..rank).all(agrees)
                    })
                    .collect();
                let mut values = vec![of];
                for _ in 0..=self.random.below(2) {
                    values
                        .push(fits[usize::try_from(self.random.below(fits.len() as u64)).unwrap()]);
                }
                let mut out = sizes;
                out[dimension] = values.iter().map(|&value| self.sizes[value][dimension]).sum();
                self.push(Step::Concatenate { of: values, dimension }, out);
            }
            _ => {}
        }
    }

    /// Adds a step, unless its result is empty or larger than the limit.
    fn push(&mut self, step: Step, sizes: Vec<u64>) {
        let product = sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
        if product.is_some_and(|product| (1..=self.limits.elements).contains(&product)) {
            self.sizes.push(sizes);
            self.steps.push(step);
        }
    }

    /// Returns extents in which a dimension is split, or two neighbours are joined.
    fn regrouped(&mut self, sizes: &[u64]) -> Vec<u64> {
        let mut out = sizes.to_vec();
        if out.len() > 1 && (self.random.one_in(2) || out.len() == MOST_RANK) {
            let at = usize::try_from(self.random.below(out.len() as u64 - 1)).unwrap();
            let joined = out.remove(at);
            out[at] *= joined;
        } else if !out.is_empty() {
            let at = usize::try_from(self.random.below(out.len() as u64)).unwrap();
            let size = out.remove(at);
            let factors = self.factored(size);
            let room = MOST_RANK - out.len();
            let (kept, rest) = factors.split_at(factors.len().min(room));
            let mut kept = kept.to_vec();
            if let Some(last) = kept.last_mut() {
                *last *= rest.iter().product::<u64>();
            }
            out.splice(at..at, kept);
        }
        out
    }

    /// Returns one to four extents with this product, in any order.
    fn factored(&mut self, mut product: u64) -> Vec<u64> {
        let rank = 1 + self.random.below(4);
        let mut sizes = vec![1; usize::try_from(rank).unwrap()];
        let mut place = |factor: u64| {
            sizes[usize::try_from(self.random.below(rank)).unwrap()] *= factor;
        };
        let mut factor = 2;
        while factor * factor <= product {
            while product.is_multiple_of(factor) {
                place(factor);
                product /= factor;
            }
            factor += 1;
        }
        place(product);
        sizes
    }
}

impl Chain {
    /// Returns the extents of each result.
    pub(crate) fn results(&self) -> impl Iterator<Item = &[u64]> {
        self.results.iter().map(|&value| &self.sizes[value][..])
    }

    /// Returns the extents of each parameter.
    pub(crate) fn parameters(&self) -> &[Vec<u64>] {
        &self.sizes[..self.parameters]
    }

    /// Returns the origin of the element of a result at `index`. Follows the steps from the last to
    /// the first.
    pub(crate) fn origin(&self, result: usize, index: &[u64]) -> ElementOrigin {
        let (mut value, mut index) = (self.results[result], index.to_vec());
        while value >= self.parameters {
            let step = &self.steps[value - self.parameters];
            match step {
                Step::Transpose { of, dimensions } => {
                    let mut before = index.clone();
                    for (&dimension, &at) in dimensions.iter().zip(&index) {
                        before[dimension] = at;
                    }
                    (value, index) = (*of, before);
                }
                Step::Reshape { of } => {
                    let number = number(&self.sizes[value], &index);
                    (value, index) = (*of, unravel(&self.sizes[*of], number));
                }
                Step::Slice { of, dimensions } => {
                    for (at, of) in index.iter_mut().zip(dimensions) {
                        *at = of.start + *at * of.stride;
                    }
                    value = *of;
                }
                Step::Reverse { of, dimensions } => {
                    for &dimension in dimensions {
                        index[dimension] = self.sizes[value][dimension] - 1 - index[dimension];
                    }
                    value = *of;
                }
                Step::Broadcast { of, dimensions } => {
                    index = dimensions.iter().map(|&dimension| index[dimension]).collect();
                    value = *of;
                }
                Step::Pad { of, dimensions } => {
                    for ((at, of), &size) in index.iter_mut().zip(dimensions).zip(&self.sizes[*of])
                    {
                        let from = i128::from(*at) - i128::from(of.edge_padding_low);
                        let step = i128::from(of.interior_padding) + 1;
                        if from < 0 || from % step != 0 || from / step >= size.into() {
                            return ElementOrigin::Padding;
                        }
                        *at = u64::try_from(from / step).unwrap();
                    }
                    value = *of;
                }
                Step::Concatenate { of, dimension } => {
                    for &operand in of {
                        value = operand;
                        let size = self.sizes[operand][*dimension];
                        if index[*dimension] < size {
                            break;
                        }
                        index[*dimension] -= size;
                    }
                }
            }
        }
        ElementOrigin::Parameter(value, number(&self.sizes[value], &index))
    }
}

/// Returns the position of an index in row-major order.
fn number(sizes: &[u64], index: &[u64]) -> u64 {
    sizes.iter().zip(index).fold(0, |number, (&size, &at)| {
        assert!(at < size);
        number * size + at
    })
}

/// Returns the index at a position in row-major order.
pub(crate) fn unravel(sizes: &[u64], mut number: u64) -> Vec<u64> {
    let mut index: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|&size| {
            let at = number % size;
            number /= size;
            at
        })
        .collect();
    index.reverse();
    index
}
