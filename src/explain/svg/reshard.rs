//! Draws a reshard: the array on both sides, and the bytes sent between devices.

use maud::{Markup, html};

use super::{
    document::{GAP, document},
    flows::{arrows, matrix},
    scene::{CELL, LINE, SvgPart, column, flow, paragraph, text_width},
};
use crate::{
    explain::{
        colour::Colour,
        flows::Flows,
        reshard::ReshardPicture,
        shards::{Strip, TileMap, View, listed, shown},
    },
    sharding::Holders,
};

/// The width of a document, in pixels.
const WIDTH: usize = 1000;
/// The width of the array on each side, in pixels.
const SIDE: usize = 400;
/// The maximum height of the array, in pixels.
const MAX_HEIGHT: usize = 400;
/// The maximum number of groups of devices in a picture.
pub(in crate::explain) const MAX_GROUPS: usize = 64;
/// The maximum number of coloured bands in one tile, each for one device.
const MAX_BANDS: usize = 16;

/// The parts of the drawing of a reshard. They can be joined in one document, or be documents of
/// their own.
pub(in crate::explain) struct ReshardParts<T> {
    /// The array before and after the reshard.
    pub(in crate::explain) sides: Vec<T>,
    /// The arrows between senders and receivers.
    pub(in crate::explain) arrows: T,
    /// The matrix of bytes.
    pub(in crate::explain) matrix: T,
}

impl ReshardPicture<'_> {
    /// Draws the reshard as an SVG document.
    ///
    /// ```
    /// use stridec::{explain::ReshardPicture, reshard::plan, shape::Shape, sharding::Sharding};
    /// let shape: Shape = "f32[4,4]".parse()?;
    /// let names = ["{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}"];
    /// let place = |name: &str| name.parse::<Sharding>()?.place(&shape, None);
    /// let plan = plan(&shape, &place(names[0])?, &place(names[1])?)?;
    /// let document = ReshardPicture::new(&plan, names).svg();
    /// assert!(document.contains("0 sends 16B to 1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        let ReshardParts { sides, arrows, matrix } = self.parts();
        let title = SvgPart {
            markup: html! { text.t x="0" y="15" { (self.title()) } },
            width: self.title().chars().count() * 92 / 10,
            height: LINE + 2,
        };
        let words =
            self.sentences().into_iter().chain(self.legend().into_iter().map(str::to_owned));
        let words = words.map(|said| paragraph(&said, WIDTH, "s"));
        let parts = vec![
            title,
            column(words.collect(), 2),
            flow(sides, WIDTH + GAP, 2 * GAP),
            flow(vec![arrows, matrix], WIDTH + GAP + 200, 2 * GAP),
        ];
        document(column(parts, GAP - 4), &self.title(), true).into_string()
    }

    fn parts(&self) -> ReshardParts<SvgPart> {
        let flows = Flows::new(self.plan, MAX_GROUPS);
        let placements = [self.plan.from(), self.plan.to()];
        let sides = View::new(self.plan).map_or_else(
            || vec![paragraph("The array has no elements.", WIDTH, "s")],
            |view| {
                let sides = placements.iter().zip(["Before", "After"]).zip(self.names);
                let most = [view.most_strips(); 2];
                sides
                    .map(|((placement, word), name)| {
                        let map = TileMap::new(placement, &view, most);
                        let words = paragraph(&format!("{word}: {name}"), SIDE + 60, "s h");
                        column(vec![words, side(&map, &view, &flows)], 6)
                    })
                    .collect()
            },
        );
        ReshardParts { sides, arrows: arrows(&flows), matrix: matrix(&flows) }
    }

    /// Draws the reshard as several documents, which a page can arrange. Only the first document
    /// contains the style sheet for all documents.
    pub(in crate::explain) fn documents(&self) -> ReshardParts<Markup> {
        let ReshardParts { sides, arrows, matrix } = self.parts();
        let sides = sides.into_iter().enumerate();
        let sides = sides.map(|(number, side)| document(side, &self.title(), number == 0));
        ReshardParts {
            sides: sides.collect(),
            arrows: document(arrows, &self.title(), false),
            matrix: document(matrix, &self.title(), false),
        }
    }
}

/// Draws the array with the tiles of one placement, plane by plane.
fn side(map: &TileMap<'_>, view: &View, flows: &Flows) -> SvgPart {
    let several = map.planes.len() > 1;
    let width = if several { (SIDE - GAP) / 2 } else { SIDE };
    let mut planes: Vec<SvgPart> =
        map.planes.iter().map(|strips| plane(map, view, flows, strips, width)).collect();
    if map.hidden > 0 {
        planes.push(paragraph(&format!("and {} more", map.hidden), SIDE, "s"));
    }
    flow(planes, SIDE + 80, GAP)
}

