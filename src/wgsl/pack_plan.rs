//! [`PackPlan`]: the cheapest way to combine parts of loaded words into destination words. A part
//! is called a *unit*: an element that is narrower than 32 bits.
//!
//! If elements are narrower than 32 bits, a kernel spends most of its operations on moving units
//! between words. A plan uses the same method for all words of a block. It is the cheapest of three
//! methods, by a cost that counts operations and lines of code:
//!
//! - Unit by unit: each unit takes a shift and a mask.
//! - Units first: two units that are contiguous in the destination are combined by an operation
//!   that combines all other pairs of the same two words too. The results are combined in the same
//!   way, until each destination word needs at most two words. This turns planes into pixels.
//! - Halves first: one word collects the units at even indices of a destination word, and another
//!   the units at odd indices. Then the two words are interleaved. This turns pixels into planes.
//!
//! [`PackedWords`](super::packed_words) has an example, and writes the plan as WGSL.

/// One word of a loaded or computed value: the index of the value, and of the word in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) value: usize,
    pub(super) component: u64,
}

/// A unit in a word. `place` is its index in the word, counted from the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) word: Word,
    pub(super) place: u32,
}

/// The operation that combines two words into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// Alternates units of `bits` bits: the units at even indices come from `low`, and the units at
    /// odd indices from `high`. Before that, each word is shifted up by `low_by` or `high_by`
    /// units.
    Pairs { bits: u32, low_by: i32, high_by: i32 },
    /// Takes the low `bits` bits from the word `low`, starting at its bit `low_from`. Takes the
    /// bits above them from the word `high`, starting at its bit `high_from`.
    Ends { bits: u32, low_from: u32, high_from: u32 },
}

/// A word that is combined from the words `low` and `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CombinedWord {
    pub(super) low: Word,
    pub(super) high: Word,
    pub(super) combine: Combine,
}

impl CombinedWord {
    /// Returns an operation whose result is `word` itself.
    fn of(word: Word) -> Self {
        Self { low: word, high: word, combine: Combine::Pairs { bits: 16, low_by: 0, high_by: 0 } }
    }

    /// Returns true if `low` and `high` are the same word and are shifted alike, so that the result
    /// is this word, shifted as a whole.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.combine, Combine::Pairs { low_by, high_by, .. } if self.low == self.high && low_by == high_by)
    }

    /// Returns true if the result is an existing word, unchanged, so that no operation is needed.
    fn is_as_it_is(&self) -> bool {
        matches!(self.combine, Combine::Pairs { low_by: 0, .. } if self.is_one())
    }

    /// Returns the number of operations that the combination takes. `insertBits` combines parts
    /// that are whole bytes, and counts as one operation.
    fn operations(&self) -> u32 {
        match self.combine {
            Combine::Pairs { low_by, high_by, .. } => {
                let part = |by: i32| 1 + u32::from(by != 0);
                // If both words need the same mask and are the same word, the masked word is
                // computed once.
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

/// The work that remains to compute a word of the destination.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Units(Vec<Unit>),
    Combined(CombinedWord),
    Whole(Word),
}

impl Goal {
    /// Returns the goal for a destination word that consists of these units of `bits` bits.
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

    /// Returns the number of units that still have to be combined one by one.
    fn units(&self) -> usize {
        match self {
            Self::Units(units) => units.len(),
            _ => 0,
        }
    }

    /// Returns the number of operations that the remaining work takes. Units have `bits` bits.
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

/// A value that the kernel computes in a line of its own, because several destination words use it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackStep {
    pub(super) made: CombinedWord,
    /// The number of words in the value. If all components of a vector are computed in the same
    /// way, one line computes them together, and this is more than 1.
    pub(super) words: u64,
    /// The number of bits in each group of contiguous units inside the value.
    pub(super) bits: u32,
}

/// The values to compute, in order, and then the work that remains for each destination word.
#[derive(Debug)]
pub(super) struct PackPlan {
    pub(super) steps: Vec<PackStep>,
    pub(super) goals: Vec<Goal>,
    operations: u32,
    /// The number of words in each value. The loaded values come first, and the values of the steps
    /// follow.
    words: Vec<u64>,
}

impl PackPlan {
    /// Returns the cheapest plan for destination words that consist of these units of `bits` bits.
    /// `loaded` lists the number of words in each loaded value.
    pub(super) fn new(units: Vec<Vec<Unit>>, bits: u32, loaded: &[u64]) -> Self {
        let goals: Vec<Goal> = units.into_iter().map(|units| Goal::new(units, bits)).collect();
        let new = |goals| Self { steps: vec![], goals, operations: 0, words: loaded.to_vec() };
        // If each loaded word has only one unit to move, destination words cannot share steps.
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

    /// Returns the cost of the plan: twice the number of operations, plus the number of lines.
    /// Lines count because naga parses and validates every line.
    fn cost(&self) -> usize {
        2 * self.operations as usize + self.steps.len()
    }

    /// Adds the operations that remain for the destination words after all steps.
    fn finish(&mut self, bits: u32) {
        self.operations += self.goals.iter().map(|goal| goal.operations(bits)).sum::<u32>();
    }

    /// Adds steps that combine pairs of units, until each destination word needs at most two words.
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

    /// Adds steps that collect, for each destination word, the units at even indices in one word
    /// and the units at odd indices in another, and then interleave the two words. Returns `None`
    /// if this is impossible, because the units for one of these two words are at both even and odd
    /// indices of the loaded words.
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
            // This word already exists, so it takes no operation.
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

    /// Adds steps that compute these words, without duplicates. Returns the value and the component
    /// in which each word is then found. Words that are components of the same vectors share a
    /// step.
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

    /// Returns true if one vector operation can compute both words: the same operation makes them
    /// from different components of the same vectors.
    fn are_alike(&self, one: &CombinedWord, other: &CombinedWord) -> bool {
        let is_by_component = |made: &CombinedWord| made.low.component == made.high.component;
        (one.combine, one.low.value, one.high.value)
            == (other.combine, other.low.value, other.high.value)
            && is_by_component(one)
            && is_by_component(other)
            && one.low.component != other.low.component
            && self.words[one.low.value] == self.words[one.high.value]
    }

    /// If one vector operation can compute several destination words, turns these words into a
    /// vector. Adds the steps for these vectors. Returns the component that contains each
    /// destination word, or `None` if the word is in no vector.
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

/// Returns the operation that puts two units next to each other in one word. Also returns the index
/// of this pair in the word, counted in pairs.
fn pair(low: Unit, high: Unit, bits: u32) -> (CombinedWord, u32) {
    let (i, j) = (low.place.cast_signed(), high.place.cast_signed());
    // At least one of the two units keeps its index if possible, which saves a shift.
    let place = if i % 2 != 0 && j % 2 != 0 { j / 2 } else { i / 2 };
    let combine = Combine::Pairs { bits, low_by: 2 * place - i, high_by: 2 * place + 1 - j };
    (CombinedWord { low: low.word, high: high.word, combine }, place.unsigned_abs())
}

/// Returns the words from which a destination word takes `units` of `bits` bits. Each entry is a
/// word, the number of bits to shift it up by, and the mask of the bits to take from the shifted
/// word. A word occurs several times if its units move by different distances.
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

/// Returns `bits` shifted up by `by` bits, or shifted down if `by` is negative.
pub(super) fn moved(bits: u32, by: i32) -> u32 {
    if by < 0 { bits >> -by } else { bits << by }
}
