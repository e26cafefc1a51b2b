//! Finds the order of an array's dimensions that takes the least memory. Tiles pad the minor-most
//! dimensions, so small dimensions should not be among them. For example, with tiles of 8 by 128,
//! `f32[1024,3]` takes 512 KiB, but only 32 KiB if its dimensions are stored in the opposite order.

use super::Footprint;
use crate::shape::Shape;

/// The maximum number of orders that are tried, because the number of all orders is the factorial
/// of the rank. All orders of at most 7 dimensions are below this limit.
const MAX_TRIED: usize = 10_000;

/// Returns the array with the order of dimensions that takes the fewest bytes under the same
/// tiling, and its memory. Returns `None` if no order takes fewer bytes than the present one, and
/// also if there are too many orders to try them.
///
/// Tiles cover only the minor-most dimensions, so only these determine the size. The function tries
/// all choices of them, and keeps the relative order of the other dimensions.
///
/// ```
/// use stridec::hlo::cheapest_order;
/// let (shape, memory) = cheapest_order(&"f32[1024,3]{1,0:T(8,128)}".parse()?).unwrap();
/// assert_eq!(shape.to_string(), "f32[1024,3]{0,1:T(8,128)}");
/// assert_eq!(memory.bytes, 32_768); // of 524288
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
#[must_use]
pub fn cheapest_order(shape: &Shape) -> Option<(Shape, Footprint)> {
    let layout = shape.layout().filter(|_| shape.is_array())?;
    let tiled = layout.tiles.iter().map(|tile| tile.dimensions.len()).max()?;
    let order = &layout.minor_to_major;
    let chosen = tiled.min(order.len());
    let count = (0..chosen).try_fold(1_usize, |n, i| n.checked_mul(order.len() - i));
    count.filter(|&count| count <= MAX_TRIED)?;
    let mut best = Footprint::of(shape)?;
    let mut found = None;
    let mut orders = MinorOrders { order, chosen, minor: Vec::new() };
    orders.for_each(&mut |candidate| {
        let mut layout = layout.clone();
        layout.minor_to_major = candidate.iter().copied().collect();
        let dimensions = shape.dimensions().iter().copied();
        let Ok(other) = Shape::array(shape.element_type(), dimensions, layout) else { return };
        if let Some(memory) = Footprint::of(&other)
            && memory.bytes < best.bytes
        {
            best = memory;
            found = Some((other, memory));
        }
    });
    found
}

/// Returns the shape of an array in every order of its dimensions, the present order first. If
/// there are too many orders, only the choice of the one or two minor-most dimensions varies.
/// Returns an empty list for a shape that is no array.
pub(super) fn orders(shape: &Shape) -> Vec<Shape> {
    if !shape.is_array() {
        return Vec::new();
    }
    let layout = shape.layout_or_default().into_owned();
    let order = &layout.minor_to_major;
    let count = (0..order.len()).try_fold(1_usize, |n, i| n.checked_mul(order.len() - i));
    let tiled = layout.tiles.iter().map(|tile| tile.dimensions.len()).max().unwrap_or(2);
    let is_few = count.is_some_and(|count| count <= MAX_TRIED);
    let chosen = if is_few { order.len() } else { tiled.min(2) };
    let mut found = Vec::new();
    let mut orders = MinorOrders { order, chosen, minor: Vec::new() };
    orders.for_each(&mut |candidate| {
        let mut layout = layout.clone();
        layout.minor_to_major = candidate.iter().copied().collect();
        let dimensions = shape.dimensions().iter().copied();
        found.extend(Shape::array(shape.element_type(), dimensions, layout).ok());
    });
    found
}

/// The orders of an array's dimensions that differ in the choice of the `chosen` minor-most ones.
/// `order` is the present order, and its choice comes first. `minor` has the dimensions that are
/// chosen so far, while [`for_each`](Self::for_each) recurses.
struct MinorOrders<'a> {
    order: &'a [usize],
    chosen: usize,
    minor: Vec<usize>,
}

impl MinorOrders<'_> {
    /// Calls `visit` with each order, minor-most dimension first.
    fn for_each(&mut self, visit: &mut impl FnMut(&[usize])) {
        if self.minor.len() == self.chosen {
            let rest = self.order.iter().filter(|dimension| !self.minor.contains(dimension));
            let order: Vec<usize> = self.minor.iter().chain(rest).copied().collect();
            return visit(&order);
        }
        for &dimension in self.order {
            if !self.minor.contains(&dimension) {
                self.minor.push(dimension);
                self.for_each(visit);
                self.minor.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_of_all_orders_is_found() {
        for (text, expected) in [
            ("s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}", Some(1 << 29)),
            ("f32[128,512]{1,0:T(8,128)}", None),
            ("f32[3,5]{1,0}", None),
            ("bf16[4,512,512,64]{3,0,2,1:T(4,128)(2,1)}", Some(1 << 27)),
            ("f32[<=1024,3]{1,0:T(8,128)}", Some(32_768)),
            ("f32[6]{0:T(8)}", None),
            ("(f32[1024,3]{1,0:T(8,128)})", None),
        ] {
            let found = cheapest_order(&text.parse().unwrap());
            assert_eq!(found.map(|(_, memory)| memory.bytes), expected, "{text}");
        }
    }
}
