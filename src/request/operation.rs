//! [`Operation`]: a copy between two tensors. It determines the source element for each element of
//! the destination.

use smallvec::SmallVec;

use super::{Table, Tensor, compilation::validate};
use crate::{
    error::Error,
    nest::{self, CopyNest, Gaps, NestError, Operand},
    notation::{NotationError, TensorForm},
    schedule::{Estimate, Schedule, Target, estimate, schedule},
    shape::FieldPath,
    stride::StrideDescriptor,
    trace::span,
    wgsl::{self, Kernel},
    window::{Slice, Window},
};

/// A relayout, a slice or an update between two tensors, lowered to its nest.
///
/// ```
/// use stridec::{request::Operation, schedule::Target};
/// let source = "f32[8,64,112,112]{3,2,1,0}".parse()?;
/// let destination = "f32[8,64,112,112]{1,3,2,0}".parse()?;
/// let kernel = Operation::relayout(source, destination)?.compile(&Target::webgpu())?;
/// assert_eq!(kernel.strategy.name(), "transpose");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    pub(super) title: String,
    pub(super) source: Tensor,
    pub(super) destination: Tensor,
    pub(super) window: Window,
    /// The index of the destination at which an update begins, or `None` if the operation is not an
    /// update.
    start_indices: Option<Vec<u64>>,
    table: Option<Table>,
    pub(super) nest: CopyNest,
}

/// The end of the title of an operation that keeps gaps.
const KEPT: &str = ", gaps kept";

/// The start of the paths in errors, which name the field of a message that is at fault.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    /// The path of the operation's message; empty if the operation does not come from a message.
    pub(super) operation: FieldPath,
}

impl Paths {
    /// Returns the path of a tensor. If the operation comes from a message, the path includes the
    /// field that holds the tensor.
    pub(super) fn tensor(&self, operand: Operand, kind: &'static str) -> FieldPath {
        let path = self.operation.clone().field(match operand {
            Operand::Source(_) => "source",
            Operand::Destination => "destination",
        });
        if self.operation.is_empty() { path } else { path.field(kind) }
    }
}

impl Operation {
    /// Creates an operation that copies every element of `source` to the same logical index of
    /// `destination`.
    ///
    /// # Errors
    ///
    /// Returns an error if the two tensors differ in element type or extents.
    pub fn relayout(source: Tensor, destination: Tensor) -> Result<Self, Error> {
        Self::relayout_at(&Paths::default(), source, destination)
    }

    /// Creates a relayout. Errors name the fields of the operation's message.
    pub(super) fn relayout_at(
        paths: &Paths,
        source: Tensor,
        destination: Tensor,
    ) -> Result<Self, Error> {
        let title = format!("relayout {source} to {destination}");
        let window = Window::identity(source.descriptor().sizes());
        Self::lower(paths, title, source, destination, (window, None))
    }

    /// Creates an operation that copies a slice of `source`, as DirectML's SLICE1 does.
    ///
    /// If `destination` is `None`, the destination has the sizes of the output, the default layout,
    /// and elements of the same width as in the source. If the source is a `BufferTensorDesc`, the
    /// destination is a packed `BufferTensorDesc`.
    ///
    /// SLICE1 needs at least one element. A slice that comes from XLA may be empty, and then its
    /// kernel has nothing to dispatch.
    ///
    /// # Errors
    ///
    /// Returns an error if the window does not fit the source, or if the destination does not fit
    /// the output.
    pub fn slice(
        source: Tensor,
        slice: &Slice,
        destination: Option<Tensor>,
    ) -> Result<Self, Error> {
        Self::slice_at(&Paths::default(), source, slice, destination)
    }

    /// Creates a slice. Errors name the fields of the operation's message.
    pub(super) fn slice_at(
        paths: &Paths,
        source: Tensor,
        slice: &Slice,
        destination: Option<Tensor>,
    ) -> Result<Self, Error> {
        let window = Window::slice(source.descriptor().sizes(), slice)
            .map_err(|error| Error::from(error).below(&paths.operation))?;
        let destination = match destination {
            Some(destination) => destination,
            None => source.dense_like(paths, window.sizes())?,
        };
        let title = format!(
            "slice {source} at {:?} of {:?} by {:?} to {destination}",
            slice.window_offsets, slice.window_sizes, slice.window_strides
        );
        Self::lower(paths, title, source, destination, (window, None))
    }

