//! Every number on a picture is the one that the descriptor gives.

use roxmltree::{Document, Node};
use stridec::explain::{Picture, Side, html, svg, terminal};

use crate::{LAYOUTS, lower, relayout};

/// The index and the offset in a cell's title, `(1,2): offset 7`.
fn index_and_offset(title: &str) -> Option<(Vec<u64>, u64)> {
    let (index, offset) = title.strip_prefix('(')?.split_once("): offset ")?;
    let index = index.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
    Some((index, offset.parse().unwrap()))
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

/// The text that stands within a rectangle of the same group.
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

/// What an orange outline marks in the destination comes from what it marks in the source.
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

/// Text without its colours.
pub(crate) fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}
