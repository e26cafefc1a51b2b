//! Pictures of reshards, which show the plan.

use stridec::{
    explain::ReshardPicture,
    reshard::{ReshardPlan, plan},
    shape::Shape,
    sharding::Sharding,
};

use super::geometry::plain;

fn planned(shape: &str, names: [&str; 2], devices: [Option<u64>; 2]) -> ReshardPlan {
    let shape: Shape = shape.parse().unwrap();
    let [from, to] = [0, 1].map(|side| {
        let sharding: Sharding = names[side].parse().unwrap();
        sharding.place(&shape, devices[side]).unwrap()
    });
    plan(&shape, &from, &to).unwrap()
}

const ROWS_TO_COLUMNS: [&str; 2] = ["{devices=[2,1]<=[2]}", "{devices=[1,3]<=[3]}"];

#[test]
fn terminal_reshard() {
    let plan = planned("f32[4,5]", ROWS_TO_COLUMNS, [None; 2]);
    insta::assert_snapshot!(plain(&ReshardPicture::new(&plan, ROWS_TO_COLUMNS).terminal(80)));
}

#[test]
fn svg_reshard() {
    let plan = planned("f32[4,5]", ROWS_TO_COLUMNS, [None; 2]);
    let text = ReshardPicture::new(&plan, ROWS_TO_COLUMNS).svg();
    insta::assert_snapshot!(text.replace("><", ">\n<"));
}

/// A shape, both shardings, and the numbers of devices for shardings that do not give them.
type Case = (&'static str, [&'static str; 2], [Option<u64>; 2]);

/// Plans of every rank: uneven, replicated, on one device and on many, and without elements.
const CASES: [Case; 14] = [
    ("f32[100]", ["{devices=[2]<=[2]}", "{devices=[2]1,0}"], [None; 2]),
    ("f32[]", ["{maximal device=1}", "{maximal device=0}"], [Some(2); 2]),
    ("f32[0,6]", ["{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"], [None; 2]),
    ("bf16[9,7]", ["{devices=[4,1]<=[4]}", "{devices=[2,2]<=[4]}"], [None; 2]),
    ("f32[5,12]", ["{replicated}", "{devices=[4,1]<=[4]}"], [Some(4), None]),
    ("f32[5,12]", ["{maximal device=1}", "{replicated}"], [Some(3), Some(64)]),
    ("f32[8,6,64,512]", ["{devices=[2,2,1,2]<=[8]}", "{devices=[1,1,2,4]<=[8]}"], [None; 2]),
    ("f32[4,4,4,4]", ["{devices=[4,4,4,1]<=[64]}", "{devices=[1,4,4,4]<=[64]}"], [None; 2]),
    (
        "bf16[1000,700]",
        ["{devices=[4,4]<=[16]}", "{devices=[2,2,4]<=[4,4]T(1,0) last_tile_dim_replicate}"],
        [None; 2],
    ),
    ("bf16[12288,49152]", ["{devices=[8,8]<=[8,8]T(1,0)}", "{devices=[1,48]<=[48]}"], [None; 2]),
    ("f32[1000,1000]", ["{devices=[300,1]<=[300]}", "{devices=[1,300]<=[300]}"], [None; 2]),
    (
        "f64[300,200]",
        ["{devices=[2,2]<=[4] blocks=[36,36]}", "{devices=[2,2]<=[2,2]T(1,0) blocks=[128,128]}"],
        [None; 2],
    ),
    (
        "f64[900,900,900]",
        ["{devices=[2,2,2]<=[8] blocks=[1,1,1]}", "{devices=[2,1,1]<=[2] blocks=[9,9,9]}"],
        [None; 2],
    ),
    ("f32[16,1]", ["{devices=[16,1]<=[16]}", "{devices=[16,1]<=[16]}"], [None; 2]),
];

