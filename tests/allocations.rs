//! Tests that lowering a shape of at most 8 dimensions, without tiles and padding, allocates
//! nothing on the heap.

use std::{
    alloc::{GlobalAlloc, Layout as Memory, System},
    cell::Cell,
};

use stridec::{
    nest,
    shape::{ElementType, Layout, Shape},
    stride::StrideDescriptor,
    window::{Slice, Window},
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which also counts the allocations of each thread.
struct Counting;

#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, place: *mut u8, memory: Memory) {
        unsafe { System.dealloc(place, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let before = ALLOCATIONS.get();
    let result = run();
    (ALLOCATIONS.get() - before, result)
}

#[test]
fn descriptors_and_nests_up_to_rank_8() {
    let (counted, _) = allocations(|| vec![1]);
    assert_eq!(counted, 1, "allocations are counted");
    for rank in 0..=8_usize {
        let sizes: Vec<u64> = (0..rank as u64).map(|d| 2 + d % 3).collect();
        for turn in 0..rank.max(1) {
            let order = (0..rank).map(|d| (d + turn) % rank);
            let from = Shape::new(ElementType::F32, sizes.clone(), None).unwrap();
            let to =
                Shape::new(ElementType::F32, sizes.clone(), Layout::new(order.clone())).unwrap();
            let window = Window::identity(&sizes);
            let descriptor = |shape: &Shape| StrideDescriptor::try_from(shape).unwrap();
            let (count, (from, to)) = allocations(|| (descriptor(&from), descriptor(&to)));
            assert_eq!(count, 0, "{from:?} {to:?}");
            let (count, nest) = allocations(|| nest::lower(&from, &to, &window).unwrap());
            assert_eq!(count, 0, "{nest}");
        }
        let reversed = Slice::new(vec![0; rank], sizes.clone(), vec![-1; rank]);
        let window = Window::slice(&sizes, &reversed).unwrap();
        let side = Shape::new(ElementType::U4, sizes.clone(), None).unwrap();
        let side = StrideDescriptor::try_from(&side).unwrap();
        let (count, nest) = allocations(|| nest::lower(&side, &side, &window).unwrap());
        assert_eq!(count, 0, "{nest}");
    }
}
