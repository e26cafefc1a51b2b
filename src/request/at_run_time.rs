//! [`AtRunTime`]: an operation in which the extents of some dimensions are given when its kernel
//! runs.

use std::collections::BTreeMap;

use super::{
    Operation, Table, Tensor,
    compilation::validate,
    stages::{costs, stages},
};
use crate::{
    error::Error,
    nest::{Gaps, Operand},
    notation::{TensorForm, dml::BufferTensorDesc},
    schedule::{
        ExtentError, MOST_ARGUMENTS, OuterLoop, RunTimeExtents, Schedule, Target, item_candidates,
        schedule_items,
    },
    shape::{Dimension, Shape, StridedShape},
    trace::span,
    wgsl::{self, Kernel},
};

/// An operation in which some extents are given at run time. The extents of its tensors are the
/// maxima.
///
/// The layouts follow the extents: an array of 17 images lies in memory as if it had been compiled
/// for 17. One kernel, and so one pipeline, serves all extents up to the maxima. It reads them from
/// a uniform buffer.
///
/// ```
/// use stridec::{Operation, Target};
/// // Up to 64 images, from NCHW to NHWC.
/// let (from, to) = ("f32[64,3,8,8]".parse()?, "f32[64,3,8,8]{1,3,2,0}".parse()?);
/// let images = Operation::relayout(from, to)?.at_run_time(&[0])?;
/// let kernel = images.compile(&Target::webgpu())?;
/// let extents = kernel.extents.as_ref().unwrap();
/// assert_eq!(extents.image_bytes(&[17])?, [17 * 768; 2]);
/// assert_eq!(extents.loops.uniform(&[17])?[0], 17);
/// assert!(extents.dispatch(&[17])?.workgroups < kernel.dispatches[0].workgroups);
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtRunTime {
    operation: Operation,
    /// The operation with an extent of 1 in each of the loops.
    item: Operation,
    extents: RunTimeExtents,
}

impl Operation {
    /// Returns the operation with extents that are given at run time, in the order of `dimensions`.
    /// The extents of the operation's tensors become the maxima.
    ///
    /// The memory at one index of these dimensions must be contiguous on both sides, and must not
    /// depend on their extents. So the dimensions, together with those that enclose them, are the
    /// outermost ones of both tensors, in any order, and no tile or padding covers them. The
    /// memory inside them consists of whole 32-bit words.
    ///
    /// # Errors
    ///
    /// Returns an [`ExtentError`] if the tensors have no elements, if a dimension is not one of the
    /// operation's, if there are more than four, or if the extent of one affects more than the
    /// strides of outer dimensions.
    #[expect(clippy::missing_panics_doc, reason = "the loops are valid, as the message says")]
    pub fn at_run_time(self, dimensions: &[usize]) -> Result<AtRunTime, Error> {
        let rank = self.source_descriptor().rank();
        if dimensions.is_empty() || dimensions.len() > MOST_ARGUMENTS {
            return Err(ExtentError::Dimensions { given: dimensions.len() }.into());
        }
        for (number, &dimension) in dimensions.iter().enumerate() {
            if dimension >= rank || dimensions[..number].contains(&dimension) {
                return Err(ExtentError::Dimension { dimension, rank }.into());
            }
        }
        if self.destination_descriptor().elements() == 0 {
            let (operand, dimension) = (Operand::Destination, dimensions[0]);
            let reason = "the tensor has no elements";
            return Err(ExtentError::Fixed { operand, dimension, reason }.into());
        }
        let [source_order, order] = self.outermost(dimensions)?;
        let sizes = self.destination_descriptor().sizes();
        for &dimension in &order {
            self.check_whole(dimension)?;
        }
        let loops: Vec<OuterLoop> = order
            .iter()
            .map(|&dimension| OuterLoop {
                dimension,
                most: sizes[dimension],
                argument: dimensions.iter().position(|&one| one == dimension),
            })
            .collect();
        let place = |dimension: &usize| order.iter().position(|one| one == dimension);
        let source_order = source_order.iter().filter_map(place);
        let extents = RunTimeExtents::new(loops, source_order)
            .expect("both orders have the same loops, and no extent is 0");
        let item =
            self.resized(&extents, &order.iter().map(|&dimension| (dimension, 1)).collect())?;
        for (operand, one, all) in [
            (Operand::Source(0), item.source_descriptor(), self.source_descriptor()),
            (Operand::Destination, item.destination_descriptor(), self.destination_descriptor()),
        ] {
            let bits = one.physical_elements() * u64::from(one.element_bits());
            if !bits.is_multiple_of(32) {
                return Err(ExtentError::Words { operand, bits }.into());
            }
            if one.physical_elements() * extents.most_items() != all.physical_elements() {
                let (dimension, reason) = (dimensions[0], "the memory ends with a tail");
                return Err(ExtentError::Fixed { operand, dimension, reason }.into());
            }
        }
        Ok(AtRunTime { operation: self, item, extents })
    }

