//! Random programs that only move data, and random images for their parameters.

use stridec::{
    hlo::{
        Binary, Builder, ComparisonDirection, Footprint, Gather, Literal, Module, Opcode,
        PaddingDimension, Scatter, SliceDimension, Unary,
    },
    shape::{Dimension, ElementType, Layout, Shape},
};

use super::{
    super::random::{self, Random},
    interpreter::{Array, Fill, to_image},
};

/// The maximum number of elements of a value.
const MOST_ELEMENTS: u64 = 1_500;
/// The maximum rank of a value.
const MOST_RANK: usize = 5;

/// Element types of the data that a program moves.
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
/// Types to which elements are converted, and then back.
const OTHERS: [ElementType; 8] = [
    ElementType::Pred,
    ElementType::U4,
    ElementType::S8,
    ElementType::F8e5m2,
    ElementType::F16,
    ElementType::S32,
    ElementType::F32,
    ElementType::U64,
];
/// Integer types of the starts of dynamic slices.
const STARTS: [ElementType; 6] = [
    ElementType::S32,
    ElementType::U8,
    ElementType::S8,
    ElementType::S64,
    ElementType::U32,
    ElementType::U16,
];
/// Integer types of arrays of indices. No other array has such a type.
const INDICES: [ElementType; 2] = [ElementType::S32, ElementType::U32];

/// A program to which instructions are being added.
struct Program<'a> {
    random: &'a mut Random,
    builder: Builder,
    /// The type of the elements that the program moves.
    element_type: ElementType,
    parameters: Vec<Shape>,
    /// The values so far, each with the index of its instruction and its shape.
    values: Vec<(usize, Shape)>,
    /// The computation of scatters of one array. It returns the update, the second of its
    /// parameters.
    combiner: usize,
    /// The computation of scatters of two arrays. It returns the updates, the last two of its four
    /// parameters.
    pair_combiner: usize,
    /// Computations that combine two elements of a type, which reductions call.
    reducers: Vec<(ElementType, usize)>,
}

/// The operations of reductions: of truth values, and of indices.
const REDUCERS: [(ElementType, Binary); 6] = [
    (ElementType::Pred, Binary::And),
    (ElementType::Pred, Binary::Or),
    (ElementType::S32, Binary::Add),
    (ElementType::S32, Binary::Multiply),
    (ElementType::S32, Binary::Minimum),
    (ElementType::S32, Binary::Maximum),
];

