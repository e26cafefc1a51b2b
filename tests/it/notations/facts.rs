//! Each case is checked by its table, which has the offsets of all indices.

use std::collections::BTreeMap;

use serde_json::Value;
use stridec::{
    Tensor,
    notation::{CuteLayout, Kind, memory_formats, read},
};

use super::table;

/// A line of the file.
struct Fact(Value);

impl Fact {
    fn text(&self, field: &str) -> Option<&str> {
        self.0[field].as_str()
    }

    fn number(&self, field: &str) -> Option<u64> {
        self.0[field].as_u64()
    }

    fn notation(&self) -> &str {
        self.text("notation").unwrap()
    }

    /// Returns the argument for the case, `KIND:TEXT`.
    fn argument(&self) -> String {
        let text = self.text("text").unwrap();
        match (self.notation(), self.text("shape")) {
            ("xla" | "memref", _) => text.to_owned(),
            ("onednn", _) if text.starts_with("dims") => format!("onednn:{text}"),
            ("onednn", _) => format!("onednn:f32{} {text}", self.0["dimensions"]),
            ("directml", _) => format!("dml:{text}"),
            (kind, Some(shape)) => format!("{kind}:{shape} {text}"),
            (kind, None) => format!("{kind}:{text}"),
        }
    }
}

/// Returns zlib's checksum of the offsets as int64, little-endian.
fn crc32(offsets: &[i64]) -> String {
    let bytes = offsets.iter().flat_map(|offset| offset.to_le_bytes());
    let crc = bytes.fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    format!("{:08x}", !crc)
}

/// Checks that the array has the offsets of the case.
fn lies_there(fact: &Fact, array: &Tensor) {
    let tensor = array.descriptor();
    let dimensions: Vec<u64> = serde_json::from_value(fact.0["dimensions"].clone()).unwrap();
    assert_eq!(tensor.sizes(), dimensions);
    // CuTe counts from the pointer, which is at coordinate 0, and not from the first element in
    // memory.
    let from_pointer = fact.notation() == "cute";
    let base = fact.0["offset_of_0"].as_i64().filter(|_| from_pointer).unwrap_or(0);
    for sample in fact.0["samples"].as_array().unwrap() {
        let index: Vec<u64> = serde_json::from_value(sample[0].clone()).unwrap();
        let offset = i64::try_from(tensor.offset(&index).unwrap()).unwrap();
        assert_eq!(offset - base, sample[1].as_i64().unwrap(), "{index:?}");
    }
    assert_eq!(Some(tensor.elements()), fact.number("size"));
    if let Some(crc) = fact.text("crc32") {
        let offsets: Vec<i64> = table(tensor).into_iter().map(|offset| offset - base).collect();
        assert_eq!(crc32(&offsets), crc);
    }
    if let Some(bits) = fact.number("element_bits") {
        assert_eq!(u64::from(tensor.element_bits()), bits);
    }
    if let Some(bytes) = fact.number("bytes") {
        assert_eq!(tensor.image_bytes(), bytes);
    }
    if let Some(memory) = fact.number("memory") {
        assert_eq!(tensor.physical_elements(), memory);
    }
}

/// Reads a text for the array in another notation, and checks that it has the same offsets.
fn is_the_same(array: &Tensor, text: &str) {
    let again = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(again.descriptor().sizes(), array.descriptor().sizes(), "{text}");
    if array.descriptor().elements() < 1 << 18 {
        assert_eq!(table(again.descriptor()), table(array.descriptor()), "{text}");
    }
}

/// Checks a text of another system: it is read, and written as an XLA shape if there is one.
fn layout(fact: &Fact) {
    let argument = fact.argument();
    let (verdict, read) = (fact.text("verdict").unwrap(), read(&argument));
    let array = match read {
        Ok(array) => array,
        Err(error) => {
            assert!(error.offset() <= argument.len());
            assert!(verdict == "none" && fact.text("strided").is_none(), "{error}");
            return;
        }
    };
    lies_there(fact, &array);
    match (verdict, array.write(Kind::Xla)) {
        ("exact" | "padded", text) => {
            is_the_same(&array, &text.unwrap());
            is_the_same(&array, fact.text("xla").unwrap());
        }
        ("none", text) => assert!(text.is_err(), "{text:?}"),
        (_, Ok(text)) => is_the_same(&array, &text),
        (_, Err(error)) => assert!(!error.reason().is_empty()),
    }
    match fact.text("strided") {
        Some(strided) => is_the_same(&array, strided),
        None => assert!(array.descriptor().strides().any(|stride| stride.is_none())),
    }
    if let Some(text) = fact.text("fx")
        && array.descriptor().base_offset() == 0
    {
        is_the_same(&array, &format!("torch:{text}"));
    }
    if let Some(formats) = fact.0["memory_formats"].as_array() {
        assert_eq!(memory_formats(array.descriptor()), formats[..]);
    }
}

