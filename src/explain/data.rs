//! The data of a page as JSON: both layouts, the window between them, and the dispatches of the
//! kernel.
//!
//! The page must show exactly the layout that the compiler uses. Therefore everything about a whole
//! layout is computed here in Rust. The page's scripts compute only the offset of an index, the
//! index at an offset, and the index in the source from which an element is copied
//! (`page/layout.js`).

use serde_json::{Value, json};

use super::{
    Picture, Side, colour,
    grid::{common_dimensions, dimensions},
    html::Compiled,
    sentences::unused,
    tiles::{BoxLevels, padded},
};
use crate::stride::Step;

/// Returns the data of a page as JSON. The text never contains `</script>`, so it is safe inside a
/// script element.
pub(super) fn data(picture: &Picture<'_>, compiled: Option<&Compiled<'_>>) -> String {
    let source = picture.layout.descriptor;
    let movement = picture.movement.as_ref();
    let common = movement.and_then(|to| common_dimensions(source, to.destination.descriptor));
    let mut page = json!({ "source": side(picture.layout, common), "colours": colour::VIRIDIS });
    if let Some(movement) = movement {
        page["destination"] = side(movement.destination, common);
        page["window"] = movement
            .window
            .dimensions()
            .iter()
            .map(|dimension| {
                json!({
                    "extent": dimension.extent(),
                    "srcStart": dimension.src_start(),
                    "srcStep": dimension.src_step(),
                })
            })
            .collect();
    }
    if let Some(Compiled { entry_point, binding_bytes, dispatches, .. }) = compiled {
        page["kernel"] = json!({
            "entryPoint": entry_point, "bindingBytes": binding_bytes, "dispatches": dispatches,
        });
    }
    page.to_string().replace('<', "\\u003c")
}

fn side(Side { notation, descriptor }: Side<'_>, common: Option<[usize; 2]>) -> Value {
    let steps = descriptor.steps().iter().map(|step| match *step {
        Step::Split { of, by } => json!({ "split": of, "by": by }),
        Step::Fold { major, minor } => json!({ "major": major, "minor": minor }),
        Step::Unit => json!({}),
    });
    let axes = descriptor.axes().iter().map(|axis| {
        json!({
            "coordinate": axis.coordinate, "extent": axis.extent, "stride": axis.stride,
            "name": descriptor.coordinate_name(axis.coordinate),
        })
    });
    let boxes = BoxLevels::of(descriptor);
    // A dimension that a tile joins with others is not padded separately.
    let sizes = descriptor.sizes().iter().enumerate();
    let padded = sizes.map(|(dimension, &size)| {
        boxes.dimension(dimension).map_or(size, |dimension| padded(descriptor, dimension))
    });
    json!({
        "notation": notation,
        "type": descriptor.element_type().name(),
        "bits": descriptor.element_bits(),
        "signed": descriptor.element_type().is_signed_integer(),
        "sizes": descriptor.sizes(),
        "elements": descriptor.elements(),
        "padded": padded.collect::<Value>(),
        "steps": steps.collect::<Value>(),
        "extents": descriptor.extents(),
        "axes": axes.collect::<Value>(),
        "boxes": boxes.levels,
        "boxed": boxes.dimensions.iter().map(|d| d.coordinate).collect::<Value>(),
        "view": dimensions(descriptor, common).map(|d| d.map(|d| d.minor())),
        "offset": descriptor.base_offset(),
        "prefixBytes": descriptor.prefix_bytes(),
        "places": descriptor.physical_elements(),
        "unused": unused(descriptor),
        "imageBytes": descriptor.image_bytes(),
        // The padding has up to 128 bits, so it is written as hexadecimal text: a JSON number holds
        // only 53 bits.
        "padding": format!("{:x}", descriptor.padding()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shape::Shape, stride::StrideDescriptor};

    #[test]
    fn a_notation_cannot_leave_the_script() {
        let shape: Shape = "f32[2]".parse().unwrap();
        let descriptor = StrideDescriptor::try_from(&shape).unwrap();
        let side = Side { notation: "</script><b>", descriptor: &descriptor };
        let text = data(&Picture::layout(side), None);
        assert!(!text.contains('<'), "{text}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["source"]["notation"], "</script><b>");
        assert_eq!(read["source"]["axes"][0]["name"], "d0");
    }
}