/// Returns a program with one to three results, and up to ten instructions before these. The
/// parameters and results have default layouts, or any: other orders of dimensions, padding, tiles.
pub(crate) fn module(random: &mut Random) -> Module {
    let element_type = random.pick(&TYPES);
    let mut builder = Builder::new("random");
    let (parameters, values) = (vec![], vec![]);
    let element = Shape::new(element_type, [], None).unwrap();
    let [_, update] = [0, 1].map(|_| builder.parameter(element.clone()).unwrap());
    let combiner = builder.computation("replace", update).unwrap();
    let [_, _, first, second] = [0; 4].map(|_| builder.parameter(element.clone()).unwrap());
    let pair = builder.add(Opcode::Tuple, &[first, second]).unwrap();
    let pair_combiner = builder.computation("replace_two", pair).unwrap();
    let mut reducers = vec![];
    for (of, binary) in REDUCERS {
        let scalar = Shape::new(of, [], None).unwrap();
        let sides = [0, 1].map(|_| builder.parameter(scalar.clone()).unwrap());
        let root = builder.add(Opcode::Binary(binary), &sides).unwrap();
        reducers.push((of, builder.computation(binary.name(), root).unwrap()));
    }
    let mut program = Program {
        random,
        builder,
        element_type,
        parameters,
        values,
        combiner,
        pair_combiner,
        reducers,
    };
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

/// Returns the shape in a random layout. A tuple gets a layout for each part.
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

/// Returns true if no byte of the shape's memory is padding.
fn is_dense(shape: &Shape) -> bool {
    Footprint::of(shape).is_some_and(|memory| memory.padding_bytes() == 0)
}

/// Returns images for the parameters of a module. Their elements are random, and so are the bits
/// between the elements, which no program may use.
pub(crate) fn images(random: &mut Random, module: &Module) -> Vec<Vec<u8>> {
    module.parameters().iter().map(|shape| image(random, shape)).collect()
}

/// Returns the image of one parameter. Indices are mostly small, so that many are in bounds.
fn image(random: &mut Random, shape: &Shape) -> Vec<u8> {
    let bits = shape.element_type().bits().unwrap();
    let sizes = sizes(shape);
    let of_scalar = STARTS.contains(&shape.element_type()) && sizes.is_empty();
    let is_index = of_scalar || INDICES.contains(&shape.element_type());
    let mut cell = || match random.below(3) {
        _ if !is_index => {
            let bytes = random.bytes(16);
            u128::from_le_bytes(bytes.try_into().unwrap()) & (u128::MAX >> (128 - bits))
        }
        0 if random.one_in(2) => u128::from(random.next()) & (u128::MAX >> (128 - bits)),
        0 => u128::from(random.below(6)).wrapping_neg() & (u128::MAX >> (128 - bits)),
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

/// Returns the extents of a shape without bounded dimensions.
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
    /// Returns random extents, a few of them 0.
    fn sizes(&mut self) -> Vec<u64> {
        let rank = usize::try_from(self.random.below(MOST_RANK as u64)).unwrap();
        let most = [1, 40, 16, 9, 5][rank];
        let size = |random: &mut Random| if random.one_in(60) { 0 } else { 1 + random.below(most) };
        (0..rank).map(|_| size(self.random)).collect()
    }

    /// Adds a parameter, which is also a value of the program. Returns the index of its
    /// instruction.
    fn parameter(&mut self, element_type: ElementType, sizes: &[u64]) -> usize {
        let shape = Shape::new(element_type, sizes.iter().copied(), None).unwrap();
        let place = self.builder.parameter(shape.clone()).unwrap();
        self.parameters.push(shape.clone());
        self.values.push((place, shape));
        place
    }

    /// Moves the instructions so far into a function, and calls the function with new parameters.
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

    /// Returns a value of the program's type, mostly the last one.
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

    /// Adds an instruction. Its result has the program's type and these extents.
    fn push(&mut self, opcode: Opcode, operands: &[usize], sizes: &[u64]) {
        let shape = Shape::new(self.element_type, sizes.iter().copied(), None).unwrap();
        let place = self
            .builder
            .add_as(opcode, operands, shape.clone())
            .unwrap_or_else(|error| panic!("{error}"));
        self.values.push((place, shape));
    }

    /// Returns a scalar of the program's type: a parameter or a constant.
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

    /// Returns an array in which every element is `number`.
    fn filled(&mut self, element_type: ElementType, number: u64, sizes: &[u64]) -> usize {
        let scalar = Shape::new(element_type, [], None).unwrap();
        let bytes =
            number.to_le_bytes()[..element_type.bits().unwrap().div_ceil(8) as usize].to_vec();
        let literal = Literal::new(&scalar, bytes).unwrap();
        let place = self.builder.add(Opcode::Constant(literal.into()), &[]).unwrap();
        let shape = Shape::new(element_type, sizes.iter().copied(), None).unwrap();
        self.builder.add_as(Opcode::Broadcast { dimensions: vec![] }, &[place], shape).unwrap()
    }

    /// Returns the starts of a dynamic slice along `rank` dimensions, all of one type. A start is a
    /// constant or a parameter, or is computed from one of them.
    fn starts(&mut self, rank: usize) -> Vec<usize> {
        let element_type = self.random.pick(&STARTS);
        let one = |program: &mut Self| {
            let place = if program.random.one_in(2) {
                program.parameter(element_type, &[])
            } else {
                let number = program.random.below(7);
                program.filled(element_type, number, &[])
            };
            if program.random.one_in(2) {
                program.computed(place, element_type, &[])
            } else {
                place
            }
        };
        (0..rank).map(|_| one(self)).collect()
    }

    /// Returns indices that are computed from others. A typical computation adds an extent to
    /// negative indices, which count from the end. Others use arithmetic of all kinds.
    fn computed(&mut self, place: usize, element_type: ElementType, sizes: &[u64]) -> usize {
        use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
        let (first, second) = (self.random.below(9), 1 + self.random.below(6));
        let zero = self.filled(element_type, first / 8, sizes);
        let number = self.filled(element_type, second, sizes);
        let direction = self.random.pick(&[Lt, Lt, Lt, Eq, Ge, Gt, Le, Ne]);
        let compare = Opcode::Compare { direction, total_order: false };
        let operations = [
            Binary::Add,
            Binary::Add,
            Binary::Subtract,
            Binary::Multiply,
            Binary::Divide,
            Binary::Remainder,
        ];
        let mut binary = self.random.pick(&operations);
        let divides = matches!(binary, Binary::Divide | Binary::Remainder);
        if element_type == ElementType::S64 && divides {
            binary = Binary::Minimum;
        }
        let add = |program: &mut Self, opcode, operands: &[usize]| {
            program.builder.add(opcode, operands).unwrap()
        };
        let holds = add(self, compare, &[place, zero]);
        let moved = add(self, Opcode::Binary(binary), &[place, number]);
        let chosen = add(self, Opcode::Select, &[holds, moved, place]);
        match self.random.below(5) {
            3 => {
                let unary = self.random.pick(&[Unary::Abs, Unary::Negate, Unary::Not, Unary::Sign]);
                let there = add(self, Opcode::Unary(unary), &[place]);
                let divided = add(self, Opcode::Binary(binary), &[chosen, there]);
                add(self, Opcode::Select, &[holds, divided, there])
            }
            0 => add(self, Opcode::Clamp, &[zero, chosen, number]),
            1 => {
                let other = self.random.pick(&STARTS);
                let shape = |of| Shape::new(of, sizes.iter().copied(), None).unwrap();
                let there = self.builder.add_as(Opcode::Convert, &[chosen], shape(other)).unwrap();
                self.builder.add_as(Opcode::Convert, &[there], shape(element_type)).unwrap()
            }
            2 => add(self, Opcode::Binary(Binary::Maximum), &[chosen, moved]),
            _ => chosen,
        }
    }

    /// Returns truth values or indices with these extents: a parameter, reduced along a short
    /// dimension.
    fn reduced(&mut self, element_type: ElementType, sizes: &[u64]) -> usize {
        let fits: Vec<_> = self.reducers.iter().filter(|of| of.0 == element_type).collect();
        let (_, computation) =
            *fits[usize::try_from(self.random.below(fits.len() as u64)).unwrap()];
        let dimension = usize::try_from(self.random.below(sizes.len() as u64 + 1)).unwrap();
        let mut whole = sizes.to_vec();
        whole.insert(dimension, self.random.pick(&[1, 1, 2, 3]));
        let array = self.parameter(element_type, &whole);
        let start = self.random.below(2);
        let start = self.filled(element_type, start, &[]);
        let reduce = Opcode::Reduce { dimensions: vec![dimension], computation };
        self.builder.add(reduce, &[array, start]).unwrap()
    }

    /// Returns an array of indices: a parameter, a constant, or the result of instructions.
    fn indices(&mut self, sizes: &[u64]) -> usize {
        let element_type = self.random.pick(&INDICES);
        let place = if self.random.one_in(3) {
            let shape = Shape::new(element_type, sizes.iter().copied(), None).unwrap();
            let count = sizes.iter().product::<u64>();
            let number = |random: &mut Random| u32::try_from(random.below(9)).unwrap();
            let bytes =
                (0..count).flat_map(|_| (number(self.random).wrapping_sub(1)).to_le_bytes());
            let literal = Literal::new(&shape, bytes.collect::<Vec<u8>>()).unwrap();
            self.builder.add(Opcode::Constant(literal.into()), &[]).unwrap()
        } else if element_type == ElementType::S32 && self.random.one_in(3) {
            self.reduced(element_type, sizes)
        } else {
            self.parameter(element_type, sizes)
        };
        if self.random.one_in(2) { self.computed(place, element_type, sizes) } else { place }
    }

    /// Returns random windows of a gather or a scatter on an array of `sizes`:
    ///
    /// - the extents of a window,
    /// - the dimensions of extent 1 that the windows lack,
    /// - the dimensions that the entries of an index vector belong to,
    /// - the extents of the batch, with an index vector for each of its elements, and
    /// - the dimension of the index vectors in the array of indices.
    fn windows(&mut self, sizes: &[u64]) -> (Vec<u64>, Vec<usize>, Vec<usize>, Vec<u64>, usize) {
        let rank = sizes.len();
        let slices: Vec<u64> = sizes
            .iter()
            .map(|&size| if self.random.one_in(2) { 1 } else { 1 + self.random.below(size) })
            .collect();
        let lacks = |d: &usize, random: &mut Random| slices[*d] == 1 && !random.one_in(3);
        let lost: Vec<usize> = (0..rank).filter(|d| lacks(d, self.random)).collect();
        let mut map = self.random.permutation(rank);
        map.truncate(1 + usize::try_from(self.random.below(rank as u64)).unwrap());
        let batch: Vec<u64> = (0..self.random.below(3)).map(|_| 1 + self.random.below(3)).collect();
        let vector = usize::try_from(self.random.below(batch.len() as u64 + 1)).unwrap();
        (slices, lost, map, batch, vector)
    }

    /// Returns the indices of a batch, and the dimension of their index vectors. Index vectors with
    /// one entry may have no dimension; the result is then the rank of the array.
    fn indices_of(&mut self, batch: &[u64], entries: usize, vector: usize) -> (usize, usize) {
        if entries == 1 && self.random.one_in(2) {
            return (self.indices(batch), batch.len());
        }
        let mut sizes = batch.to_vec();
        sizes.insert(vector, entries as u64);
        (self.indices(&sizes), vector)
    }

    /// Chooses, among `window` and `batch` dimensions together, the ascending dimensions of the
    /// windows.
    fn mixed(&mut self, window: usize, batch: usize) -> Vec<usize> {
        let mut dimensions = self.random.permutation(window + batch);
        dimensions.truncate(window);
        dimensions.sort_unstable();
        dimensions
    }

    /// Adds a gather that replaces each element, a byte, by an entry of a table.
    fn looked_up(&mut self, operand: usize, sizes: &[u64]) {
        let entries = self.random.pick(&[256, 200, 7]);
        let table = self.parameter(self.element_type, &[entries]);
        let gather = Gather {
            collapsed_slice_dims: vec![0],
            start_index_map: vec![0],
            index_vector_dim: sizes.len(),
            slice_sizes: vec![1],
            ..Gather::default()
        };
        self.push(Opcode::Gather(Box::new(gather)), &[table, operand], sizes);
    }

    /// Adds a gather, unless its result is too large.
    fn gather(&mut self, operand: usize, sizes: &[u64]) {
        let (slice_sizes, lost, start_index_map, batch, vector) = self.windows(sizes);
        let kept: Vec<usize> = (0..sizes.len()).filter(|d| !lost.contains(d)).collect();
        let offset_dims = self.mixed(kept.len(), batch.len());
        let (mut kept, mut others) = (kept.iter().map(|&d| slice_sizes[d]), batch.iter().copied());
        let out: Vec<u64> = (0..kept.len() + others.len())
            .map(|d| if offset_dims.contains(&d) { kept.next() } else { others.next() }.unwrap())
            .collect();
        if out.iter().product::<u64>() > MOST_ELEMENTS || out.len() > MOST_RANK {
            return;
        }
        let (indices, index_vector_dim) = self.indices_of(&batch, start_index_map.len(), vector);
        let gather = Gather {
            offset_dims,
            collapsed_slice_dims: lost,
            start_index_map,
            index_vector_dim,
            slice_sizes,
            ..Gather::default()
        };
        self.push(Opcode::Gather(Box::new(gather)), &[operand, indices], &out);
    }

    /// Adds a scatter of one or two arrays, unless its updates are too large.
    fn scatter(&mut self, operand: usize, sizes: &[u64]) {
        let (extents, lost, scatter_dims_to_operand_dims, batch, vector) = self.windows(sizes);
        let kept: Vec<usize> = (0..sizes.len()).filter(|d| !lost.contains(d)).collect();
        let update_window_dims = self.mixed(kept.len(), batch.len());
        let (mut kept, mut others) = (kept.iter().map(|&d| extents[d]), batch.iter().copied());
        let of_updates: Vec<u64> = (0..kept.len() + others.len())
            .map(|d| {
                if update_window_dims.contains(&d) { kept.next() } else { others.next() }.unwrap()
            })
            .collect();
        if of_updates.iter().product::<u64>() > MOST_ELEMENTS || of_updates.len() > MOST_RANK {
            return;
        }
        let entries = scatter_dims_to_operand_dims.len();
        let (indices, index_vector_dim) = self.indices_of(&batch, entries, vector);
        let updates = self.parameter(self.element_type, &of_updates);
        let mut scatter = Scatter {
            update_window_dims,
            inserted_window_dims: lost,
            scatter_dims_to_operand_dims,
            index_vector_dim,
            computation: self.combiner,
            ..Scatter::default()
        };
        if !self.random.one_in(3) {
            let operands = [operand, indices, updates];
            return self.push(Opcode::Scatter(Box::new(scatter)), &operands, sizes);
        }
        // A scatter of two arrays. The program goes on with either result.
        scatter.computation = self.pair_combiner;
        let (other, _) = self.same_as(sizes);
        let others = self.parameter(self.element_type, &of_updates);
        let operands = [operand, other, indices, updates, others];
        let pair = self.builder.add(Opcode::Scatter(Box::new(scatter)), &operands).unwrap();
        let first = usize::from(self.random.one_in(2));
        for index in [first, 1 - first] {
            self.push(Opcode::GetTupleElement { index }, &[pair], sizes);
        }
    }

    /// Adds a bitcast to a layout with tiles and as many bytes as the dense operand. In some
    /// bitcasts, the last tile of a dimension is partial; the elements in its padding are then
    /// lost.
    fn tiled_bitcast(&mut self, operand: usize, count: u64, sizes: &[u64]) {
        let mut sizes = self.regrouped(count, sizes);
        if self.random.one_in(2) {
            sizes = self.regrouped(count, &sizes);
        }
        let order = self.random.permutation(sizes.len());
        let covered = sizes.len().min(1 + usize::from(self.random.one_in(2)));
        let divisor = |random: &mut Random, n: u64| {
            let divisors: Vec<u64> = (1..=n).filter(|&by| n.is_multiple_of(by)).collect();
            random.pick(&divisors)
        };
        let tile: Vec<u64> =
            order[..covered].iter().rev().map(|&d| divisor(self.random, sizes[d])).collect();
        let mut layout = Layout::new(order.clone()).tiled(tile.iter().copied());
        if self.random.one_in(2) {
            layout = layout.tiled(tile.iter().map(|&n| divisor(self.random, n)));
        }
        for (&dimension, &by) in order[..covered].iter().rev().zip(&tile) {
            if self.random.one_in(4) {
                sizes[dimension] -= self.random.below(by);
            }
        }
        let shape = Shape::new(self.element_type, sizes, layout).unwrap();
        let place = self.builder.add_as(Opcode::Bitcast, &[operand], shape.clone());
        self.values.push((place.unwrap(), shape));
    }

    /// Adds a `select` between two arrays by truth values.
    fn choice(&mut self, operand: usize, sizes: &[u64]) {
        let is_scalar = self.random.one_in(3);
        let of_predicate = if is_scalar { &[] } else { sizes };
        let predicate = if self.random.one_in(3) {
            self.reduced(ElementType::Pred, of_predicate)
        } else {
            self.parameter(ElementType::Pred, of_predicate)
        };
        let (other, _) = self.same_as(sizes);
        self.push(Opcode::Select, &[predicate, operand, other], sizes);
    }

    /// Splits complex numbers and combines them differently, or converts elements to another type
    /// and back, with a move between.
    fn taken_apart(&mut self, operand: usize, sizes: &[u64]) {
        let (other, _) = self.same_as(sizes);
        let add =
            |program: &mut Self, opcode, place| program.builder.add(opcode, &[place]).unwrap();
        match self.element_type {
            ElementType::C64 | ElementType::C128 => {
                let imaginary = add(self, Opcode::Imag, operand);
                let real = add(self, Opcode::Real, other);
                self.push(Opcode::Complex, &[imaginary, real], sizes);
            }
            _ => {
                let other = match self.element_type {
                    ElementType::S4 if self.random.one_in(2) => ElementType::S8,
                    of => self.random.pick(
                        &OTHERS.map(|other| if other == of { ElementType::F64 } else { other }),
                    ),
                };
                let shape = Shape::new(other, sizes.iter().copied(), None).unwrap();
                let wide = self.builder.add_as(Opcode::Convert, &[operand], shape).unwrap();
                let dimensions = (0..sizes.len()).collect();
                let mirrored = add(self, Opcode::Reverse { dimensions }, wide);
                self.push(Opcode::Convert, &[mirrored], sizes);
            }
        }
    }

    /// Adds a random instruction. Adds none if the instruction does not fit.
    fn grow(&mut self) {
        let (operand, shape) = self.any();
        let sizes = sizes(&shape);
        let (rank, count) = (sizes.len(), sizes.iter().product::<u64>());
        let dimension = |random: &mut Random| usize::try_from(random.below(rank as u64)).unwrap();
        match self.random.below(22) {
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
            // The contents of the padding of tiles are not specified, so no bitcast may read them.
            14 if !is_dense(&shape) => self.push(Opcode::Copy, &[operand], &sizes),
            14 if count > 0 && self.random.one_in(2) => {
                self.tiled_bitcast(operand, count, &sizes);
            }
            14 => {
                let sizes = self.regrouped(count, &sizes);
                let layout = Layout::new(self.random.permutation(sizes.len()));
                let shape = Shape::new(self.element_type, sizes, layout).unwrap();
                let place = self.builder.add_as(Opcode::Bitcast, &[operand], shape.clone());
                self.values.push((place.unwrap(), shape));
            }
            15.. => self.choose(operand, &sizes),
            _ => {}
        }
    }

    /// Adds an instruction that computes the places of its elements, or that splits elements.
    fn choose(&mut self, operand: usize, sizes: &[u64]) {
        let has_windows = !sizes.is_empty() && !sizes.contains(&0);
        let is_byte = matches!(self.element_type, ElementType::U8 | ElementType::S8);
        match self.random.below(8) {
            7 if is_byte => self.looked_up(operand, sizes),
            0 | 1 if has_windows => self.gather(operand, sizes),
            2 | 3 if has_windows => self.scatter(operand, sizes),
            4 => self.choice(operand, sizes),
            5 => self.swap_bytes(operand, sizes),
            _ => self.taken_apart(operand, sizes),
        }
    }

    /// Returns a value with the program's type and these extents. There must be one.
    fn same_as(&mut self, sizes: &[u64]) -> (usize, Shape) {
        let fits = |value: &&(usize, Shape)| {
            value.1.element_type() == self.element_type && self::sizes(&value.1) == sizes
        };
        let same: Vec<_> = self.values.iter().filter(fits).cloned().collect();
        same[usize::try_from(self.random.below(same.len() as u64)).unwrap()].clone()
    }

    /// Returns other extents with the same product: a dimension is split, or two are joined. Arrays
    /// of one dimension or none may get a single dimension of `count` elements.
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

    /// Adds a `pad` with edges that may be negative, unless its result is too large.
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

    /// Splits elements into bytes, and combines the bytes in the opposite order. Adds nothing for
    /// types other than `bf16`, `s16`, `f32` and `s64`, or if there are too many dimensions.
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

    /// Keeps some elements by their index, like `tril` of numpy, and replaces the others by a
    /// scalar.
    fn triangle(&mut self, operand: usize, sizes: &[u64]) {
        let mask = self.masks(sizes, 2);
        let value = self.scalar();
        self.push(Opcode::Broadcast { dimensions: vec![] }, &[value], sizes);
        let filled = self.values.last().unwrap().0;
        self.push(Opcode::Select, &[mask, operand, filled], sizes);
    }

    /// Returns a predicate that tells on which side of a diagonal an element lies, or one that is
    /// computed from at most 2 to the power of `depth` of these. A few are parameters instead.
    fn masks(&mut self, sizes: &[u64], depth: u32) -> usize {
        use ElementType::{Pred, S32, U8};
        let of = if depth == 0 { 0 } else { self.random.below(9) };
        if of < 3 {
            return self.diagonal(sizes);
        }
        let first = self.masks(sizes, depth - 1);
        let compare = |direction| Opcode::Compare { direction, total_order: false };
        let add = |program: &mut Self, opcode: Opcode, operands: &[usize]| {
            program.builder.add(opcode, operands).unwrap()
        };
        match of {
            3 | 4 => {
                let second = match self.random.below(3) {
                    0 => self.parameter(Pred, sizes),
                    _ => self.masks(sizes, depth - 1),
                };
                let binary = self.random.pick(&[Binary::And, Binary::Or, Binary::Xor]);
                add(self, Opcode::Binary(binary), &[first, second])
            }
            5 => add(self, Opcode::Unary(Unary::Not), &[first]),
            6 => {
                let second = self.masks(sizes, depth - 1);
                let third = self.filled(Pred, (depth - 1).into(), sizes);
                add(self, Opcode::Select, &[first, second, third])
            }
            7 => {
                let shape = Shape::new(U8, sizes.iter().copied(), None).unwrap();
                let code = self.builder.add_as(Opcode::Convert, &[first], shape).unwrap();
                let number = self.random.below(3);
                let number = self.filled(U8, number, sizes);
                let direction =
                    self.random.pick(&[ComparisonDirection::Ne, ComparisonDirection::Gt]);
                add(self, compare(direction), &[code, number])
            }
            _ => {
                let [a, b, c] = [0; 3].map(|_: u8| {
                    let number = self.random.below(3);
                    self.filled(S32, number, sizes)
                });
                let chosen = add(self, Opcode::Select, &[first, a, b]);
                let sum = add(self, Opcode::Binary(Binary::Add), &[chosen, c]);
                let direction =
                    self.random.pick(&[ComparisonDirection::Le, ComparisonDirection::Eq]);
                add(self, compare(direction), &[sum, b])
            }
        }
    }

    /// Returns a predicate that tells on which side of a diagonal an element lies.
    fn diagonal(&mut self, sizes: &[u64]) -> usize {
        let dimensions = self.random.permutation(sizes.len());
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
        self.builder
            .add(Opcode::Compare { direction, total_order: false }, &[rows, columns])
            .unwrap()
    }
}
