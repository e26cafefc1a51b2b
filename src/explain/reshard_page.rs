//! The page of a reshard: its pictures, and the number of bytes that the device under the pointer
//! sends and receives.

use maud::{Markup, html};
use serde_json::{Value as Json, json};

use super::{
    flows::{self, Flows},
    html::{Content, document, frame},
    reshard::ReshardPicture,
    svg::{MAX_GROUPS, ReshardParts},
};
use crate::reshard::Transfer;

/// The scripts of the page, in an order in which later scripts may use earlier ones.
const SCRIPTS: [&str; 2] = [include_str!("page/reshard.js"), include_str!("page/start.js")];
/// The maximum number of transfers that a page lists.
const MOST_LISTED: usize = 4096;

impl ReshardPicture<'_> {
    /// Writes a single self-contained page. The page loads nothing, and its content security policy
    /// forbids loading.
    ///
    /// When the reader points at a device, the page shows how many bytes the device sends and
    /// receives.
    #[must_use]
    pub fn html(&self) -> String {
        document(&self.content(), "", &SCRIPTS)
    }

    /// Returns the content of the page that [`html`](Self::html) writes, for embedding in another
    /// document. The script function `showReshard` makes the content interactive.
    #[must_use]
    pub fn content(&self) -> Content {
        let flows = Flows::new(self.plan, MAX_GROUPS);
        let ReshardParts { sides, arrows, matrix } = self.documents();
        let body = html! {
            h1 { code { (self.title()) } }
            @for sentence in self.sentences() { p { (sentence) } }
            p.lead {
                "Each tile of the array has the colour of the device that holds it. "
                @for said in self.legend() { (said) " " }
                "Point at a device, or choose one below, to see what it sends and receives."
            }
            noscript { p { "Choosing a device needs JavaScript; the pictures do not." } }
            p.controls #choose {}
            p #live role="status" aria-live="polite" {}
            div.sides { @for side in &sides { (frame(side, "the array")) } }
            h2 { "What is sent" }
            (frame(&arrows, "who sends to whom"))
            (frame(&matrix, "bytes between devices"))
            (self.listed())
        };
        let transfers =
            flows.moved.iter().map(|(&(from, to), &bytes)| json!([from, to, flows::bytes(bytes)]));
        let devices = (0..flows.groups()).map(|group| {
            let [sent, received, kept] =
                [&flows.sent, &flows.received, &flows.kept].map(|of| flows::bytes(of[group]));
            json!({ "name": flows.name(group), "sent": sent, "received": received, "kept": kept })
        });
        let data = json!({
            "flows": transfers.collect::<Json>(),
            "devices": devices.collect::<Json>(),
            "word": if flows.is_by_device() { "Device" } else { "Devices" },
        });
        let data = data.to_string().replace('<', "\\u003c");
        Content { title: self.title(), body: body.into_string(), data }
    }

    /// Writes a table of the plan's transfers, up to [`MOST_LISTED`].
    fn listed(&self) -> Markup {
        let transfers = self.plan.transfers();
        html! {
            @if transfers.is_empty() {
                p { "Nothing is sent." }
            } @else {
                details {
                    summary { "What is sent, part by part" }
                    div.wide {
                        table {
                            tr { @for name in ["from", "to", "indices", "bytes"] { th scope="col" { (name) } } }
                            @for Transfer { from, to, region } in transfers.iter().take(MOST_LISTED) {
                                tr { td { (from) } td { (to) } td { (region) } td { (self.plan.bytes(region)) } }
                            }
                        }
                    }
                    @if transfers.len() > MOST_LISTED {
                        p { "and " (transfers.len() - MOST_LISTED) " more, which " code { "stridec reshard plan --format json" } " prints." }
                    }
                }
            }
        }
    }
}
