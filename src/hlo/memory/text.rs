//! Collects the instructions of an HLO text, or the allocations that XLA lists when the memory of a
//! device runs out. The list is called an out-of-memory report, and each of its entries becomes an
//! instruction.

use std::{collections::HashMap, sync::Arc};

use super::{Footprint, scan::ScannedModule};
use crate::{
    hlo::{
        HloError, InstructionError,
        infer::{Callees, Signature},
        text::{
            cursor::Cursor,
            reader::{TextTarget, read_text},
            written::WrittenInstruction,
        },
    },
    proto::hlo as proto,
    shape::{ElementType, FieldPath, Layout, Shape},
    text::{excerpt, human_readable_num_bytes as num_bytes},
};

type Result<T> = std::result::Result<T, HloError>;

/// The first words of other dumps about memory that XLA writes, each with a description. stridec
/// refuses these dumps, and the error tells the user which dump to take instead.
const OTHER_DUMPS: [(&str, &str); 5] = [
    ("HLO temp ", "the total of such a report"),
    ("Memory Space: ", "a memory-usage report"),
    ("Total bytes", "a memory-usage report"),
    ("BufferAssignment:", "a buffer assignment"),
    ("HloLiveRange ", "live ranges"),
];

/// Collects the instructions of an HLO text, or the allocations of an out-of-memory report.
pub(super) fn scan(text: &str) -> Result<ScannedModule> {
    if is_report(text) {
        return scan_report(text);
    }
    let mut cursor = Cursor::new(text);
    let start = cursor.start()?;
    if let Some(&(_, what)) = OTHER_DUMPS.iter().find(|(first, _)| text[start..].starts_with(first))
    {
        let reason = format!(
            "expected HLO text, or XLA's report that memory ran out, got {what}; the dump of the module itself, \
             `*.cpu_after_optimizations.txt` or the like, has the shapes"
        );
        return Err(cursor.error(start, reason));
    }
    if !text.contains("ENTRY") && OF_GPUS.iter().any(|words| text.contains(words)) {
        let reason = "expected HLO text, or XLA's report that memory ran out on a TPU, got a GPU's report, which names no \
                      shapes; the dump of the module itself, `--xla_dump_to`, has them";
        return Err(cursor.error(start, reason));
    }
    let mut target = MemoryTarget::default();
    let read = read_text(text, &mut target)?;
    let mut scan = target.scan;
    scan.buffers = read.buffers;
    scan.aliases = read.donated.aliases;
    scan.entry = i64::try_from(read.entry).ok();
    Ok(scan)
}

/// Phrases by which the out-of-memory reports of GPUs are recognized. They are refused, because
/// they contain no shapes.
const OF_GPUS: [&str; 5] = [
    "Out of memory while trying to allocate",
    "Out of memory allocating",
    "torch.OutOfMemoryError",
    "CUDA out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
];

/// A [`TextTarget`] that collects the instructions of a text in a [`ScannedModule`]. It accepts
/// more texts than the builder of modules, because it needs only the shapes.
#[derive(Default)]
struct MemoryTarget {
    scan: ScannedModule,
    /// The instructions of each unfinished computation, outermost first.
    open: Vec<Vec<usize>>,
    /// The version with explicit layouts of each shape in the text so far. Equal shapes share
    /// memory.
    shapes: HashMap<Arc<Shape>, Arc<Shape>>,
}

impl MemoryTarget {
    /// Returns a shape with explicit layouts: gives the default layout to each array that has none.
    fn explicit(&mut self, shape: Arc<Shape>) -> Arc<Shape> {
        let explicit = |shape: &Arc<Shape>| Shape::clone(shape).with_default_layouts().into();
        self.shapes.entry(shape).or_insert_with_key(explicit).clone()
    }
}

impl Callees for MemoryTarget {
    fn signature(&self, computation: usize) -> Option<Signature<'_>> {
        let computation = self.scan.computations.get(computation)?;
        let mut parameters: Vec<(i64, &Shape)> = Vec::new();
        for &place in &computation.instructions {
            let instruction = &self.scan.instructions[place];
            if &*instruction.opcode == "parameter" {
                parameters.push((instruction.number, self.scan.shape(place)));
            }
        }
        parameters.sort_by_key(|(number, _)| *number);
        Some(Signature {
            name: &computation.name,
            parameters: parameters.into_iter().map(|(_, shape)| shape).collect(),
            result: self.scan.shape(computation.root?),
        })
    }
}