    /// Returns the outermost dimensions of the source and of the destination, the outermost first.
    /// Both sides have the same ones: `dimensions`, and those that enclose them on either side.
    fn outermost(&self, dimensions: &[usize]) -> Result<[Vec<usize>; 2], ExtentError> {
        let mut wanted = dimensions.to_vec();
        loop {
            let sides = [
                (Operand::Source(0), self.source_descriptor()),
                (Operand::Destination, self.destination_descriptor()),
            ];
            let [source, destination] = sides.map(|(operand, side)| {
                let fixed = |(dimension, reason)| ExtentError::Fixed { operand, dimension, reason };
                side.outermost(&wanted).map_err(fixed)
            });
            let (source, destination) = (source?, destination?);
            let missing = |side: &Vec<usize>| {
                let enclosing = source.iter().chain(&destination);
                enclosing.copied().filter(|one| !side.contains(one)).collect::<Vec<_>>()
            };
            let (here, there) = (missing(&source), missing(&destination));
            if here.is_empty() && there.is_empty() {
                return Ok([source, destination]);
            }
            wanted = [source, here].concat();
        }
    }

    /// Checks that the operation treats all indices of a dimension alike.
    fn check_whole(&self, dimension: usize) -> Result<(), ExtentError> {
        let window = self.window.dimensions()[dimension];
        let size = self.source_descriptor().sizes()[dimension];
        let is_whole = (window.extent(), window.src_start(), window.src_step()) == (size, 0, 1);
        let reason = if self.is_update() {
            "an update has extents of its own"
        } else if !is_whole {
            "the window does not copy all of the dimension in order"
        } else if self.table().and_then(Table::dimension) == Some(dimension) {
            "each of its indices has a table"
        } else {
            return Ok(());
        };
        Err(ExtentError::Fixed { operand: Operand::Source(0), dimension, reason })
    }

    /// Returns the operation with other extents in the outermost dimensions.
    fn resized(
        &self,
        extents: &RunTimeExtents,
        given: &BTreeMap<usize, u64>,
    ) -> Result<Self, Error> {
        let loops = extents.loops();
        let source = extents.source_order().iter().map(|&number| loops[number].dimension);
        let source: Vec<usize> = source.collect();
        let source = resized(self.source(), &source, given)?;
        let destination: Vec<usize> = loops.iter().map(|one| one.dimension).collect();
        let destination = resized(self.destination(), &destination, given)?;
        self.with_tensors(source, destination, given.iter().map(|(&one, &extent)| (one, extent)))
    }
}

/// Returns a tensor with other extents in its outermost dimensions, which are given in the order of
/// its memory.
fn resized(
    tensor: &Tensor,
    order: &[usize],
    extents: &BTreeMap<usize, u64>,
) -> Result<Tensor, Error> {
    let descriptor = tensor.descriptor();
    let mut sizes = descriptor.sizes().to_vec();
    let items: u64 = order.iter().map(|&dimension| sizes[dimension]).product();
    let mut stride = descriptor.physical_elements() / items;
    let mut strides = BTreeMap::new();
    for &dimension in order.iter().rev() {
        let extent = extents.get(&dimension).copied().unwrap_or(sizes[dimension]);
        strides.insert(dimension, stride);
        sizes[dimension] = extent;
        stride *= extent;
    }
    Ok(match tensor.form() {
        TensorForm::Shape(shape) => {
            let mut layout = shape.layout().cloned();
            if let Some(layout) = &mut layout {
                for (&dimension, &extent) in extents {
                    if let Some(padded) = layout.padded_dimensions.get_mut(dimension) {
                        *padded = extent;
                    }
                }
            }
            let sizes = sizes.into_iter().map(Dimension::Fixed);
            Tensor::try_from(Shape::array(shape.element_type(), sizes, layout)?)?
        }
        TensorForm::Strided(shape) => {
            let stride = |(dimension, &old): (usize, &i64)| match strides.get(&dimension) {
                Some(&stride) => i64::try_from(stride).unwrap_or(old),
                None => old,
            };
            let strides: Vec<i64> = shape.strides().iter().enumerate().map(stride).collect();
            let bits = shape.element_size_in_bits();
            Tensor::try_from(StridedShape::new(shape.element_type(), sizes, strides, 0, bits)?)?
        }
        TensorForm::Buffer(desc) => {
            let narrow = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
            let stride = |(dimension, &old): (usize, &u32)| {
                strides.get(&dimension).map_or(old, |&stride| narrow(stride))
            };
            let strides: Option<Vec<u32>> =
                desc.strides().map(|all| all.iter().enumerate().map(stride).collect());
            let sizes: Vec<u32> = sizes.into_iter().map(narrow).collect();
            let desc = BufferTensorDesc::new(desc.data_type(), &sizes, strides.as_deref())?;
            Tensor::try_from(desc)?
        }
        // No operation has such a tensor.
        TensorForm::Digits => tensor.clone(),
    })
}

