//! [`rounds`]: a plan in rounds, so that little is on the way at a time.

use super::{RankPlan, Transfer, split};
use crate::{shape::FieldPath, sharding::ShardingError};

/// One message of a device: to or from a partner, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Where the round stands among those of all devices: the distance of the ring, and the piece.
    pub number: (u64, u64),
    /// What the device sends in it: to one partner, at most half of the bound.
    pub sends: Vec<Transfer>,
    /// What it receives in it: from one partner, at most half of the bound.
    pub receives: Vec<Transfer>,
}

/// The rounds of one device's part, so that it has at most `staging_bytes` in messages at a time.
///
/// In the rounds `(k, …)` a device sends to `(device + k) mod devices` and receives from `(device − k) mod devices`: not everybody
/// sends to device 0 first. Transfers are cut into pieces of at most half of the bound, along their most major dimension where that is
/// enough; both sides cut alike. Rounds in which the device has nothing to do are left out.
///
/// # Errors
///
/// Where half of the bound is less than an element.
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
        // For each distance, the piece being filled and the elements in it.
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
                let limit = match split::rounded(&transfer.region, limit, most / 4) {
                    near if near > at && near <= limit => near,
                    _ => limit,
                };
                let round = rounds.entry((distance, *piece)).or_insert_with(|| Round {
                    number: (distance, *piece),
                    sends: Vec::new(),
                    receives: Vec::new(),
                });
                let list = if sends { &mut round.sends } else { &mut round.receives };
                split::run(&transfer.region, at, limit, &mut |region| {
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