    /// Creates an operation that copies all elements of `source` into `destination`, starting at
    /// the index `start_indices`, and keeps everything else. This is XLA's dynamic-update-slice
    /// with constant start indices, in place. As with [`Gaps::Keep`], a run changes the existing
    /// bytes of the destination. It takes time for the update only, whatever the size of the
    /// destination.
    ///
    /// ```
    /// use stridec::Operation;
    /// let (row, cache) = ("u8[1,3]".parse()?, "u8[4,3]".parse()?);
    /// let operation = Operation::update(row, cache, &[2, 0])?;
    /// let mut cache = *b"............";
    /// operation.run_on_host(b"abc", &mut cache)?;
    /// assert_eq!(&cache, b"......abc...");
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the two tensors differ in element type or rank, or if the update extends
    /// past the end of the destination. XLA would move such an update back, because it receives
    /// start indices only at run time. Constant start indices are refused instead, so that a
    /// mistake does not change other elements.
    pub fn update(
        source: Tensor,
        destination: Tensor,
        start_indices: &[u64],
    ) -> Result<Self, Error> {
        let title = format!("update {destination} at {start_indices:?} with {source}");
        let window = Window::identity(source.descriptor().sizes());
        let window = (window, Some(start_indices.to_vec()));
        let operation = Self::lower(&Paths::default(), title, source, destination, window)?;
        Ok(operation.with_gaps(Gaps::Keep))
    }

    fn lower(
        paths: &Paths,
        title: String,
        source: Tensor,
        destination: Tensor,
        (window, start_indices): (Window, Option<Vec<u64>>),
    ) -> Result<Self, Error> {
        span!("lower");
        for (operand, tensor) in
            [(Operand::Source(0), &source), (Operand::Destination, &destination)]
        {
            if *tensor.form() == TensorForm::Digits {
                let error = Error::from(NotationError::Digits);
                return Err(error.below(&paths.tensor(operand, tensor.kind())));
            }
        }
        let nest = nest_of(&source, &destination, &window, start_indices.as_deref(), None)
            .map_err(|error| located(error, paths, &source, &destination))?;
        Ok(Self { title, source, destination, window, start_indices, table: None, nest })
    }

    /// Returns the operation with a table, in which it looks up each element of the source instead
    /// of copying or converting the element. A table can express any function of elements of at
    /// most 8 bits, such as the normalisation of a picture, the numbers that 4-bit types encode, or
    /// an inversion. All devices give exactly the elements of the table.
    ///
    /// Kernels read the table as their second source, after the tensor. Only the size of the table
    /// is compiled, so its contents may change from run to run.
    ///
    /// ```
    /// use stridec::{Operation, request::Table};
    /// // Red, green and blue bytes become planes of numbers from 0 to 1.
    /// let (image, planes) = ("u8[2,2,3]".parse()?, "f32[2,2,3]{1,0,2}".parse()?);
    /// let table: Vec<u8> = (0..=255).flat_map(|x| (x as f32 / 255.0).to_le_bytes()).collect();
    /// let operation = Operation::relayout(image, planes)?.with_table(Table::new(table, None))?;
    /// let mut planes = [0; 48];
    /// operation.run_on_host(&[255, 0, 51, 0, 0, 51, 0, 0, 51, 0, 0, 51], &mut planes)?;
    /// assert_eq!(planes[..4], 1_f32.to_le_bytes());
    /// assert_eq!(planes[32..36], 0.2_f32.to_le_bytes());
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the source's elements have more than 8 bits, or if the table does not
    /// have the size of [`Table::shape`].
    pub fn with_table(mut self, table: Table) -> Result<Self, Error> {
        let nest = self
            .filling_nest(Some(&table))
            .map_err(|error| located(error, &Paths::default(), &self.source, &self.destination))?;
        let kept = self.gaps() == Gaps::Keep;
        self.nest = if kept { nest::keep_gaps(nest) } else { nest };
        self.title += &table.words();
        self.table = Some(table);
        Ok(self)
    }

