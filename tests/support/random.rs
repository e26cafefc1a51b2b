//! Random operations from a seed, so that a failing case can be repeated.

use stridec::{
    request::Tensor,
    shape::{ElementType, Layout, PaddingValue, Shape, StridedShape, TileDimension},
    stride::StrideDescriptor,
    window::{Slice, Window},
};

/// A small generator of random numbers (splitmix64). The numbers of a seed are equal on every
/// machine.
pub struct Random(pub u64);

impl Random {
    /// Returns the next number, of any 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Returns true with a probability of one in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the given values. A value that is given twice is twice as likely.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    /// Returns the numbers below `n` in a random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut out: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            out.swap(i, usize::try_from(self.below(i as u64 + 1)).unwrap());
        }
        out
    }

    /// Returns `n` bytes.
    pub fn bytes(&mut self, n: u64) -> Vec<u8> {
        (0..n).map(|_| self.next().to_le_bytes()[3]).collect()
    }
}

/// The source or the destination of an operation: an XLA shape, or explicit strides.
#[derive(Clone, Debug)]
pub enum Side {
    Shape(Box<Shape>),
    Strided(StridedShape),
}

impl Side {
    /// Returns the tensor in the form of a request.
    pub fn tensor(&self) -> Tensor {
        match self {
            Side::Shape(shape) => Shape::clone(shape).try_into().unwrap(),
            Side::Strided(shape) => shape.clone().try_into().unwrap(),
        }
    }
}

/// A random operation and its two sides.
#[derive(Clone, Debug)]
pub struct Operation {
    pub source_side: Side,
    pub destination_side: Side,
    pub source: StrideDescriptor,
    pub destination: StrideDescriptor,
    pub window: Window,
}

impl Operation {
    /// Returns the destination's shape, or `None` if it has explicit strides.
    pub fn destination_shape(&self) -> Option<&Shape> {
        match &self.destination_side {
            Side::Shape(shape) => Some(shape),
            Side::Strided(_) => None,
        }
    }
}

/// Element types of all widths and kinds, from which operations choose.
pub const TYPES: [ElementType; 14] = [
    ElementType::Pred,
    ElementType::S1,
    ElementType::U2,
    ElementType::S4,
    ElementType::U4,
    ElementType::F6e2m3fn,
    ElementType::S8,
    ElementType::U8,
    ElementType::Bf16,
    ElementType::S16,
    ElementType::F32,
    ElementType::S64,
    ElementType::C64,
    ElementType::C128,
];

/// Returns a random operation up to rank 5, on tensors of up to a few thousand elements.
pub fn operation(random: &mut Random) -> Operation {
    let rank = usize::try_from(random.below(6)).unwrap();
    operation_of_rank(random, rank)
}

/// Returns a random operation of a rank up to 8.
pub fn operation_of_rank(random: &mut Random, rank: usize) -> Operation {
    let element_type = random.pick(&TYPES);
    let sizes = sizes(random, rank);
    let (source_side, source) = side(random, element_type, &sizes, true);
    let window = if random.one_in(2) || sizes.contains(&0) {
        Window::identity(&sizes)
    } else {
        Window::slice(&sizes, &slice(random, &sizes)).unwrap()
    };
    let out: Vec<u64> = window.sizes().collect();
    let (destination_side, destination) = side(random, element_type, &out, false);
    Operation { source_side, destination_side, source, destination, window }
}

/// Returns a random relayout between two layouts of one shape. Some of the layouts have tiles.
pub fn relayout(random: &mut Random) -> Operation {
    let element_type = random.pick(&TYPES);
    let rank = usize::try_from(random.below(6)).unwrap();
    let sizes = sizes(random, rank);
    let (source_side, source) = shaped(random, element_type, &sizes);
    let (destination_side, destination) = shaped(random, element_type, &sizes);
    let window = Window::identity(&sizes);
    Operation { source_side, destination_side, source, destination, window }
}

/// Returns a random relayout between two layouts with both tiles and padded dimensions.
pub fn padded_tiles(random: &mut Random) -> Operation {
    let Operation { source_side, destination_side, window, .. } = relayout(random);
    let [(source_side, source), (destination_side, destination)] = [source_side, destination_side]
        .map(|side| {
            let Side::Shape(shape) = side else { panic!("a relayout is of shapes") };
            let (element_type, sizes) = (shape.element_type(), shape.dimensions());
            let sizes: Vec<u64> = sizes.iter().map(|size| size.bound().unwrap()).collect();
            let mut layout = shape.layout().unwrap().clone();
            if layout.tiles.is_empty() {
                layout = layout.tiled([2_u64, 4]);
            }
            if layout.padded_dimensions.is_empty() {
                let values = [PaddingValue::One, PaddingValue::Lowest, PaddingValue::Highest];
                let value = random.pick(&values);
                let is_value = element_type.padding_bits(value).is_ok();
                let padded: Vec<u64> = sizes.iter().map(|&n| n + random.below(4)).collect();
                layout = if random.one_in(3) && element_type.is_signed_integer() {
                    layout.padded_with_number(padded, -1)
                } else {
                    layout.padded(padded, is_value.then_some(value))
                };
            }
            let shape = Shape::new(element_type, sizes, layout).unwrap();
            let descriptor = StrideDescriptor::try_from(&shape).unwrap();
            (Side::Shape(Box::new(shape)), descriptor)
        });
    Operation { source_side, destination_side, source, destination, window }
}

