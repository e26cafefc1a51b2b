//! Prints shapes and layouts in the format of XLA's `HumanStringWithLayout`.

use std::fmt::{self, Display, Formatter, Write};

use crate::shape::{
    Dimension, ElementType, Format, Layout, Shape, Sparse, SplitConfig, StridedShape, Tile,
    TileDimension,
};

/// The number of tuple parts between two comments such as `/*index=5*/`. XLA writes a comment
/// before every fifth part.
const ANNOTATION_INTERVAL: usize = 5;

impl Shape {
    /// Returns a `Display` value that prints the shape without layouts, like XLA's `HumanString`.
    ///
    /// ```
    /// let shape: stridec::shape::Shape = "(f32[2,3]{0,1}, token[])".parse().unwrap();
    /// assert_eq!(shape.without_layout().to_string(), "(f32[2,3], token[])");
    /// ```
    #[must_use]
    pub fn without_layout(&self) -> impl Display + '_ {
        WithoutLayout(self)
    }
}

struct WithoutLayout<'a>(&'a Shape);

impl Display for WithoutLayout<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        shape(f, self.0, false)
    }
}

/// Prints the shape like XLA's `HumanStringWithLayout`, such as
/// `bf16[2,3,4]{1,2,0:T(16,256)(2,1)}`, or `bf16[2,3,4]` if the shape has no layout.
impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        shape(f, self, true)
    }
}

fn shape(f: &mut Formatter<'_>, shape: &Shape, with_layout: bool) -> fmt::Result {
    let print_part = |part: &Shape, f: &mut Formatter<'_>| self::shape(f, part, with_layout);
    match shape.element_type() {
        ElementType::Tuple => {
            f.write_str("(")?;
            for (i, part) in shape.tuple_shapes().iter().enumerate() {
                match i {
                    0 => {}
                    i if i % ANNOTATION_INTERVAL == 0 => write!(f, ", /*index={i}*/")?,
                    _ => f.write_str(", ")?,
                }
                print_part(part, f)?;
            }
            f.write_str(")")
        }
        ElementType::Buffer => {
            f.write_str("b(")?;
            shape.tuple_shapes().iter().try_for_each(|part| print_part(part, f))?;
            f.write_str(")")
        }
        element_type => {
            write!(f, "{element_type}[{}]", CommaList(shape.dimensions()))?;
            match shape.layout() {
                Some(layout) if with_layout && !(shape.rank() == 0 && prints_nothing(layout)) => {
                    layout.fmt(f)
                }
                _ => Ok(()),
            }
        }
    }
}

/// Returns true if a layout would print as empty braces. XLA omits them after a scalar.
fn prints_nothing(layout: &Layout) -> bool {
    layout.to_string() == "{}"
}

/// Prints items separated by commas.
struct CommaList<'a, T>(&'a [T]);

impl<T: Display> Display for CommaList<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(i, item)| {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{item}")
        })
    }
}

/// Prints the extent as `4`, `<=4` or `?`.
impl Display for Dimension {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(extent) => write!(f, "{extent}"),
            Self::AtMost(extent) => write!(f, "<={extent}"),
            Self::Unbounded => f.write_str("?"),
        }
    }
}

/// Prints the layout like XLA's `Layout::ToString`, such as `{1,0:T(8,128)(2,1)E(4)}`. XLA has no
/// padding, so stridec's own `PAD(…)` is printed at the end.
///
/// TensorFlow's prefix `dense` is not printed. Its form `sparse{n}` is printed, although the parser
/// rejects it.
impl Display for Layout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.format == Format::Sparse && self.minor_to_major.is_empty() {
            let elements = self.sparse.as_ref().map_or(0, |sparse| sparse.max_sparse_elements);
            return write!(f, "sparse{{{elements}}}");
        }
        let mut attributes = String::new();
        write_attributes(&mut attributes, self)?;
        let colon = if attributes.is_empty() { "" } else { ":" };
        write!(f, "{{{}{colon}{attributes}}}", CommaList(&self.minor_to_major))
    }
}

