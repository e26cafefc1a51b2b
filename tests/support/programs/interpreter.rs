//! The oracle of programs: an interpreter that runs a module one instruction after another.
//!
//! Every value is a whole array of elements, in row-major order of their indices. The library is
//! used only for the offset of an index in a shape, by which images are read and written.

use stridec::{
    hlo::{
        Binary, ComparisonDirection, Computation, Gather, Literal, Module, Opcode,
        PaddingDimension, Scatter, SliceDimension, Unary,
    },
    nest::Conversion,
    shape::{Dimension, ElementType, Shape},
    stride::StrideDescriptor,
};

/// The result of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Array(Array),
    Tuple(Vec<Value>),
}

/// An array, with its elements in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) element_type: ElementType,
    pub(crate) sizes: Vec<u64>,
    /// The bits of each element, in the low bits of a number.
    pub(crate) cells: Vec<u128>,
}

/// Runs a module on the images of its parameters, and returns the images of its results. Returns
/// `None` if an instruction is not interpreted.
pub(crate) fn run(module: &Module, images: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    run_seeing(module, images, &mut |_, _, _| {})
}

/// Runs a module as [`run`] does, and calls `see` with every value: the indices of the computation
/// and of the instruction, and the result of the instruction.
pub(crate) fn run_seeing(
    module: &Module,
    images: &[Vec<u8>],
    see: &mut dyn FnMut(usize, usize, &Value),
) -> Option<Vec<Vec<u8>>> {
    let mut images = images.iter();
    let arguments: Vec<Value> =
        module.parameters().iter().map(|shape| read(shape, &mut images)).collect();
    assert!(images.next().is_none(), "an image for each buffer");
    let entry = module.computations().iter().position(|it| std::ptr::eq(it, module.entry()));
    let result = call(module, entry?, &arguments, see)?;
    let mut out = vec![];
    write(module.result(), &result, &mut out);
    Some(out)
}

/// Reads a value of this shape from the next images. A tuple takes an image for each of its arrays.
fn read<'a>(shape: &Shape, images: &mut impl Iterator<Item = &'a Vec<u8>>) -> Value {
    if !shape.is_array() {
        return Value::Tuple(shape.tuple_shapes().iter().map(|part| read(part, images)).collect());
    }
    Value::Array(from_image(shape, images.next().expect("an image for each buffer")))
}

/// Returns the array whose image in the layout of `shape` is `image`.
pub(crate) fn from_image(shape: &Shape, image: &[u8]) -> Array {
    let descriptor = StrideDescriptor::try_from(shape).unwrap();
    let bits = descriptor.element_bits();
    let sizes = descriptor.sizes().to_vec();
    let cells = indices(&sizes)
        .map(|index| {
            let at = descriptor.prefix_bytes() * 8
                + descriptor.offset(&index).unwrap() * u64::from(bits);
            (0..bits).fold(0, |value, bit| {
                let at = at + u64::from(bit);
                let set = image[usize::try_from(at / 8).unwrap()] >> (at % 8) & 1;
                value | u128::from(set) << bit
            })
        })
        .collect();
    Array { element_type: shape.element_type(), sizes, cells }
}

/// Appends the images of a value in the layout of `shape`, one for each array.
fn write(shape: &Shape, value: &Value, out: &mut Vec<Vec<u8>>) {
    match value {
        Value::Tuple(parts) => {
            for (shape, part) in shape.tuple_shapes().iter().zip(parts) {
                write(shape, part, out);
            }
        }
        Value::Array(array) => out.push(to_image(shape, array, Fill::Padding)),
    }
}

/// The bits of an image that do not belong to elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// All bits are 0.
    Zero,
    /// The cells of padded dimensions have the layout's padding value.
    Padding,
}

