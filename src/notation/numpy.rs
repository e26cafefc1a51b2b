//! numpy's arrays, as data and as text. The text is either
//! `shape=(2, 3) strides=(12, 4) dtype=float32`, or the dictionary of `__array_interface__` or of
//! the header of a `.npy` file.
//!
//! Strides are in bytes. As in `numpy.ndarray`, `offset=` is the offset of the element at index 0,
//! in bytes. If it is missing, the buffer begins with the element that has the lowest address.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    jax::tuple,
    literal::{NamedValues, Value, ValueKind, assignments, value},
    strides::{byte_offset, expect_element_bits, from_byte_strides, packed_strides, plain_strides},
    tensor::broken_rule,
    types::{from_numpy_dtype, from_numpy_typestr, numpy_dtype},
};
use crate::{
    shape::{ElementType, Layout, ParseError, Shape, StridedShape},
    stride::{StrideDescriptor, StrideError},
};

/// The `dtype`, `shape` and `strides` of a numpy array, and its offset in the buffer.
///
/// ```
/// use stridec::{notation::NumpyArray, shape::Shape, stride::StrideDescriptor};
/// let tensor = StrideDescriptor::try_from(&"f32[1,1,3,5]{1,3,2,0}".parse::<Shape>()?)?;
/// let array = NumpyArray::try_from(&tensor)?;
/// assert_eq!((array.dtype, array.strides), ("float32", vec![60, 4, 20, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NumpyArray {
    /// The name of the dtype, as `numpy.dtype` accepts it. If numpy does not have the type, the
    /// package `ml_dtypes` registers it under this name.
    pub dtype: &'static str,
    /// The extents.
    pub shape: Vec<u64>,
    /// The distance between neighbours along each dimension, in bytes.
    pub strides: Vec<i64>,
    /// The offset of the element at index 0 from the start of the buffer, in bytes.
    pub offset: u64,
}

impl TryFrom<&StrideDescriptor> for NumpyArray {
    type Error = StrideError;

    fn try_from(tensor: &StrideDescriptor) -> std::result::Result<Self, StrideError> {
        let element_type = tensor.element_type();
        let no_elements = || StrideError::NoElements { element_type };
        let bits = element_type.storage_bits().ok_or_else(no_elements)?;
        expect_element_bits(tensor, bits)?;
        let bytes = i64::from(bits / 8);
        let too_large = StrideError::TooLarge { what: "strides" };
        let strides = plain_strides(tensor)?
            .into_iter()
            .map(|stride| stride.checked_mul(bytes))
            .collect::<Option<_>>()
            .ok_or(too_large)?;
        Ok(Self {
            dtype: numpy_dtype(element_type).ok_or_else(no_elements)?,
            shape: tensor.sizes().to_vec(),
            strides,
            offset: byte_offset(tensor, bits)?,
        })
    }
}

impl NumpyArray {
    /// Returns the element type for a dtype name, or `None` if XLA has no such type.
    ///
    /// ```
    /// use stridec::{notation::NumpyArray, shape::ElementType};
    /// assert_eq!(NumpyArray::element_type("float8_e4m3fn"), Some(ElementType::F8e4m3fn));
    /// assert_eq!(NumpyArray::element_type("datetime64[ns]"), None);
    /// ```
    #[must_use]
    pub fn element_type(dtype_name: &str) -> Option<ElementType> {
        from_numpy_dtype(dtype_name)
    }

    /// Returns the dtype name for an element type, or `None` for a type without elements. In numpy,
    /// an element smaller than a byte occupies a whole byte.
    #[must_use]
    pub fn dtype(element_type: ElementType) -> Option<&'static str> {
        numpy_dtype(element_type)
    }
}

/// The accepted fields. The last three are parts of `__array_interface__` that have no effect on
/// the layout.
const NAMES: [&str; 8] =
    ["shape", "strides", "dtype", "typestr", "offset", "data", "version", "descr"];

/// The fields of the header of a `.npy` file.
const HEADER_NAMES: [&str; 3] = ["descr", "fortran_order", "shape"];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    cursor.skip_blanks();
    let start = cursor.position();
    let fields = if cursor.peek() == Some('{') {
        let map = value(cursor)?;
        cursor.end()?;
        let ValueKind::Map(fields) = map.kind else { return Err(map.wrong(cursor, "a map")) };
        fields
    } else {
        assignments(cursor)?
    };
    if fields.get(&["fortran_order"], usize::MAX).is_some() {
        return of_header(cursor, &fields, start);
    }
    fields.only(&NAMES, 0)?;
    let whole = start..cursor.position();
    let given = fields.require(&["dtype", "typestr"], usize::MAX)?;
    let element_type = dtype(cursor, given)?;
    let sizes = fields.require(&["shape"], usize::MAX)?.naturals(cursor)?;
    let bytes = i64::from(element_type.storage_bits().unwrap_or(8) / 8);
    let strides = match given_field(&fields, "strides") {
        Some(strides) => strides.numbers(cursor)?,
        None => packed_strides(&sizes, bytes)
            .ok_or_else(|| ParseError::new(whole.clone(), "expected at most 2^63-1 bytes"))?,
    };
    let offset = match given_field(&fields, "offset") {
        Some(offset) => Some(offset.natural(cursor)?),
        None => None,
    };
    let place = given_field(&fields, "strides").map_or(whole, |strides| strides.place.clone());
    let array = from_byte_strides(element_type, &sizes, &strides, offset)
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    let strides = array.strides().flatten();
    let shape = StridedShape::new(element_type, sizes, strides, array.base_offset(), 0)
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    Tensor::try_from(shape).map_err(|error| broken_rule(place, error.kind(), error))
}