    /// Sets the treatment of the places of the destination that hold no element. The constructors
    /// use [`Gaps::Fill`], except for [`update`](Self::update).
    ///
    /// With [`Gaps::Keep`], every run changes the existing bytes of the destination: it writes the
    /// elements, and leaves gaps, padding, a prefix, a tail and the bits around elements below a
    /// byte unchanged.
    ///
    /// ```
    /// use stridec::{Operation, nest::Gaps};
    /// // Two rows of three bytes, in the middle of rows of five.
    /// let window = "u8[2,3] strided<[5,1], offset: 1>".parse()?;
    /// let operation = Operation::relayout("u8[2,3]".parse()?, window)?.with_gaps(Gaps::Keep);
    /// let mut rows = *b".........";
    /// operation.run_on_host(b"abcdef", &mut rows)?;
    /// assert_eq!(&rows, b".abc..def");
    /// # Ok::<(), stridec::Error>(())
    /// ```
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "an operation that was lowered is lowered again")]
    pub fn with_gaps(mut self, gaps: Gaps) -> Self {
        match (self.gaps(), gaps) {
            (Gaps::Fill, Gaps::Keep) => {
                self.nest = nest::keep_gaps(self.nest);
                self.title += KEPT;
            }
            (Gaps::Keep, Gaps::Fill) => {
                let lowered = self.filling_nest(self.table.as_ref());
                self.nest = lowered.expect("it was lowered before");
                self.title = self.title.replacen(KEPT, "", 1);
            }
            _ => {}
        }
        self
    }

    /// Lowers the operation with another table, or without one. The nest fills its gaps.
    fn filling_nest(&self, table: Option<&Table>) -> Result<CopyNest, NestError> {
        let start_indices = self.start_indices.as_deref();
        nest_of(&self.source, &self.destination, &self.window, start_indices, table)
    }

    /// Returns true if the operation writes a part of its destination, at an index.
    pub(super) fn is_update(&self) -> bool {
        self.start_indices.is_some()
    }

    /// Returns the same operation on tensors with other extents in dimensions that it copies as a
    /// whole.
    pub(super) fn with_tensors(
        &self,
        source: Tensor,
        destination: Tensor,
        extents: impl IntoIterator<Item = (usize, u64)>,
    ) -> Result<Self, Error> {
        let window = self.window.clone().with_extents(extents);
        let is_relayout = window == Window::identity(source.descriptor().sizes());
        let what = if is_relayout { "relayout" } else { "slice" };
        let title = format!("{what} {source} to {destination}");
        let operation = Self::lower(&Paths::default(), title, source, destination, (window, None))?;
        match &self.table {
            Some(table) => operation.with_table(table.clone()),
            None => Ok(operation),
        }
        .map(|operation| operation.with_gaps(self.gaps()))
    }

    /// Returns the treatment of the places of the destination that hold no element.
    #[must_use]
    pub fn gaps(&self) -> Gaps {
        self.nest.gaps()
    }

    /// Returns a description of the operation in one line.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the source tensor.
    #[must_use]
    pub fn source(&self) -> &Tensor {
        &self.source
    }

    /// Returns the destination tensor.
    #[must_use]
    pub fn destination(&self) -> &Tensor {
        &self.destination
    }

    /// Returns the table in which elements are looked up, or `None` if they are copied or
    /// converted.
    #[must_use]
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// Returns the descriptor of the source, which has its strides.
    #[must_use]
    pub fn source_descriptor(&self) -> &StrideDescriptor {
        self.source.descriptor()
    }

    /// Returns the descriptor of the destination, which has its strides.
    #[must_use]
    pub fn destination_descriptor(&self) -> &StrideDescriptor {
        self.destination.descriptor()
    }

    /// Returns the window, which maps each destination index to a source index. For an update, it
    /// maps indices relative to the start of the update.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Returns the loop nest, which every kernel of the operation and every run on the host
    /// execute.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// Returns the schedule of the nest on `target`.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn schedule(&self, target: &Target) -> Result<Schedule, Error> {
        Ok(schedule(self.nest.clone(), target)?)
    }

    /// Returns the estimated memory traffic and time of the operation on `target`. Nothing is
    /// compiled. Both are zero for a bitcast: every element has the same place in both tensors, so
    /// that one buffer serves for both. As in
    /// [`reshape_is_bitcast`](crate::xla::shape_util::reshape_is_bitcast), the contents of padding
    /// do not matter.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn estimate(&self, target: &Target) -> Result<Estimate, Error> {
        let is_whole = self.window == Window::identity(self.source_descriptor().sizes());
        let is_same = self.source == self.destination || self.nest.keeps_places();
        if is_whole && is_same && self.table.is_none() && self.start_indices.is_none() {
            return Ok(Estimate::default());
        }
        Ok(estimate(&self.nest, target)?)
    }

    /// Compiles the operation for `target`, and validates the kernel with naga.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn compile(&self, target: &Target) -> Result<Kernel, Error> {
        let kernel = self.compile_unvalidated(target)?;
        validate(&kernel)?;
        Ok(kernel)
    }

    /// Compiles the operation without validating the kernel. Use this method if the kernel is
    /// validated later anyway, for example by wgpu.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn compile_unvalidated(&self, target: &Target) -> Result<Kernel, Error> {
        span!("emit");
        Ok(self.emit(&self.schedule(target)?, target))
    }

    /// Returns the kernel for a schedule of this operation on `target`.
    pub(super) fn emit(&self, schedule: &Schedule, target: &Target) -> Kernel {
        wgsl::emit(schedule, target, &self.header())
    }

    /// Runs the operation on the CPU. `source` and `destination` are the whole buffers of the
    /// tensors, including padding.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer does not have the length of its tensor.
    pub fn run_on_host(&self, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
        span!("run");
        Ok(crate::host::run_sources(&self.nest, &self.sources(source), destination)?)
    }

    /// Returns the bytes of all sources of the nest: `source`, and the table if there is one.
    pub(crate) fn sources<'a>(&'a self, source: &'a [u8]) -> SmallVec<[&'a [u8]; 2]> {
        let table = self.table.iter().map(Table::bytes);
        std::iter::once(source).chain(table).collect()
    }
}

