//! [`Scattered`]: a nest that visits the updates of a scatter instead of its destination.
//!
//! A scatter writes each of its updates, called *windows*, to a part of the destination that is
//! known only at run time.

use smallvec::smallvec;

use super::{Affine, Case, CaseValue, CopyNest, Gaps, LastRead, Source, Value, numbers::signed};

/// The place to which a nest stores, if its loops visit the windows of a scatter and the elements
/// inside each window, and not the destination in order of address.
///
/// Each iteration to which a case applies stores to the place `at`. All other places of the
/// destination keep their bits. There are two kinds of such nests:
///
/// - Without a `number`, the nest stores the unit that the case copies. No two iterations store to
///   the same place.
/// - With a `number`, it copies nothing and makes a table of 32-bit numbers, the *marks*. It stores
///   `number` at the place `at` of the table, unless a greater number is there. Because the
///   greatest number wins, each entry of the table finally is the number of the last window that
///   covers its place, in whatever order the iterations run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scattered {
    /// The place in the destination, in units.
    pub(crate) at: Affine,
    /// The number of the window, counted from 1, in a nest that makes a table of marks.
    pub(crate) number: Option<Affine>,
}

impl Scattered {
    /// Returns the expressions of the place and of the number.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Affine> {
        std::iter::once(&self.at).chain(&self.number)
    }
}

impl CopyNest {
    /// Returns the places to which the nest stores if it visits windows; `None` if it visits the
    /// destination.
    pub(crate) fn scattered(&self) -> Option<&Scattered> {
        // The web page compiles no nest that visits windows. Because of this `None`, the compiler
        // leaves out all code for them there.
        if cfg!(stridec_plain_host) { None } else { self.scattered.as_ref() }
    }

    /// Returns the place and the number that the nest stores if it makes a table of marks; `None`
    /// if it copies.
    pub(crate) fn marks(&self) -> Option<(&Affine, &Affine)> {
        self.scattered().and_then(|scattered| Some((&scattered.at, scattered.number.as_ref()?)))
    }

    /// Divides the copy of a nest that visits windows in two. Its cases must apply everywhere. The
    /// first nest copies all units to a dense array, in the order of its loops, and the second nest
    /// stores the units of this array at their places.
    pub(crate) fn through_walk(&self) -> [Self; 2] {
        let (units, bits) = (self.positions(), u64::from(self.dst_bits));
        let bytes = units * bits / 8;
        let dense = Self {
            scattered: None,
            gaps: Gaps::Fill,
            dst_units: units,
            dst_bytes: bytes,
            ..self.clone()
        };
        let place = self.axes().enumerate().fold(Affine::default(), |place, (axis, of)| {
            place.plus(signed(of.dst_stride), &Affine::value(Value::Axis(axis)))
        });
        let last_read = units.checked_sub(1).map_or(LastRead::Nothing, LastRead::Unit);
        let stored = Self {
            sources: smallvec![Source { units, bytes, last_read }],
            cases: smallvec![Case { when: vec![], take: CaseValue::Read { source: 0, at: place } }],
            ..self.clone()
        };
        [dense, stored]
    }

    /// Returns this nest as one that visits windows. It must not have cases yet. The destination
    /// has `dst_units` units and `dst_bytes` bytes.
    pub(super) fn scattering(self, dst_units: u64, dst_bytes: u64) -> Self {
        let scattered = Some(Scattered { at: Affine::default(), number: None });
        Self { gaps: Gaps::Keep, dst_base: 0, dst_units, dst_bytes, scattered, ..self }
    }
}
