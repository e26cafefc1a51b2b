//! Conversions of elements: the cases of `tests/data/relayout_convert_cases.jsonl` and
//! `tests/data/convert_cases.jsonl`, all values of narrow types, and random relayouts between two
//! types.

use std::fs;

use serde_json::Value;
use stridec::{
    Operation, Tensor,
    nest::Conversion,
    shape::{ElementType, Shape},
};

use super::{base64, hlo_cases::HloCase, random::Random};

/// Returns the types that can be converted.
pub fn types() -> Vec<ElementType> {
    let other = |of| if of == ElementType::F32 { ElementType::F64 } else { ElementType::F32 };
    ElementType::ALL.into_iter().filter(|&of| Conversion::new(of, other(of)).is_some()).collect()
}

/// Returns true if the bits are a NaN of a type.
fn is_nan(element_type: ElementType, bits: u64) -> bool {
    use ElementType as E;
    let ieee = |bits: u64, sign: u32, infinity: u64| bits & ((1 << sign) - 1) > infinity;
    match element_type {
        E::F64 => ieee(bits, 63, 0x7ff0 << 48),
        E::F32 => ieee(bits, 31, 0x7f80_0000),
        E::F16 => ieee(bits, 15, 0x7c00),
        E::Bf16 => ieee(bits, 15, 0x7f80),
        E::F8e5m2 => ieee(bits, 7, 0x7c),
        E::F8e4m3fn => bits & 0x7f == 0x7f,
        _ => false,
    }
}

/// Returns true if two images of elements of a type are equal. If `any_nan`, every NaN is equal to
/// every other. Elements of 4 bits in bytes may have any high bits.
fn are_equal(element_type: ElementType, bits: u32, any_nan: bool, a: &[u8], b: &[u8]) -> bool {
    let bytes = usize::try_from(bits / 8).unwrap().max(1);
    let number =
        |unit: &[u8]| unit.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    a.len() == b.len()
        && a.chunks(bytes).zip(b.chunks(bytes)).all(|(a, b)| {
            let (a, b) = (number(a), number(b));
            let low = match element_type {
                ElementType::S4 | ElementType::U4 if bits == 8 => 0xf,
                _ => u64::MAX,
            };
            let nan = |bits| is_nan(element_type, bits);
            a & low == b & low || any_nan && nan(a) && nan(b)
        })
}

/// Runs the relayouts between two types, and compares their results.
pub fn check_relayouts(mut run: impl FnMut(&Operation, &[u8]) -> Vec<u8>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/relayout_convert_cases.jsonl");
    let mut count = 0;
    let mut faults = Vec::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap();
        let [source, destination] = ["from", "to"].map(|key| text(key).parse::<Tensor>().unwrap());
        let (element_type, bits) =
            (destination.descriptor().element_type(), destination.descriptor().element_bits());
        let operation = Operation::relayout(source, destination).unwrap();
        let out = run(&operation, &base64::decode(text("input")));
        let expected = base64::decode(text("output"));
        if !are_equal(element_type, bits, text("nan") == "any", &out, &expected) {
            faults.push(format!("{}: {out:02x?}, expected {expected:02x?}", text("id")));
        }
        count += 1;
    }
    assert!(
        faults.is_empty(),
        "{} of {count}\n{}",
        faults.len(),
        faults[..faults.len().min(9)].join("\n")
    );
    assert!(count > 250, "{count}");
}

/// Returns true if a program gave the outputs that a case of `convert_cases.jsonl` expects.
pub fn has_outputs(case: &HloCase, outputs: &[Vec<u8>]) -> bool {
    let expected = case.outputs();
    let described = case.record["outputs"].as_array().unwrap();
    expected.len() == outputs.len()
        && described.iter().zip(&expected).zip(outputs).all(|((described, expected), output)| {
            let shape: Shape = described["shape"].as_str().unwrap().parse().unwrap();
            let element_type = shape.element_type();
            let bits = shape.layout().map_or(0, |layout| layout.element_size_in_bits);
            let bits = match bits {
                0 => element_type.storage_bits().unwrap(),
                bits => u32::try_from(bits).unwrap(),
            };
            are_equal(element_type, bits, case.record["nan"] == "any", output, expected)
        })
}

/// Returns an image with every value of a type of at most 16 bits, or with special and random
/// values of a wider type.
pub fn values(element_type: ElementType, count: usize, random: &mut Random) -> Vec<u8> {
    let bits = element_type.storage_bits().unwrap();
    let bytes = usize::try_from(bits / 8).unwrap();
    let values: Vec<u64> = if bits <= 16 {
        (0..1 << bits).collect()
    } else {
        let near = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, !0 << bit, !0 >> bit]);
        let near = near.flat_map(|of| [of, of.wrapping_neg(), of | 1 << 31, of | 1 << 63]);
        let mut values: Vec<u64> = near.collect();
        while values.len() < count {
            // Numbers with few digits, halves between two others, and numbers of every magnitude.
            let (number, shift) = (random.next(), random.below(64));
            values.push(match random.below(4) {
                0 => number,
                1 => number >> shift,
                2 => (number >> shift << shift) | (1 << shift >> 1),
                _ => number & random.next() & random.next(),
            });
        }
        values
    };
    values.iter().flat_map(|of| of.to_le_bytes().into_iter().take(bytes)).collect()
}

