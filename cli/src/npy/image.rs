//! Decides if the array in a `.npy` file has the same bytes as a tensor in memory.

use stridec::{
    shape::{Layout, Shape},
    stride::StrideDescriptor,
};

use super::{Header, descr};

/// The maximum number of extents that a message lists.
const MAX_SHOWN: usize = 16;

/// Returns the header for a `.npy` file that contains the image of a tensor.
///
/// The array in the file has the dimensions of the tensor's memory, such as `[2, 3, 1, 5, 8]` for
/// `f32[2,24,1,5]{3,2,1,0:T(8,1,1)}`. If the memory does not form such an array, the file has one
/// dimension of elements. It has one dimension of bytes if elements are smaller than a byte or
/// follow a prefix.
pub(crate) fn header_of(tensor: &StrideDescriptor) -> Header {
    let header = |descr: String, shape| Header { descr, fortran_order: false, shape };
    if tensor.element_bits() < 8 || tensor.prefix_bytes() > 0 {
        return header("|u1".into(), vec![tensor.image_bytes()]);
    }
    let shape = tensor.array_dimensions().unwrap_or_else(|| vec![tensor.physical_elements()]);
    header(descr::of(tensor), shape)
}

/// The role of a tensor whose image is in a file, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOf {
    /// The source of an operation.
    Source,
    /// A parameter of a program, by its index.
    Parameter(usize),
    /// The table of an operation.
    Table,
}

impl std::fmt::Display for FileOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Source => f.write_str("the source"),
            Self::Parameter(number) => write!(f, "parameter {number}"),
            Self::Table => f.write_str("the table"),
        }
    }
}

/// Checks that the array in a file is the image of a tensor. It can have the dimensions of the
/// tensor's memory, or the dimensions of the tensor itself if the file can describe the order of
/// its layout.
///
/// # Errors
///
/// Returns a message with the expected dtype or extents if the array is another one.
pub(crate) fn check(header: &Header, tensor: &StrideDescriptor, of: FileOf) -> Result<(), String> {
    descr::check_byte_order(&header.descr)?;
    let image = header_of(tensor);
    let bytes = tensor.element_bits() < 8 || tensor.prefix_bytes() > 0;
    let holds =
        if bytes { header.descr == image.descr } else { descr::holds(tensor, &header.descr) };
    if !holds {
        return Err(format!(
            "expected the dtype '{}' for the elements of {of}{}, got '{}'",
            image.descr,
            if bytes { ", whose memory is bytes" } else { "" },
            header.descr.escape_debug()
        ));
    }
    // Tiles may add dimensions of extent 1. A file may have these dimensions, or leave them out.
    let with_tiles = tensor.physical_dimensions().filter(|_| !bytes);
    let is_memory = header.shape == image.shape || with_tiles.as_ref() == Some(&header.shape);
    let physical = is_memory
        && (!header.fortran_order
            || header.shape.iter().filter(|&&extent| extent != 1).count() < 2);
    if physical || !bytes && is_logical(header, tensor) {
        return Ok(());
    }
    let logical = match file_order(tensor) {
        Some(order) if !bytes && (tensor.sizes() != image.shape || order != "C") => {
            format!(", or of {} in {order} order (its elements)", shown(tensor.sizes()))
        }
        _ => String::new(),
    };
    let own = match (tensor_of(header), of) {
        (Ok(shape), _)
            if shape.element_type() != tensor.element_type() || header.shape != tensor.sizes() =>
        {
            String::new()
        }
        (Ok(shape), FileOf::Source) => {
            format!("; for this array, leave --from out or give --from '{shape}'")
        }
        (Ok(_), FileOf::Parameter(_)) if header.fortran_order => {
            "; for this array, save numpy.ascontiguousarray of it".to_owned()
        }
        (Ok(_), FileOf::Parameter(_)) => "; --layouts default takes this array".to_owned(),
        (Ok(_), FileOf::Table) | (Err(_), _) => String::new(),
    };
    Err(format!(
        "an array of {} in {} order; expected one of {} in C order (the memory of {of}){logical}{own}",
        shown(&header.shape),
        if header.fortran_order { "Fortran" } else { "C" },
        shown(&image.shape),
    ))
}