impl AtRunTime {
    /// Returns the operation at the maximum extents.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Sets the treatment of the places of the destination that hold no element, as
    /// [`Operation::with_gaps`] does.
    #[must_use]
    pub fn with_gaps(self, gaps: Gaps) -> Self {
        let Self { operation, item, extents } = self;
        Self { operation: operation.with_gaps(gaps), item: item.with_gaps(gaps), extents }
    }

    /// Returns the loops whose extents are given at run time.
    #[must_use]
    pub fn extents(&self) -> &RunTimeExtents {
        &self.extents
    }

    /// Returns the operation at the given extents, in the order of the arguments. The host runs
    /// this operation.
    ///
    /// ```
    /// use stridec::Operation;
    /// let operation = Operation::relayout("u8[9,2,4]".parse()?, "u8[9,2,4]{1,2,0}".parse()?)?;
    /// let two = operation.at_run_time(&[0])?.with_extents(&[2])?;
    /// let mut columns = [0; 16];
    /// two.run_on_host(b"abcdefghABCDEFGH", &mut columns)?;
    /// assert_eq!(&columns, b"aebfcgdhAEBFCGDH");
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an [`ExtentError`] if the number of extents is wrong, or if one is above its
    /// maximum.
    pub fn with_extents(&self, extents: &[u64]) -> Result<Operation, Error> {
        self.extents.items(extents)?;
        let given = self.extents.arguments().zip(extents);
        let given = given.map(|((dimension, _), &extent)| (dimension, extent)).collect();
        self.operation.resized(&self.extents, &given)
    }

    /// Returns the schedule for one item on `target`, repeated for the maximum extents.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low for the maximum extents.
    pub fn schedule(&self, target: &Target) -> Result<Schedule, Error> {
        Ok(schedule_items(self.item.nest().clone(), &self.extents, target)?)
    }

    /// Compiles the operation for `target`, and validates the kernel with naga.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low for the maximum extents.
    pub fn compile(&self, target: &Target) -> Result<Kernel, Error> {
        span!("emit");
        let kernel = self.emit(&self.schedule(target)?, target);
        validate(&kernel)?;
        Ok(kernel)
    }

    /// Returns all stages as text, as [`Operation::stages`] does. The stages are those of one item,
    /// except for the kernel.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low for the maximum extents.
    pub fn stages(&self, target: &Target) -> Result<String, Error> {
        let schedule = self.schedule(target)?;
        let items = self.extents.most_items();
        let costs = costs(&item_candidates(self.item.nest().clone(), items, target));
        let kernel = self.emit(&schedule, target);
        validate(&kernel)?;
        let stages = stages(&self.item, target, &schedule, &costs, &kernel);
        Ok(format!("{}\none item: {stages}", self.title()))
    }

    fn emit(&self, schedule: &Schedule, target: &Target) -> Kernel {
        let mut header = self.item.header();
        header[0].1 = format!("{}\none item: {}", self.title(), self.item.title());
        wgsl::emit(schedule, target, &header)
    }

    /// Returns a description of the operation in one line.
    #[must_use]
    pub fn title(&self) -> String {
        let names = self.extents.arguments().map(|(dimension, _)| format!("d{dimension}"));
        let names: Vec<String> = names.collect();
        format!(
            "{}, at run time at most these extents of {}",
            self.operation.title(),
            names.join(", ")
        )
    }
}
