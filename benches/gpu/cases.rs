//! The cases of the GPU benches.

#[path = "../support/permutation.rs"]
mod permutation;

use permutation::Permutation;
use stridec::{Error, Operation, Tensor, shape::ElementType, window::Slice};

/// An operation to time.
pub struct Case {
    pub name: String,
    pub operation: Operation,
}

/// Returns the eight cases of `benches/README.md`, with elements of `element_type`.
///
/// One extent depends on the element type, so that each case has the same number of bytes as with
/// f32.
pub fn eight(element_type: ElementType) -> Result<Vec<Case>, Error> {
    let permutations: [(&str, &[u64], &[usize]); 6] = [
        ("4096x4096 transposed", &[4096, 4096], &[1, 0]),
        ("[8,64,112,112] to NHWC", &[8, 64, 112, 112], &[0, 2, 3, 1]),
        ("[8,112,112,64] to NCHW", &[8, 112, 112, 64], &[0, 3, 1, 2]),
        ("[14,28,48,28,48] by 1,3,0,4,2", &[14, 28, 48, 28, 48], &[1, 3, 0, 4, 2]),
        ("[16,28,28,28,48] reversed", &[16, 28, 28, 28, 48], &[4, 3, 2, 1, 0]),
        ("[8,1024,16,64] by 0,2,1,3", &[8, 1024, 16, 64], &[0, 2, 1, 3]),
    ];
    let mut cases = permutations
        .into_iter()
        .map(|(name, sizes, order)| {
            permutation(name, element_type, &scaled(sizes, element_type), order)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let sizes = scaled(&[4096, 4096], element_type);
    for (name, window, strides) in [
        ("x[:2048, :3072]", [sizes[0] / 2, sizes[1] / 4 * 3], [1, 1]),
        ("x[::2, ::3]", [sizes[0], sizes[1]], [2, 3]),
    ] {
        let slice = Slice::new([0, 0], window, strides);
        let source = Tensor::dense(element_type, sizes.iter().copied())?;
        let operation = Operation::slice(source, &slice, None)?;
        cases.push(Case { name: name.into(), operation });
    }
    Ok(cases)
}

/// Returns sizes with the same number of bytes as with f32. For narrow types the first extent is
/// larger, and for wide types the first divisible one is smaller.
fn scaled(sizes: &[u64], element_type: ElementType) -> Vec<u64> {
    let bits = u64::from(element_type.storage_bits().unwrap_or(32));
    let mut sizes = sizes.to_vec();
    let (grown, shrunk) = (32 / bits.min(32), bits.max(32) / 32);
    sizes[0] *= grown;
    let at = (0..sizes.len()).find(|&d| sizes[d].is_multiple_of(shrunk)).unwrap_or(0);
    sizes[at] /= shrunk;
    sizes
}

/// Returns a transpose as an operation.
pub fn permutation(
    name: &str,
    element_type: ElementType,
    sizes: &[u64],
    order: &[usize],
) -> Result<Case, Error> {
    let (name, sizes, order) = (name.to_owned(), sizes.to_vec(), order.to_vec());
    case(Permutation { name, sizes, order }, element_type)
}

/// Returns the 57 cases of the TTC benchmark, from a file of `benches/data`.
pub fn ttc(json: &str, element_type: ElementType) -> Result<Vec<Case>, Box<dyn std::error::Error>> {
    let cases = permutation::ttc(json)?.into_iter();
    Ok(cases.map(|permutation| case(permutation, element_type)).collect::<Result<_, _>>()?)
}

fn case(permutation: Permutation, element_type: ElementType) -> Result<Case, Error> {
    let [source, destination] = permutation.sides(element_type)?;
    let operation = Operation::relayout(source.try_into()?, destination.try_into()?)?;
    Ok(Case { name: permutation.name, operation })
}
