//! The functions that the page calls: bytes go in by [`input`], and [`output`] has those of the
//! answer.
//!
//! A call works on two buffers that the module owns, so that no pointer is taken from outside. An
//! answer is valid until the next call.
#![allow(unsafe_code)] // names that the page knows

use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for an input of so many bytes, which the page then writes there.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; length];
        input.as_mut_ptr()
    })
}

/// Returns the address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(Vec::as_ptr)
}

/// Answers the input, a serialized `stridec.CompileRequest`, with a serialized
/// `stridec.CompileResponse`; returns its length.
#[unsafe(no_mangle)]
pub extern "C" fn compile() -> usize {
    answer(stridec::service::respond)
}

/// Answers the input, what the page asks, with JSON; returns its length. The input is a line of
/// JSON, and after it the bytes of a module where the page has one; the module `page` says which
/// there are.
#[unsafe(no_mangle)]
pub extern "C" fn show() -> usize {
    answer(crate::page::show)
}

fn answer(answer: impl FnOnce(&[u8]) -> Vec<u8>) -> usize {
    let answer = INPUT.with_borrow(|input| answer(input));
    OUTPUT.with_borrow_mut(|output| {
        *output = answer;
        output.len()
    })
}
