//! [`Shape`]: the type, extents and layout of a tensor, as XLA describes them.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{ElementType, FieldPath, Layout, MAX_DEPTH, MAX_SHAPES, ShapeError, validate};

/// XLA's `Shape`: an array with its element type, extents and layout, or else a tuple, a token, an
/// opaque value or a buffer.
///
/// A `Shape` is always valid: its layout is suitable for its rank and extents, and its nesting
/// depth is at most [`MAX_DEPTH`]. It is parsed and printed in XLA's notation.
///
/// ```
/// use stridec::shape::{ElementType, Layout, Shape};
/// let shape = Shape::new(ElementType::F32, [2, 3], Layout::new([0, 1]))?;
/// assert_eq!(shape.to_string(), "f32[2,3]{0,1}");
/// assert_eq!("f32[2,3]{0,1}".parse(), Ok(shape));
///
/// let error = Shape::new(ElementType::F32, [2, 3], Layout::new([1, 1])).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "layout.minor_to_major[1]: expected each dimension once, got 1 twice"
/// );
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    element_type: ElementType,
    dimensions: SmallVec<[Dimension; 8]>,
    layout: Option<Layout>,
    tuple_shapes: Vec<Shape>,
    /// The nesting depth, counting this shape. A physical shape adds two levels, because the layout
    /// that contains it is a message too.
    depth: usize,
    /// The number of shapes, counting this one and all nested ones.
    shapes: usize,
}

/// The logical extent of one dimension, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// A known extent.
    Fixed(u64),
    /// An upper bound, `<=n`. Memory is allocated for `n` elements.
    AtMost(u64),
    /// An unknown extent, `?`.
    Unbounded,
}

impl Dimension {
    /// Returns the extent for which memory is allocated, or `None` if the extent is unknown.
    #[must_use]
    pub fn bound(self) -> Option<u64> {
        match self {
            Self::Fixed(n) | Self::AtMost(n) => Some(n),
            Self::Unbounded => None,
        }
    }
}

impl Shape {
    /// Creates an array with fixed extents, like XLA's `MakeShape`.
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no elements, or if the layout does not match the extents.
    pub fn new(
        element_type: ElementType,
        dimensions: impl IntoIterator<Item = u64>,
        layout: impl Into<Option<Layout>>,
    ) -> Result<Self, ShapeError> {
        Self::array(element_type, dimensions.into_iter().map(Dimension::Fixed), layout)
    }

    /// Creates an array whose extents may be bounded or unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no elements, or if the layout does not match the extents.
    pub fn array(
        element_type: ElementType,
        dimensions: impl IntoIterator<Item = Dimension>,
        layout: impl Into<Option<Layout>>,
    ) -> Result<Self, ShapeError> {
        let dimensions: SmallVec<[Dimension; 8]> = dimensions.into_iter().collect();
        let mut layout = layout.into();
        validate::array(element_type, &dimensions)?;
        let (mut depth, mut shapes) = (1, 1);
        if let Some(layout) = &mut layout {
            layout.sparse =
                layout.sparse.take().filter(|sparse| **sparse != super::Sparse::default());
            validate::layout(layout, dimensions.len(), &dimensions)?;
            if let Some(physical) = layout.sparse.as_ref().and_then(|s| s.physical_shape.as_ref()) {
                (depth, shapes) = (physical.depth + 2, physical.shapes + 1);
            }
        }
        let shape =
            Self { element_type, dimensions, layout, tuple_shapes: Vec::new(), depth, shapes };
        shape.checked(&FieldPath::new("layout").field("physical_shape"))
    }

    /// Creates a tuple of `parts`, which may be empty.
    ///
    /// # Errors
    ///
    /// Returns an error if shapes are nested deeper than 64 levels, or if there are more than
    /// 65,536 shapes in total.
    pub fn tuple(parts: impl IntoIterator<Item = Shape>) -> Result<Self, ShapeError> {
        Self::without_elements(ElementType::Tuple, parts.into_iter().collect())
            .checked(&FieldPath::new("tuple_shapes"))
    }

    /// Creates a buffer that holds an array, such as `b(f32[2])`.
    ///
    /// # Errors
    ///
    /// Returns an error if `content` is not an array.
    pub fn buffer(content: Shape) -> Result<Self, ShapeError> {
        let field = FieldPath::new("tuple_shapes");
        if content.element_type.bits().is_none() {
            let given = format!("a shape of type {}", content.element_type);
            return Err(ShapeError::BufferContent { field: field.index(0), given });
        }
        Self::without_elements(ElementType::Buffer, vec![content]).checked(&field)
    }

    /// Returns a token, which orders side effects: `token[]`.
    #[must_use]
    pub fn token() -> Self {
        Self::without_elements(ElementType::Token, Vec::new())
    }

    /// Returns an opaque value: `opaque[]`.
    #[must_use]
    pub fn opaque() -> Self {
        Self::without_elements(ElementType::Opaque, Vec::new())
    }

    fn without_elements(element_type: ElementType, tuple_shapes: Vec<Shape>) -> Self {
        let depth = 1 + tuple_shapes.iter().map(|part| part.depth).max().unwrap_or(0);
        let shapes = 1 + tuple_shapes.iter().map(|part| part.shapes).sum::<usize>();
        Self {
            element_type,
            dimensions: SmallVec::new(),
            layout: None,
            tuple_shapes,
            depth,
            shapes,
        }
    }

    fn checked(self, field: &FieldPath) -> Result<Self, ShapeError> {
        let too_many = |what, given, limit| {
            Err(ShapeError::TooMany { field: field.clone(), what, given, limit })
        };
        if self.depth > MAX_DEPTH {
            return too_many("shapes inside one another", self.depth, MAX_DEPTH);
        }
        if self.shapes > MAX_SHAPES {
            return too_many("shapes in all", self.shapes, MAX_SHAPES);
        }
        Ok(self)
    }

