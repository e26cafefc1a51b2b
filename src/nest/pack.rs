//! Packing: copies several sources into one buffer, for nests with more sources than the 7 that a
//! kernel can bind.
//!
//! The packing is itself a copy, so [`pack`] returns it as a nest. [`CopyNest::with_packed`]
//! changes a nest so that it reads the packed buffer.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CaseValue, CopyNest, Gaps, Guard, LastRead, LookupExpr, Number, Source, Value,
    coalesce,
    numbers::{ACCESS_BYTES, signed},
    refine, widen,
};

/// Returns the offset of each source in the packed buffer, and the length of the buffer, in bytes.
fn places(images: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
    let mut end = 0;
    let place = |bytes: u64| {
        let place = end;
        end = (end + bytes).next_multiple_of(ACCESS_BYTES);
        place
    };
    (images.map(place).collect(), end)
}

/// Returns the copy that packs sources of the given lengths, in bytes, one after the other. Each
/// starts at a multiple of 16 bytes, so that wide accesses to it remain aligned.
pub(crate) fn pack(images: &[u64]) -> CopyNest {
    let (places, bytes) = places(images.iter().copied());
    let at = |place: u64| Affine::constant(-signed(place)).plus(1, &Affine::value(Value::Axis(0)));
    let cases = images.iter().zip(places).enumerate().map(|(source, (&extent, place))| Case {
        when: vec![Guard { of: at(place), extent }],
        take: CaseValue::Read { source, at: at(place) },
    });
    let source = |&bytes: &u64| {
        let last_read = bytes.checked_sub(1).map_or(LastRead::Nothing, LastRead::Unit);
        Source { units: bytes, bytes, last_read }
    };
    let nest = CopyNest {
        extents: smallvec![bytes],
        quotients: Vec::new(),
        lookups: vec![],
        sources: images.iter().map(source).collect(),
        cases: cases.collect(),
        gaps: Gaps::Fill,
        dst_base: 0,
        dst_units: bytes,
        dst_bytes: bytes,
        src_bits: 8,
        dst_bits: 8,
        sign_extend: false,
        conversion: None,
        scattered: None,
    };
    widen(coalesce(refine(nest)))
}

impl CopyNest {
    /// Returns true if lookups load integers from `source`. No case then copies from this source.
    pub(crate) fn is_of_numbers(&self, source: usize) -> bool {
        self.loaded_bits(source).is_some()
    }

    /// Replaces the sources in `packed` by the one buffer that [`pack`] makes from them, so that
    /// the nest has fewer sources. These sources must be read only by lookups or only by cases. The
    /// packed buffer becomes the last source; the other sources keep their order.
    pub(crate) fn with_packed(mut self, packed: &[usize]) -> Self {
        let images = packed.iter().map(|&source| self.sources[source].bytes);
        let (places, bytes) = places(images);
        let is_packed = |source: usize| packed.iter().position(|&number| number == source);
        let kept = self.sources.len() - packed.len();
        let moved: Vec<(usize, u64)> = (0..self.sources.len())
            .map(|source| match is_packed(source) {
                Some(place) => (kept, places[place]),
                None => ((0..source).filter(|&other| is_packed(other).is_none()).count(), 0),
            })
            .collect();
        let units = |bytes: u64, bits: u32| bytes * 8 / u64::from(bits);
        let bits_of = |source: &usize| self.loaded_bits(*source).unwrap_or(self.src_bits);
        let packed_bits: Vec<u32> = packed.iter().map(bits_of).collect();
        for Number { integer, of } in self.lookups.iter_mut().flat_map(|of| &mut of.numbers) {
            if let LookupExpr::Load { source, at } = of {
                let place = moved[*source].1;
                *source = moved[*source].0;
                let shift = Affine::constant(signed(units(place, integer.bits_in_memory())));
                *at = std::mem::take(at).plus(1, &shift);
            }
        }
        let bits = self.loaded_bits(kept).unwrap_or(self.src_bits);
        let last_read = self.last_packed(bits, packed, (&packed_bits, &places));
        for case in &mut self.cases {
            if let CaseValue::Read { source, at } = &mut case.take {
                let place = moved[*source].1;
                *source = moved[*source].0;
                let shift = Affine::constant(signed(units(place, self.src_bits)));
                *at = std::mem::take(at).plus(1, &shift);
            }
        }
        let sources = self.sources.iter().enumerate();
        let others = sources.filter(|&(number, _)| is_packed(number).is_none());
        let mut sources: SmallVec<[Source; 1]> = others.map(|(_, source)| *source).collect();
        sources.push(Source { units: units(bytes, bits), bytes, last_read });
        self.sources = sources;
        self
    }

    /// Returns the last unit of `bits` bits that is read from a packed buffer. For each source in
    /// the buffer, `own_bits` holds the width of its units and `places` the offset of its first
    /// byte.
    fn last_packed(
        &self,
        bits: u32,
        packed: &[usize],
        (own_bits, places): (&[u32], &[u64]),
    ) -> LastRead {
        let mut end = 0;
        for ((&source, &own), place) in packed.iter().zip(own_bits).zip(places) {
            match self.sources[source].last_read {
                LastRead::Unit(last) => end = end.max(place * 8 + (last + 1) * u64::from(own)),
                LastRead::Nothing => {}
                LastRead::Unknown => return LastRead::Unknown,
            }
        }
        let last = end.div_ceil(bits.into()).checked_sub(1);
        last.map_or(LastRead::Nothing, LastRead::Unit)
    }
}