/// Returns true if the array in a file is a storage that begins with a tensor's memory. Such an
/// array has one dimension, with at least as many elements as the memory.
pub(crate) fn is_storage(header: &Header, tensor: &StrideDescriptor) -> bool {
    let [elements] = header.shape[..] else { return false };
    elements >= tensor.physical_elements()
        && descr::check_byte_order(&header.descr).is_ok()
        && tensor.element_bits() >= 8
        && tensor.prefix_bytes() == 0
        && descr::holds(tensor, &header.descr)
}

/// Formats extents for a message, shortened if there are many.
fn shown(extents: &[u64]) -> String {
    match extents {
        _ if extents.len() > MAX_SHOWN => {
            let start = format!("{:?}", &extents[..MAX_SHOWN]);
            format!("{}, … {} in all]", start.trim_end_matches(']'), extents.len())
        }
        _ => format!("{extents:?}"),
    }
}

/// Returns true if a tensor's memory is a plain array: all elements in row-major order, without
/// padding, gaps or a prefix.
pub(crate) fn is_array(tensor: &StrideDescriptor) -> bool {
    header_of(tensor).shape == tensor.sizes() && lies_in_order(tensor, false)
}

/// Returns true if the array in a file has the extents of the tensor, and stores its elements in
/// the order of the tensor's layout.
fn is_logical(header: &Header, tensor: &StrideDescriptor) -> bool {
    header.shape == tensor.sizes() && lies_in_order(tensor, header.fortran_order)
}

/// Returns the order, `C` or `Fortran`, in which a file can describe the tensor's memory. Returns
/// `None` if neither order does.
fn file_order(tensor: &StrideDescriptor) -> Option<&'static str> {
    match (lies_in_order(tensor, false), lies_in_order(tensor, true)) {
        (true, _) => Some("C"),
        (false, true) => Some("Fortran"),
        (false, false) => None,
    }
}

/// Returns true if the tensor's memory contains nothing but its elements, with the last dimension
/// most minor. If `fortran_order` is true, the first dimension must be most minor instead.
fn lies_in_order(tensor: &StrideDescriptor, fortran_order: bool) -> bool {
    if tensor.elements() == 0 {
        return tensor.physical_elements() == 0;
    }
    let strides: Vec<Option<i64>> = tensor.strides().collect();
    let mut dimensions: Vec<usize> = (0..tensor.rank()).collect();
    if !fortran_order {
        dimensions.reverse();
    }
    let mut expected = 1_i64;
    tensor.is_packed()
        && dimensions.into_iter().all(|dimension| {
            let extent = tensor.sizes()[dimension];
            let fits = extent == 1 || strides[dimension] == Some(expected);
            expected = expected.saturating_mul(i64::try_from(extent).unwrap_or(i64::MAX));
            fits
        })
}