    /// Returns the element type of an array, or the kind of any other shape.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Returns the logical extents, in elements.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Returns the number of logical dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// Returns the layout, or `None` if the shape has the default order of dimensions, N-1, …, 1,
    /// 0.
    #[must_use]
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Returns the layout of the shape, or the default layout for its rank if it has none.
    #[must_use]
    pub fn layout_or_default(&self) -> Cow<'_, Layout> {
        self.layout()
            .map_or_else(|| Cow::Owned(Layout::default_for_rank(self.rank())), Cow::Borrowed)
    }

    /// Returns true if the extent of a dimension in memory is greater than the logical one, like
    /// TensorFlow 1.x's `IsPadded`.
    #[must_use]
    pub fn is_padded(&self) -> bool {
        let padded = self.layout().map_or(&[][..], |layout| &layout.padded_dimensions);
        padded
            .iter()
            .zip(&self.dimensions)
            .any(|(&n, extent)| extent.bound().is_some_and(|m| n > m))
    }

    /// Returns the parts of a tuple, or the array inside a buffer. All other shapes have no parts.
    #[must_use]
    pub fn tuple_shapes(&self) -> &[Shape] {
        &self.tuple_shapes
    }

    /// Adds the default layout to every array without a layout, as XLA does when it writes protos.
    ///
    /// ```
    /// use stridec::shape::Shape;
    /// let tuple: Shape = "(f32[2,3], s8[4,5]{0,1})".parse()?;
    /// assert_eq!(tuple.with_default_layouts().to_string(), "(f32[2,3]{1,0}, s8[4,5]{0,1})");
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn with_default_layouts(mut self) -> Self {
        if self.is_array() {
            self.layout.get_or_insert_with(|| Layout::default_for_rank(self.dimensions.len()));
        }
        let parts = std::mem::take(&mut self.tuple_shapes).into_iter();
        Self { tuple_shapes: parts.map(Self::with_default_layouts).collect(), ..self }
    }

    /// Returns the number of shapes, counting this one and all nested ones.
    pub(crate) fn shapes(&self) -> usize {
        self.shapes
    }

    /// Returns true if the shape is an array, and not a tuple, a token, an opaque value or a
    /// buffer.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.element_type.bits().is_some()
    }

    /// Returns the nested shape at `path`, which selects a part by number at each level of tuples,
    /// like XLA's `ShapeIndex`.
    ///
    /// ```
    /// use stridec::shape::Shape;
    /// let tuple: Shape = "(f32[2], (s8[3], pred[]))".parse().unwrap();
    /// assert_eq!(tuple.leaf(&[1, 0]).unwrap().to_string(), "s8[3]");
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a number in `path` is not the number of a part at its level.
    pub fn leaf(&self, path: &[usize]) -> Result<&Shape, ShapeError> {
        path.iter().enumerate().try_fold(self, |shape, (level, &part)| {
            shape.tuple_shapes.get(part).ok_or_else(|| ShapeError::NoSuchPart {
                path: path[..=level].to_vec(),
                element_type: shape.element_type,
                count: shape.tuple_shapes.len(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> Result<Shape, ShapeError> {
        (1..depth).try_fold(Shape::token(), |shape, _| Shape::tuple([shape]))
    }

    #[test]
    fn depth_and_count_are_bounded() {
        assert!(nested(MAX_DEPTH).is_ok());
        let error = nested(MAX_DEPTH + 1).unwrap_err();
        assert!(
            matches!(error, ShapeError::TooMany { given, limit: MAX_DEPTH, .. } if given == MAX_DEPTH + 1)
        );
        if cfg!(miri) {
            return; // Miri would need minutes for this many shapes
        }
        assert!(Shape::tuple(vec![Shape::token(); MAX_SHAPES - 1]).is_ok());
        let error = Shape::tuple(vec![Shape::token(); MAX_SHAPES]).unwrap_err();
        assert!(matches!(error, ShapeError::TooMany { limit: MAX_SHAPES, .. }));
    }

    #[test]
    fn padding_that_adds_nothing_is_none() {
        for (text, expected) in [
            ("f32[2,3]{1,0:PAD(2,4)}", true),
            ("f32[2,3]{1,0:PAD(2,3)}", false),
            ("f32[2,3]{1,0}", false),
        ] {
            assert_eq!(text.parse::<Shape>().unwrap().is_padded(), expected, "{text}");
        }
    }

    #[test]
    fn a_buffer_holds_an_array() {
        let array = Shape::new(ElementType::S32, [], None).unwrap();
        assert_eq!(Shape::buffer(array.clone()).unwrap().tuple_shapes(), [array]);
        let error = Shape::buffer(Shape::token()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tuple_shapes[0]: expected one array in a buffer, got a shape of type token"
        );
    }

    #[test]
    fn a_leaf_is_found_or_the_level_that_lacks_it_named() {
        let leaf = Shape::new(ElementType::S8, [3], None).unwrap();
        let inner = Shape::tuple([Shape::token(), leaf.clone()]).unwrap();
        let outer = Shape::tuple([inner]).unwrap();
        assert_eq!(outer.leaf(&[0, 1]), Ok(&leaf));
        assert_eq!(outer.leaf(&[]), Ok(&outer));
        let error = outer.leaf(&[0, 2, 5]).unwrap_err().to_string();
        assert_eq!(error, "#0,2: expected a number below 2, the parts of the tuple there");
        let error = outer.leaf(&[0, 1, 0]).unwrap_err().to_string();
        assert_eq!(error, "#0,1,0: expected a tuple or a buffer, got s8, which has no parts");
    }
}