impl TextTarget for MemoryTarget {
    const HAS_LITERALS: bool = false;

    fn begin(&mut self, _: &str) {
        self.open.push(Vec::new());
    }

    fn end(&mut self, name: &str, root: usize) -> Result<usize> {
        let instructions = self.open.pop().unwrap_or_default();
        let (place, root) = (self.scan.computations.len(), instructions[root]);
        let id = i64::try_from(place).unwrap_or(i64::MAX);
        self.scan.finish(id, name, instructions, Some(root));
        Ok(place)
    }

    fn add(&mut self, instruction: WrittenInstruction) -> Result<usize> {
        let WrittenInstruction { name, shape, mut proto, operands, called, .. } = instruction;
        let open = self.open.last_mut().expect("an open computation");
        let operands = operands.into_iter().map(|operand| open[operand]).collect();
        let called = called.into_iter().map(|callee| i64::try_from(callee).unwrap_or(i64::MAX));
        proto.called_computation_ids = called.collect();
        // Make the layouts explicit, because protos contain them but texts may omit them.
        // Otherwise, the report of a text would differ from the report of its proto.
        let mut shape = self.explicit(shape);
        if proto.opcode == "constant" && shape.element_type().bits() < Some(8) {
            // In XLA, the value of a constant takes at least one byte for each element, even if its
            // layout in the text packs elements that are smaller.
            shape = unpacked(&shape).map_or(shape, Arc::new);
        }
        let place = self.scan.add(&name, &shape, &proto, operands)?;
        let open = self.open.last_mut().expect("an open computation");
        open.push(place);
        Ok(open.len() - 1)
    }

    fn shape(&self, instruction: usize) -> &Shape {
        let open = self.open.last().expect("an open computation");
        self.scan.shape(open[instruction])
    }

    fn locate(&self, name: &str, error: InstructionError) -> HloError {
        let computation = self.scan.computations.len();
        let instruction = self.open.last().map_or(0, Vec::len);
        let path = FieldPath::new("computations").index(computation);
        HloError::Instruction {
            computation: computation.to_string(),
            instruction: excerpt(name, 80).into_owned(),
            path: path.field("instructions").index(instruction),
            error: error.into(),
        }
    }

    fn within_limit(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn takes_fragments(&self) -> bool {
        true
    }
}

/// Returns the shape of the array if each element that is smaller than a byte takes a whole byte.
/// Returns `None` for a shape without a layout.
fn unpacked(shape: &Shape) -> Option<Shape> {
    let layout = Layout { element_size_in_bits: 0, ..shape.layout()?.clone() };
    Shape::array(shape.element_type(), shape.dimensions().iter().copied(), layout).ok()
}

/// Returns true if a text is an out-of-memory report. It has lines that begin with `Shape:`, or, if
/// no allocation has a shape, lines that begin with `Size:` and lines with the kind or the label of
/// an allocation.
fn is_report(text: &str) -> bool {
    let begins = |line: &str, name: &str| {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        line.trim_start().starts_with(name)
    };
    let has = |name: &str| text.lines().any(|line| begins(line, name));
    has("Shape: ") || has("Size: ") && (has("Allocation type: ") || has("XLA label: "))
}

/// The usual tiles on a TPU, for element types of 32, 16 and 8 bits.
const TILINGS: [&[[u64; 2]]; 3] = [&[[8, 128]], &[[8, 128], [2, 1]], &[[8, 128], [4, 1]]];

/// The lines about one allocation in an out-of-memory report. A field without a line in the report
/// is empty.
#[derive(Clone, Copy, Default)]
struct Allocation<'a> {
    /// The position of the shape in the report, and its text.
    shape: Option<(usize, &'a str)>,
    /// The size of the allocation as the report prints it, such as `29.66M`.
    size: &'a str,
    /// The size of the padding in the allocation, as the report prints it.
    padding: &'a str,
    /// The text of the instruction that needs the allocation, or a description.
    label: &'a str,
    /// The type of the allocation, such as `HLO temp`.
    kind: &'a str,
}

/// Parses the allocations of a report. A `Size:` line begins a new allocation. So does a `Shape:`
/// line if the current allocation already has a shape, because a report may omit the sizes.
fn scan_report(text: &str) -> Result<ScannedModule> {
    let cursor = Cursor::new(text);
    let mut scan = ScannedModule::default();
    let mut allocation = Allocation::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((name, value)) = line.split_once(": ") else { continue };
        let name = name.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
        let value_start = start + line.len() - value.len();
        let value_start = value_start + value.len() - value.trim_start().len();
        let value = value.trim();
        match name {
            "Size" => {
                std::mem::take(&mut allocation).add(&cursor, &mut scan)?;
                allocation.size = value;
            }
            "Shape" => {
                if allocation.shape.is_some() {
                    std::mem::take(&mut allocation).add(&cursor, &mut scan)?;
                }
                allocation.shape = Some((value_start, value));
            }
            "Extra memory due to padding" => {
                allocation.padding = value.split(' ').next().unwrap_or_default();
            }
            "XLA label" | "XLA Label" => allocation.label = value,
            "Allocation type" => allocation.kind = value,
            _ => {}
        }
    }
    allocation.add(&cursor, &mut scan)?;
    Ok(scan)
}

