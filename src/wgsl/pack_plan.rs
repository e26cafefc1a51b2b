//! [`PackPlan`]: the cheapest way to combine units of loaded words into destination words.
//!
//! If elements are narrower than 32 bits, a kernel spends most of its operations on moving units
//! between words. A plan uses one of three methods for all words of a block: the one with the
//! lowest cost, which is computed from the number of operations and of lines.
//!
//! - Unit by unit: each unit takes a shift and a mask.
//! - Units first: two units that are contiguous in the destination are combined, together with all
//!   other pairs of their two words. The results are combined in the same way, until each
//!   destination word consists of a part of one word and a part of another. This turns planes into
//!   pixels.
//! - Halves first: the units at even indices of a destination word are collected in one word, and
//!   the units at odd indices in another. Then the two words are interleaved. This turns pixels
//!   into planes.
//!
//! [`PackedWords`](super::packed_words) has an example, and writes the plan as WGSL.

/// One word of a loaded or computed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) value: usize,
    pub(super) component: u64,
}

/// A unit in a word. `place` is its distance from the low end of the word, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) word: Word,
    pub(super) place: u32,
}

/// The operation that combines two words into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// Units of `bits` bits alternate: the units at even places are from the first word, and those
    /// at odd places from the second word. Each word is first shifted up by `low_by` or `high_by`
    /// units.
    Pairs { bits: u32, low_by: i32, high_by: i32 },
    /// The low `bits` bits are taken from the first word, starting at its bit `low_from`. The other
    /// bits are taken from the second word, starting at its bit `high_from`.
    Ends { bits: u32, low_from: u32, high_from: u32 },
}

/// A word that is combined from two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CombinedWord {
    pub(super) low: Word,
    pub(super) high: Word,
    pub(super) combine: Combine,
}

impl CombinedWord {
    /// Returns the operation whose result is this word, unchanged.
    fn of(word: Word) -> Self {
        Self { low: word, high: word, combine: Combine::Pairs { bits: 16, low_by: 0, high_by: 0 } }
    }

    /// Returns true if the result is a single word that is shifted as a whole.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.combine, Combine::Pairs { low_by, high_by, .. } if self.low == self.high && low_by == high_by)
    }

    /// Returns true if the result is a single word that is not shifted, which takes no operation.
    fn is_as_it_is(&self) -> bool {
        matches!(self.combine, Combine::Pairs { low_by: 0, .. } if self.is_one())
    }

    /// Returns the number of operations. If the parts are whole bytes, they are combined by
    /// `insertBits`, which counts as one operation.
    fn operations(&self) -> u32 {
        match self.combine {
            Combine::Pairs { low_by, high_by, .. } => {
                let part = |by: i32| 1 + u32::from(by != 0);
                // If the two parts use the same mask, they share the masked word.
                let shared = self.low == self.high && (low_by % 2 != 0) == (high_by % 2 == 0);
                if self.is_one() {
                    u32::from(low_by != 0)
                } else {
                    part(low_by) + part(high_by) - u32::from(shared)
                }
            }
            Combine::Ends { bits, low_from, high_from } => {
                if low_from + bits == 32 && high_from == 0 {
                    1
                } else if bits % 8 != 0 {
                    2 + u32::from(low_from != 0) + u32::from(high_from != bits)
                } else if low_from == 0 {
                    1 + u32::from(high_from != bits && high_from != 0)
                } else {
                    2 + u32::from(high_from != bits)
                }
            }
        }
    }
}

/// A word of the destination, described by the parts that remain to be combined into it.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Units(Vec<Unit>),
    Combined(CombinedWord),
    Whole(Word),
}

impl Goal {
    /// Returns the goal for a word that consists of these units of `bits` bits.
    pub(super) fn new(units: Vec<Unit>, bits: u32) -> Self {
        let follows =
            |pair: &[Unit]| pair[1].word == pair[0].word && pair[1].place == pair[0].place + 1;
        let starts = |&at: &usize| !follows(&units[at - 1..=at]);
        let mut starts = (1..units.len()).filter(starts);
        let (low, second, third) = (units[0], starts.next(), starts.next());
        match (second, third) {
            (None, _) => Self::Whole(low.word),
            (Some(at), None) => {
                let high = units[at];
                let end = u32::try_from(at).unwrap_or(0) * bits;
                let (low_from, high_from) = (low.place * bits, high.place * bits);
                let combine = Combine::Ends { bits: end, low_from, high_from };
                Self::Combined(CombinedWord { low: low.word, high: high.word, combine })
            }
            _ => Self::Units(units),
        }
    }

    /// Returns the number of units that are still to be combined.
    fn units(&self) -> usize {
        match self {
            Self::Units(units) => units.len(),
            _ => 0,
        }
    }

