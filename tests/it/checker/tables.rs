//! Kernels that look elements up in a table.

use super::{
    check::check,
    support::{
        random::Random,
        scope::cases,
        tables::{TableRelayout, random_table_relayout},
    },
};

#[test]
fn random_tables_are_checked() {
    let mut random = Random(3923);
    for _ in 0..cases(150) {
        let table = random_table_relayout(&mut random);
        let TableRelayout { operation, expected, .. } = &table;
        for target in super::targets() {
            // The small target has too few workgroups for some.
            let Ok(kernel) = operation.compile(&target) else {
                assert_eq!(target.name, "small", "{}", operation.title());
                continue;
            };
            let proof = kernel.proof().expect("a copy through a table has a proof");
            let seen = check(&kernel, proof, &target, &table.sources(), expected);
            if let Err(fault) = seen {
                panic!("{} for {}: {fault}\n{}", operation.title(), target.name, kernel.wgsl);
            }
        }
    }
}
