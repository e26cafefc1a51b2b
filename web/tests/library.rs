//! Tests of the library where `usize` has 32 bits; `library.mjs` beside this file runs them.
//!
//! They run on one thread in the order of their names. A failure ends the module. So the first test
//! sends panics to the host, and the last one reports that all tests passed.
#![allow(missing_docs)]

#[path = "../../tests/it/extremes.rs"]
mod extremes;
#[path = "../../tests/it/small_scope.rs"]
mod small_scope;
#[path = "../../tests/support/mod.rs"]
mod support;

mod begin {
    #[test]
    fn panics_are_told() {
        std::panic::set_hook(Box::new(|panic| super::host::tell(&panic.to_string())));
    }
}

mod succeed {
    #[test]
    fn the_last_test() {
        assert_eq!(usize::BITS, 32);
        super::host::tell("all tests passed");
    }
}

mod host {
    #![allow(unsafe_code)] // a function of another language

    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        /// Prints a text of `length` bytes.
        safe fn say(text: *const u8, length: usize);
    }

    pub(crate) fn tell(text: &str) {
        say(text.as_ptr(), text.len());
    }
}