/// Parses the header of a `.npy` file, such as
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
fn of_header(cursor: &Cursor<'_>, fields: &NamedValues<'_>, start: usize) -> Result<Tensor> {
    fields.only(&HEADER_NAMES, 0)?;
    let place = start..cursor.position();
    let element_type = dtype(cursor, fields.require(&["descr"], usize::MAX)?)?;
    let sizes = fields.require(&["shape"], usize::MAX)?.naturals(cursor)?;
    let order = fields.require(&["fortran_order"], usize::MAX)?;
    let layout = match order.kind {
        ValueKind::Name("True") => Layout::new(0..sizes.len()),
        ValueKind::Name("False") => Layout::default_for_rank(sizes.len()),
        _ => return Err(order.wrong(cursor, "True or False")),
    };
    let shape = Shape::new(element_type, sizes, layout)
        .map_err(|error| ParseError::invalid(place.clone(), error))?;
    Tensor::of_shape(shape, place)
}

/// Returns the value of the field `name`, or `None` if the field is missing or its value is `None`.
fn given_field<'v, 'a>(fields: &'v NamedValues<'a>, name: &str) -> Option<&'v Value<'a>> {
    fields.get(&[name], usize::MAX).filter(|value| !value.is_none())
}

/// Parses a dtype: `float32`, `np.float32`, `dtype('float32')`, or a typestr such as `'<f4'`.
fn dtype(cursor: &Cursor<'_>, given: &Value<'_>) -> Result<ElementType> {
    let name = match &given.kind {
        ValueKind::Name(name) => name.rsplit('.').next().unwrap_or(name),
        ValueKind::Text(name) => name,
        ValueKind::Call(_, fields) => return dtype(cursor, fields.require(&["dtype"], 0)?),
        _ => return Err(given.wrong(cursor, "a dtype, such as float32 or '<f4'")),
    };
    if name.starts_with('>') {
        let reason = "expected little-endian elements; array.astype(array.dtype.newbyteorder('<')) makes them";
        return Err(ParseError::unsupported(given.place.clone(), reason));
    }
    from_numpy_dtype(name).or_else(|| from_numpy_typestr(name)).ok_or_else(|| {
        let reason = "expected a dtype that XLA has, such as float32, bfloat16 or '<f4'";
        ParseError::unsupported(given.place.clone(), reason)
    })
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let descriptor = array.descriptor();
    let NumpyArray { dtype, shape, strides, offset, .. } =
        NumpyArray::try_from(descriptor).map_err(|error| error.to_string())?;
    // The offset is omitted if the buffer begins with the element that has the lowest address,
    // because this is the default.
    let first = from_byte_strides(descriptor.element_type(), &shape, &strides, None);
    let is_first = first.is_ok_and(|first| first.base_offset() == descriptor.base_offset());
    let offset = if is_first { String::new() } else { format!(" offset={offset}") };
    let shape = tuple(shape.iter().map(ToString::to_string));
    let strides = tuple(strides.iter().map(ToString::to_string));
    Ok(format!("shape={shape} strides={strides} dtype={dtype}{offset}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numpy(text: &str) -> std::result::Result<NumpyArray, StrideError> {
        NumpyArray::try_from(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn names_read_back() {
        for kind in ElementType::ALL {
            assert_eq!(
                numpy_dtype(kind).and_then(NumpyArray::element_type),
                numpy_dtype(kind).map(|_| kind)
            );
        }
    }

    #[test]
    fn byte_strides_and_names() {
        let array = numpy("f64[3,5,7]{0,1,2}").unwrap();
        assert_eq!((array.dtype, array.strides), ("float64", vec![8, 24, 120]));
        let reversed = StrideDescriptor::strided(ElementType::F16, 0, &[3], &[-1], 2).unwrap();
        let array = NumpyArray::try_from(&reversed).unwrap();
        assert_eq!((array.strides, array.offset), (vec![-2], 4));
        assert_eq!(numpy("s4[3]").unwrap().dtype, "int4");
        let error = numpy("s4[3]{0:E(4)}").unwrap_err().to_string();
        assert_eq!(
            error,
            "element_size_in_bits: E(4) is not supported; expected a byte for each element"
        );
        assert!(numpy("f32[8,8]{1,0:T(4,4)}").is_err());
    }
}
