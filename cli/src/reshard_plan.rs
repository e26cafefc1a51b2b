//! `stridec reshard plan`: prints a plan as text or in a format for programs.

use std::fmt::Write as _;

use prost::Message as _;
use serde_json::{Map, Value, json};
use stridec::{
    Error,
    proto::stridec as proto,
    reshard::{Cost, ReshardPlan, Transfer},
    shape::to_textproto,
    sharding::{Placement, Region},
    xla::human_readable_num_bytes as num_bytes,
};

use super::{
    errors::Failure,
    output::{Output, print},
    reshard_args::PlanFormat,
};

/// The maximum number of transfers that are printed as text.
const SHOWN: usize = 40;

/// Prints a plan in the given format.
pub(super) fn print_plan(plan: &ReshardPlan, format: PlanFormat) -> Result<(), Failure> {
    match format {
        PlanFormat::Text => print(&text(plan)),
        PlanFormat::Json => print(&format!("{:#}\n", json(plan))),
        PlanFormat::Pb => {
            let mut output = Output::open("-".as_ref())?;
            output.write(&proto::ReshardPlan::from(plan).encode_to_vec())?;
            output.finish()
        }
        PlanFormat::Textproto => {
            print(&to_textproto(&proto::ReshardPlan::from(plan)).map_err(Error::from)?)
        }
    }
}

/// Returns a plan as text: the first [`SHOWN`] transfers, and then the numbers of bytes.
fn text(plan: &ReshardPlan) -> String {
    let mut text = format!("{}\n", plan.shape());
    for Transfer { from, to, region } in plan.transfers().iter().take(SHOWN) {
        let bytes = plan.bytes(region);
        // Writing to a string succeeds.
        let _ = writeln!(text, "  {from} to {to}: {region}, {bytes} bytes");
    }
    let more = plan.transfers().len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more; --format json has them all");
    }
    let kept: u128 = plan.copies().iter().map(|copy| u128::from(plan.bytes(&copy.region))).sum();
    let (cost, bounds) = (plan.cost(), plan.bounds());
    for (name, bytes, bound) in [
        ("between devices", cost.total_bytes, bounds.total_bytes),
        ("busiest receiver", cost.receive_bytes, bounds.receive_bytes),
        ("busiest sender", cost.send_bytes, bounds.send_bytes),
    ] {
        let _ = writeln!(text, "{:>10}  {name}, at least {}", readable(bytes), readable(bound));
    }
    let _ = writeln!(text, "{:>10}  stay where they are", readable(kept));
    let _ = writeln!(text, "{:>10}  transfers", plan.transfers().len());
    text
}

/// Formats a number of bytes with a unit.
fn readable(bytes: u128) -> String {
    num_bytes(number(bytes))
}

/// Returns a plan as JSON, with all transfers.
fn json(plan: &ReshardPlan) -> Value {
    let transfer = |Transfer { from, to, region }: &Transfer| {
        let (name, part) = part(region);
        json!({"from": from, "to": to, name: part, "bytes": plan.bytes(region)})
    };
    let list = |transfers: &[Transfer]| transfers.iter().map(transfer).collect::<Vec<_>>();
    let (cost, bounds) = (plan.cost(), plan.bounds());
    json!({
        "from": tiles(plan.from()),
        "to": tiles(plan.to()),
        "transfers": list(plan.transfers()),
        "copies": list(plan.copies()),
        "total_bytes": number(cost.total_bytes),
        "receive_bytes": number(cost.receive_bytes),
        "send_bytes": number(cost.send_bytes),
        "bounds": bounds_json(bounds),
    })
}

fn bounds_json(bounds: Cost) -> Value {
    json!({
        "total_bytes": number(bounds.total_bytes),
        "receive_bytes": number(bounds.receive_bytes),
        "send_bytes": number(bounds.send_bytes),
    })
}

/// Converts a number of bytes to 64 bits. A larger number, which no machine can move, becomes the
/// maximum.
fn number(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the region of the array that each device holds: `{"DEVICE": [[start, limit], …]}`, with
/// the devices in ascending order. If a dimension of a region has several ranges, its entry is a
/// list of them.
pub(super) fn tiles(placement: &Placement) -> Value {
    let tiles = placement.regions().map(|(device, region)| (device.to_string(), part(&region).1));
    Value::Object(tiles.collect::<Map<_, _>>())
}

/// Returns the name and the value of a JSON field that describes a region: `"box"` with `[[start,
/// limit], …]` if the region is a box, and otherwise `"ranges"` with the list of ranges of each
/// dimension.
fn part(region: &Region) -> (&'static str, Value) {
    match region.as_box() {
        Some(region) => ("box", json!(region.ranges())),
        None => ("ranges", region.dimensions().map(|ranges| json!(ranges)).collect()),
    }
}
