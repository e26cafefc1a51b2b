//! Infers the shapes of opcodes that move elements to or from indices that are operands, and
//! therefore are known only at run time. Examples are gather and dynamic-slice.

use super::{
    Inputs, Result,
    checks::{ArrayShape, ascending, at_most, dimension, distinct, is_integer, one_each},
};
use crate::{
    hlo::{Gather, InstructionError, Scatter},
    shape::{Dimension, FieldPath, Shape, ShapeError, queries},
};

/// Infers the shape of a dynamic-slice, which is an array with the extents `sizes`.
pub(super) fn dynamic_slice(sizes: &[u64], inputs: &Inputs<'_>) -> Result<Shape> {
    let array = first_operand(inputs, 1)?;
    check_starts(inputs, 1, array.rank())?;
    let field = || FieldPath::new("dynamic_slice_sizes");
    one_each(field, sizes.len(), array.rank())?;
    for (i, (&size, &extent)) in sizes.iter().zip(&array.extents).enumerate() {
        at_most(|| field().index(i), size, extent)?;
    }
    array.with_extents(sizes.iter().copied())
}

/// Infers the shape of a dynamic-update-slice, which is the shape of the updated array.
pub(super) fn dynamic_update_slice(inputs: &Inputs<'_>) -> Result<Shape> {
    let array = first_operand(inputs, 2)?;
    let update = inputs.array_like(1, &array)?;
    let fits = update.rank() == array.rank()
        && update.extents.iter().zip(&array.extents).all(|(update, extent)| update <= extent);
    if !fits {
        let expected = format!("an array no larger than {}", array.shape.without_layout());
        return Err(inputs.operand_error(1, expected));
    }
    check_starts(inputs, 2, array.rank())?;
    array.with_type(array.element_type)
}

/// Returns the shape of operand 0, which must be an array. Returns an error if there are fewer than
/// `least` operands in total.
fn first_operand<'a>(inputs: &Inputs<'a>, least: usize) -> Result<ArrayShape<'a>> {
    if inputs.operands.len() < least {
        let expected = format!("at least {least}");
        return Err(InstructionError::OperandCount { expected, given: inputs.operands.len() });
    }
    inputs.array(0)
}

/// Checks the operands from `first` on, which are the start of a slice of an array of rank `rank`:
/// one integer scalar for each dimension, or a single vector of `rank` integers.
fn check_starts(inputs: &Inputs<'_>, first: usize, rank: usize) -> Result<()> {
    let given = inputs.operands.len() - first;
    let vector = given == 1 && inputs.operands[first].rank() == 1;
    if !vector && given != rank {
        let expected = format!("{} or {}", first + rank, first + 1);
        return Err(InstructionError::OperandCount { expected, given: inputs.operands.len() });
    }
    for operand in first..inputs.operands.len() {
        let array = inputs.array(operand)?;
        let extents: &[u64] = if vector { &[rank as u64] } else { &[] };
        if !is_integer(array.element_type) || array.extents != extents {
            let expected = if vector {
                format!("{rank} integers, one for each dimension")
            } else {
                "one integer".to_owned()
            };
            return Err(inputs.operand_error(operand, expected));
        }
    }
    Ok(())
}

/// The attributes that gather and scatter share. They describe the array of indices: the dimension
/// that contains the index vectors, the dimension of the operand to which each entry of an index
/// vector applies, and the pairs of batching dimensions, along which operand and indices have equal
/// extents and are indexed alike.
///
/// `names` has the names of these attributes in XLA, for errors: the name of the message that
/// contains them, then the names of `map`, `operand_batching` and `batching`.
struct Indices<'a> {
    names: [&'static str; 4],
    index_vector_dim: usize,
    map: &'a [usize],
    operand_batching: &'a [usize],
    batching: &'a [usize],
}

