//! Conversions of elements on the host: cases with results of XLA and of a model, all values of
//! narrow types, and random layouts.

use serde_json::Value;
use stridec::{
    Operation,
    hlo::Module,
    nest::{Conversion, Gaps},
    program::Program,
    shape::{ElementType, Shape},
};

use super::support::{
    conversions::{
        ConvertingRelayout, check_relayouts, converted, copied, has_outputs, random_relayout,
        types, values,
    },
    hlo_cases::convert_cases,
    random::Random,
    scope::cases,
};

#[test]
fn relayouts_between_types_are_exact() {
    check_relayouts(copied);
}

#[test]
fn modules_that_convert_are_exact() {
    let mut faults = Vec::new();
    let mut count = 0;
    for case in convert_cases() {
        let inputs = case.inputs();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let ran = case.lower().and_then(|program| Ok(program.run_on_host(&inputs)?));
        match ran {
            Ok(outputs) if has_outputs(case, &outputs) => count += 1,
            Ok(_) => faults.push(format!("{}: other bytes", case.id)),
            Err(error) => faults.push(format!("{}: {error}", case.id)),
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {}\n{}",
        faults.len(),
        faults.len() + count,
        faults.join("\n")
    );
}

/// Compares all values of types of at most 16 bits with a table that was made by
/// `tests/data/convert_crcs.py` from `ml_dtypes`.
#[test]
fn all_values_of_narrow_types_agree_with_another_implementation() {
    let mut count = 0;
    for line in include_str!("../data/convert_crcs.jsonl").lines() {
        let fact: Value = serde_json::from_str(line).unwrap();
        let kind = |key: &str| ElementType::from_name(fact[key].as_str().unwrap()).unwrap();
        let conversion = Conversion::new(kind("from"), kind("to")).unwrap();
        let image = values(conversion.from(), 0, &mut Random(0));
        let out = converted(conversion, &image);
        let crc = format!("{:08x}", super::support::hlo_cases::crc32(&out));
        assert_eq!(fact["crc32"], crc, "{conversion}");
        count += 1;
    }
    assert!(count > 500, "{count}");
}

/// Compares the loops of the host with the definition of a conversion: for all values of narrow
/// types, many values of wide ones, and arrays of many lengths.
#[test]
fn movers_convert_as_defined() {
    let mut random = Random(39);
    for from in types() {
        let image = values(from, 4096, &mut random);
        for to in types().into_iter().filter(|&to| to != from) {
            let conversion = Conversion::new(from, to).unwrap();
            let count = image.len() as u64 * 8 / u64::from(from.storage_bits().unwrap());
            let shape = |kind| Shape::new(kind, [count], None).unwrap().try_into().unwrap();
            let operation = Operation::relayout(shape(from), shape(to)).unwrap();
            assert!(copied(&operation, &image) == converted(conversion, &image), "{conversion}");
        }
    }
}

#[test]
fn random_layouts_between_types() {
    let mut random = Random(3901);
    for _ in 0..cases(3000) {
        let ConvertingRelayout { operation, image, expected, elements, placed } =
            random_relayout(&mut random);
        assert!(copied(&operation, &image) == expected, "{}", operation.title());
        // If gaps are kept, only elements are written.
        let [operation, placed] = [operation, placed].map(|of| of.with_gaps(Gaps::Keep));
        let (out, expected) = (copied(&operation, &image), copied(&placed, &elements));
        assert!(out == expected, "{}", operation.title());
    }
}

/// Tensors that are large enough to be divided among threads.
#[test]
fn large_images() {
    for (from, to) in [
        ("u8[701,512,3]{2,1,0}", "f32[701,512,3]{1,0,2}"),
        ("f32[1025,513]{1,0}", "bf16[1025,513]{1,0:T(8,128)(2,1)}"),
        ("f16[65,31,511]{2,1,0}", "f32[65,31,511]{0,1,2}"),
        ("s64[600001]", "s32[600001]"),
        ("s4[1001,803]{1,0:E(4)}", "bf16[1001,803]{0,1}"),
        ("f32[403,707]{1,0}", "u4[403,707]{0,1:E(4)PAD(404,709,highest)}"),
    ] {
        let [source, destination] = [from, to].map(|text| text.parse().unwrap());
        let operation = Operation::relayout(source, destination).unwrap();
        let image = Random(7).bytes(operation.nest().sources()[0].bytes());
        let out = copied(&operation, &image);
        let element = |image: &[u8], at: u64, bits: u32| {
            let (byte, bit) =
                (usize::try_from(at * u64::from(bits) / 8).unwrap(), at * u64::from(bits) % 8);
            let bytes = usize::try_from(bits.div_ceil(8)).unwrap();
            let unit = image[byte..byte + bytes]
                .iter()
                .rev()
                .fold(0_u128, |of, &byte| of << 8 | u128::from(byte));
            unit >> bit & (u128::MAX >> (128 - bits))
        };
        let (source, destination) =
            (operation.source_descriptor(), operation.destination_descriptor());
        let conversion =
            Conversion::new(source.element_type(), destination.element_type()).unwrap();
        let mut random = Random(8);
        for _ in 0..20_000 {
            let index: Vec<u64> = source.sizes().iter().map(|&size| random.below(size)).collect();
            let [at, to] = [source, destination].map(|of| of.offset(&index).unwrap());
            let expected = conversion.apply(element(&image, at, source.element_bits()));
            let expected = expected & (u128::MAX >> (128 - destination.element_bits()));
            let given = element(&out, to, destination.element_bits());
            assert_eq!(given, expected, "{} {index:?}", operation.title());
        }
    }
}

/// One operand of a `select` passes through two conversions and the other through one. The two must
/// not be merged for both operands.
#[test]
fn conversions_of_one_operand_are_not_those_of_the_other() {
    let text = "HloModule m
        ENTRY e {
          x = f8e4m3fn[4] parameter(0)
          p = pred[] parameter(1)
          holds = pred[4] convert(x)
          one = f8e4m3fn[4] convert(holds)
          chosen = f8e4m3fn[4] select(p, x, one)
          ROOT whole = s32[4] convert(chosen)
        }";
    let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
    // 2, 0.5, 0 and -3.
    let x = [0x40, 0x30, 0, 0xc4];
    for (p, expected) in [(1, [2, 0, 0, -3]), (0, [1, 1, 0, 1])] {
        let out = program.run_on_host(&[&x, &[p]]).unwrap();
        assert_eq!(out[0], expected.map(i32::to_le_bytes).concat(), "{p}");
    }
}