impl<'a> Allocation<'a> {
    /// Adds the allocation to `scan` as an instruction. Does nothing if the allocation has neither
    /// a shape nor a size.
    fn add(self, cursor: &Cursor<'a>, scan: &mut ScannedModule) -> Result<()> {
        let shape = match self.shape {
            Some((start, shape)) => self.with_tiles(cursor.shape_at(start, shape)?),
            // Stack and spill slots have a size but no shape. Measure them as arrays of bytes.
            None => match printed_bytes(self.size) {
                Some(bytes) if !self.label.is_empty() || !self.kind.is_empty() => {
                    Shape::new(ElementType::U8, [bytes], None)?
                }
                _ => return Ok(()),
            },
        };
        let kind = self.kind.to_ascii_lowercase();
        let is_parameter = kind.contains("argument") || kind.contains("parameter");
        let name = match self.shape {
            Some(_) => self.label.split([' ', '=']).next().unwrap_or_default(),
            None => self.label,
        };
        let opcode = if is_parameter { "parameter" } else { "" };
        let proto = proto::HloInstructionProto { opcode: opcode.to_owned(), ..Default::default() };
        let place = scan.add(name.trim_start_matches('%'), &shape.into(), &proto, Vec::new())?;
        // Add a separate computation for each allocation. A computation has only one root, but a
        // report may list several outputs of the program.
        scan.finish(0, "", vec![place], kind.contains("output").then_some(place));
        Ok(())
    }

    /// Returns the shape with the tiles of a TPU, if the report omits the tiles and the size that
    /// it prints shows that the array has them. Old versions of XLA omit tiles, and so do reports
    /// of vector memory.
    fn with_tiles(self, shape: Shape) -> Shape {
        let fits_printed_size = |shape: &Shape| {
            Footprint::of(shape).is_some_and(|memory| {
                num_bytes(memory.bytes) == self.size
                    || num_bytes(memory.padding_bytes()) == self.padding
            })
        };
        let plain = shape.clone().with_default_layouts();
        let Some(layout) = plain.layout().filter(|layout| layout.tiles.is_empty()) else {
            return shape;
        };
        if fits_printed_size(&shape) {
            return shape;
        }
        let with = |tiles: &&[[u64; 2]]| {
            let layout = tiles.iter().copied().fold(layout.clone(), Layout::tiled);
            Shape::array(plain.element_type(), plain.dimensions().iter().copied(), layout).ok()
        };
        TILINGS.iter().filter_map(with).find(fits_printed_size).unwrap_or(shape)
    }
}

/// Parses a rounded size, such as `29.66M`, and returns it in bytes. Returns `None` for any other
/// text.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // sizes are below 2^53
fn printed_bytes(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['i', 'B']);
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    let bytes = digits.parse::<f64>().ok()? * 1024_f64.powi(power);
    (0.0..9e15).contains(&bytes).then_some(bytes.round() as u64)
}
