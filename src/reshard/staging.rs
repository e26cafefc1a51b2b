//! [`rounds`]: divides a plan into rounds, which bounds the memory for messages.

use super::{RankPlan, Transfer, split};
use crate::{shape::FieldPath, sharding::ShardingError};

/// One message that a device sends, and one that it receives, at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The number of the round among the rounds of all devices: the distance in the ring, and the
    /// piece.
    pub number: (u64, u64),
    /// The transfers that the device sends, all to one partner: at most half of the bound.
    pub sends: Vec<Transfer>,
    /// The transfers that the device receives, all from one partner: at most half of the bound.
    pub receives: Vec<Transfer>,
}

/// Divides the part of one device into rounds, so that it has at most `staging_bytes` in messages
/// at a time.
///
/// In the rounds `(k, …)` a device sends to `(device + k) mod devices` and receives from
/// `(device − k) mod devices`, so that not all devices send to device 0 first. Transfers are cut
/// into pieces of at most half of the bound, preferably along their most major dimension. Both
/// sides cut in the same way. Rounds in which the device neither sends nor receives are left out.
///
/// # Errors
///
/// Returns an error if half of the bound is less than an element.
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
        // For each distance: the piece that is being filled, and the elements in it.
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