/// Adds a path to an error: the path of the tensor or the field that caused it.
fn located(error: NestError, paths: &Paths, source: &Tensor, destination: &Tensor) -> Error {
    use NestError::{StartIndex, StartIndices, TableDimension, TableSize};
    let field = error.field().unwrap_or_default();
    if matches!(
        error,
        StartIndices { .. } | StartIndex { .. } | TableDimension { .. } | TableSize { .. }
    ) {
        return Error::from(error).below(&field.below(&paths.operation));
    }
    let tensor = match error.operand() {
        Operand::Source(_) => source,
        Operand::Destination => destination,
    };
    let outer = tensor.field(field).below(&paths.tensor(error.operand(), tensor.kind()));
    Error::from(error).below(&outer)
}

/// Returns the nest of an operation that fills its gaps.
fn nest_of(
    source: &Tensor,
    destination: &Tensor,
    window: &Window,
    start_indices: Option<&[u64]>,
    table: Option<&Table>,
) -> Result<CopyNest, NestError> {
    let table = table.map(|table| table.reads(source, destination)).transpose()?;
    let (source, destination) = (source.descriptor(), destination.descriptor());
    nest::lower_with(source, destination, window, start_indices, table.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::dml::{BufferTensorDesc, TensorDataType};

    /// Checks that elements of the destination share bytes as in the source: 15 elements of 4 bits
    /// take 8 bytes.
    #[test]
    fn the_default_destination_of_a_slice_is_as_wide_as_the_source() {
        let desc = BufferTensorDesc::new(TensorDataType::Uint4, &[3, 5], None).unwrap();
        let whole = Slice::new([0, 0], [3, 5], [1, 1]);
        for (source, bytes) in [
            (Tensor::try_from(desc.clone()).unwrap(), 8),
            ("u4[3,5]{0,1:E(4)}".parse().unwrap(), 8),
            ("u4[3,5]{:E(4)} strided<[1,3]>".parse().unwrap(), 8),
            ("u4[3,5]".parse().unwrap(), 15),
            ("f32[3,5]{0,1:T(2,2)}".parse().unwrap(), 60),
        ] {
            let operation = Operation::slice(source.clone(), &whole, None).unwrap();
            assert_eq!(operation.destination_descriptor().image_bytes(), bytes, "{source}");
        }
        let operation = Operation::slice(desc.clone().try_into().unwrap(), &whole, None).unwrap();
        assert_eq!(operation.destination, Tensor::try_from(desc).unwrap());
    }

    #[test]
    fn operations_are_equal_where_their_tensors_and_windows_are() {
        let operation = |to: &str| {
            Operation::relayout("f32[2,3]".parse().unwrap(), to.parse().unwrap()).unwrap()
        };
        assert_eq!(operation("f32[2,3]{0,1}"), operation("f32[2,3]{0,1}"));
        assert_ne!(operation("f32[2,3]{0,1}"), operation("f32[2,3]"));
        let distinct: std::collections::HashSet<_> =
            ["f32[2,3]", "f32[2,3]{0,1}", "f32[2,3]"].map(operation).into();
        assert_eq!(distinct.len(), 2);
    }

    /// Checks that `parse` refuses digits, which `notation::read` accepts, because no operation
    /// accepts them.
    #[test]
    fn digits_are_no_operand() {
        let text = "cute:((3,4),(4,3)):((1,3),(3,1))";
        let digits = crate::notation::read(text).unwrap();
        assert_eq!(*digits.form(), TensorForm::Digits);
        let error = Operation::relayout(digits, "f32[12,12]".parse().unwrap()).unwrap_err();
        let reason = "a dimension has more than one stride, and no XLA layout says them";
        assert_eq!(error.to_string(), format!("source: {reason}"));
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
        let error = text.parse::<Tensor>().unwrap_err();
        assert_eq!(error.to_string(), format!("{reason} (at byte 0)"));
    }

    /// Checks that a layout whose levels are all dense is equal to one without levels.
    #[test]
    fn dense_levels_are_a_dense_array() {
        let relayout =
            |from: &str| Operation::relayout(from.parse()?, "f32[2,3]{0,1}".parse().unwrap());
        let dense = relayout("f32[2,3]{1,0:D(D,D)}").unwrap();
        assert_eq!(dense.nest(), relayout("f32[2,3]").unwrap().nest());
        for sparse in
            ["f32[2,3]{1,0:D(D,C)}", "f32[2,3]{1,0:D(D,D)P(s8[1])}", "f32[2,3]{1,0:#(u8)}"]
        {
            let error = relayout(sparse).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{error}");
        }
    }
}