/// Returns the image of an array in the layout of `shape`.
pub(crate) fn to_image(shape: &Shape, array: &Array, fill: Fill) -> Vec<u8> {
    let descriptor = StrideDescriptor::try_from(shape).unwrap();
    assert_eq!(descriptor.sizes(), array.sizes);
    let bits = descriptor.element_bits();
    let mut image = vec![0; usize::try_from(descriptor.image_bytes()).unwrap()];
    let mut put = |place: u64, value: u128| {
        for bit in 0..bits {
            let at = descriptor.prefix_bytes() * 8 + place * u64::from(bits) + u64::from(bit);
            let byte = &mut image[usize::try_from(at / 8).unwrap()];
            *byte = *byte & !(1 << (at % 8)) | u8::from(value >> bit & 1 == 1) << (at % 8);
        }
    };
    if fill == Fill::Padding
        && let Some(layout) = shape.layout()
        && !layout.padded_dimensions.is_empty()
    {
        for place in 0..layout.padded_dimensions.iter().product() {
            put(place, descriptor.padding());
        }
    }
    for (index, &cell) in indices(&array.sizes).zip(&array.cells) {
        put(descriptor.offset(&index).unwrap(), cell);
    }
    image
}

/// Returns every index below `sizes`, in row-major order.
pub(crate) fn indices(sizes: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let sizes = sizes.to_vec();
    (0..sizes.iter().product::<u64>()).map(move |mut number| {
        let mut index: Vec<u64> = sizes
            .iter()
            .rev()
            .map(|&size| {
                let digit = number % size;
                number /= size;
                digit
            })
            .collect();
        index.reverse();
        index
    })
}

impl Array {
    /// Returns the bits of the element at `index`.
    pub(crate) fn at(&self, index: &[u64]) -> u128 {
        let place = index.iter().zip(&self.sizes).fold(0, |place, (&i, &size)| {
            assert!(i < size);
            place * size + i
        });
        self.cells[usize::try_from(place).unwrap()]
    }

    /// Returns an array with these extents, in which the element at an index is the result of `of`.
    fn spread(&self, sizes: &[u64], of: impl Fn(&[u64]) -> u128) -> Self {
        let cells = indices(sizes).map(|index| of(&index)).collect();
        Self { element_type: self.element_type, sizes: sizes.to_vec(), cells }
    }

    /// Returns the element at `index` as a number, or `None` if it is not an integer or a `pred`.
    fn integer(&self, index: &[u64]) -> Option<i128> {
        integer(self.element_type, self.at(index))
    }
}

/// Returns the number that these bits represent, or `None` if the type is not an integer or a
/// `pred`.
fn integer(of: ElementType, bits: u128) -> Option<i128> {
    use ElementType as T;
    let width = of.bits()?;
    let value = i128::try_from(bits & mask(width)).ok()?;
    match of {
        T::Pred => Some(i128::from(bits != 0)),
        T::U1 | T::U2 | T::U4 | T::U8 | T::U16 | T::U32 | T::U64 => Some(value),
        _ if of.is_signed_integer() => {
            Some(if value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value })
        }
        _ => None,
    }
}

