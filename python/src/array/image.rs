//! The memory image of a layout as a numpy array: checks arrays, and allocates new ones.

use pyo3::{intern, prelude::*, types::PyTuple};
use stridec::{
    Tensor,
    notation::{NumpyArray, TensorForm},
    shape::ElementType,
    stride::StrideDescriptor,
};

use super::{HostArray, dtype, numpy::numpy};
use crate::errors::invalid;

/// The maximum number of dimensions of an array in all versions of numpy.
const MAX_RANK: usize = 32;

/// The memory of a layout as an array.
pub(crate) struct Image<'a> {
    layout: &'a StrideDescriptor,
    dtype: &'static str,
    pub(crate) sizes: Vec<u64>,
    /// True if the array may be a larger storage that starts with the memory.
    is_view: bool,
}

impl<'a> Image<'a> {
    /// Returns the memory of a layout as an array with the dimensions of the memory, major to
    /// minor. If the memory has no such dimensions, the array has one dimension of elements. Packed
    /// elements, and elements after a prefix of bytes, become one dimension of bytes.
    pub(crate) fn of(layout: &'a StrideDescriptor) -> Self {
        let bits = layout.element_bits();
        if bits < 8 || layout.prefix_bytes() > 0 {
            let sizes = vec![layout.image_bytes()];
            return Self { layout, dtype: "uint8", sizes, is_view: false };
        }
        let dtype = match bits {
            _ if is_natural(layout) => NumpyArray::dtype(layout.element_type()).unwrap_or("uint8"),
            8 => "uint8",
            16 => "uint16",
            32 => "uint32",
            64 => "uint64",
            _ => "V16",
        };
        let sizes = layout.array_dimensions().filter(|sizes| sizes.len() <= MAX_RANK);
        let sizes = sizes.unwrap_or_else(|| vec![layout.physical_elements()]);
        Self { layout, dtype, sizes, is_view: false }
    }

    /// Returns the memory of an operation's source. If the source is described by strides, it may
    /// be a view of a larger storage.
    pub(crate) fn of_source(tensor: &'a Tensor) -> Self {
        let is_view = matches!(tensor.form(), TensorForm::Strided(_));
        Self { is_view, ..Self::of(tensor.descriptor()) }
    }

    /// Returns an error if an array is not the memory of the layout. It may have the extents of the
    /// memory, one dimension of elements or of bytes, or the logical extents if its elements are at
    /// the places of the layout.
    pub(crate) fn check(&self, array: &HostArray, argument: &str) -> PyResult<()> {
        let layout = self.layout;
        let given = array.sizes();
        let dense = array.is_row_major();
        let length = match given {
            [length] if dense => Some(*length),
            _ => None,
        };
        let has = |length: u64, needed: u64| length == needed || self.is_view && length > needed;
        if array.element_type() == ElementType::U8
            && length.is_some_and(|length| has(length, layout.image_bytes()))
        {
            return Ok(());
        }
        // Packed elements are bytes of any extents, such as half as many columns for 4 bits.
        if layout.element_bits() < 8 && dense && array.element_type() == ElementType::U8 {
            let bytes: u64 = given.iter().product();
            if bytes == layout.image_bytes() {
                return Ok(());
            }
            let expected = format!("{} bytes in row-major order", layout.image_bytes());
            return Err(invalid(&format!("{argument}.shape"), &expected, tuple(given)));
        }
        let whole = layout.element_bits() >= 8 && layout.prefix_bytes() == 0;
        if !(whole && self.holds(array)) {
            let bytes = layout.image_bytes();
            let elements = match self.dtype {
                "uint8" => String::new(),
                dtype => format!("elements of {dtype}, or "),
            };
            if array.element_type() == ElementType::U8 {
                let expected = format!("{elements}a one-dimensional array of {bytes} bytes");
                let order = if dense { "" } else { " in another order" };
                let given = format!("uint8 of shape {}{order}", tuple(given));
                return Err(invalid(argument, &expected, given));
            }
            let expected = format!("{elements}{bytes} bytes of uint8");
            let given = NumpyArray::dtype(array.element_type()).unwrap_or("none");
            return Err(invalid(&format!("{argument}.dtype"), &expected, given));
        }
        let is_flat = length.is_some_and(|length| has(length, layout.physical_elements()));
        // The memory of tiles may also be given with the dimensions of extent 1 that tiles add.
        let with_tiles = layout.physical_dimensions();
        let is_whole = given == self.sizes || with_tiles.is_some_and(|sizes| given == sizes);
        if is_flat || is_whole && dense || lies_as(array, layout)? {
            return Ok(());
        }
        let cells = tuple(&self.sizes);
        let expected = format!("the memory of the layout, an array of {cells} in row-major order");
        let order = if dense { "" } else { " in another order" };
        Err(invalid(&format!("{argument}.shape"), &expected, format!("{}{order}", tuple(given))))
    }