    /// Returns the number of operations that make the word from its parts. Units have `bits` bits.
    fn operations(&self, bits: u32) -> u32 {
        let part = |&(_, by, mask): &(Word, i32, u32)| {
            u32::from(by != 0) + u32::from(mask != moved(u32::MAX, by))
        };
        match self {
            Self::Whole(_) => 0,
            Self::Combined(made) => made.operations(),
            Self::Units(units) => parts(units, bits).iter().map(part).sum(),
        }
    }
}

/// A value that is computed because several destination words use it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackStep {
    pub(super) made: CombinedWord,
    /// The number of words. It is more than 1 if all components of a vector are computed in the
    /// same way, by one line of code.
    pub(super) words: u64,
    /// The number of bits in each group of contiguous units inside the value.
    pub(super) bits: u32,
}

/// The values to compute, in order, and the parts that are then combined into each destination
/// word.
#[derive(Debug)]
pub(super) struct PackPlan {
    pub(super) steps: Vec<PackStep>,
    pub(super) goals: Vec<Goal>,
    operations: u32,
    /// The number of words of each value, the loaded values first.
    words: Vec<u64>,
}

impl PackPlan {
    /// Returns the cheapest plan for destination words that consist of these units of `bits` bits.
    /// `loaded` has the number of words of each loaded value.
    pub(super) fn new(units: Vec<Vec<Unit>>, bits: u32, loaded: &[u64]) -> Self {
        let goals: Vec<Goal> = units.into_iter().map(|units| Goal::new(units, bits)).collect();
        let new = |goals| Self { steps: vec![], goals, operations: 0, words: loaded.to_vec() };
        // If each loaded word gives only one unit, destination words cannot share steps.
        let count: usize = goals.iter().map(Goal::units).sum();
        if count == 0 || loaded.iter().sum::<u64>() >= count as u64 {
            return new(goals);
        }
        let mut best = new(goals.clone());
        best.finish(bits);
        let mut in_steps = new(vec![]);
        in_steps.units_first(goals.clone(), bits);
        in_steps.finish(16);
        if in_steps.cost() < best.cost() {
            best = in_steps;
        }
        let mut in_steps = new(vec![]);
        if in_steps.halves_first(goals, bits).is_some() {
            in_steps.finish(16);
            if in_steps.cost() < best.cost() {
                best = in_steps;
            }
        }
        best
    }

    /// Returns the cost: twice the number of operations, plus the number of lines, because naga
    /// parses and validates each line.
    fn cost(&self) -> usize {
        2 * self.operations as usize + self.steps.len()
    }

    /// Adds the operations that make the destination words after the steps.
    fn finish(&mut self, bits: u32) {
        self.operations += self.goals.iter().map(|goal| goal.operations(bits)).sum::<u32>();
    }

    /// Combines pairs of units until each destination word consists of parts of at most two words.
    fn units_first(&mut self, mut goals: Vec<Goal>, bits: u32) {
        for bits in [1, 2, 4, 8].into_iter().filter(|&level| level >= bits) {
            let units = goals.iter().filter_map(|goal| match goal {
                Goal::Units(units) => Some(units),
                _ => None,
            });
            let pairs = units.flat_map(|units| units.chunks_exact(2));
            let pairs: Vec<(CombinedWord, u32)> =
                pairs.map(|of| pair(of[0], of[1], bits)).collect();
            let words = self.values(pairs.iter().map(|pair| pair.0), 2 * bits);
            let mut made = words.into_iter().zip(pairs);
            for of in &mut goals {
                let Goal::Units(units) = of else { continue };
                let units = made.by_ref().take(units.len() / 2);
                let units = units.map(|(word, (_, place))| Unit { word, place });
                *of = Goal::new(units.collect(), 2 * bits);
            }
        }
        self.goals = goals;
    }

    /// Collects the units at even places of each destination word in one word and the units at odd
    /// places in another, and interleaves the two words. Returns `None` if the units of one of
    /// these words are at both even and odd places of the loaded words.
    fn halves_first(&mut self, goals: Vec<Goal>, bits: u32) -> Option<()> {
        let mut sides = Vec::new();
        for goal in &goals {
            let Goal::Units(units) = goal else { continue };
            for side in 0..2 {
                let mut all = units.iter().skip(side).step_by(2);
                let odd = units[side].place % 2;
                if !all.clone().all(|unit| unit.place % 2 == odd) {
                    return None;
                }
                let halves = all.by_ref().map(|unit| Unit { place: unit.place / 2, ..*unit });
                sides.push((Goal::new(halves.collect(), 2 * bits), odd));
            }
        }
        let inner: Vec<Goal> = sides.iter().map(|side| side.0.clone()).collect();
        if inner.iter().any(|goal| matches!(goal, Goal::Units(_))) {
            self.halves_first(inner, 2 * bits)?;
        } else {
            self.goals = inner;
        }
        let made = |goal: &Goal| match *goal {
            Goal::Combined(made) => made,
            // A word that needs no operation.
            Goal::Whole(word) => CombinedWord::of(word),
            Goal::Units(_) => unreachable!("halves are made of two words"),
        };
        let inner: Vec<CombinedWord> = std::mem::take(&mut self.goals).iter().map(made).collect();
        let words = self.values(inner.into_iter(), 2 * bits);
        let words = words.chunks_exact(2).zip(sides.chunks_exact(2));
        self.goals = goals;
        let put_together = self.goals.iter_mut().filter(|goal| matches!(goal, Goal::Units(_)));
        for (goal, (words, sides)) in put_together.zip(words) {
            let [low_by, high_by] = [-sides[0].1.cast_signed(), 1 - sides[1].1.cast_signed()];
            let combine = Combine::Pairs { bits, low_by, high_by };
            *goal = Goal::Combined(CombinedWord { low: words[0], high: words[1], combine });
        }
        Some(())
    }