/// Returns a number whose lowest `bits` bits are set.
fn mask(bits: u32) -> u128 {
    if bits == 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// Returns the extents of a shape without bounded dimensions.
fn sizes(shape: &Shape) -> Vec<u64> {
    shape
        .dimensions()
        .iter()
        .map(|dimension| match dimension {
            Dimension::Fixed(size) => *size,
            _ => panic!("{shape} has a bound"),
        })
        .collect()
}

/// Runs the computation at index `number` on its arguments. Instructions that its root does not
/// need are left out, because the compiler ignores them too.
fn call(
    module: &Module,
    number: usize,
    arguments: &[Value],
    see: &mut dyn FnMut(usize, usize, &Value),
) -> Option<Value> {
    let computation: &Computation = &module.computations()[number];
    let mut values: Vec<Option<Value>> = vec![];
    let mut needed = vec![false; computation.instructions().len()];
    needed[computation.root()] = true;
    for (place, instruction) in computation.instructions().iter().enumerate().rev() {
        if needed[place] {
            instruction.operands().iter().for_each(|&operand| needed[operand] = true);
        }
    }
    for (place, instruction) in computation.instructions().iter().enumerate() {
        if !needed[place] {
            values.push(None);
            continue;
        }
        let operands: Vec<&Value> =
            instruction.operands().iter().map(|&at| values[at].as_ref().unwrap()).collect();
        let value = match instruction.opcode() {
            Opcode::Parameter { number } => arguments[*number].clone(),
            Opcode::Constant(literal) => constant(literal),
            Opcode::Tuple => Value::Tuple(operands.into_iter().cloned().collect()),
            Opcode::GetTupleElement { index } => match operands[0] {
                // The third part of an asynchronous start, its context, has no value here.
                Value::Tuple(parts) => parts.get(*index)?.clone(),
                Value::Array(_) => panic!("an array has no parts"),
            },
            Opcode::Call { computation } | Opcode::Fusion { computation, .. } => {
                let arguments: Vec<Value> = operands.into_iter().cloned().collect();
                call(module, *computation, &arguments, see)?
            }
            Opcode::OptBarrier
            | Opcode::IdentityCall(_)
            | Opcode::Copy
            | Opcode::AddDependency
            | Opcode::Domain => operands[0].clone(),
            Opcode::AsyncUpdate if operands.len() == 1 => operands[0].clone(),
            Opcode::AsyncStart { computation } => {
                let arguments: Vec<Value> = operands.into_iter().cloned().collect();
                let result = call(module, *computation, &arguments, see)?;
                Value::Tuple(vec![Value::Tuple(arguments), result])
            }
            Opcode::CopyStart => Value::Tuple(vec![operands[0].clone(); 2]),
            Opcode::AsyncDone => part(operands[0], 1)?,
            Opcode::CopyDone => part(operands[0], 0)?,
            Opcode::Conditional { computations } => {
                let Value::Array(chooser) = operands[0] else { return None };
                let branch = match (chooser.element_type, chooser.integer(&[])?) {
                    (ElementType::Pred, chosen) => usize::from(chosen == 0),
                    (_, chosen) => {
                        let last = computations.len() - 1;
                        usize::try_from(chosen).map_or(last, |chosen| chosen.min(last))
                    }
                };
                call(module, computations[branch], &[operands[branch + 1].clone()], see)?
            }
            Opcode::Scatter(scatter) if operands.len() > 3 => {
                let count = operands.len() / 2;
                let arrays: Option<Vec<&Array>> = operands.iter().copied().map(as_array).collect();
                let arrays = arrays?;
                let part = |number: usize| {
                    let operands = [arrays[number], arrays[count], arrays[count + 1 + number]];
                    put(module, scatter, operands, count).map(Value::Array)
                };
                Value::Tuple((0..count).map(part).collect::<Option<_>>()?)
            }
            opcode => {
                let arrays: Option<Vec<&Array>> = operands.iter().copied().map(as_array).collect();
                let arrays = arrays?;
                let operand = instruction.operands().first();
                let from = operand.map(|&at| computation.instructions()[at].shape());
                Value::Array(array(module, opcode, instruction.shape(), from, &arrays)?)
            }
        };
        see(number, place, &value);
        values.push(Some(value));
    }
    values[computation.root()].clone()
}

/// Returns the array, or `None` for a tuple.
fn as_array(value: &Value) -> Option<&Array> {
    match value {
        Value::Array(array) => Some(array),
        Value::Tuple(_) => None,
    }
}

/// Returns a part of a tuple, or `None` if there is no such part.
fn part(value: &Value, number: usize) -> Option<Value> {
    match value {
        Value::Tuple(parts) => parts.get(number).cloned(),
        Value::Array(_) => None,
    }
}

/// Returns the value of a literal.
fn constant(literal: &Literal) -> Value {
    let shape = literal.shape();
    if !shape.is_array() {
        return Value::Tuple(literal.parts().iter().map(constant).collect());
    }
    let width = shape.element_type().bits().unwrap().div_ceil(8) as usize;
    let cells = literal
        .bytes()
        .chunks(width)
        .map(|bytes| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte)))
        .collect();
    Value::Array(Array { element_type: shape.element_type(), sizes: sizes(shape), cells })
}

