//! [`ReshardPicture`]: a picture of a reshard, drawn here for a terminal.

use std::fmt::Write as _;

use super::{
    colour::Colour,
    flows::{self, Flows},
    shards::{TileMap, View, listed},
    terminal::{MAX_ROWS, wrapped},
};
use crate::reshard::ReshardPlan;

/// The maximum number of columns of an array or a matrix that is drawn in a terminal.
const MAX_COLUMNS: usize = 16;
/// The maximum length of a sharding's text in a picture, in characters.
const MAX_NAME: usize = 160;

/// A picture of a reshard: the array with the devices of its tiles, before and after, and the
/// number of bytes that devices send to each other.
///
/// If a picture has no room for all devices, they are grouped.
///
/// ```
/// use stridec::{explain::ReshardPicture, reshard::plan, shape::Shape, sharding::Sharding};
/// let shape: Shape = "f32[8192,16384]".parse()?;
/// let names = ["{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"];
/// let place = |name: &str| name.parse::<Sharding>()?.place(&shape, None);
/// let plan = plan(&shape, &place(names[0])?, &place(names[1])?)?;
/// let picture = ReshardPicture::new(&plan, names).terminal(80);
/// assert!(picture.contains("12 messages of 384.00M in all"), "{picture}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ReshardPicture<'a> {
    pub(super) plan: &'a ReshardPlan,
    pub(super) names: [&'a str; 2],
}

impl<'a> ReshardPicture<'a> {
    /// Creates a picture of a plan. `names` has the texts of the shardings before and after the
    /// reshard, for the titles.
    #[must_use]
    pub fn new(plan: &'a ReshardPlan, names: [&'a str; 2]) -> Self {
        let names = names.map(|name| {
            let end = name.char_indices().nth(MAX_NAME).map_or(name.len(), |(end, _)| end);
            &name[..end]
        });
        Self { plan, names }
    }

    /// Draws the reshard for a terminal of `width` columns (at least 40). A writer such as
    /// `anstream` may strip the ANSI colours, because colours never carry information that is not
    /// also in the text.
    #[must_use]
    pub fn terminal(&self, width: usize) -> String {
        let width = width.max(40);
        let mut text = String::new();
        wrapped(&mut text, &self.title(), width);
        for sentence in self.sentences() {
            wrapped(&mut text, &sentence, width);
        }
        let columns = ((width - 12) / CELL).min(MAX_COLUMNS);
        let flows = Flows::new(self.plan, columns - 1);
        match View::new(self.plan) {
            None => text.push_str("The array has no elements.\n"),
            Some(view) => {
                let placements = [self.plan.from(), self.plan.to()];
                for ((placement, word), name) in
                    placements.iter().zip(["BEFORE", "AFTER"]).zip(self.names)
                {
                    text.push('\n');
                    wrapped(&mut text, &format!("{word} {name}"), width);
                    map(
                        &mut text,
                        &TileMap::new(placement, &view, [MAX_ROWS, columns]),
                        &view,
                        &flows,
                    );
                }
            }
        }
        matrix(&mut text, &flows);
        text
    }

    /// Returns the title, which names the array.
    pub(super) fn title(&self) -> String {
        format!("RESHARD {}", self.plan.shape())
    }

    /// Returns sentences that explain unusual cells to the reader: tiles with several colours, and
    /// cells that represent several tiles. Leaves out sentences that the picture does not need.
    pub(super) fn legend(&self) -> Vec<&'static str> {
        let sides = [self.plan.from(), self.plan.to()];
        let mut legend = vec![];
        if sides.iter().any(|side| side.copies() != Some(1)) {
            legend.push(
                "A tile of several colours lies on several devices, each of which has all of it.",
            );
        }
        let view = View::new(self.plan);
        if view.is_some_and(|view| sides.iter().any(|side| view.is_coarse(side))) {
            legend.push("A cell of several tiles or blocks has the colour of the first.");
        }
        legend
    }

    /// Returns sentences that describe the number of bytes that the plan moves.
    pub(super) fn sentences(&self) -> Vec<String> {
        flows::sentences(self.plan)
    }
}

/// The width of a cell in columns, including the blank before it.
const CELL: usize = 8;

/// Draws the array before or after the reshard, with the devices of each tile.
fn map(text: &mut String, map: &TileMap<'_>, view: &View, flows: &Flows) {
    let [rows, columns] = &map.strips;
    let along = |dimension: Option<usize>, way: &str| {
        dimension.map(|dimension| format!("d{dimension} {way}"))
    };
    let axes: Vec<String> =
        [along(view.down, "down"), along(view.across, "across")].into_iter().flatten().collect();
    let axes = axes.join(", ");
    for plane in &map.planes {
        let name = map.plane_name(plane);
        let parts = [&name[..], &axes].into_iter().filter(|part| !part.is_empty());
        let _ = writeln!(text, "  {}", parts.collect::<Vec<_>>().join("; "));
        let _ = write!(text, "{:10}", "");
        for column in columns {
            let _ = write!(text, " {:>1$}", column.start, CELL - 1);
        }
        text.push('\n');
        for &row in rows {
            let _ = write!(text, "{:>10}", row.start);
            for &column in columns {
                let holders = map.holders(plane, row, column);
                let colour = Colour::of_device(flows.group(holders.get(0)), flows.groups());
                let style = colour.terminal();
                let mut name = listed(holders);
                if name.len() > CELL - 1 {
                    name = format!("{} +{}", holders.get(0), holders.len() - 1);
                }
                let _ = write!(text, " {style}{name:^0$}{style:#}", CELL - 1);
            }
            text.push('\n');
        }
    }
    if map.hidden > 0 {
        let _ = writeln!(text, "  and {} more", map.hidden);
    }
}

/// Writes a matrix of the number of bytes that devices send: a row for each sender and a column for
/// each receiver.
fn matrix(text: &mut String, flows: &Flows) {
    let [senders, receivers] = [flows.groups_of(0), flows.groups_of(1)];
    text.push_str(
        "\nBYTES from the devices of the rows to those of the columns; what stays is in brackets\n",
    );
    let _ = write!(text, "{:10}", "");
    for to in 0..receivers {
        let _ = write!(text, " {:>1$}", flows.name(to), CELL - 1);
    }
    let _ = writeln!(text, " {:>1$}", "sent", CELL - 1);
    for from in 0..senders {
        let _ = write!(text, "{:>10}", flows.name(from));
        for to in 0..receivers {
            let kept = if from == to { flows.kept[from] } else { 0 };
            let cell = match flows.moved.get(&(from, to)) {
                Some(&bytes) => flows::bytes(bytes),
                None if kept > 0 => format!("({})", flows::bytes(kept)),
                None => "·".to_owned(),
            };
            let _ = write!(text, " {cell:>0$}", CELL - 1);
        }
        let _ = writeln!(text, " {:>1$}", flows::bytes(flows.sent[from]), CELL - 1);
    }
    let _ = write!(text, "{:>10}", "received");
    for to in 0..receivers {
        let _ = write!(text, " {:>1$}", flows::bytes(flows.received[to]), CELL - 1);
    }
    text.push('\n');
}
