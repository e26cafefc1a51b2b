//! The way of an element: the instructions from a result back to its origin. By the oracle, the
//! value of every instruction on the way, and the origin, contain the same bit.

use std::collections::{BTreeMap, HashMap};

use stridec::{
    hlo::{Module, Opcode},
    program::{BufferId, Origin, Ways},
};

use super::support::{
    hlo_cases::hlo_cases,
    programs::{
        generate,
        interpreter::{self, Value as Seen, from_image, indices},
    },
    random::Random,
    scope,
};

/// The totals over several modules.
#[derive(Default)]
struct Counts {
    ways: u64,
    instructions: u64,
    longest: usize,
    constants: u64,
}

/// Follows some elements of every result.
fn check(
    name: &str,
    module: &Module,
    images: &[Vec<u8>],
    random: &mut Random,
    counts: &mut Counts,
) {
    let Ok(ways) = Ways::new(module) else { return };
    let borrowed: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let ways = ways.with_parameters(&borrowed).unwrap();
    // A computation that is called twice has two values, so it is not compared.
    let mut values: HashMap<[usize; 2], Option<Seen>> = HashMap::new();
    let results = interpreter::run_seeing(module, images, &mut |computation, place, value| {
        let seen = values.entry([computation, place]);
        seen.and_modify(|seen| *seen = None).or_insert_with(|| Some(value.clone()));
    });
    for (result, image) in results.expect("an interpreter of all of it").iter().enumerate() {
        let shape = ways.program().results()[result].shape();
        let array = from_image(shape, image);
        let width = shape.element_type().bits().unwrap();
        let count = indices(&array.sizes).count();
        for index in indices(&array.sizes) {
            if count > 40 && random.below(count as u64) >= 40 {
                continue;
            }
            let bit = u32::try_from(random.below(width.into())).unwrap();
            let place = || format!("{name}: result {result} at {index:?}, bit {bit}");
            let expected = array.at(&index) >> bit & 1;
            let way = ways.way(result, &index, bit).unwrap_or_else(|| panic!("{}", place()));
            let mut is_converted = false;
            for passed in &way.passed {
                let of = &module.computations()[passed.computation];
                let instruction = &of.instructions()[passed.instruction];
                // After a conversion, only the indices of elements are compared, and not their
                // bits.
                is_converted |= matches!(instruction.opcode(), Opcode::Convert);
                if is_converted {
                    continue;
                }
                let seen = values.get(&[passed.computation, passed.instruction]);
                if let Some(Some(Seen::Array(seen))) = seen {
                    let found = seen.at(&passed.index) >> passed.bit & 1;
                    assert_eq!(found, expected, "{}: {instruction:?} {passed:?}", place());
                    counts.instructions += 1;
                }
            }
            let last = way.passed.last().unwrap();
            let instructions = module.computations()[last.computation].instructions();
            match way.origin {
                Origin::Parameter { number, bit, ref index } => {
                    let opcode = instructions[last.instruction].opcode();
                    assert!(matches!(opcode, Opcode::Parameter { .. }), "{}", place());
                    let byte = images[number][usize::try_from(bit / 8).unwrap()];
                    let found = u128::from(byte >> (bit % 8) & 1);
                    assert!(is_converted || found == expected, "{}", place());
                    let buffer = ways.program().buffer(BufferId::Parameter(number)).unwrap();
                    let of = buffer.descriptor();
                    let first = of.prefix_bytes() * 8
                        + of.offset(index).unwrap() * u64::from(of.element_bits());
                    assert!((first..first + 128).contains(&bit), "{}", place());
                }
                Origin::Constant { bits } => {
                    assert!(is_converted || bits & 1 == expected, "{}", place());
                    counts.constants += 1;
                }
            }
            counts.ways += 1;
            counts.longest = counts.longest.max(way.passed.len());
        }
        if !array.sizes.is_empty() {
            assert_eq!(ways.way(result, &array.sizes, 0), None, "past the end");
        }
    }
}

fn report(counts: &Counts) {
    let Counts { ways, instructions, longest, constants } = counts;
    println!(
        "{ways} ways through {instructions} instructions, up to {longest} each; {constants} from constants"
    );
}

#[test]
fn every_instruction_on_the_way_has_the_element() {
    let mut random = Random(16);
    let (mut counts, mut needs) = (Counts::default(), BTreeMap::<String, u64>::new());
    for case in hlo_cases().iter().filter(|case| case.is_ok()) {
        let module = Module::decode(&case.bytes).unwrap();
        let before = counts.ways;
        check(&case.id, &module, &case.inputs(), &mut random, &mut counts);
        *needs.entry(case.needs()).or_default() += counts.ways - before;
    }
    report(&counts);
    println!("{needs:?}");
    assert!(counts.ways > 10_000 && counts.longest > 8);
}

#[test]
fn ways_through_random_programs() {
    let mut counts = Counts::default();
    for seed in 0..scope::cases(400) {
        let mut random = Random((seed << 32) + 9);
        let module = generate::module(&mut random);
        let images = generate::images(&mut random, &module);
        check(&format!("random program {seed}"), &module, &images, &mut random, &mut counts);
    }
    report(&counts);
}

/// Arrays of indices that are larger than any memory, as a parameter and in a scratch buffer. If no
/// contents are given, no memory is allocated for them.
#[test]
fn ways_of_indices_of_any_size_take_no_memory() {
    for indices in ["i", "j"] {
        let text = format!(
            "ENTRY main {{
               x = f32[1000] parameter(0)
               i = s32[1000000,30000,1] parameter(1)
               j = s32[1000000,30000,1] reverse(i), dimensions={{0}}
               ROOT g = f32[1000000,30000] gather(x, {indices}), offset_dims={{}},
                 collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=2,
                 slice_sizes={{1}}
             }}"
        );
        let module = Module::parse(&text).unwrap();
        let ways = Ways::new(&module).unwrap();
        let way = ways.way(0, &[999_999, 29_999], 0).unwrap();
        assert_eq!(way.origin, Origin::Parameter { number: 0, index: vec![0], bit: 0 });
        assert_eq!(ways.lookup_buffers(0).len(), 1, "{text}");
    }
}