/// Runs an instruction on arrays. `shape` is the shape of the result. `from` is the shape of the
/// first operand. Returns `None` if the instruction is not interpreted.
fn array(
    module: &Module,
    opcode: &Opcode,
    shape: &Shape,
    from: Option<&Shape>,
    operands: &[&Array],
) -> Option<Array> {
    let (out, element_type) = (sizes(shape), shape.element_type());
    Some(match opcode {
        Opcode::Iota { dimension } => {
            let cells =
                indices(&out).map(|index| number(element_type, index[*dimension].into())).collect();
            Array {
                element_type,
                sizes: out,
                cells: Option::<Vec<u128>>::from_iter::<Vec<_>>(cells)?,
            }
        }
        Opcode::Reshape => Array { sizes: out, ..operands[0].clone() },
        Opcode::Convert if operands[0].element_type == element_type => operands[0].clone(),
        Opcode::GetDimensionSize { dimension } => {
            let cells = vec![operands[0].sizes[*dimension].into()];
            Array { element_type, sizes: out, cells }
        }
        Opcode::Bitcast => {
            let image = to_image(from?, operands[0], Fill::Zero);
            from_image(shape, &image)
        }
        Opcode::BitcastConvert => bitcast_convert(operands[0], element_type, out),
        Opcode::Transpose { dimensions } => operands[0].spread(&out, |index| {
            let mut at = vec![0; index.len()];
            for (k, &dimension) in dimensions.iter().enumerate() {
                at[dimension] = index[k];
            }
            operands[0].at(&at)
        }),
        Opcode::Broadcast { dimensions } => operands[0].spread(&out, |index| {
            let at: Vec<u64> = dimensions.iter().map(|&dimension| index[dimension]).collect();
            operands[0].at(&at)
        }),
        Opcode::Reverse { dimensions } => operands[0].spread(&out, |index| {
            let mut at = index.to_vec();
            for &dimension in dimensions {
                at[dimension] = out[dimension] - 1 - at[dimension];
            }
            operands[0].at(&at)
        }),
        Opcode::Slice { dimensions } => operands[0].spread(&out, |index| {
            let of = |(&i, of): (&u64, &SliceDimension)| of.start + i * of.stride;
            operands[0].at(&index.iter().zip(dimensions).map(of).collect::<Vec<_>>())
        }),
        Opcode::Pad { dimensions } => {
            let (operand, value) = (operands[0], operands[1].cells[0]);
            operand.spread(&out, |index| {
                let of = |((&i, of), &size): ((&u64, &PaddingDimension), &u64)| {
                    let place = i128::from(i) - i128::from(of.edge_padding_low);
                    let step = i128::from(of.interior_padding) + 1;
                    let inside = place >= 0 && place % step == 0 && place / step < size.into();
                    inside.then(|| u64::try_from(place / step).unwrap())
                };
                let at: Option<Vec<u64>> =
                    index.iter().zip(dimensions).zip(&operand.sizes).map(of).collect();
                at.map_or(value, |at| operand.at(&at))
            })
        }
        Opcode::Concatenate { dimension } => operands[0].spread(&out, |index| {
            let mut at = index.to_vec();
            for operand in operands {
                if at[*dimension] < operand.sizes[*dimension] {
                    return operand.at(&at);
                }
                at[*dimension] -= operand.sizes[*dimension];
            }
            panic!("an index past every operand")
        }),
        Opcode::DynamicSlice { sizes } => {
            let start = starts(&operands[0].sizes, sizes, &operands[1..])?;
            operands[0].spread(&out, |index| {
                let at: Vec<u64> = index.iter().zip(&start).map(|(i, start)| i + start).collect();
                operands[0].at(&at)
            })
        }
        Opcode::DynamicUpdateSlice => {
            let update = operands[1];
            let start = starts(&operands[0].sizes, &update.sizes, &operands[2..])?;
            operands[0].spread(&out, |index| {
                let within = |((&i, &start), &size): ((&u64, &u64), &u64)| {
                    i.checked_sub(start).filter(|&i| i < size)
                };
                let at: Option<Vec<u64>> =
                    index.iter().zip(&start).zip(&update.sizes).map(within).collect();
                at.map_or_else(|| operands[0].at(index), |at| update.at(&at))
            })
        }
        Opcode::Gather(gather) => take(gather, operands[0], operands[1], &out)?,
        Opcode::Scatter(scatter) => put(module, scatter, operands.try_into().ok()?, 1)?,
        Opcode::Reduce { dimensions, computation } => {
            reduce(module, *computation, dimensions, &out, operands)?
        }
        _ => return arithmetic(opcode, shape, operands),
    })
}

