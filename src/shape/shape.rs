use smallvec::SmallVec;

use super::{ElementType, Layout, MAX_RANK};

/// XLA's `Shape`: an array's element type, extents and layout; or a tuple, token, opaque value or buffer.
///
/// A `Shape` is valid by construction: its layout fits its rank and its extents.
///
/// ```
/// use stridec::shape::{ElementType, Layout, Shape};
/// let shape = Shape::new(ElementType::F32, [2, 3], Layout::new([0, 1]))?;
/// assert_eq!(shape.rank(), 2);
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    element_type: ElementType,
    dimensions: SmallVec<[Dimension; 8]>,
    layout: Option<Layout>,
    tuple_shapes: Vec<Shape>,
}

/// One logical extent, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Exactly this many.
    Fixed(u64),
    /// `<=n`: at most this many; memory is allocated for all of them.
    AtMost(u64),
    /// `?`: not known.
    Unbounded,
}

impl Dimension {
    /// Elements that memory is allocated for; `None` where the extent is not known.
    #[must_use]
    pub fn bound(self) -> Option<u64> {
        match self {
            Self::Fixed(n) | Self::AtMost(n) => Some(n),
            Self::Unbounded => None,
        }
    }
}

impl Shape {
    /// An array of fixed extents.
    ///
    /// # Errors
    ///
    /// Where the type has no elements, or the layout does not fit the extents.
    pub fn new(
        element_type: ElementType,
        dimensions: impl IntoIterator<Item = u64>,
        layout: impl Into<Option<Layout>>,
    ) -> Result<Self, ShapeError> {
        Self::array(element_type, dimensions.into_iter().map(Dimension::Fixed), layout)
    }

    /// An array whose extents may be bounds or unknown.
    ///
    /// # Errors
    ///
    /// Where the type has no elements, or the layout does not fit the extents.
    pub fn array(
        element_type: ElementType,
        dimensions: impl IntoIterator<Item = Dimension>,
        layout: impl Into<Option<Layout>>,
    ) -> Result<Self, ShapeError> {
        let dimensions: SmallVec<[Dimension; 8]> = dimensions.into_iter().collect();
        if element_type.bits().is_none() {
            return Err(ShapeError::NoElements { element_type });
        }
        if dimensions.len() > MAX_RANK {
            return Err(ShapeError::Rank { given: dimensions.len(), limit: MAX_RANK });
        }
        Ok(Self { element_type, dimensions, layout: layout.into(), tuple_shapes: Vec::new() })
    }

    /// The type of the elements, or the kind of a shape that has none.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Logical extents, in elements.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Number of logical dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// The layout; `None` stands for the default, N-1 … 0.
    #[must_use]
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// A tuple's parts, or the array in a buffer.
    #[must_use]
    pub fn tuple_shapes(&self) -> &[Shape] {
        &self.tuple_shapes
    }
}

/// Why a shape is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A token, opaque value, tuple or buffer where an array is needed.
    #[error("element_type: {element_type} has no elements; an array needs a type that has")]
    NoElements {
        /// The kind that was given.
        element_type: ElementType,
    },
    /// More dimensions than stridec accepts.
    #[error("dimensions: rank {given} is above the limit of {limit}")]
    Rank {
        /// The rank that was given.
        given: usize,
        /// The greatest accepted.
        limit: usize,
    },
}
