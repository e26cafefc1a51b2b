use std::fmt;

use super::WindowError;
use crate::shape::ElementType;

/// What a DirectML feature level allows SLICE1: the tables of `DML_SLICE1_OPERATOR_DESC`.
///
/// stridec itself slices any rank and any type; this is for callers that must stay within a level.
///
/// ```
/// use stridec::{shape::ElementType, window::FeatureLevel};
/// assert_eq!(FeatureLevel::Level2_1.check_slice1(ElementType::F32, 4), Ok(()));
/// let error = FeatureLevel::Level2_1.check_slice1(ElementType::F32, 3).unwrap_err();
/// assert_eq!(error.to_string(), "sizes: 3 dimensions in a SLICE1 of feature level 2.1; 4 to 5 are accepted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FeatureLevel {
    /// 4 and 5 dimensions; types of 8 to 32 bits.
    Level2_1,
    /// 1 to 8 dimensions; types of 8 to 32 bits.
    Level3_0,
    /// 1 to 8 dimensions; types of 8 to 64 bits.
    Level4_1,
}

impl FeatureLevel {
    /// Every level at which SLICE1 changed, in order.
    pub const ALL: [Self; 3] = [Self::Level2_1, Self::Level3_0, Self::Level4_1];

    /// The level of this number.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level's number, such as `3.0`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Level2_1 => "2.1",
            Self::Level3_0 => "3.0",
            Self::Level4_1 => "4.1",
        }
    }

    /// Checks a SLICE1 against the level.
    ///
    /// # Errors
    ///
    /// Where the level has no tensor of that rank or type.
    pub fn check_slice1(self, element_type: ElementType, rank: usize) -> Result<(), WindowError> {
        let (least, limit) = if self == Self::Level2_1 { (4, 5) } else { (1, 8) };
        if !(least..=limit).contains(&rank) {
            return Err(WindowError::LevelRank { level: self, given: rank, least, limit });
        }
        let most = if self >= Self::Level4_1 { 64 } else { 32 };
        if width(element_type).is_none_or(|bits| bits > most) {
            return Err(WindowError::LevelType { level: self, element_type, most });
        }
        Ok(())
    }
}

/// Bits of the types that SLICE1 takes at any level.
fn width(element_type: ElementType) -> Option<u32> {
    use ElementType::{F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    match element_type {
        F16 | F32 | F64 | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64 => element_type.bits(),
        _ => None,
    }
}

impl fmt::Display for FeatureLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{Bf16, F32, S64, U4};
    use FeatureLevel::{Level2_1, Level3_0, Level4_1};

    #[test]
    fn the_published_tables() {
        for (level, element_type, rank, accepted) in [
            (Level2_1, F32, 4, true),
            (Level2_1, F32, 5, true),
            (Level2_1, F32, 3, false),
            (Level2_1, F32, 6, false),
            (Level3_0, F32, 1, true),
            (Level3_0, F32, 8, true),
            (Level3_0, F32, 9, false),
            (Level3_0, F32, 0, false),
            (Level3_0, S64, 4, false),
            (Level4_1, S64, 4, true),
            (Level4_1, Bf16, 4, false),
            (Level4_1, U4, 4, false),
        ] {
            let given = level.check_slice1(element_type, rank).is_ok();
            assert_eq!(given, accepted, "{level} {element_type} {rank}");
        }
        for level in FeatureLevel::ALL {
            assert_eq!(FeatureLevel::from_name(&level.to_string()), Some(level));
        }
    }
}