/// Checks an XLA shape: it is written in the other notations.
fn written(fact: &Fact) {
    let tensor: Tensor = fact.text("text").unwrap().parse().unwrap();
    let array = tensor;
    lies_there(fact, &array);
    let expected = &fact.0["write"];
    let jax = array.write(Kind::Jax).unwrap();
    assert_eq!(jax.split_once(' ').unwrap().1, expected["jax"]);
    is_the_same(&array, &format!("jax:{jax}"));
    let cute = array.write(Kind::Cute);
    assert_eq!(
        cute.as_ref().ok().and_then(|text| text.rsplit(' ').next()),
        expected["cute"].as_str()
    );
    if let Ok(text) = cute {
        is_the_same(&array, &format!("cute:{text}"));
    }
    let tag = array.write(Kind::OneDnn).map(|text| format!("onednn:{text}"));
    match tag {
        Ok(text) => is_the_same(&array, &text),
        // The tags of the cases are made of oneDNN's letters. Only the tags of its header are
        // written, and only for elements with its own number of bits.
        Err(error) => {
            let reason = error.reason();
            let is_foreign = reason.starts_with("dnnl_types.h has no tag")
                || reason.ends_with(&format!("got {}", array.descriptor().element_bits()));
            assert!(expected["onednn"].is_null() || is_foreign, "{error}");
        }
    }
    if let Some(tag) = expected["onednn"].as_str() {
        is_the_same(&array, &format!("onednn:f32{} {tag}", fact.0["dimensions"]));
    }
    let strides: Vec<Option<i64>> = array.descriptor().strides().collect();
    match expected["strides"].as_array() {
        None => assert!(strides.contains(&None)),
        Some(expected) => {
            for (stride, expected) in strides.into_iter().zip(expected) {
                assert!(expected.is_null() || stride == expected.as_i64());
            }
        }
    }
}

/// Checks an operation of CuTe's algebra.
fn operation(fact: &Fact, name: &str) {
    let args: Vec<&str> =
        fact.0["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let layout = |text: &str| text.parse::<CuteLayout>().unwrap();
    let first = layout(args[0]);
    let result = match name {
        "coalesce" => Ok(first.coalesce()),
        "composition" => first.composition(&layout(args[1])),
        "complement" => first.complement(args[1].parse().unwrap()),
        "logical_product" => first.logical_product(&layout(args[1])),
        "zipped_divide" => {
            // The tilers in `<3:3,(2,4):(1,8)>` begin at a shape outside all tuples.
            let inside = args[1].trim_matches(['<', '>']);
            let at = inside.match_indices(',').map(|found| found.0);
            let cut = at.into_iter().find(|&at| {
                let (before, after) = (&inside[..at], &inside[at + 1..]);
                before.parse::<CuteLayout>().is_ok_and(|_| before.contains(':'))
                    && after.parse::<CuteLayout>().is_ok()
            });
            let (one, other) = inside.split_at(cut.unwrap());
            first.zipped_divide(&[layout(one), layout(&other[1..])])
        }
        "right_inverse" => Ok(first.right_inverse()),
        "left_inverse" => first.left_inverse(),
        _ => panic!("{name}"),
    };
    let Some(expected) = fact.text("result") else {
        assert!(result.is_err(), "{result:?}");
        return;
    };
    let result = result.unwrap();
    assert_eq!(result.to_string(), expected);
    assert_eq!(
        (Some(result.size()), Some(result.cosize())),
        (fact.number("size"), fact.number("cosize"))
    );
    let offsets: Vec<i64> = (0..result.size()).map(|i| result.at(i)).collect();
    assert_eq!(crc32(&offsets), fact.text("crc32_colex").unwrap());
}

/// Checks CuTe's results for a layout as a function of integers.
fn function(fact: &Fact) {
    let Ok(layout) = fact.text("text").unwrap().parse::<CuteLayout>() else { return };
    assert_eq!(Some(layout.size()), fact.number("size"));
    assert_eq!(Some(layout.cosize()), fact.number("cosize"));
    assert_eq!(Some(layout.coalesce().to_string().as_str()), fact.text("coalesced"));
    if let (Some(crc), None) = (fact.text("crc32_colex"), fact.number("offset_of_0")) {
        let offsets: Vec<i64> = (0..layout.size()).map(|i| layout.at(i)).collect();
        assert_eq!(crc32(&offsets), crc);
    }
}

fn check(fact: &Fact) {
    if let Some(name) = fact.text("op") {
        return operation(fact, name);
    }
    match fact.notation() {
        "cute" => {
            function(fact);
            layout(fact);
        }
        "xla" => written(fact),
        _ => layout(fact),
    }
}

#[test]
fn every_case() {
    let text = include_str!("../../data/notation_facts.jsonl");
    let (mut checked, mut failed) = (BTreeMap::<String, usize>::new(), Vec::new());
    for line in text.lines() {
        let fact = Fact(serde_json::from_str(line).unwrap());
        let notation = fact.notation().to_owned();
        let result = std::panic::catch_unwind(|| check(&fact));
        if result.is_err() {
            failed.push(fact.text("id").unwrap().to_owned());
        }
        *checked.entry(notation).or_default() += 1;
    }
    println!("{checked:?}");
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(checked.values().sum::<usize>(), 167, "{checked:?}");
}

/// Bytes in front of the data move every element. Only XLA's notation can express them.
#[test]
fn a_prefix_is_not_lost() {
    for text in ["f32[2,3]{1,0:M(8)}", "f32[16,256]{1,0:T(8,128)M(8)}", "s4[8]{0:E(4)M(4)}"] {
        let array = read(text).unwrap();
        for kind in Kind::ALL {
            match array.write(kind) {
                Ok(text) => assert_eq!((kind, read(&text).unwrap()), (Kind::Xla, array.clone())),
                Err(error) => {
                    assert!(
                        error.reason().contains("bytes lie before the data"),
                        "{kind}: {error}"
                    );
                }
            }
        }
    }
    // Without the prefix, each notation decides whether it can express the layout.
    assert!(read("f32[16,256]{1,0:T(8,128)}").unwrap().write(Kind::Jax).is_ok());
}