/// Runs an instruction that computes each element of the result from the operands' elements at the
/// same index. Arithmetic is interpreted for integers only. Returns `None` if the instruction is
/// not interpreted.
fn arithmetic(opcode: &Opcode, shape: &Shape, operands: &[&Array]) -> Option<Array> {
    let (sizes, element_type) = (sizes(shape), shape.element_type());
    let kind = operands.first().map(|operand| operand.element_type);
    let cellwise = |of: &dyn Fn(&[u128]) -> Option<u128>| -> Option<Array> {
        let one = |n: usize| {
            let cell = |array: &&Array| array.cells[if array.sizes.is_empty() { 0 } else { n }];
            of(&operands.iter().map(cell).collect::<Vec<_>>())
        };
        let count = usize::try_from(sizes.iter().product::<u64>()).unwrap();
        let cells = (0..count).map(one).collect::<Option<_>>()?;
        Some(Array { element_type, sizes: sizes.clone(), cells })
    };
    match opcode {
        Opcode::Convert if kind == Some(element_type) => cellwise(&|of| Some(of[0])),
        Opcode::Convert => cellwise(&|of| Some(Conversion::new(kind?, element_type)?.apply(of[0]))),
        Opcode::Select => cellwise(&|of| Some(if of[0] == 0 { of[2] } else { of[1] })),
        Opcode::Compare { direction, .. } => cellwise(&|of| {
            let (a, b) = (integer(kind?, of[0])?, integer(kind?, of[1])?);
            Some(u128::from(match direction {
                ComparisonDirection::Eq => a == b,
                ComparisonDirection::Ne => a != b,
                ComparisonDirection::Ge => a >= b,
                ComparisonDirection::Gt => a > b,
                ComparisonDirection::Le => a <= b,
                ComparisonDirection::Lt => a < b,
            }))
        }),
        Opcode::Clamp => cellwise(&|of| {
            let at = |n: usize| integer(element_type, of[n]);
            number(element_type, at(1)?.max(at(0)?).min(at(2)?))
        }),
        Opcode::Unary(operation) => cellwise(&|of| {
            let value = integer(element_type, of[0])?;
            let value = match operation {
                Unary::Abs => value.abs(),
                Unary::Negate => -value,
                Unary::Not if element_type == ElementType::Pred => 1 - value,
                Unary::Not => -1 - value,
                Unary::Sign => value.signum(),
                _ => return None,
            };
            number(element_type, value)
        }),
        Opcode::Binary(operation) => cellwise(&|of| binary(*operation, element_type, of[0], of[1])),
        Opcode::Complex => {
            let half = operands[0].element_type.bits()?;
            cellwise(&|of| Some(of[1] << half | of[0]))
        }
        Opcode::Real => cellwise(&|of| Some(of[0] & mask(element_type.bits()?))),
        Opcode::Imag => cellwise(&|of| Some(of[0] >> element_type.bits()?)),
        _ => None,
    }
}

/// Returns the result of an operation on two integers, or `None` for other types and operations.
fn binary(binary: Binary, element_type: ElementType, a: u128, b: u128) -> Option<u128> {
    let (a, b) = (integer(element_type, a)?, integer(element_type, b)?);
    let value = match binary {
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide if b == 0 => -1,
        Binary::Divide => a / b,
        Binary::Remainder if b == 0 => a,
        Binary::Remainder => a % b,
        Binary::Minimum => a.min(b),
        Binary::Maximum => a.max(b),
        Binary::Xor => a ^ b,
        _ => return None,
    };
    number(element_type, value)
}

/// Reduces the elements along some dimensions, in the order of their indices. Returns `None` unless
/// the computation is a single operation on integers.
fn reduce(
    module: &Module,
    computation: usize,
    dimensions: &[usize],
    out: &[u64],
    operands: &[&Array],
) -> Option<Array> {
    let combiner = &module.computations()[computation];
    let Opcode::Binary(operation) = *combiner.instructions()[combiner.root()].opcode() else {
        return None;
    };
    let (array, element_type) = (operands[0], operands[0].element_type);
    let mut result = array.spread(out, |_| operands[1].cells[0]);
    for (index, &cell) in indices(&array.sizes).zip(&array.cells) {
        let kept = index.iter().zip(&array.sizes).enumerate();
        let kept = kept.filter(|(dimension, _)| !dimensions.contains(dimension));
        let place = kept.fold(0, |place, (_, (i, size))| place * size + i);
        let value = &mut result.cells[usize::try_from(place).unwrap()];
        *value = binary(operation, element_type, *value, cell)?;
    }
    Some(result)
}