/// Every picture is well-formed, and its matrix has the sums of the transfers.
#[test]
fn pictures_have_every_transfer() {
    for (shape, names, devices) in CASES {
        let plan = planned(shape, names, devices);
        let picture = ReshardPicture::new(&plan, names);
        let text = picture.svg();
        let document = roxmltree::Document::parse(&text).unwrap();
        let cells = document.descendants().filter(|node| {
            node.has_tag_name(("http://www.w3.org/2000/svg", "rect"))
                && node.has_attribute("data-from")
                && node.attribute("class") != Some("p")
        });
        let cells = cells.map(|node| {
            ["data-from", "data-to"].map(|name| node.attribute(name).unwrap().parse().unwrap())
        });
        let mut cells: Vec<[u64; 2]> = cells.collect();
        let each = plan.from().devices().max(plan.to().devices()).div_ceil(64);
        let mut pairs: Vec<[u64; 2]> =
            plan.transfers().iter().map(|of| [of.from / each, of.to / each]).collect();
        for list in [&mut cells, &mut pairs] {
            list.sort_unstable();
            list.dedup();
        }
        assert_eq!(cells, pairs, "{shape} {names:?}");
        assert!(text.len() < 800_000, "{shape}: {} bytes", text.len());
        let page = picture.html();
        assert!(page.len() < 1_200_000, "{shape}: {} bytes", page.len());
        let widest = plain(&picture.terminal(80)).lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(90), "{shape}: {widest:?} columns");
    }
}

/// Each tile is drawn at its indices, in the colour of its device.
#[test]
fn tiles_lie_where_their_indices_are() {
    let names = ["{devices=[4,1]<=[4]}", "{devices=[1,4]3,2,1,0}"];
    let plan = planned("f32[400,400]", names, [None; 2]);
    let text = ReshardPicture::new(&plan, names).svg();
    let document = roxmltree::Document::parse(&text).unwrap();
    let titled = |title: String| {
        let found =
            document.descendants().find(|node| node.is_text() && node.text() == Some(&title));
        found.unwrap_or_else(|| panic!("{title}")).ancestors().nth(2).unwrap()
    };
    for placement in [plan.from(), plan.to()] {
        for (device, tile) in placement.tiles() {
            let rect = titled(format!("{tile}: device {device}"));
            let number = |name: &str| rect.attribute(name).unwrap().parse::<u64>().unwrap();
            assert_eq!(rect.attribute("data-device"), Some(&device.to_string()[..]));
            // With 400 pixels on each side, an index is one pixel, and the line between two tiles
            // is one more.
            let sizes: Vec<u64> = tile.sizes().collect();
            assert_eq!([number("height") + 1, number("width") + 1], sizes[..], "{tile}");
        }
    }
}

/// Each block is drawn at its indices.
#[test]
fn blocks_lie_where_their_indices_are() {
    let names = ["{devices=[2,2]<=[4] blocks=[100,200]}", "{devices=[1,4]3,2,1,0 blocks=[1,40]}"];
    let plan = planned("f32[400,400]", names, [None; 2]);
    let text = ReshardPicture::new(&plan, names).svg();
    for title in [
        "[0,100)×[0,200): device 0",
        "[100,200)×[200,400): device 3",
        "[200,300)×[200,400): device 1",
        "[0,400)×[360,400): device 2",
    ] {
        assert!(text.contains(title), "{title}");
    }
}

/// The picture in `docs/sharding.md` is equal to the one that its command draws.
#[test]
fn the_picture_of_the_docs() {
    let names = ["{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}", "{devices=[8,1]<=[8]}"];
    let plan = planned("f32[12,30]", names, [None; 2]);
    let drawn = ReshardPicture::new(&plan, names).svg();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reshard.svg");
    let again = "draw it again with the command of docs/sharding.md";
    assert!(std::fs::read_to_string(path).unwrap() == drawn, "{again}");
}

/// The names of shardings may have any characters, and are escaped.
#[test]
fn names_are_escaped() {
    let plan = planned("f32[4]", ["{devices=[2]<=[2]}"; 2], [None; 2]);
    let names = ["</script><b>&\"'", &"é".repeat(10_000)];
    let picture = ReshardPicture::new(&plan, names);
    roxmltree::Document::parse(&picture.svg()).unwrap();
    let page = picture.html();
    assert!(!page.contains("<b>") && page.len() < 60_000, "{}", page.len());
}

/// There are more devices and longer extents than a picture can show.
#[test]
fn very_many_devices() {
    let names = ["{devices=[5000]<=[5000]}", "{devices=[4999]<=[4999]}"];
    let plan = planned("u8[9223372036854775807]", names, [None; 2]);
    let text = ReshardPicture::new(&plan, names).svg();
    roxmltree::Document::parse(&text).unwrap();
    assert!(text.len() < 200_000, "{}", text.len());
}
