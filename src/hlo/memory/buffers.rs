//! Finds the instructions that have separate buffers, by the rules of XLA's dataflow and alias
//! analyses. Only these instructions take memory.
//!
//! Every array in the result of an instruction is called a *leaf*: the result `(f32[2], s8[3])` has
//! two. An instruction *defines* a leaf if it writes the array to memory. Some instructions, such
//! as `tuple`, *forward* leaves instead: they pass on the buffers of their operands.
//!
//! The analysis *joins* leaves that share a buffer to a group, with a union-find structure over all
//! leaves of the module. A group is then a buffer, and its memory is counted once, for one of the
//! instructions that define a leaf in it. This instruction is the *owner* of the buffer.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    Footprint,
    scan::{ScannedComputation, ScannedInstruction, ScannedModule},
};
use crate::shape::{ElementType, Shape};

/// The memory of the buffers of a module, which is the result of the analysis.
pub(super) struct Buffers {
    /// The memory of the buffers that each instruction owns, or `None` if it owns none.
    pub(super) own: Vec<Option<Footprint>>,
    /// The memory of all buffers.
    pub(super) total: Footprint,
    /// The memory of the buffers that hold neither a parameter nor the result of the entry
    /// computation.
    pub(super) temporaries: Footprint,
}

/// The buffer of one leaf of a computation's root. Callers of the computation need this to join the
/// leaves of their own results.
#[derive(Clone, Copy)]
enum RootLeaf {
    /// A buffer that the caller passes: leaf `leaf` of the parameter `number`. `is_updated` is true
    /// if the computation writes to it.
    Parameter { number: i64, leaf: usize, is_updated: bool },
    /// A buffer that the computation itself defines. Two leaves with the same number share a
    /// buffer.
    Own(usize),
}

impl Buffers {
    /// Analyzes a module. If it has no entry computation, it is a list of allocations from an
    /// out-of-memory report or a single shape, and each instruction owns a buffer.
    pub(super) fn of(scan: &ScannedModule) -> Self {
        if scan.entry.is_none() {
            let memory = |it: &ScannedInstruction| scan.shapes[it.shape].memory;
            let own: Vec<_> = scan.instructions.iter().map(memory).collect();
            let total = own.iter().flatten().copied().fold(Footprint::default(), sum);
            let of = |is_counted: &dyn Fn(usize) -> bool| {
                let own = own.iter().enumerate().filter(|(place, _)| is_counted(*place));
                own.filter_map(|(_, memory)| *memory).fold(Footprint::default(), sum)
            };
            let roots: Vec<_> = scan.computations.iter().filter_map(|it| it.root).collect();
            let temporaries = of(&|place| {
                &*scan.instructions[place].opcode != "parameter" && !roots.contains(&place)
            });
            return Self { own, total, temporaries };
        }
        let mut analysis = Analysis::new(scan);
        for computation in &scan.computations {
            analysis.computation(computation);
        }
        analysis.count()
    }
}

fn sum(one: Footprint, other: Footprint) -> Footprint {
    Footprint {
        elements: one.elements.saturating_add(other.elements),
        unpadded_bytes: one.unpadded_bytes.saturating_add(other.unpadded_bytes),
        bytes: one.bytes.saturating_add(other.bytes),
    }
}

/// The state of the analysis: the leaves of all instructions, in groups that share a buffer. Leaves
/// are numbered over the whole module, instruction by instruction.
struct Analysis<'a> {
    scan: &'a ScannedModule,
    /// The number of the first leaf of each instruction.
    first: Vec<usize>,
    /// The parent of each leaf in the union-find forest. The leaves of one tree share a buffer, and
    /// the root of the tree represents them.
    parents: Vec<usize>,
    /// True for each leaf that its instruction defines instead of forwarding it.
    is_defined: Vec<bool>,
    /// True for each root of a tree whose buffer must not be overwritten, because it holds a
    /// constant or a parameter of the program that is not donated.
    is_kept: Vec<bool>,
    /// The buffers of the root of each computation that was processed, leaf by leaf, by the id of
    /// the computation. Callees precede callers, so a caller finds its callees here.
    roots: HashMap<i64, Vec<RootLeaf>>,
}