fn write_attributes(f: &mut String, layout: &Layout) -> fmt::Result {
    let sparse = layout.sparse.as_deref();
    if let Some(sparse) = sparse.filter(|sparse| !sparse.dim_level_types.is_empty()) {
        write!(f, "D({})", CommaList(&levels(sparse)))?;
    }
    if !layout.tiles.is_empty() {
        f.write_str("T")?;
        layout.tiles.iter().try_for_each(|tile| write!(f, "{tile}"))?;
    }
    if layout.tail_padding_alignment_in_elements != 1 {
        write!(f, "L({})", layout.tail_padding_alignment_in_elements)?;
    }
    if let Some(element_type) = sparse.and_then(|sparse| sparse.index_primitive_type) {
        write!(f, "#({element_type})")?;
    }
    if let Some(element_type) = sparse.and_then(|sparse| sparse.pointer_primitive_type) {
        write!(f, "*({element_type})")?;
    }
    if layout.element_size_in_bits != 0 {
        write!(f, "E({})", layout.element_size_in_bits)?;
    }
    if layout.memory_space != 0 {
        write!(f, "S({})", layout.memory_space)?;
    }
    if !layout.split_configs.is_empty() {
        f.write_str("SC")?;
        for SplitConfig { dimension, split_indices } in &layout.split_configs {
            write!(f, "({dimension}:{})", CommaList(split_indices))?;
        }
    }
    if let Some(physical) = sparse.and_then(|sparse| sparse.physical_shape.as_ref()) {
        write!(f, "P({physical})")?;
    }
    if layout.dynamic_shape_metadata_prefix_bytes != 0 {
        write!(f, "M({})", layout.dynamic_shape_metadata_prefix_bytes)?;
    }
    if layout.has_padding() {
        let value = match (layout.padding_number, layout.padding_value) {
            (Some(number), _) => format!("value({number})"),
            (None, value) => value.map_or(String::new(), |value| value.to_string()),
        };
        let is_list = !value.is_empty() && !layout.padded_dimensions.is_empty();
        let comma = if is_list { "," } else { "" };
        write!(f, "PAD({}{comma}{value})", CommaList(&layout.padded_dimensions))?;
    }
    Ok(())
}

/// Returns the level of each dimension in XLA's notation, such as `C+`: a letter, then `+` if
/// coordinates are not unique, and `~` if they are not ordered.
fn levels(sparse: &Sparse) -> Vec<String> {
    let mark = |flags: &[bool], level: usize, mark| match flags.get(level) {
        Some(false) => mark,
        _ => "",
    };
    sparse
        .dim_level_types
        .iter()
        .enumerate()
        .map(|(level, kind)| {
            let unique = mark(&sparse.dim_unique, level, "+");
            let ordered = mark(&sparse.dim_ordered, level, "~");
            format!("{}{unique}{ordered}", kind.letter())
        })
        .collect()
}

/// Prints the tile as `(8,128)`.
impl Display for Tile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({})", CommaList(&self.dimensions))
    }
}

/// Prints the extent as `8` or `*`.
impl Display for TileDimension {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => write!(f, "{size}"),
            Self::Combine => f.write_str("*"),
        }
    }
}

/// Prints the strides like MLIR's attribute:
/// `f32[1,3,224,224] strided<[153228,51076,226,1], offset: 227>`.
impl Display for StridedShape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.element_type(), CommaList(self.sizes()))?;
        if self.element_size_in_bits() != 0 {
            write!(f, "{{:E({})}}", self.element_size_in_bits())?;
        }
        write!(f, " strided<[{}]", CommaList(self.strides()))?;
        if self.offset() != 0 {
            write!(f, ", offset: {}", self.offset())?;
        }
        f.write_str(">")
    }
}
