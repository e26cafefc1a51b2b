//! The functions that the page calls. The page writes its question to [`input`], and reads the
//! answer from [`output`].
//!
//! Both buffers belong to this module, so that no function takes a pointer from the page. An answer
//! is valid until the next call.
#![allow(unsafe_code)] // names that the page knows

use std::cell::RefCell;

#[cfg(feature = "languages")]
use crate::languages as questions;
#[cfg(feature = "package")]
use crate::package as questions;
#[cfg(not(any(feature = "languages", feature = "package")))]
use crate::page as questions;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Allocates an input of `length` bytes, and returns its address, to which the page writes.
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
/// `stridec.CompileResponse`. Returns the length of the answer in bytes.
#[cfg(feature = "languages")]
#[unsafe(no_mangle)]
pub extern "C" fn compile() -> usize {
    answer(stridec::service::respond)
}

/// Answers a question of the page with JSON. Returns the length of the answer in bytes. The input
/// is a line of JSON, followed by the bytes of a module if the page has one. The modules `page`,
/// `languages` and `package` list the questions.
#[unsafe(no_mangle)]
pub extern "C" fn show() -> usize {
    answer(questions::show)
}

fn answer(answer: impl FnOnce(&[u8]) -> Vec<u8>) -> usize {
    let answer = INPUT.with_borrow(|input| answer(input));
    OUTPUT.with_borrow_mut(|output| {
        *output = answer;
        output.len()
    })
}