/// Returns the start of a dynamic slice in each dimension, clamped so that the slice is inside the
/// array.
fn starts(whole: &[u64], part: &[u64], given: &[&Array]) -> Option<Vec<u64>> {
    let one = |dimension: usize| match given {
        [vector] if vector.sizes.len() == 1 => vector.integer(&[dimension as u64]),
        scalars => scalars[dimension].integer(&[]),
    };
    whole
        .iter()
        .zip(part)
        .enumerate()
        .map(|(dimension, (whole, part))| {
            Some(u64::try_from(one(dimension)?.clamp(0, (whole - part).into())).unwrap())
        })
        .collect()
}

/// Splits each element into elements of a narrower type, or joins several into one of a wider type.
/// The low bits come first.
fn bitcast_convert(operand: &Array, to: ElementType, sizes: Vec<u64>) -> Array {
    let (from_bits, to_bits) = (operand.element_type.bits().unwrap(), to.bits().unwrap());
    let cells = if from_bits >= to_bits {
        let parts = from_bits / to_bits;
        let part = |cell: u128, n: u32| cell >> (n * to_bits) & mask(to_bits);
        operand.cells.iter().flat_map(|&cell| (0..parts).map(move |n| part(cell, n))).collect()
    } else {
        let join = |cells: &[u128]| {
            let cells = cells.iter().rev().map(|cell| cell & mask(from_bits));
            cells.fold(0, |value, cell| value << from_bits | cell)
        };
        operand.cells.chunks((to_bits / from_bits) as usize).map(join).collect()
    };
    Array { element_type: to, sizes, cells }
}

/// Returns the index of the operand at which a window of a gather or a scatter starts. `batch` is
/// the index of the window. The start is not clamped, and may be out of bounds.
fn window_start(
    indices: &Array,
    batch: &[u64],
    index_vector_dim: usize,
    map: &[usize],
    (of_operand, of_indices): (&[usize], &[usize]),
    rank: usize,
) -> Option<Vec<i128>> {
    let mut start = vec![0; rank];
    for (n, &dimension) in map.iter().enumerate() {
        let mut at = batch.to_vec();
        if index_vector_dim < indices.sizes.len() {
            at.insert(index_vector_dim, n as u64);
        }
        start[dimension] = indices.integer(&at)?;
    }
    for (&operand, &dimension) in of_operand.iter().zip(of_indices) {
        let before = usize::from(dimension > index_vector_dim);
        start[operand] = batch[dimension - before].into();
    }
    Some(start)
}

/// Returns the result of a gather, in which starts are clamped so that each window is inside the
/// operand.
fn take(gather: &Gather, operand: &Array, indices: &Array, out: &[u64]) -> Option<Array> {
    let batching = (&gather.operand_batching_dims[..], &gather.start_indices_batching_dims[..]);
    let rank = operand.sizes.len();
    let gone = |dimension: &usize| {
        gather.collapsed_slice_dims.contains(dimension) || batching.0.contains(dimension)
    };
    let kept: Vec<usize> = (0..rank).filter(|dimension| !gone(dimension)).collect();
    let cells = self::indices(out)
        .map(|index| {
            let is_offset = |dimension: &usize| gather.offset_dims.contains(dimension);
            let batch: Vec<u64> =
                (0..out.len()).filter(|d| !is_offset(d)).map(|d| index[d]).collect();
            let (map, vector) = (&gather.start_index_map, gather.index_vector_dim);
            let start = window_start(indices, &batch, vector, map, batching, rank)?;
            let mut at: Vec<u64> = start
                .iter()
                .zip(operand.sizes.iter().zip(&gather.slice_sizes))
                .map(|(&start, (&whole, &part))| {
                    u64::try_from(start.clamp(0, (whole - part).into())).unwrap()
                })
                .collect();
            for (&dimension, &offset) in kept.iter().zip(&gather.offset_dims) {
                at[dimension] += index[offset];
            }
            Some(operand.at(&at))
        })
        .collect::<Option<_>>()?;
    Some(Array { element_type: operand.element_type, sizes: out.to_vec(), cells })
}