impl Indices<'_> {
    /// Returns the path of the attribute `name`, for errors.
    fn field(&self, name: &'static str) -> FieldPath {
        FieldPath::new(self.names[0]).field(name)
    }

    /// Checks the attributes. Returns the dimensions of the indices except the one that contains
    /// the index vectors, because there is a slice or a window for each index along them.
    fn check(&self, operand: &ArrayShape<'_>, indices: &ArrayShape<'_>) -> Result<Vec<Dimension>> {
        let [_, map, operand_batching, indices_batching] = self.names;
        let rank = indices.rank();
        dimension(|| self.field("index_vector_dim"), self.index_vector_dim, rank + 1)?;
        let mut extents = indices.dimensions().to_vec();
        let length = match self.index_vector_dim {
            scalar if scalar == rank => 1,
            vector => extents.remove(vector).bound().unwrap_or(0),
        };
        if self.map.len() as u64 != length {
            return Err(ShapeError::Count {
                field: self.field(map),
                given: self.map.len(),
                rank: usize::try_from(length).unwrap_or(usize::MAX),
                accepted: "one for each entry of an index vector",
            }
            .into());
        }
        distinct(|| self.field(map), self.map, operand.rank())?;
        ascending(|| self.field(operand_batching), self.operand_batching, operand.rank())?;
        distinct(|| self.field(indices_batching), self.batching, rank)?;
        if self.operand_batching.len() != self.batching.len() {
            return Err(ShapeError::Count {
                field: self.field(indices_batching),
                given: self.batching.len(),
                rank: self.operand_batching.len(),
                accepted: "one for each batching dimension of the operand",
            }
            .into());
        }
        for (i, (&own, &its)) in self.operand_batching.iter().zip(self.batching).enumerate() {
            let (field, given) = (|| self.field(indices_batching).index(i), its as u64);
            if its == self.index_vector_dim {
                return Err(ShapeError::Duplicate { field: field(), given }.into());
            }
            if operand.extents[own] != indices.extents[its] {
                let expected = operand.extents[own];
                return Err(InstructionError::Operand {
                    operand: 1,
                    expected: format!("{expected} elements along dimension {its}, a batch's"),
                    given: indices.shape.clone().into(),
                });
            }
        }
        Ok(extents)
    }
}

/// Returns the shape of the operand that has the indices, or an error if it is not an array of
/// integers.
fn indices<'a>(inputs: &Inputs<'a>, operand: usize) -> Result<ArrayShape<'a>> {
    let indices = inputs.array(operand)?;
    if is_integer(indices.element_type) {
        return Ok(indices);
    }
    Err(inputs.operand_error(operand, "an array of integers"))
}

/// Infers the shape of a gather. It has the dimensions of a slice that are neither collapsed nor
/// batching dimensions, and all dimensions of the indices except the one with the index vectors.
/// The slice dimensions are at the positions `offset_dims`.
pub(super) fn gather(gather: &Gather, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(2)?;
    let (operand, indices) = (inputs.array(0)?, indices(inputs, 1)?);
    let numbers = Indices {
        names: [
            "gather_dimension_numbers",
            "start_index_map",
            "operand_batching_dims",
            "start_indices_batching_dims",
        ],
        index_vector_dim: gather.index_vector_dim,
        map: &gather.start_index_map,
        operand_batching: &gather.operand_batching_dims,
        batching: &gather.start_indices_batching_dims,
    };
    let mut batch = numbers.check(&operand, &indices)?.into_iter();
    let collapsed = || numbers.field("collapsed_slice_dims");
    ascending(collapsed, &gather.collapsed_slice_dims, operand.rank())?;
    let sizes = || FieldPath::new("gather_slice_sizes");
    one_each(sizes, gather.slice_sizes.len(), operand.rank())?;
    let mut window = Vec::new();
    for (dimension, (&size, &extent)) in gather.slice_sizes.iter().zip(&operand.extents).enumerate()
    {
        let lost = gather.collapsed_slice_dims.contains(&dimension);
        let batching = gather.operand_batching_dims.contains(&dimension);
        if lost && batching {
            let given = dimension as u64;
            return Err(ShapeError::Duplicate { field: collapsed(), given }.into());
        }
        let most = if lost || batching { extent.min(1) } else { extent };
        at_most(|| sizes().index(dimension), size, most)?;
        if !lost && !batching {
            window.push(Dimension::Fixed(size));
        }
    }
    let rank = window.len() + batch.len();
    let offset = || numbers.field("offset_dims");
    if gather.offset_dims.len() != window.len() {
        let (given, rank) = (gather.offset_dims.len(), window.len());
        let accepted = "one for each dimension that a slice keeps";
        return Err(ShapeError::Count { field: offset(), given, rank, accepted }.into());
    }
    ascending(offset, &gather.offset_dims, rank)?;
    let mut window = window.into_iter();
    let extents = (0..rank).map(|dimension| {
        let extent =
            if gather.offset_dims.contains(&dimension) { window.next() } else { batch.next() };
        extent.expect("as many as there are dimensions")
    });
    operand.with_dimensions(extents.collect::<Vec<_>>())
}