    /// Returns true if the array's elements have the bits of the layout's elements. A type that
    /// numpy does not have may be given as unsigned integers of the same width.
    fn holds(&self, array: &HostArray) -> bool {
        use ElementType as E;
        let (given, bits) = (array.element_type(), self.layout.element_bits());
        let expected = self.layout.element_type();
        if given == expected && is_natural(self.layout) {
            return true;
        }
        let unsigned = matches!(given, E::U8 | E::U16 | E::U32 | E::U64);
        unsigned && given.bits() == Some(bits) && !(is_natural(self.layout) && is_numpys(expected))
    }

    /// Returns a new array for the memory, whose elements are not initialized.
    pub(crate) fn allocate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sizes = PyTuple::new(py, &self.sizes)?;
        numpy(py)?.call_method1(intern!(py, "empty"), (sizes, dtype(py, self.dtype)?))
    }
}

/// The array for a result, which is the caller's or a new one.
pub(crate) struct Room<'py> {
    pub(crate) object: Bound<'py, PyAny>,
    pub(crate) array: HostArray,
}

impl<'py> Room<'py> {
    /// Returns the array for a layout: `out` if it is given, and otherwise a new one. Returns an
    /// error if `out` is not suitable or overlaps a source.
    pub(crate) fn of(
        py: Python<'py>,
        layout: &StrideDescriptor,
        out: Option<&Bound<'py, PyAny>>,
        sources: &[&HostArray],
    ) -> PyResult<Self> {
        let image = Image::of(layout);
        let Some(out) = out else {
            let object = image.allocate(py)?;
            let array = HostArray::of(&object, "out")?;
            return Ok(Self { object, array });
        };
        let mut array = HostArray::of(out, "out")?;
        image.check(&array, "out")?;
        array.resolve_access(out)?;
        if array.is_read_only() {
            return Err(invalid("out", "an array that can be written", "a read-only one"));
        }
        for source in sources {
            if array.overlaps(source)? {
                let expected = "memory apart from that of the source";
                return Err(invalid("out", expected, "an array that overlaps it"));
            }
        }
        Ok(Self { object: out.clone(), array })
    }
}

/// Returns true if an element has the size in memory that its type has without packing.
fn is_natural(layout: &StrideDescriptor) -> bool {
    layout.element_type().storage_bits() == Some(layout.element_bits())
}

/// Returns true if numpy has the type without `ml_dtypes`.
fn is_numpys(element_type: ElementType) -> bool {
    use ElementType as E;
    matches!(
        element_type,
        E::Pred
            | E::S8
            | E::S16
            | E::S32
            | E::S64
            | E::U8
            | E::U16
            | E::U32
            | E::U64
            | E::F16
            | E::F32
            | E::F64
            | E::C64
            | E::C128
    )
}

/// Returns true if the array has the extents and strides of the layout, without gaps.
pub(crate) fn lies_as(array: &HostArray, layout: &StrideDescriptor) -> PyResult<bool> {
    if array.sizes() != layout.sizes() || !layout.is_packed() || !array.has_whole_strides() {
        return Ok(false);
    }
    let own = array.descriptor()?;
    if own.element_bits() != layout.element_bits() {
        return Ok(false);
    }
    let strides = own.strides().zip(layout.strides()).zip(layout.sizes());
    let mut moving = strides.filter(|(_, size)| **size > 1);
    Ok(layout.elements() == 0 || own.base_offset() == 0 && moving.all(|((a, b), _)| a == b))
}

/// Formats extents as Python prints a tuple, such as `(2, 3)`.
fn tuple(sizes: &[u64]) -> String {
    if let [size] = sizes {
        return format!("({size},)");
    }
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("({})", sizes.join(", "))
}