/// Returns true if the combiner of a scatter of `count` arrays returns the updates, which are its
/// last parameters.
fn returns_updates(module: &Module, scatter: &Scatter, count: usize) -> bool {
    let combiner = &module.computations()[scatter.computation];
    let instructions = combiner.instructions();
    let root = &instructions[combiner.root()];
    let is_update = |opcode: &Opcode, update: usize| matches!(opcode, Opcode::Parameter { number } if *number == count + update);
    match root.opcode() {
        Opcode::Tuple if count > 1 => {
            let mut parts = root.operands().iter().enumerate();
            parts.all(|(number, &at)| is_update(instructions[at].opcode(), number))
        }
        opcode => count == 1 && is_update(opcode, 0),
    }
}

/// Returns one of the results of a scatter of `count` arrays. The operands are an array, the
/// indices, and the updates of the array. Returns `None` unless the combiner returns the updates.
///
/// A window that is partly out of bounds is left out as a whole.
fn put(
    module: &Module,
    scatter: &Scatter,
    [operand, indices, updates]: [&Array; 3],
    count: usize,
) -> Option<Array> {
    if !returns_updates(module, scatter, count) {
        return None;
    }
    let mut out = Array::clone(operand);
    let rank = operand.sizes.len();
    let batching = (&scatter.input_batching_dims[..], &scatter.scatter_indices_batching_dims[..]);
    let gone = |dimension: &usize| {
        scatter.inserted_window_dims.contains(dimension) || batching.0.contains(dimension)
    };
    let kept: Vec<usize> = (0..rank).filter(|dimension| !gone(dimension)).collect();
    // Windows are written in the order of their indices, as XLA's evaluator does.
    let is_window = |dimension: &usize| scatter.update_window_dims.contains(dimension);
    let batch = |index: &[u64]| -> Vec<u64> {
        (0..index.len()).filter(|d| !is_window(d)).map(|d| index[d]).collect()
    };
    let mut cells: Vec<_> = self::indices(&updates.sizes).zip(&updates.cells).collect();
    cells.sort_by_key(|(index, _)| batch(index));
    for (index, &cell) in cells {
        let batch = batch(&index);
        let (map, vector) = (&scatter.scatter_dims_to_operand_dims, scatter.index_vector_dim);
        let start = window_start(indices, &batch, vector, map, batching, rank)?;
        let mut extents = vec![1_u64; rank];
        let mut at = start.clone();
        for (&dimension, &window) in kept.iter().zip(&scatter.update_window_dims) {
            extents[dimension] = updates.sizes[window];
            at[dimension] += i128::from(index[window]);
        }
        let fits = (0..rank)
            .all(|d| start[d] >= 0 && start[d] + i128::from(extents[d]) <= operand.sizes[d].into());
        if fits {
            let place = at
                .iter()
                .zip(&operand.sizes)
                .fold(0, |place, (&i, &size)| place * i128::from(size) + i);
            out.cells[usize::try_from(place).unwrap()] = cell;
        }
    }
    Some(out)
}

/// Returns the bits of a number in a type. Returns `None` if the type is a float that cannot
/// represent the number exactly, or another type that is not interpreted.
fn number(of: ElementType, value: i128) -> Option<u128> {
    use ElementType as T;
    match of {
        T::Pred => Some(u128::from(value != 0)),
        T::F32 => Some(exact(value)?.to_bits().into()),
        T::F64 => Some(f64::from(exact(value)?).to_bits().into()),
        T::Bf16 => Some(u128::from(exact(value)?.to_bits() >> 16)).filter(|_| value.abs() <= 256),
        T::F16 if value == 0 => Some(0),
        _ => {
            integer(of, 0)?;
            Some(value.cast_unsigned() & mask(of.bits()?))
        }
    }
}

/// Returns the number as a float, or `None` if it does not fit 16 bits.
fn exact(value: i128) -> Option<f32> {
    i16::try_from(value).ok().map(f32::from)
}
