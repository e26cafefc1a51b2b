//! Conversions of constants at compile time, compared with the results of XLA's CPU backend in
//! `convert_facts.jsonl`.
//!
//! Elements are in hexadecimal, little-endian, with a byte for each element below 8 bits. The
//! values 6 and -6 of `f4e2m1fn` as `s8` are left out, because that backend converts them to 127
//! and -128. The facts were recorded with JAX 0.10.2. The types of 6 bits, which XLA does not
//! compile, were recorded with `ml_dtypes` 0.6.0.

use serde_json::Value;
use stridec::{
    hlo::{Builder, Literal, Opcode},
    program::Program,
    shape::{ElementType, Shape},
};

/// Returns the bytes of a number in hexadecimal.
pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

#[test]
fn constants_are_converted_as_xla_converts() {
    let mut types = std::collections::BTreeSet::new();
    for line in include_str!("../../data/convert_facts.jsonl").lines() {
        let fact: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| fact[key].as_str().unwrap();
        let [from, to] = ["from", "to"].map(|key| ElementType::from_name(text(key)).unwrap());
        let [given, expected] = ["given", "bits"].map(|key| bytes(text(key)));
        let width = |kind: ElementType| kind.storage_bits().unwrap() as usize / 8;
        let count = given.len() / width(from);
        assert_eq!(expected.len(), count * width(to));
        let shape = |kind| Shape::new(kind, [count as u64], None).unwrap();
        let mut builder = Builder::new("constants");
        let literal = Literal::new(&shape(from), given.clone()).unwrap();
        let constant = builder.add(Opcode::Constant(literal.into()), &[]).unwrap();
        let converted = builder.add_as(Opcode::Convert, &[constant], shape(to)).unwrap();
        let module = builder.finish("main", converted).unwrap();
        let outputs = Program::lower(&module).unwrap().run_on_host(&[]).unwrap();
        let elements = expected.chunks(width(to)).zip(outputs[0].chunks(width(to)));
        for ((expected, got), given) in elements.zip(given.chunks(width(from))) {
            assert_eq!(got, expected, "{given:x?} of {from} as {to}");
        }
        types.insert(to.name());
    }
    println!("{} types", types.len());
    assert_eq!(types.len(), 17, "{types:?}");
}