/// Draws one plane of the array. It is to scale, unless some strips would become too thin to see.
fn plane(map: &TileMap<'_>, view: &View, flows: &Flows, plane: &[Strip], width: usize) -> SvgPart {
    let size = |dimension: Option<usize>| dimension.map_or(1, |dimension| view.sizes[dimension]);
    let [rows, columns] = &map.strips;
    let (down, across) = (size(view.down), size(view.across));
    let scaled = u128::from(down) * width as u128 / u128::from(across);
    let scaled = usize::try_from(scaled).unwrap_or(usize::MAX);
    let most = MAX_HEIGHT * width / SIDE;
    let height = match view.down {
        Some(_) => scaled.clamp((rows.len() * CELL).min(most), most),
        None => 2 * CELL,
    };
    let name = map.plane_name(plane);
    let top = LINE + if name.is_empty() { 0 } else { LINE } + 4;
    let left = view.down.map_or(0, |down| text_width(format!("d{down} ↓").chars().count()) + 6);
    let at = |index: u64, size: u64, pixels: usize| {
        usize::try_from(u128::from(index) * pixels as u128 / u128::from(size)).unwrap_or(pixels)
    };
    let (mut drawn, mut labels) = (vec![], vec![]);
    for (r, &row) in rows.iter().enumerate() {
        let [y0, y1] = [row.start, row.limit].map(|index| top + at(index, down, height));
        for (c, &strip) in columns.iter().enumerate() {
            let [x0, x1] = [strip.start, strip.limit].map(|index| left + at(index, across, width));
            let place =
                TileRect { x: x0, y: y0, width: (x1 - x0).max(1), height: (y1 - y0).max(1) };
            let holders = map.holders(plane, row, strip);
            let title = format!("{}: {}", map.cell_name(plane, row, strip), who(holders, flows));
            drawn.push(tile(place, holders, flows, &title));
            labels.push(numbers(place, holders, flows, [r, c]));
        }
    }
    let markup = html! {
        @if !name.is_empty() { text.m x=(left) y="13" { (name) } }
        @if let Some(across) = view.across {
            text.m x=(left) y=(top - 6) { "d" (across) " →" }
        }
        @if let Some(down) = view.down { text.m x="0" y=(top + 13) { "d" (down) " ↓" } }
        @for part in drawn.iter().chain(&labels) { (part) }
        path.i d=(format!("M{left} {top}H{}V{}H{left}Z", left + width, top + height)) {}
    };
    SvgPart { markup, width: left + width + 2, height: top + height + 2 }
}

/// The rectangle in which a tile is drawn, in pixels.
#[derive(Clone, Copy)]
struct TileRect {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Names the devices of a tile in words, such as `device 0` or `devices 0, 4 and 2 more`.
fn who(holders: Holders<'_>, flows: &Flows) -> String {
    let devices = if holders.len() == 1 { "device" } else { "devices" };
    let more = if flows.is_by_device() { "" } else { " in the first tile" };
    format!("{devices} {}{more}", listed(holders))
}

/// Divides a tile into coloured bands, one for each device, up to [`MAX_BANDS`]. Returns each
/// device with the start and the end of its band.
fn bands(
    TileRect { x, width, .. }: TileRect,
    holders: Holders<'_>,
) -> impl ExactSizeIterator<Item = (u64, [usize; 2])> {
    let devices = shown(holders, MAX_BANDS.min(width.max(1)));
    let count = devices.len();
    let at = move |number: usize| x + number * width / count;
    devices
        .into_iter()
        .enumerate()
        .map(move |(number, device)| (device, [at(number), at(number + 1)]))
}

/// Draws a tile in the colours of its devices.
fn tile(place: TileRect, holders: Holders<'_>, flows: &Flows, title: &str) -> Markup {
    let TileRect { x, y, width, height } = place;
    let gap = usize::from(width > 3 && height > 3);
    html! {
        @for (device, [left, right]) in bands(place, holders) {
            @let left = if left == x { left + gap } else { left };
            @let colour = Colour::of_device(flows.group(device), flows.groups());
            rect x=(left) y=(y + gap) width=(right.saturating_sub(left).max(1)) height=(height - gap)
                fill=(colour.hex()) data-device=(flows.group(device)) { title { (title) } }
        }
    }
}

/// Writes the numbers of a tile's devices into their bands, if there is room. `at` is the row and
/// the column of the tile.
fn numbers(place: TileRect, holders: Holders<'_>, flows: &Flows, at: [usize; 2]) -> Markup {
    let bands = bands(place, holders);
    let longest = text_width((flows.devices() - 1).to_string().len()) + 4;
    // If tiles are small, number only every second or third tile, because the number may extend
    // into the tiles beside it.
    let fits =
        |at: usize, size: usize, label: usize| at.is_multiple_of(label.div_ceil(size.max(1)));
    let drawn = fits(at[0], place.height, LINE - 4)
        && match bands.len() {
            1 => fits(at[1], place.width, longest),
            count => place.width / count >= longest,
        };
    html! {
        @if drawn {
            @for (device, [left, right]) in bands {
                @let colour = Colour::of_device(flows.group(device), flows.groups());
                text.c.(if colour.takes_dark_text() { "k" } else { "w" })
                    x=(left.midpoint(right)) y=(place.y + place.height / 2 + 4) { (device) }
            }
        }
    }
}
