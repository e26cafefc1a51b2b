//! HPTT in its estimate mode, which does not measure.

use std::{
    ffi::{c_int, c_void},
    marker::PhantomData,
};

use hptt as _; // links its library

unsafe extern "C" {
    fn hptt_estimate(
        bytes: c_int,
        permutation: *const c_int,
        rank: c_int,
        sizes: *const c_int,
        source: *const c_void,
        destination: *mut c_void,
        threads: c_int,
    ) -> *mut c_void;
    fn hptt_execute(plan: *mut c_void);
    fn hptt_free(plan: *mut c_void);
}

/// A row-major transpose of 4-byte or 8-byte floats between two fixed buffers.
pub struct Plan<'a> {
    plan: *mut c_void,
    buffers: PhantomData<&'a mut [u8]>,
}

impl<'a> Plan<'a> {
    /// Plans the transpose `destination[j] = source[j[permutation]]`.
    pub fn new(
        bytes: usize,
        permutation: &[usize],
        sizes: &[usize],
        source: &'a [u8],
        destination: &'a mut [u8],
        threads: usize,
    ) -> Self {
        let length = sizes.iter().product::<usize>() * bytes;
        assert!(source.len() == length && destination.len() == length);
        let ints = |of: &[usize]| of.iter().map(|&n| n as c_int).collect::<Vec<_>>();
        let (permutation, sizes) = (ints(permutation), ints(sizes));
        // SAFETY: the buffers have the sizes for which the plan is made, and outlive the plan.
        let plan = unsafe {
            hptt_estimate(
                bytes as c_int,
                permutation.as_ptr(),
                sizes.len() as c_int,
                sizes.as_ptr(),
                source.as_ptr().cast(),
                destination.as_mut_ptr().cast(),
                threads as c_int,
            )
        };
        Self { plan, buffers: PhantomData }
    }

    /// Runs the transpose.
    pub fn execute(&mut self) {
        // SAFETY: the plan is alive, and so are its buffers.
        unsafe { hptt_execute(self.plan) }
    }
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        // SAFETY: `hptt_estimate` made the plan, and it is freed only here.
        unsafe { hptt_free(self.plan) }
    }
}
