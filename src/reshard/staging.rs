//! [`rounds`]: divides a reshard into rounds, to limit the memory that a device's messages occupy
//! at any time.

use super::{RankPlan, Transfer, split};
use crate::{shape::FieldPath, sharding::ShardingError};

/// A step of a reshard, in which a device sends at most one message and receives at most one
/// message at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The identifier of the round, by which sender and receiver match a message. The first number
    /// is the distance from sender to receiver in the ring of devices. The second counts the
    /// messages from this sender to this receiver.
    pub number: (u64, u64),
    /// The transfers in the message that the device sends, all to the same device. The message
    /// takes at most half of the staging bytes.
    pub sends: Vec<Transfer>,
    /// The transfers in the message that the device receives, all from the same device. The message
    /// takes at most half of the staging bytes.
    pub receives: Vec<Transfer>,
}

/// Divides one device's part of a reshard into rounds, so that the device's messages occupy at most
/// `staging_bytes` at any time.
///
/// In rounds with the number `(k, …)`, a device sends to `(device + k) mod devices` and receives
/// from `(device − k) mod devices`, so that the devices do not all send to device 0 first. A
/// message takes at most half of `staging_bytes`, because a device may send and receive at the same
/// time. A larger transfer is cut into pieces, preferably along its most major dimension. Sender
/// and receiver cut a transfer in the same way, so their messages match. Rounds in which the device
/// neither sends nor receives are omitted.
///
/// # Errors
///
/// Returns an error if half of `staging_bytes` is less than the size of one element.
pub fn rounds(
    part: &RankPlan,
    device: u64,
    devices: u64,
    element_bytes: u64,
    staging_bytes: u64,
) -> Result<Vec<Round>, ShardingError> {
    let most = staging_bytes / 2 / element_bytes.max(1);
    if most == 0 {
        return Err(ShardingError::Rule {
            field: FieldPath::new("staging"),
            rule: format!("at least {} bytes, two elements", 2 * element_bytes),
            given: staging_bytes.to_string(),
        });
    }
    let mut rounds: std::collections::BTreeMap<(u64, u64), Round> =
        std::collections::BTreeMap::new();
    let mut fill = |transfers: &[Transfer], sends: bool| {
        // For each distance: the index of the message that is being filled, and the number of
        // elements in it so far.
        let mut pieces: std::collections::HashMap<u64, (u64, u64)> =
            std::collections::HashMap::new();
        for transfer in transfers {
            let distance = if transfer.to >= transfer.from {
                transfer.to - transfer.from
            } else {
                devices - (transfer.from - transfer.to)
            };
            let (piece, filled) = pieces.entry(distance).or_default();
            let elements = transfer.region.elements();
            let mut at = 0;
            while at < elements {
                if *filled == most {
                    (*piece, *filled) = (*piece + 1, 0);
                }
                let limit = elements.min(at + most - *filled);
                let limit = match split::near_row_end(&transfer.region, limit, most / 4) {
                    near if near > at && near <= limit => near,
                    _ => limit,
                };
                let round = rounds.entry((distance, *piece)).or_insert_with(|| Round {
                    number: (distance, *piece),
                    sends: Vec::new(),
                    receives: Vec::new(),
                });
                let list = if sends { &mut round.sends } else { &mut round.receives };
                split::each_part(&transfer.region, at, limit, &mut |region| {
                    list.push(Transfer { region, ..*transfer });
                });
                *filled += limit - at;
                if limit < elements {
                    (*piece, *filled) = (*piece + 1, 0);
                }
                at = limit;
            }
        }
    };
    fill(&part.sends, true);
    fill(&part.receives, false);
    debug_assert!(part.sends.iter().all(|transfer| transfer.from == device));
    Ok(rounds.into_values().collect())
}
