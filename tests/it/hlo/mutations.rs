//! If one byte of a valid module is changed, the result is a module or is refused.

use stridec::hlo::{MemoryReport, Module};

use super::support::hlo_cases::hlo_cases;

/// Changes every byte of some modules, and some bytes of every module.
#[test]
fn one_byte_never_panics() {
    let (mut read, mut refused) = (0, 0);
    for (n, case) in hlo_cases().iter().enumerate() {
        let step = if n % 160 == 0 { 1 } else { 197 };
        for at in (n % step..case.bytes.len()).step_by(step) {
            let mut bytes = case.bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            let _ = MemoryReport::of_proto(&bytes);
            match Module::decode(&bytes) {
                Ok(module) => {
                    assert!(Module::decode(&module.encode()).is_ok(), "{} at {at}", case.id);
                    read += 1;
                }
                Err(error) => {
                    assert!(error.to_string().len() < 1500, "{} at {at}", case.id);
                    refused += 1;
                }
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(read > 1000 && refused > 1000);
}