impl<'a> Analysis<'a> {
    fn new(scan: &'a ScannedModule) -> Self {
        let mut first = Vec::with_capacity(scan.instructions.len());
        let mut count = 0;
        for instruction in &scan.instructions {
            first.push(count);
            count += scan.shapes[instruction.shape].leaves.len();
        }
        Self {
            scan,
            first,
            parents: (0..count).collect(),
            is_defined: vec![false; count],
            is_kept: vec![false; count],
            roots: HashMap::new(),
        }
    }

    /// Returns the leaf that represents the group of `leaf`, and shortens the path to it for later
    /// calls.
    fn find(&mut self, mut leaf: usize) -> usize {
        while self.parents[leaf] != leaf {
            self.parents[leaf] = self.parents[self.parents[leaf]];
            leaf = self.parents[leaf];
        }
        leaf
    }

    /// Joins the groups of two leaves, because the leaves share a buffer.
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        // The earlier leaf represents the joined group, so that the result does not depend on the
        // order in which groups are joined.
        let (earlier, later) = (one.min(other), one.max(other));
        self.parents[later] = earlier;
        self.is_kept[earlier] |= self.is_kept[later];
    }

    /// Returns the leaves of the instruction with index `place`.
    fn leaves(&self, place: usize) -> Range<usize> {
        let count = self.scan.shapes[self.scan.instructions[place].shape].leaves.len();
        self.first[place]..self.first[place] + count
    }

    /// Returns the leaves of one element of an instruction's result. `path` leads to the element
    /// through nested tuples. Returns an empty range if there is no such element.
    fn part(&self, place: usize, path: impl IntoIterator<Item = usize>) -> Range<usize> {
        let mut shape: &Shape = self.scan.shape(place);
        let mut start = self.first[place];
        for index in path {
            let parts = shape.tuple_shapes();
            let Some(part) = parts.get(index).filter(|_| is_tuple(shape)) else { return 0..0 };
            start += parts[..index].iter().map(count_leaves).sum::<usize>();
            shape = part;
        }
        start..start + count_leaves(shape)
    }

    /// Marks leaves as defined by their instruction.
    fn define(&mut self, leaves: Range<usize>) {
        leaves.for_each(|leaf| self.is_defined[leaf] = true);
    }

    /// Joins each leaf of a result with the corresponding leaf of an operand, because the
    /// instruction forwards the operand's buffers. If the numbers of leaves differ, the result gets
    /// separate buffers.
    fn forward(&mut self, leaves: Range<usize>, from: Range<usize>) {
        if leaves.len() == from.len() {
            leaves.zip(from).for_each(|(leaf, from)| self.join(leaf, from));
        } else {
            self.define(leaves);
        }
    }

    /// Processes all instructions of a computation, and records the buffers of its root for its
    /// callers.
    fn computation(&mut self, computation: &ScannedComputation) {
        let scan = self.scan;
        let is_entry = scan.entry == Some(computation.id);
        for &place in &computation.instructions {
            let instruction = &scan.instructions[place];
            if &*instruction.opcode == "parameter" {
                if is_entry {
                    self.define(self.leaves(place));
                    self.leaves(place).for_each(|leaf| self.is_kept[leaf] = true);
                    for alias in &scan.aliases {
                        if i64::try_from(alias.parameter_number) == Ok(instruction.number) {
                            let given = self.part(place, alias.parameter_index.iter().copied());
                            given.for_each(|leaf| self.is_kept[leaf] = false);
                        }
                    }
                }
            } else {
                self.instruction(place, instruction);
            }
        }
        let Some(root) = computation.root else { return };
        if is_entry {
            for alias in &scan.aliases {
                let number = i64::try_from(alias.parameter_number).unwrap_or(i64::MAX);
                let output = self.part(root, alias.output_index.iter().copied());
                if let Some(parameter) = parameter(scan, computation, number) {
                    let given = self.part(parameter, alias.parameter_index.iter().copied());
                    if output.len() == given.len() {
                        self.forward(output, given);
                    }
                }
            }
        }
        let mut of_parameters = HashMap::new();
        for &place in &computation.instructions {
            let instruction = &scan.instructions[place];
            if &*instruction.opcode == "parameter" {
                for (leaf, node) in self.leaves(place).enumerate() {
                    of_parameters.entry(self.find(node)).or_insert((instruction.number, leaf));
                }
            }
        }
        let mut updated = HashSet::new();
        for &place in &computation.instructions {
            for leaf in self.leaves(place) {
                if self.is_defined[leaf] {
                    updated.insert(self.find(leaf));
                }
            }
        }
        let leaves = self.leaves(root).map(|leaf| {
            let buffer = self.find(leaf);
            match of_parameters.get(&buffer) {
                Some(&(number, leaf)) => {
                    let is_updated = updated.contains(&buffer);
                    RootLeaf::Parameter { number, leaf, is_updated }
                }
                None => RootLeaf::Own(buffer),
            }
        });
        let leaves = leaves.collect();
        self.roots.insert(computation.id, leaves);
    }

    /// Joins the leaves of one instruction with leaves of its operands, or marks them as defined,
    /// by the rule of its opcode.
    fn instruction(&mut self, place: usize, instruction: &ScannedInstruction) {
        let all = self.leaves(place);
        let operands = &instruction.operands;
        let operand = |number: usize| operands.get(number).copied();
        let whole = |analysis: &Self, number: usize| {
            operand(number).map_or(0..0, |operand| analysis.leaves(operand))
        };
        let of = |analysis: &Self, number: usize, index: usize| {
            operand(number).map_or(0..0, |operand| analysis.part(operand, [index]))
        };
        match &*instruction.opcode {
            "bitcast" | "opt-barrier" | "domain" | "add-dependency" | "while"
            | "all-reduce-done" | "async-update" => self.forward(all, whole(self, 0)),
            // A copy of a tuple is shallow: the arrays in it are not copied.
            "copy" if all.len() != 1 || is_tuple(self.scan.shape(place)) => {
                self.forward(all, whole(self, 0));
            }
            "tuple" => {
                for (i, &operand) in operands.iter().enumerate() {
                    let from = self.leaves(operand);
                    self.forward(self.part(place, [i]), from);
                }
            }
            "get-tuple-element" => {
                let index = usize::try_from(instruction.number).unwrap_or(usize::MAX);
                self.forward(all, of(self, 0, index));
            }
            "async-done" | "collective-permute-done" | "all-gather-done" => {
                self.forward(all, of(self, 0, 1));
            }
            "copy-done" => self.forward(all, of(self, 0, 0)),
            "copy-start" => {
                self.define(self.part(place, [0]));
                self.forward(self.part(place, [1]), whole(self, 0));
                self.define(self.part(place, [2]));
            }
            "send" => {
                self.forward(self.part(place, [0]), whole(self, 0));
                self.define(self.part(place, [1]));
                self.define(self.part(place, [2]));
            }
            "recv-done" => {
                self.forward(self.part(place, [0]), of(self, 0, 0));
                self.define(self.part(place, [1]));
            }
            "all-gather-start" | "collective-permute-start" | "async-start" => {
                self.start(place, instruction);
            }
            "call" => {
                let callee = instruction.called.first().copied();
                self.called(all, callee, operands);
            }
            "conditional" => self.conditional(all, instruction),
            "dynamic-update-slice" | "scatter" | "all-reduce-start" => {
                let count = match &*instruction.opcode {
                    "dynamic-update-slice" => 1,
                    "scatter" => operands.len() / 2,
                    _ => operands.len(),
                };
                for number in 0..count {
                    let leaves = if count == 1 { all.clone() } else { self.part(place, [number]) };
                    self.update(leaves, whole(self, number));
                }
            }
            "fusion" => {
                self.define(all.clone());
                let callee = instruction.called.first().and_then(|id| self.roots.get(id)).cloned();
                for (leaf, root) in all.clone().zip(callee.unwrap_or_default()) {
                    if let RootLeaf::Parameter { number, leaf: part, is_updated: true } = root {
                        let from = usize::try_from(number).ok().and_then(operand);
                        let from =
                            from.map_or(0..0, |operand| from_leaf(&self.leaves(operand), part));
                        self.update(leaf..leaf + 1, from);
                    }
                }
            }
            _ => self.define(all),
        }
        let natural = |list: &[i64]| -> Vec<usize> {
            list.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect()
        };
        for alias in &instruction.aliases {
            let output = self.part(place, natural(&alias.output_shape_index));
            let number = usize::try_from(alias.operand_index).ok();
            if let Some(operand) = number.and_then(operand) {
                let from = self.part(operand, natural(&alias.operand_shape_index));
                if output.len() == from.len() {
                    self.forward(output, from);
                }
            }
        }
        if &*instruction.opcode == "constant" {
            self.leaves(place).for_each(|leaf| self.is_kept[leaf] = true);
        }
    }

    /// Processes leaves that an instruction defines by changing a part of an operand, as
    /// `dynamic-update-slice` does. They share the buffers of the operand, so that the rest of it
    /// is not copied. If a buffer must not be overwritten, the leaf gets a new one.
    fn update(&mut self, leaves: Range<usize>, from: Range<usize>) {
        self.define(leaves.clone());
        if leaves.len() == from.len() {
            for (leaf, from) in leaves.zip(from) {
                let from = self.find(from);
                if !self.is_kept[from] {
                    self.join(leaf, from);
                }
            }
        }
    }

    /// Processes the start of an asynchronous instruction. Its result is a tuple of the operands,
    /// the result of the operation, and elements that XLA uses to track it.
    fn start(&mut self, place: usize, instruction: &ScannedInstruction) {
        let from: Vec<usize> =
            instruction.operands.iter().flat_map(|&operand| self.leaves(operand)).collect();
        let given = self.part(place, [0]);
        if given.len() == from.len() {
            given.zip(from).for_each(|(leaf, from)| self.join(leaf, from));
        } else if &*instruction.opcode == "collective-permute-start"
            && !instruction.operands.is_empty()
        {
            let from = self.leaves(instruction.operands[0]);
            self.forward(given, from);
        } else {
            self.define(given);
        }
        let result = self.part(place, [1]);
        match instruction.called.first() {
            Some(&callee) if &*instruction.opcode == "async-start" => {
                self.called(result, Some(callee), &instruction.operands);
            }
            _ => self.define(result),
        }
        for state in 2..self.scan.shape(place).tuple_shapes().len() {
            self.define(self.part(place, [state]));
        }
    }

    /// Processes a call. A leaf that the called computation returns unchanged from its caller is
    /// joined with the operand, and leaves that share a buffer of the computation are joined with
    /// each other.
    fn called(&mut self, leaves: Range<usize>, callee: Option<i64>, operands: &[usize]) {
        let roots = callee.and_then(|callee| self.roots.get(&callee)).cloned().unwrap_or_default();
        if roots.len() != leaves.len() {
            return self.define(leaves);
        }
        let mut own = HashMap::new();
        for (leaf, root) in leaves.zip(roots) {
            match root {
                RootLeaf::Own(buffer) => {
                    if let Some(&known) = own.get(&buffer) {
                        self.join(leaf, known);
                    } else {
                        own.insert(buffer, leaf);
                        self.is_defined[leaf] = true;
                    }
                }
                RootLeaf::Parameter { number, leaf: from, .. } => {
                    let from = usize::try_from(number)
                        .ok()
                        .and_then(|number| operands.get(number))
                        .map_or(0..0, |&operand| from_leaf(&self.leaves(operand), from));
                    self.forward(leaf..leaf + 1, from);
                }
            }
        }
    }

    /// Processes a conditional. A leaf is joined with a leaf of an operand only if every branch
    /// returns that same buffer. Otherwise it gets a separate buffer, because the branch is known
    /// only at run time.
    fn conditional(&mut self, leaves: Range<usize>, instruction: &ScannedInstruction) {
        for (i, leaf) in leaves.enumerate() {
            let mut shared = None;
            let is_shared = instruction.called.iter().enumerate().all(|(branch, callee)| {
                let root = self.roots.get(callee).and_then(|roots| roots.get(i)).copied();
                let Some(RootLeaf::Parameter { leaf: from, .. }) = root else { return false };
                let Some(&operand) = instruction.operands.get(branch + 1) else { return false };
                let from = from_leaf(&self.leaves(operand), from);
                if from.is_empty() {
                    return false;
                }
                let from = self.find(from.start);
                *shared.get_or_insert(from) == from
            });
            match shared {
                Some(from) if is_shared => self.join(leaf, from),
                _ => self.is_defined[leaf] = true,
            }
        }
    }

    /// Assigns every buffer to an owner, and returns the sums. The owner is the first instruction
    /// that defines a leaf of the buffer, but a parameter takes precedence.
    fn count(mut self) -> Buffers {
        let scan = self.scan;
        let applied = scan.applied();
        let mut own: Vec<Option<Footprint>> = vec![None; scan.instructions.len()];
        let (mut total, mut temporaries) = (Footprint::default(), Footprint::default());
        for computation in &scan.computations {
            if applied.contains(&computation.id) {
                continue;
            }
            let is_entry = scan.entry == Some(computation.id);
            let mut outer = HashSet::new();
            for &place in &computation.instructions {
                let is_outer = &*scan.instructions[place].opcode == "parameter"
                    || computation.root == Some(place);
                if is_outer {
                    for leaf in self.leaves(place) {
                        outer.insert(self.find(leaf));
                    }
                }
            }
            // The owner and the size of each buffer, by the leaf that represents it. If the leaves
            // of a buffer differ in size, the largest one counts.
            let mut buffers: HashMap<usize, (usize, Footprint)> = HashMap::new();
            let mut order = Vec::new();
            for &place in &computation.instructions {
                let sizes = &scan.shapes[scan.instructions[place].shape].leaves;
                for (leaf, &size) in self.leaves(place).zip(sizes) {
                    if !self.is_defined[leaf] {
                        continue;
                    }
                    let buffer = self.find(leaf);
                    let is_parameter = &*scan.instructions[place].opcode == "parameter";
                    if let Some((owner, known)) = buffers.get_mut(&buffer) {
                        if is_parameter {
                            *owner = place;
                        }
                        if size.bytes > known.bytes {
                            *known = size;
                        }
                    } else {
                        buffers.insert(buffer, (place, size));
                        order.push(buffer);
                    }
                }
            }
            for buffer in order {
                // The buffers of parameters and roots of other computations belong to callers, and
                // are counted there.
                if !is_entry && outer.contains(&buffer) {
                    continue;
                }
                let (place, size) = buffers[&buffer];
                own[place] = Some(sum(own[place].unwrap_or_default(), size));
                total = sum(total, size);
                if !outer.contains(&buffer) || !is_entry {
                    temporaries = sum(temporaries, size);
                }
            }
        }
        Buffers { own, total, temporaries }
    }
}

/// Returns leaf number `leaf` of an operand as a range of length 1. The range is empty if the
/// operand has fewer leaves.
fn from_leaf(leaves: &Range<usize>, leaf: usize) -> Range<usize> {
    let place = leaves.start.saturating_add(leaf);
    if place < leaves.end { place..place + 1 } else { 0..0 }
}

fn is_tuple(shape: &Shape) -> bool {
    shape.element_type() == ElementType::Tuple
}

/// Returns the number of leaves of a result with this shape.
fn count_leaves(shape: &Shape) -> usize {
    if is_tuple(shape) { shape.tuple_shapes().iter().map(count_leaves).sum() } else { 1 }
}

/// Returns the index of the instruction for parameter `number`, or `None` if the computation has no
/// such parameter.
fn parameter(scan: &ScannedModule, computation: &ScannedComputation, number: i64) -> Option<usize> {
    computation.instructions.iter().copied().find(|&place| {
        let instruction = &scan.instructions[place];
        &*instruction.opcode == "parameter" && instruction.number == number
    })
}
