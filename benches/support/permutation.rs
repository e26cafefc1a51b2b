//! Transposes that are given by sizes and an order, and the transposes of the TTC benchmark.
#![allow(dead_code)] // each bench uses a part

use stridec::shape::{ElementType, Layout, Shape, ShapeError};

/// A transpose in which dimension `d` of the result is dimension `order[d]` of the source, as a
/// framework's transpose copies it.
pub struct Permutation {
    pub name: String,
    pub sizes: Vec<u64>,
    pub order: Vec<usize>,
}

impl Permutation {
    /// Returns the shapes of both sides. The dimensions of the source are in the default order, and
    /// `order[0]` is the most major dimension of the destination.
    pub fn sides(&self, element_type: ElementType) -> Result<[Shape; 2], ShapeError> {
        let side = |layout| Shape::new(element_type, self.sizes.iter().copied(), layout);
        let turned = Layout::new(self.order.iter().rev().copied());
        Ok([side(None)?, side(Some(turned))?])
    }
}

/// Returns the 57 cases of the TTC benchmark, from a file of `benches/data`.
pub fn ttc(json: &str) -> Result<Vec<Permutation>, Box<dyn std::error::Error>> {
    let file: serde_json::Value = serde_json::from_str(json)?;
    let list = |value: &serde_json::Value| -> Vec<u64> {
        value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64).collect()
    };
    let cases = file["cases"].as_array().ok_or("cases: a list is accepted")?;
    let cases = cases.iter().map(|case| {
        let sizes = list(&case["extents_rowmajor"]);
        let order = list(&case["perm_rowmajor"]);
        let order = order.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>()?;
        let name = format!("ttc {:02} {sizes:?} by {order:?}", case["id"]);
        Ok(Permutation { name, sizes, order })
    });
    cases.collect()
}
