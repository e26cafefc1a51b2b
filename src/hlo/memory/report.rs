//! A [`MemoryReport`] says how much memory the buffers of a module take, instruction by
//! instruction.

use std::sync::Arc;

use super::{DefaultTiles, Footprint, order::orders, proto, scan::ScannedModule, text};
use crate::{
    hlo::{HloError, Module, text::cursor::Cursor},
    shape::Shape,
};

/// The memory that the buffers of a module take. A report needs only the shapes of instructions, so
/// that it can measure every module, even one with opcodes that stridec does not support.
///
/// ```
/// use stridec::hlo::MemoryReport;
/// let report = MemoryReport::of_text(
///     "ENTRY main {
///        x = f32[1024,3]{1,0:T(8,128)} parameter(0)
///        ROOT y = f32[1024,3]{0,1:T(8,128)} copy(x)
///      }",
/// )?;
/// assert_eq!(report.instructions[0].name.as_ref(), "x");
/// assert_eq!(report.instructions[0].memory.unwrap().expansion().round(), 43.0);
/// assert_eq!((report.parameters_bytes, report.results_bytes), (524_288, 32_768));
/// # Ok::<(), stridec::hlo::HloError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryReport {
    /// All instructions, the one whose result has the most padding first. If two have equal
    /// padding, the larger one comes first.
    pub instructions: Vec<InstructionMemory>,
    /// The total size of all buffers, in bytes.
    pub total_bytes: u64,
    /// The number of bytes in `total_bytes` that hold no element.
    pub total_padding_bytes: u64,
    /// The size of the entry computation's parameters, in bytes.
    pub parameters_bytes: u64,
    /// The size of the entry computation's result, in bytes.
    pub results_bytes: u64,
    /// The size of the buffers that hold neither a parameter nor the result of the entry
    /// computation, in bytes.
    pub temporaries_bytes: u64,
    /// True if the instructions are one array in different orders of its dimensions, as in
    /// [`of_orders`](Self::of_orders). A sum over them has no meaning then.
    pub(super) is_of_orders: bool,
}

/// The memory that one instruction takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionMemory {
    /// The name of the computation that contains the instruction. Empty in a report of a single
    /// shape, and for a row of an out-of-memory report.
    pub computation: Arc<str>,
    /// The name of the instruction.
    pub name: Box<str>,
    /// The opcode, such as `copy`.
    pub opcode: Arc<str>,
    /// The shape of the result.
    pub shape: Arc<Shape>,
    /// The memory of the result. It is `None` if it is not known, because an extent is unknown or
    /// because strides cannot describe the layout.
    pub memory: Option<Footprint>,
    /// True if at least one buffer is counted for the instruction.
    ///
    /// It is false for instructions whose results are in the buffers of others: tuples, tuple
    /// elements, bitcasts, loops, updates in place, and the parameters and roots of called
    /// computations. It is also false for instructions inside a fusion, or inside a computation
    /// that is applied to elements, because their results are not stored in memory.
    pub has_buffer: bool,
    /// The memory of the buffers that are counted for the instruction. It is less than `memory` if
    /// a part of the result is in the buffer of another instruction, as in a `copy-start`.
    pub buffers: Footprint,
}

impl MemoryReport {
    /// Measures a serialized `xla.HloModuleProto` or `xla.HloProto`.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is not such a message, if a shape is invalid, or if there are
    /// too many instructions.
    pub fn of_proto(bytes: &[u8]) -> Result<Self, HloError> {
        Self::of_proto_tiled(bytes, DefaultTiles::None)
    }

    /// Measures a serialized module as [`of_proto`](Self::of_proto) does, but first gives `tiles`
    /// to arrays that have none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`of_proto`](Self::of_proto).
    pub fn of_proto_tiled(bytes: &[u8], tiles: DefaultTiles) -> Result<Self, HloError> {
        Ok(proto::scan(bytes)?.report(tiles))
    }

    /// Measures a module in HLO text or StableHLO text, or the allocations in XLA's out-of-memory
    /// report. StableHLO text is first converted to HLO by [`Module::parse`].
    ///
    /// # Errors
    ///
    /// Returns an error if the text is none of these, or if a shape is invalid.
    pub fn of_text(text: &str) -> Result<Self, HloError> {
        Self::of_text_tiled(text, DefaultTiles::None)
    }

    /// Measures a text as [`of_text`](Self::of_text) does, but first gives `tiles` to arrays that
    /// have none.
    ///
    /// ```
    /// use stridec::hlo::{DefaultTiles, MemoryReport};
    /// let text = "ENTRY main { ROOT x = f32[1024,3]{1,0} parameter(0) }";
    /// let report = MemoryReport::of_text_tiled(text, DefaultTiles::Tpu)?;
    /// assert_eq!(report.instructions[0].shape.to_string(), "f32[1024,3]{1,0:T(8,128)}");
    /// assert_eq!(report.parameters_bytes, 524_288);
    /// # Ok::<(), stridec::hlo::HloError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`of_text`](Self::of_text).
    pub fn of_text_tiled(text: &str, tiles: DefaultTiles) -> Result<Self, HloError> {
        let mut cursor = Cursor::new(text);
        cursor.start()?;
        if cursor.is_mlir() {
            let printed = Module::parse(text)?.to_string();
            return Ok(text::scan(&printed)?.report(tiles));
        }
        Ok(text::scan(text)?.report(tiles))
    }

    /// Returns a report of a single shape, as if it were the only instruction of a module. The
    /// instruction has no name.
    #[must_use]
    pub fn of_shape(shape: &Shape) -> Self {
        ScannedModule::of_shape(shape).report(DefaultTiles::None)
    }

    /// Returns a report of one array in every order of its dimensions, the cheapest order first.
    /// Each order is an instruction without a name. The totals are the sizes of the array in its
    /// present order. If the array has no tiles, it gets `tiles`.
    ///
    /// An array of more than 7 dimensions has too many orders. The report then lists only the
    /// choices of the one or two minor-most dimensions, which determine the size under most
    /// tilings. The report of a shape that is no array has one instruction.
    ///
    /// ```
    /// use stridec::hlo::{DefaultTiles, MemoryReport};
    /// let report = MemoryReport::of_orders(&"f32[1024,3]".parse()?, DefaultTiles::Tpu);
    /// let rows = report.instructions.iter();
    /// let rows: Vec<_> = rows.map(|it| (it.shape.to_string(), it.buffers.bytes)).collect();
    /// assert_eq!(rows[0], ("f32[1024,3]{0,1:T(4,128)}".to_owned(), 16_384));
    /// assert_eq!(rows[1], ("f32[1024,3]{1,0:T(8,128)}".to_owned(), 524_288));
    /// assert_eq!(report.total_bytes, 524_288);
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn of_orders(shape: &Shape, tiles: DefaultTiles) -> Self {
        let mut report = Self::of_shape(&tiles.apply(shape));
        let rows = orders(shape).into_iter();
        let mut rows: Vec<InstructionMemory> =
            rows.flat_map(|shape| Self::of_shape(&tiles.apply(&shape)).instructions).collect();
        if !rows.is_empty() {
            // The sort is stable, and the present order is the first row, so it precedes other
            // orders of the same size.
            rows.sort_by_key(|row| row.buffers.bytes);
            report.instructions = rows;
            report.is_of_orders = true;
        }
        report
    }
}
