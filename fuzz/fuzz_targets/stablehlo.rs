#![no_main]
#![allow(dead_code, unused_imports)] // each target uses a part

#[path = "../../tests/hostile/entry.rs"]
mod entry;
#[path = "../../cli/src/npy/mod.rs"]
mod npy;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entry::hlo(bytes);
});