/// Returns a random operation of the kind that is compiled to blocks: mostly of bytes, with a few
/// channels, odd extents and pitches, and steps in both directions. It is long enough for several
/// blocks along an axis.
pub fn runs(random: &mut Random) -> Operation {
    let element_type = random.pick(&[
        ElementType::U8,
        ElementType::U8,
        ElementType::U8,
        ElementType::Bf16,
        ElementType::Bf16,
        ElementType::S4,
        ElementType::U4,
        ElementType::F32,
        ElementType::S64,
        ElementType::C128,
    ]);
    let rank = usize::try_from(1 + random.below(4)).unwrap();
    let mut left = 6_000;
    let sizes: Vec<u64> = (0..rank)
        .map(|_| {
            let most = left.min(90);
            let size = match random.below(4) {
                0 => random.pick(&[2, 3, 3, 4]),
                1 => 8 * (1 + random.below(8)),
                _ => 1 + random.below(90),
            };
            let size = size.min(most).max(1);
            left /= size;
            size
        })
        .collect();
    let mut source = Layout::new(random.permutation(rank));
    let mut destination = Layout::new(random.permutation(rank));
    for layout in [&mut source, &mut destination] {
        if element_type.bits() == Some(4) && random.one_in(2) {
            *layout = layout.clone().element_size(4);
        } else if random.one_in(6) {
            let padded: Vec<u64> = sizes.iter().map(|&n| n + random.below(4)).collect();
            *layout = layout.clone().padded(padded, Some(PaddingValue::Zero));
        } else if random.one_in(6) {
            let tile = [8, 16].map(|size| TileDimension::Size(random.pick(&[2, 4, size])));
            *layout = layout.clone().tiled(tile);
        }
    }
    let shape = |sizes: &[u64], layout| {
        let shape = Shape::new(element_type, sizes.iter().copied(), layout).unwrap();
        let descriptor = StrideDescriptor::try_from(&shape).unwrap();
        (Side::Shape(Box::new(shape)), descriptor)
    };
    let (source_side, source) = shape(&sizes, source);
    let window = if random.one_in(3) {
        Window::identity(&sizes)
    } else {
        let mut slice = Slice::new([], [], []);
        for &size in &sizes {
            let offset = random.below(size.min(5));
            slice.window_offsets.push(offset);
            slice.window_sizes.push(size - offset - random.below((size - offset).min(4)));
            slice.window_strides.push(random.pick(&[1, 1, 1, 2, 3, -1, -2]));
        }
        Window::slice(&sizes, &slice).unwrap()
    };
    let out: Vec<u64> = window.sizes().collect();
    let destination = if destination.padded_dimensions.is_empty() {
        destination
    } else {
        let padded: Vec<u64> = out.iter().map(|&n| n + random.below(4)).collect();
        destination.padded(padded, Some(PaddingValue::Zero))
    };
    let (destination_side, destination) = shape(&out, destination);
    Operation { source_side, destination_side, source, destination, window }
}

/// Returns random extents. The higher the rank, the smaller they are; a few are 0.
fn sizes(random: &mut Random, rank: usize) -> Vec<u64> {
    let most = [1, 60, 24, 12, 7, 5, 4, 3, 2][rank];
    (0..rank).map(|_| if random.one_in(40) { 0 } else { 1 + random.below(most) }).collect()
}

/// Returns a random window over an array of `sizes`.
pub fn slice(random: &mut Random, sizes: &[u64]) -> Slice {
    let mut slice = Slice::new([], [], []);
    for &size in sizes {
        let offset = if random.one_in(2) { 0 } else { random.below(size) };
        let stride = random.pick(&[1, 1, 1, 2, 3, 5, -1, -1, -2, -4, 100]);
        slice.window_offsets.push(offset);
        slice.window_sizes.push(if random.one_in(2) {
            size - offset
        } else {
            1 + random.below(size - offset)
        });
        slice.window_strides.push(stride);
    }
    if random.one_in(3) {
        let most = slice.max_copied_elements();
        slice.output_sizes = Some(most.into_iter().map(|n| 1 + random.below(n)).collect());
    }
    slice
}