/// Returns the shape of the array that a header describes.
pub(crate) fn tensor_of(header: &Header) -> Result<Shape, String> {
    descr::check_byte_order(&header.descr)?;
    let element_type = descr::element_type(&header.descr)?;
    let layout = header.fortran_order.then(|| Layout::new(0..header.shape.len()));
    Shape::new(element_type, header.shape.iter().copied(), layout)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use stridec::shape::StridedShape;

    use super::*;

    fn tensor(text: &str) -> StrideDescriptor {
        let shape: Shape = text.parse().unwrap();
        StrideDescriptor::try_from(&shape).unwrap()
    }

    fn accepts(text: &str, fortran_order: bool, shape: &[u64]) -> bool {
        let descr = header_of(&tensor(text)).descr;
        let header = Header { descr, fortran_order, shape: shape.to_vec() };
        check(&header, &tensor(text), FileOf::Source).is_ok()
    }

    #[test]
    fn memory_that_is_no_array_of_the_extents_is_one_dimension() {
        assert_eq!(header_of(&tensor("f32[2,24,1,5]{3,2,1,0:T(8,1,1)}")).shape, [2, 3, 1, 5, 8]);
        assert_eq!(header_of(&tensor("f32[3]{0:L(8)}")).shape, [8]);
        assert_eq!(header_of(&tensor("f32[3]{0:M(4)}")).shape, [16]);
        assert_eq!(header_of(&tensor("s4[3]{0:E(4)}")).shape, [2]);
    }

    #[test]
    fn the_array_is_the_memory_or_the_tensor_in_the_layouts_order() {
        assert!(accepts("f32[2,3]{1,0}", false, &[2, 3]));
        assert!(!accepts("f32[2,3]{1,0}", true, &[2, 3]));
        assert!(!accepts("f32[2,3]{1,0}", false, &[6]));
        assert!(accepts("f32[2,3]{0,1}", false, &[3, 2]));
        assert!(accepts("f32[2,3]{0,1}", true, &[2, 3]));
        assert!(!accepts("f32[2,3]{0,1}", false, &[2, 3]));
        assert!(!accepts("f32[2,3]{0,1}", true, &[3, 2]));
        assert!(accepts("f32[1,3]{0,1}", false, &[1, 3]));
        assert!(accepts("f32[2,3]{0,1:PAD(3,5,zero)}", false, &[5, 3]));
        assert!(!accepts("f32[2,3]{0,1:PAD(3,5,zero)}", true, &[2, 3]));
        assert!(accepts("f32[3,5]{1,0:T(2,2)}", false, &[2, 3, 2, 2]));
        // Accept nChw8c with the dimensions that numpy users expect, and with the dimensions of
        // XLA's tile.
        assert!(accepts("f32[2,24,1,5]{3,2,1,0:T(8,1,1)}", false, &[2, 3, 1, 5, 8]));
        assert!(accepts("f32[2,24,1,5]{3,2,1,0:T(8,1,1)}", false, &[2, 3, 1, 5, 8, 1, 1]));
        assert!(!accepts("f32[2,24,1,5]{3,2,1,0:T(8,1,1)}", false, &[2, 24, 1, 5]));
        assert!(!accepts("f32[4,4]{1,0:T(2,2)}", false, &[4, 4]));
        assert!(accepts("s4[4,4]{1,0:E(4)}", false, &[8]));
        assert!(!accepts("s4[4,4]{1,0:E(4)}", false, &[4, 4]));
        assert!(accepts("f32[]", true, &[]));
        // An array with the logical extents in another order must not be accepted as the memory.
        assert!(!accepts("f32[2,1,2]{0,2,1}", false, &[2, 1, 2]));
        assert!(accepts("f32[2,1,2]{0,2,1}", false, &[1, 2, 2]));
    }

    #[test]
    fn a_storage_may_be_larger() {
        let rows: StridedShape = "u8[4,4,4] strided<[256,4,1]>".parse().unwrap();
        let rows = StrideDescriptor::try_from(&rows).unwrap();
        for (shape, descr, expected) in [
            (&[1024][..], "|u1", true),
            (&[784], "|u1", true),
            (&[783], "|u1", false),
            (&[1024], "<u2", false),
            (&[4, 256], "|u1", false),
        ] {
            let header =
                Header { descr: descr.into(), fortran_order: false, shape: shape.to_vec() };
            assert_eq!(is_storage(&header, &rows), expected, "{shape:?} {descr}");
        }
    }

    #[test]
    fn a_header_gives_the_shape() {
        let header = |fortran_order| {
            tensor_of(&Header { descr: "<f4".into(), fortran_order, shape: vec![2, 3] })
        };
        assert_eq!(header(false).unwrap().to_string(), "f32[2,3]");
        assert_eq!(header(true).unwrap().to_string(), "f32[2,3]{0,1}");
    }
}