/// Returns the image after each of its elements was converted separately.
pub fn converted(conversion: Conversion, image: &[u8]) -> Vec<u8> {
    let [from, to] = [conversion.from(), conversion.to()]
        .map(|of| usize::try_from(of.storage_bits().unwrap() / 8).unwrap());
    let unit = |unit: &[u8]| unit.iter().rev().fold(0, |unit, &byte| unit << 8 | u128::from(byte));
    let elements = image.chunks_exact(from).map(|of| conversion.apply(unit(of)));
    elements.flat_map(|of| of.to_le_bytes().into_iter().take(to)).collect()
}

/// Returns the destination of an operation that the host runs. Its bytes are garbage before.
pub fn copied(operation: &Operation, image: &[u8]) -> Vec<u8> {
    let mut out = vec![0xa5; usize::try_from(operation.nest().dst_bytes()).unwrap()];
    operation.run_on_host(image, &mut out).unwrap();
    out
}

/// Returns the sizes of an array of a random rank from 1 to 4.
pub fn random_sizes(random: &mut Random) -> Vec<u64> {
    let rank = 1 + usize::try_from(random.below(4)).unwrap();
    let most = [400, 40, 14, 8][rank - 1];
    (0..rank).map(|_| 1 + random.below(most)).collect()
}

/// Returns a tensor with the default layout.
pub fn plain(element_type: ElementType, sizes: &[u64]) -> Tensor {
    Shape::new(element_type, sizes.iter().copied(), None).unwrap().try_into().unwrap()
}

/// A random relayout between two types.
pub struct ConvertingRelayout {
    pub operation: Operation,
    /// The image of the source.
    pub image: Vec<u8>,
    /// The image of the destination.
    pub expected: Vec<u8>,
    /// The elements after the conversion in the default layout, and the relayout from there to the
    /// destination.
    pub elements: Vec<u8>,
    pub placed: Operation,
}

/// Returns a random relayout between two types.
pub fn random_relayout(random: &mut Random) -> ConvertingRelayout {
    let all = types();
    let (from, to) = loop {
        let types = (random.pick(&all), random.pick(&all));
        if types.0 != types.1 {
            break types;
        }
    };
    let sizes = random_sizes(random);
    let [source, destination] = [from, to].map(|element_type| layout(element_type, &sizes, random));
    let plain = |element_type| plain(element_type, &sizes);
    let operation = Operation::relayout(source.clone(), destination.clone()).unwrap();
    let bytes = operation.nest().sources()[0].bytes();
    let image = random.bytes(bytes);
    // The expected result is computed in three steps. The second step converts each element
    // separately.
    let dense = copied(&Operation::relayout(source, plain(from)).unwrap(), &image);
    let elements = converted(Conversion::new(from, to).unwrap(), &dense);
    let placed = Operation::relayout(plain(to), destination).unwrap();
    let expected = copied(&placed, &elements);
    ConvertingRelayout { operation, image, expected, elements, placed }
}

/// Returns a tensor of these sizes with a random layout: any order, tiles, packed elements or
/// padding.
pub fn layout(element_type: ElementType, sizes: &[u64], random: &mut Random) -> Tensor {
    let order: Vec<String> = random.permutation(sizes.len()).iter().map(usize::to_string).collect();
    let dimensions: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let bits = element_type.bits().unwrap();
    let mut rest = String::new();
    if random.one_in(8) {
        // Elements may have more room than they need.
        rest += &format!("E({})", random.pick(&[64, 128]));
    } else if !random.one_in(3) && matches!(bits, 2 | 4) {
        rest += &format!("E({bits})");
    }
    if random.one_in(3) {
        let tile = [1 + random.below(6), 1 + random.below(9)];
        rest = format!("T({},{}){rest}", tile[0], tile[1]);
        if sizes.len() == 1 {
            rest = rest.replace(&format!("{},", tile[0]), "");
        }
    } else if random.one_in(3) {
        let padded: Vec<String> =
            sizes.iter().map(|size| (size + random.below(3)).to_string()).collect();
        let value = random.pick(&["lowest", "highest"]);
        rest += &format!("PAD({},{value})", padded.join(","));
    }
    let text = format!(
        "{element_type}[{}]{{{}{}{rest}}}",
        dimensions.join(","),
        order.join(","),
        if rest.is_empty() { "" } else { ":" }
    );
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