/// Returns a random layout of `sizes`, or random strides. The strides of a source may be 0,
/// negative or overlap. Those of a destination do not, because each element needs memory of its
/// own.
pub fn side(
    random: &mut Random,
    element_type: ElementType,
    sizes: &[u64],
    is_source: bool,
) -> (Side, StrideDescriptor) {
    if random.one_in(4) {
        return strided(random, element_type, sizes, is_source);
    }
    shaped(random, element_type, sizes)
}

/// Returns a shape of these sizes with a random layout.
fn shaped(
    random: &mut Random,
    element_type: ElementType,
    sizes: &[u64],
) -> (Side, StrideDescriptor) {
    let layout = layout(random, element_type, sizes);
    let shape = Shape::new(element_type, sizes.iter().copied(), layout).unwrap();
    let descriptor = StrideDescriptor::try_from(&shape).unwrap();
    (Side::Shape(Box::new(shape)), descriptor)
}

/// Returns these sizes with random strides.
fn strided(
    random: &mut Random,
    element_type: ElementType,
    sizes: &[u64],
    is_source: bool,
) -> (Side, StrideDescriptor) {
    let mut strides = vec![0_i64; sizes.len()];
    let mut reach = 0;
    for dimension in random.permutation(sizes.len()) {
        let gap = if random.one_in(3) { random.below(4) } else { 0 };
        strides[dimension] = i64::try_from(reach + 1 + gap).unwrap();
        reach += (reach + 1 + gap) * sizes[dimension].saturating_sub(1);
    }
    let mut offset = if random.one_in(2) { 0 } else { random.below(9) };
    if is_source {
        for (stride, &size) in strides.iter_mut().zip(sizes) {
            match random.below(6) {
                0 => *stride = 0,
                1 => {
                    offset += stride.unsigned_abs() * size.saturating_sub(1);
                    *stride = -*stride;
                }
                2 => *stride = i64::try_from(random.below(12)).unwrap(),
                _ => {}
            }
        }
    }
    let descriptor = StrideDescriptor::strided(element_type, 0, sizes, &strides, offset).unwrap();
    let (sizes, strides) = (sizes.iter().copied(), strides.iter().copied());
    let shape = StridedShape::new(element_type, sizes, strides, offset, 0).unwrap();
    (Side::Strided(shape), descriptor)
}

/// Returns a random layout: any order of dimensions, sometimes wider or packed elements, padding,
/// tiles, an aligned end or a prefix.
pub fn layout(random: &mut Random, element_type: ElementType, sizes: &[u64]) -> Layout {
    let mut layout = Layout::new(random.permutation(sizes.len()));
    let bits = element_type.bits().unwrap();
    if random.one_in(3) {
        let wide: Vec<u64> = [1, 2, 4, 8, 16, 32, 64, 128]
            .into_iter()
            .filter(|&size| size >= u64::from(bits))
            .collect();
        layout.element_size_in_bits =
            wide[usize::try_from(random.below(2.min(wide.len() as u64))).unwrap()];
    } else if random.one_in(3) && bits < 8 && bits != 6 {
        layout.element_size_in_bits = bits.into();
    }
    match random.below(4) {
        0 => {
            let value = random.pick(&[
                None,
                Some(PaddingValue::Zero),
                Some(PaddingValue::One),
                Some(PaddingValue::Lowest),
                Some(PaddingValue::Highest),
            ]);
            if value.is_none_or(|value| element_type.padding_bits(value).is_ok()) {
                let padded: Vec<u64> = sizes.iter().map(|&n| n + random.below(4)).collect();
                layout = layout.padded(padded, value);
            }
        }
        1 | 2 => {
            for _ in 0..=random.below(3) {
                let rank = 1 + random.below(3);
                let extents: Vec<TileDimension> = (0..rank)
                    .map(|n| {
                        if n + 1 < rank && random.one_in(8) {
                            TileDimension::Combine
                        } else {
                            TileDimension::Size(random.pick(&[1, 2, 2, 3, 4, 4, 5, 6, 8]))
                        }
                    })
                    .collect();
                layout = layout.tiled(extents);
            }
        }
        _ => {}
    }
    if random.one_in(10) {
        layout.tail_padding_alignment_in_elements = 1 + random.below(9);
    }
    if random.one_in(10) && layout.padded_dimensions.is_empty() && layout.element_size_in_bits == 0
    {
        layout.dynamic_shape_metadata_prefix_bytes =
            random.below(3) * element_type.storage_bits().map_or(1, |b| u64::from(b / 8));
        if random.one_in(3) {
            layout.dynamic_shape_metadata_prefix_bytes = random.below(9);
        }
    }
    layout
}
