//! [`Flows`]: the number of bytes that devices send to each other in a reshard. If a picture has no
//! room for all devices, they are grouped.

use std::collections::BTreeMap;

use crate::{
    reshard::{ReshardPlan, Transfer},
    shape::Count,
    text::human_readable_num_bytes,
};

/// The number of bytes that a plan moves between groups of devices.
pub(super) struct Flows {
    /// The number of devices in a group. The last group may be smaller.
    each: u64,
    /// The number of devices before and after the reshard.
    devices: [u64; 2],
    /// The number of bytes that one group sends to another, or that devices of one group send to
    /// each other. The key is the sending and the receiving group. Pairs without bytes are omitted.
    pub(super) moved: BTreeMap<(usize, usize), u128>,
    /// The number of bytes that the devices of each group need and hold already, so that they are
    /// not sent.
    pub(super) kept: Vec<u128>,
    /// The number of bytes that the devices of each group send.
    pub(super) sent: Vec<u128>,
    /// The number of bytes that the devices of each group receive.
    pub(super) received: Vec<u128>,
}

impl Flows {
    /// Sums the bytes of a plan by group. The devices are divided into at most `most` groups.
    pub(super) fn new(plan: &ReshardPlan, most: usize) -> Self {
        let devices = [plan.from().devices(), plan.to().devices()];
        let each = devices[0].max(devices[1]).div_ceil(most as u64);
        let mut flows = Self {
            each,
            devices,
            moved: BTreeMap::new(),
            kept: vec![],
            sent: vec![],
            received: vec![],
        };
        let groups = flows.groups();
        (flows.kept, flows.sent, flows.received) =
            (vec![0; groups], vec![0; groups], vec![0; groups]);
        for Transfer { from, to, region } in plan.transfers() {
            let (from, to) = (flows.group(*from), flows.group(*to));
            let bytes = u128::from(plan.bytes(region));
            *flows.moved.entry((from, to)).or_default() += bytes;
            flows.sent[from] += bytes;
            flows.received[to] += bytes;
        }
        for copy in plan.copies() {
            let group = flows.group(copy.to);
            flows.kept[group] += u128::from(plan.bytes(&copy.region));
        }
        flows
    }

    /// Returns the index of the group that contains a device.
    #[expect(clippy::cast_possible_truncation)] // the number of groups is limited
    pub(super) fn group(&self, device: u64) -> usize {
        (device / self.each) as usize
    }

    /// Returns the number of devices before or after the reshard, whichever is greater.
    pub(super) fn devices(&self) -> u64 {
        self.devices[0].max(self.devices[1])
    }

    /// Returns the number of groups on a side. Side 0 is the source, and side 1 the destination.
    pub(super) fn groups_of(&self, side: usize) -> usize {
        self.group(self.devices[side] - 1) + 1
    }

    /// Returns the number of groups on the side with more devices.
    pub(super) fn groups(&self) -> usize {
        self.groups_of(0).max(self.groups_of(1))
    }

    /// Returns true if each group is a single device.
    pub(super) fn is_by_device(&self) -> bool {
        self.each == 1
    }

    /// Returns the name of a group: the number of its only device, or the numbers of the first and
    /// the last device.
    pub(super) fn name(&self, group: usize) -> String {
        let first = group as u64 * self.each;
        let last = (first + self.each).min(self.devices()) - 1;
        if first == last { first.to_string() } else { format!("{first}–{last}") }
    }

    /// Returns the number of bytes of the largest flow between groups, to which the drawing is
    /// scaled.
    pub(super) fn most(&self) -> u128 {
        self.moved.values().copied().max().unwrap_or(0)
    }
}

/// Formats a number of bytes, such as `96.0M`. Numbers above 2^64-1 are shown as 2^64-1.
pub(super) fn bytes(bytes: u128) -> String {
    human_readable_num_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Describes the number of bytes that a plan moves, in sentences.
pub(super) fn sentences(plan: &ReshardPlan) -> Vec<String> {
    let [from, to] = [plan.from(), plan.to()].map(|side| Count(side.devices(), "device"));
    let sizes = plan.shape().dimensions().iter().map(|size| u128::from(size.bound().unwrap_or(0)));
    let array = bytes(sizes.product::<u128>() * u128::from(plan.element_bytes()));
    let (cost, bounds) = (plan.cost(), plan.bounds());
    let kept: u128 = plan.copies().iter().map(|copy| u128::from(plan.bytes(&copy.region))).sum();
    let mut sentences = vec![format!("{array}, on {from} before and {to} after.")];
    if plan.transfers().is_empty() {
        sentences.push(format!("Nothing is sent; {} stay where they are.", bytes(kept)));
        return sentences;
    }
    let messages = Count(plan.transfers().len() as u64, "message");
    let total = bytes(cost.total_bytes);
    sentences.push(format!(
        "{messages} of {total} in all go from one device to another, and {} stay where they are.",
        bytes(kept)
    ));
    let least = |cost: u128, bound: u128| {
        if cost == bound {
            format!("{}, the least possible", bytes(cost))
        } else {
            format!("{}, at least {} in any plan", bytes(cost), bytes(bound))
        }
    };
    sentences.push(format!(
        "The busiest sender sends {}; the busiest receiver receives {}.",
        least(cost.send_bytes, bounds.send_bytes),
        least(cost.receive_bytes, bounds.receive_bytes)
    ));
    sentences
}
