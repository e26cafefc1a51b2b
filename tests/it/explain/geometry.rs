//! Every number in a picture is a number of the descriptor.

use roxmltree::{Document, Node};
use stridec::explain::{Picture, Side, html, svg, terminal};

use super::{LAYOUTS, lower, relayout};

/// Returns the index and the offset in the title of a cell, such as `(1,2): offset 7`.
fn index_and_offset(title: &str) -> Option<(Vec<u64>, u64)> {
    let (index, offset) = title.strip_prefix('(')?.split_once("): offset ")?;
    let index = index.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
    Some((index, offset.parse().unwrap()))
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

/// Returns the text inside a rectangle of the same group.
fn label<'a>(cell: Node<'a, 'a>) -> &'a str {
    let (x, y) = (number(cell, "x"), number(cell, "y"));
    let (right, bottom) = (x + number(cell, "width"), y + number(cell, "height"));
    let mut inside = cell.parent().unwrap().children().filter(|node| {
        node.has_tag_name(("http://www.w3.org/2000/svg", "text"))
            && (x..right).contains(&number(*node, "x"))
            && (y..bottom).contains(&number(*node, "y"))
    });
    let text = inside.next().and_then(|text| text.text()).unwrap();
    assert_eq!(inside.count(), 0, "one label a cell");
    text
}

#[test]
fn the_cell_at_an_index_is_labelled_with_its_offset() {
    for notation in LAYOUTS {
        let descriptor = lower(notation);
        let text = svg(&Picture::layout(Side { notation, descriptor: &descriptor }));
        let document = Document::parse(&text).unwrap();
        let (mut cells, mut places) = (0, 0);
        for node in document.descendants() {
            let Some(title) = node.children().find(|child| child.tag_name().name() == "title")
            else {
                continue;
            };
            let title = title.text().unwrap();
            if let Some((index, offset)) = index_and_offset(title) {
                assert_eq!(descriptor.offset(&index).unwrap(), offset, "{notation}");
                let label = label(node);
                assert_eq!(label.split('…').next().unwrap(), offset.to_string(), "{notation}");
                cells += 1;
            } else if let Some(place) = title.strip_prefix("offset ") {
                let index = descriptor.index(place.parse().unwrap()).unwrap();
                let expected = index.map_or("·".into(), |index| match &index[..] {
                    [] => "()".into(),
                    index => index.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
                });
                assert_eq!(label(node), expected, "{notation} at {place}");
                places += 1;
            }
        }
        assert_eq!(cells > 0, descriptor.elements() > 0, "{notation}");
        assert_eq!(places > 0, descriptor.elements() > 0, "{notation}");
        assert!(text.len() < 60_000, "{notation}: {} bytes", text.len());
    }
}

/// Returns the offsets in the colour key of a group, such as `offset 0` and `offset 14`, or `None`
/// if the group has no key.
fn key(group: Node<'_, '_>) -> Option<[u64; 2]> {
    let texts = group.children().filter_map(|node| node.text());
    let mut named = texts.filter_map(|text| text.strip_prefix("offset ")?.parse().ok());
    Some([named.next()?, named.next()?])
}

/// The smallest offset in the colour key has the darkest colour, and the greatest has the
/// brightest. The colours of all cells are between them.
#[test]
fn colours_run_over_the_offsets_that_their_key_names() {
    for notation in LAYOUTS {
        let descriptor = lower(notation);
        let text = svg(&Picture::layout(Side { notation, descriptor: &descriptor }));
        let document = Document::parse(&text).unwrap();
        let groups = || document.descendants().filter(|node| node.tag_name().name() == "g");
        let whole = [0, descriptor.physical_elements().saturating_sub(1)];
        for group in groups() {
            let cells: Vec<(u64, &str)> = group
                .children()
                .filter_map(|node| {
                    let title = node.first_element_child()?.text()?;
                    let offset = index_and_offset(title).map(|(_, offset)| offset);
                    let offset = offset.or_else(|| title.strip_prefix("offset ")?.parse().ok())?;
                    Some((offset, node.attribute("fill")?))
                })
                .collect();
            if cells.is_empty() {
                continue;
            }
            let [first, last] = group.children().find_map(key).unwrap_or(whole);
            assert!(groups().any(|group| key(group) == Some([first, last])), "{notation}");
            for (offset, fill) in cells {
                assert!((first..=last).contains(&offset), "{notation}: {offset} past {last}");
                assert!(offset != first || fill == "#440154", "{notation}: {fill}");
                assert!(offset != last || first == last || fill == "#fde725", "{notation}: {fill}");
            }
        }
    }
}

#[test]
fn the_key_names_padding_where_there_is_some() {
    for notation in LAYOUTS {
        let descriptor = lower(notation);
        let text = svg(&Picture::layout(Side { notation, descriptor: &descriptor }));
        let document = Document::parse(&text).unwrap();
        let named = document.descendants().any(|node| node.text() == Some("padding"));
        let padded = (0..descriptor.physical_elements().min(100_000))
            .any(|place| descriptor.index(place) == Ok(None));
        assert_eq!(named, padded, "{notation}");
    }
}

/// The elements with an orange outline in the destination are copied from elements with an outline
/// in the source.
#[test]
fn documents_of_operations_are_valid() {
    let pairs = [
        ("f32[4,6]{1,0}", "f32[4,6]{0,1}"),
        ("bf16[16,256]", "bf16[16,256]{1,0:T(8,128)(2,1)}"),
        ("s4[3,5]", "s4[3,5]{0,1:E(4)}"),
        ("f32[0,4]", "f32[0,4]{0,1}"),
    ];
    for (from, to) in pairs {
        let text = relayout(from, to, svg);
        let document = Document::parse(&text).unwrap();
        let followed = document.descendants().filter(|n| n.attribute("class") == Some("f")).count();
        assert_eq!(followed > 0, !from.contains("[0"), "{from} {to}");
        assert!(text.len() < 100_000);
    }
}

/// The nine elements of a slice are outlined on both sides, in the array and in the memory.
#[test]
fn all_of_a_few_elements_are_outlined() {
    let slice = stridec::window::Slice::new([1, 0], [3, 3], [1, 1]);
    let operation = stridec::Operation::slice("f32[5,6]".parse().unwrap(), &slice, None).unwrap();
    let text = operation.draw(svg);
    let document = Document::parse(&text).unwrap();
    let outlined = document.descendants().filter(|n| n.attribute("class") == Some("f")).count();
    assert_eq!(outlined, 4 * 9);
    assert!(text.contains("The 9 elements that are written"));
}

#[test]
fn a_terminal_of_80_columns_is_enough() {
    for notation in LAYOUTS {
        let descriptor = lower(notation);
        let text = terminal(&Picture::layout(Side { notation, descriptor: &descriptor }), 80);
        for line in plain(&text).lines() {
            assert!(line.chars().count() <= 80, "{notation}: {line}");
        }
        assert!(text.lines().count() < 60, "{notation}: {} lines", text.lines().count());
    }
}

#[test]
fn pages_are_small_and_load_nothing() {
    for notation in LAYOUTS {
        let descriptor = lower(notation);
        let page = html(&Picture::layout(Side { notation, descriptor: &descriptor }), None);
        assert!(page.len() < 150_000, "{notation}: {} bytes", page.len());
        let loads = ["src=", "href=", "url(h", "@import", "fetch("];
        for load in loads {
            assert!(!page.contains(load), "{notation}: {load}");
        }
    }
}

/// The two sides of an operation are separate pictures on a page, so that a narrow page can show
/// one below the other.
#[test]
fn each_side_is_a_picture_of_its_own_on_a_page() {
    let page = relayout("f32[8,64,112,112]", "f32[8,64,112,112]{1,3,2,0}", |p| html(p, None));
    let widths: Vec<u32> = page
        .split("<svg ")
        .skip(1)
        .map(|svg| {
            svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        })
        .collect();
    let [source, destination, _moves] = widths[..] else { panic!("{widths:?}") };
    assert!(source < 640 && destination < 640, "{widths:?}");
    assert_eq!(page.matches("<style>").count(), 2, "the page's, and one for all pictures");
}

/// A page of an array without elements has no code for the pointer.
#[test]
fn pages_of_empty_arrays_have_no_explorer() {
    let page = relayout("f32[0,4]", "f32[0,4]{0,1}", |p| html(p, None));
    assert!(page.contains("The array has no elements"));
    assert!(!page.contains("id=\"live\"") && !page.contains("id=\"explore-"));
}

/// The pictures in the documents are equal to those that `stridec explain` draws.
#[test]
fn the_pictures_of_the_documents_are_drawn_today() {
    let layout = |notation: &str| {
        let descriptor = lower(notation);
        svg(&Picture::layout(Side { notation, descriptor: &descriptor }))
    };
    let nhwc = relayout("f32[8,64,112,112]{3,2,1,0}", "f32[8,64,112,112]{1,3,2,0}", svg);
    for (name, arguments, drawn) in [
        ("padded", "'f32[2,3]{0,1:PAD(3,5,zero)}'", layout("f32[2,3]{0,1:PAD(3,5,zero)}")),
        ("relayout", "relayout --from 'f32[8,64,112,112]{3,2,1,0}' --to '{1,3,2,0}'", nhwc),
    ] {
        let path = format!("{}/docs/{name}.svg", env!("CARGO_MANIFEST_DIR"));
        let stands = std::fs::read_to_string(&path).unwrap();
        assert!(
            stands.trim_end() == drawn,
            "draw it again: stridec explain {arguments} --svg docs/{name}.svg"
        );
    }
}

/// Returns a text without its colours.
pub(crate) fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}