    /// Adds steps that compute these words, without duplicates. Returns the place at which each
    /// word is found. Words that are components of the same vector share a step.
    fn values(&mut self, made: impl Iterator<Item = CombinedWord>, bits: u32) -> Vec<Word> {
        let made: Vec<CombinedWord> = made.collect();
        let mut words: Vec<Word> = Vec::with_capacity(made.len());
        for (number, one) in made.iter().enumerate() {
            if one.is_as_it_is() {
                words.push(one.low);
            } else if let Some(known) = made[..number].iter().position(|other| other == one) {
                words.push(words[known]);
            } else {
                self.operations += one.operations();
                let alike = |other: &CombinedWord| self.are_alike(one, other);
                let component = one.low.component;
                let word = if let Some(known) = made[..number].iter().position(alike) {
                    Word { value: words[known].value, component }
                } else {
                    let is_vector = made[number + 1..].iter().any(alike);
                    let count = if is_vector { self.words[one.low.value] } else { 1 };
                    self.steps.push(PackStep { made: *one, words: count, bits });
                    self.words.push(count);
                    let component = if is_vector { component } else { 0 };
                    Word { value: self.words.len() - 1, component }
                };
                words.push(word);
            }
        }
        words
    }

    /// Returns true if the two words are different components of the same vectors and are computed
    /// by the same operation.
    fn are_alike(&self, one: &CombinedWord, other: &CombinedWord) -> bool {
        let is_by_component = |made: &CombinedWord| made.low.component == made.high.component;
        (one.combine, one.low.value, one.high.value)
            == (other.combine, other.low.value, other.high.value)
            && is_by_component(one)
            && is_by_component(other)
            && one.low.component != other.low.component
            && self.words[one.low.value] == self.words[one.high.value]
    }

    /// Adds the last steps, which compute vectors of destination words. Returns the component that
    /// holds each destination word, or `None` if the word is in no vector.
    pub(super) fn vectors(&mut self) -> Vec<Option<Word>> {
        let made = self.goals.iter().map(|goal| match goal {
            Goal::Combined(made) => Some(*made),
            _ => None,
        });
        let made: Vec<Option<CombinedWord>> = made.collect();
        let is_component = |of: &Option<CombinedWord>| {
            let one = of.as_ref()?;
            let mut others = made.iter().flatten();
            others.any(|other| self.are_alike(one, other)).then_some(*one)
        };
        let components: Vec<Option<CombinedWord>> = made.iter().map(is_component).collect();
        let mut words = self.values(components.iter().flatten().copied(), 32).into_iter();
        components.iter().map(|of| of.as_ref().and_then(|_| words.next())).collect()
    }
}

/// Returns the operation that makes a word with two units side by side, and the place of the pair
/// in that word, counted in pairs.
fn pair(low: Unit, high: Unit, bits: u32) -> (CombinedWord, u32) {
    let (i, j) = (low.place.cast_signed(), high.place.cast_signed());
    // One of the two units stays in its place if possible.
    let place = if i % 2 != 0 && j % 2 != 0 { j / 2 } else { i / 2 };
    let combine = Combine::Pairs { bits, low_by: 2 * place - i, high_by: 2 * place + 1 - j };
    (CombinedWord { low: low.word, high: high.word, combine }, place.unsigned_abs())
}

/// Returns the words that contain the units. Each word has the number of bits by which it is
/// shifted, and the mask of the bits that are taken from it. Units have `bits` bits. A word occurs
/// several times if its units move by different distances.
pub(super) fn parts(units: &[Unit], bits: u32) -> Vec<(Word, i32, u32)> {
    let mut parts: Vec<(Word, i32, u32)> = Vec::new();
    for (unit, to) in units.iter().zip(0..) {
        let by = (to - unit.place.cast_signed()) * bits.cast_signed();
        let mask = u32::MAX >> (32 - bits) << (to.cast_unsigned() * bits);
        match parts.iter_mut().find(|part| (part.0, part.1) == (unit.word, by)) {
            Some(part) => part.2 |= mask,
            None => parts.push((unit.word, by, mask)),
        }
    }
    parts
}

/// Returns bits shifted up by `by` places, or down if `by` is negative.
pub(super) fn moved(bits: u32, by: i32) -> u32 {
    if by < 0 { bits >> -by } else { bits << by }
}