/// Infers the shape of a scatter. It is the shape of the updated array, or a tuple of the shapes if
/// several arrays are updated.
pub(super) fn scatter(scatter: &Scatter, inputs: &Inputs<'_>) -> Result<Shape> {
    let count = inputs.operands.len() / 2;
    if inputs.operands.len() != 2 * count + 1 || count == 0 {
        let expected = "arrays, indices and as many updates".to_owned();
        return Err(InstructionError::OperandCount { expected, given: inputs.operands.len() });
    }
    let indices = indices(inputs, count)?;
    let mut operands = Vec::with_capacity(count);
    for number in 0..count {
        let operand = inputs.array(number)?;
        scatter_updates(scatter, inputs, &operand, &indices, count + 1 + number)?;
        operands.push(operand);
    }
    check_combiner(scatter.computation, inputs, &operands)?;
    let parts = operands.iter().map(|operand| operand.with_type(operand.element_type));
    let mut parts = parts.collect::<Result<Vec<_>>>()?;
    if count == 1 { Ok(parts.remove(0)) } else { Ok(Shape::tuple(parts)?) }
}

/// Checks the attributes and the updates of a scatter for one of its arrays, `operand`. `number` is
/// the index of the operand that has the updates.
fn scatter_updates(
    scatter: &Scatter,
    inputs: &Inputs<'_>,
    operand: &ArrayShape<'_>,
    indices: &ArrayShape<'_>,
    number: usize,
) -> Result<()> {
    let updates = inputs.array_like(number, operand)?;
    let numbers = Indices {
        names: [
            "scatter_dimension_numbers",
            "scatter_dims_to_operand_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
        ],
        index_vector_dim: scatter.index_vector_dim,
        map: &scatter.scatter_dims_to_operand_dims,
        operand_batching: &scatter.input_batching_dims,
        batching: &scatter.scatter_indices_batching_dims,
    };
    let batch = numbers.check(operand, indices)?;
    let inserted = || numbers.field("inserted_window_dims");
    ascending(inserted, &scatter.inserted_window_dims, operand.rank())?;
    let lacks = |dimension: &usize| {
        scatter.inserted_window_dims.contains(dimension)
            || scatter.input_batching_dims.contains(dimension)
    };
    let kept: Vec<usize> = (0..operand.rank()).filter(|dimension| !lacks(dimension)).collect();
    let window = || numbers.field("update_window_dims");
    if scatter.update_window_dims.len() != kept.len() {
        let (given, rank) = (scatter.update_window_dims.len(), kept.len());
        let accepted = "one for each dimension that a window has";
        return Err(ShapeError::Count { field: window(), given, rank, accepted }.into());
    }
    ascending(window, &scatter.update_window_dims, updates.rank())?;
    let (mut kept, mut batch) = (kept.into_iter(), batch.into_iter());
    let fits = updates.rank() == kept.len() + batch.len()
        && updates.extents.iter().enumerate().all(|(dimension, &extent)| {
            if scatter.update_window_dims.contains(&dimension) {
                kept.next().is_some_and(|own| extent <= operand.extents[own])
            } else {
                batch.next().and_then(Dimension::bound) == Some(extent)
            }
        });
    if !fits {
        let expected = "windows no larger than the operand, one for each index vector";
        return Err(inputs.operand_error(number, expected));
    }
    Ok(())
}

/// Checks the computation that combines elements. It must take two scalars and return one scalar
/// for each array, with the element type of the array.
fn check_combiner(
    computation: usize,
    inputs: &Inputs<'_>,
    operands: &[ArrayShape<'_>],
) -> Result<()> {
    let callee = inputs.callee(computation)?;
    let scalars: Vec<Shape> =
        operands.iter().map(|operand| operand.with_extents([])).collect::<Result<_>>()?;
    let result = match &scalars[..] {
        [scalar] => scalar.clone(),
        scalars => Shape::tuple(scalars.iter().cloned())?,
    };
    let fits = callee.parameters.len() == 2 * scalars.len()
        && callee
            .parameters
            .iter()
            .zip(scalars.iter().cycle())
            .all(|(given, expected)| queries::compatible(given, expected))
        && queries::compatible(callee.result, &result);
    if fits {
        return Ok(());
    }
    let listed = |shapes: &mut dyn Iterator<Item = &Shape>| {
        let shapes = shapes.map(|shape| shape.without_layout().to_string());
        shapes.collect::<Vec<_>>().join(", ")
    };
    let expected = listed(&mut scalars.iter().chain(&scalars));
    let (given, root) = (callee.parameters, callee.result.without_layout());
    Err(InstructionError::Callee {
        expected: format!("a computation ({expected}) -> {result}"),
        given: format!("({}) -> {root}", listed(&mut given.into_iter())),
    })
}
