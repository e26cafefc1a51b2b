//! Conversions of operations, targets and tensors to and from the messages in `proto/`.

use super::{Operation, RequestError, Table, Tensor, operation::Paths};
use crate::{
    error::Error,
    nest::Gaps,
    notation::{NotationError, TensorForm, dml::BufferTensorDesc},
    proto::{stridec as proto, xla},
    schedule::{AdapterKind, Target},
    shape::{ElementType, FieldPath, Shape, StridedShape},
    window::Slice,
};

impl TryFrom<&proto::CompileRequest> for Operation {
    type Error = Error;

    /// Lowers the operation of a request, with its treatment of gaps. Ignores the target of the
    /// request, which [`Target::try_from`] converts.
    fn try_from(request: &proto::CompileRequest) -> Result<Self, Error> {
        use proto::compile_request::Operation as Kind;
        let operation: Self = match &request.operation {
            None => Err(missing("operation", "a relayout, a slice or an hlo_module")),
            Some(Kind::HloModule(_) | Kind::HloText(_)) => Err(RequestError::Program.into()),
            Some(Kind::Relayout(proto::Relayout { source, destination })) => {
                let paths = Paths { operation: FieldPath::new("relayout") };
                let source = required("relayout.source", source.as_ref())?;
                let destination = required("relayout.destination", destination.as_ref())?;
                Self::relayout_at(&paths, source, destination)
            }
            Some(Kind::Slice(slice)) => {
                let source = required("slice.source", slice.source.as_ref())?;
                let destination = match &slice.destination {
                    None => None,
                    some => Some(required("slice.destination", some.as_ref())?),
                };
                let output_sizes =
                    (!slice.output_sizes.is_empty()).then(|| slice.output_sizes.clone());
                let window = Slice {
                    window_offsets: slice.window_offsets.clone(),
                    window_sizes: slice.window_sizes.clone(),
                    window_strides: slice.window_strides.clone(),
                    output_sizes,
                };
                let paths = Paths { operation: FieldPath::new("slice") };
                Self::slice_at(&paths, source, &window, destination)
            }
        }?;
        let operation = match &request.table {
            Some(table) => operation.with_table(table.into())?,
            None => operation,
        };
        match proto::Gaps::try_from(request.gaps) {
            Ok(gaps) => Ok(operation.with_gaps(gaps.into())),
            Err(_) => Err(RequestError::Gaps { given: request.gaps }.into()),
        }
    }
}

impl From<&proto::Table> for Table {
    fn from(table: &proto::Table) -> Self {
        Self::new(table.entries.clone(), table.dimension.map(|dimension| dimension as usize))
    }
}

impl From<proto::Gaps> for Gaps {
    fn from(gaps: proto::Gaps) -> Self {
        match gaps {
            proto::Gaps::Fill => Self::Fill,
            proto::Gaps::Keep => Self::Keep,
        }
    }
}

impl From<Gaps> for proto::Gaps {
    fn from(gaps: Gaps) -> Self {
        match gaps {
            Gaps::Fill => Self::Fill,
            Gaps::Keep => Self::Keep,
        }
    }
}

impl TryFrom<&proto::Target> for Target {
    type Error = Error;

    /// Converts a target: starts from its preset, which is `webgpu` by default, and replaces the
    /// fields that the proto sets.
    fn try_from(proto: &proto::Target) -> Result<Self, Error> {
        let preset = if proto.preset.is_empty() { "webgpu" } else { &proto.preset };
        let mut target = Self::preset(preset)
            .map_err(|error| Error::from(error).below(&FieldPath::new("target")))?;
        let proto::Target {
            preset: _,
            max_storage_buffer_binding_size,
            max_compute_workgroups_per_dimension,
            max_compute_invocations_per_workgroup,
            name,
            kind,
            model,
            measured_on,
            max_storage_buffers_per_shader_stage,
            read_write_sources,
        } = proto;
        replace(
            &mut target.max_storage_buffer_binding_size,
            max_storage_buffer_binding_size.as_ref(),
        );
        replace(
            &mut target.max_compute_workgroups_per_dimension,
            max_compute_workgroups_per_dimension.as_ref(),
        );
        replace(
            &mut target.max_compute_invocations_per_workgroup,
            max_compute_invocations_per_workgroup.as_ref(),
        );
        replace(
            &mut target.max_storage_buffers_per_shader_stage,
            max_storage_buffers_per_shader_stage.as_ref(),
        );
        replace(&mut target.read_write_sources, read_write_sources.as_ref());
        replace(&mut target.name, name.as_ref());
        replace(&mut target.measured_on, measured_on.as_ref());
        match proto::target::Kind::try_from(*kind) {
            Ok(proto::target::Kind::OfPreset) => {}
            Ok(proto::target::Kind::Gpu) => target.kind = AdapterKind::Gpu,
            Ok(proto::target::Kind::Cpu) => target.kind = AdapterKind::Cpu,
            Err(_) => return Err(RequestError::AdapterKind { given: *kind }.into()),
        }
        if let Some(model) = *model {
            let proto::CostModel { lanes, access, word, line, byte, spill, .. } = model;
            target.model.lanes = lanes;
            replace(
                &mut target.model.operations_per_microsecond,
                model.operations_per_microsecond.as_ref(),
            );
            replace(&mut target.model.dispatch_nanoseconds, model.dispatch_nanoseconds.as_ref());
            let given = [access, word, line, byte, spill];
            target.model.costs_mut().into_iter().zip(given).for_each(|(to, from)| *to = from);
        }
        Ok(target)
    }
}

/// Replaces the value of a field if a new value is given.
fn replace<T: Clone>(field: &mut T, given: Option<&T>) {
    if let Some(given) = given {
        field.clone_from(given);
    }
}

impl From<&Target> for proto::Target {
    /// Sets all fields of the proto, so that it needs no preset.
    fn from(target: &Target) -> Self {
        let [access, word, line, byte, spill] = target.model.costs().map(|(_, cost)| cost);
        let kind = match target.kind {
            AdapterKind::Gpu => proto::target::Kind::Gpu,
            AdapterKind::Cpu => proto::target::Kind::Cpu,
        };
        Self {
            preset: String::new(),
            max_storage_buffer_binding_size: Some(target.max_storage_buffer_binding_size),
            max_compute_workgroups_per_dimension: Some(target.max_compute_workgroups_per_dimension),
            max_compute_invocations_per_workgroup: Some(
                target.max_compute_invocations_per_workgroup,
            ),
            name: Some(target.name.clone()),
            kind: kind.into(),
            model: Some(proto::CostModel {
                lanes: target.model.lanes,
                access,
                word,
                line,
                byte,
                spill,
                operations_per_microsecond: Some(target.model.operations_per_microsecond),
                dispatch_nanoseconds: Some(target.model.dispatch_nanoseconds),
            }),
            measured_on: Some(target.measured_on.clone()),
            max_storage_buffers_per_shader_stage: Some(target.max_storage_buffers_per_shader_stage),
            read_write_sources: Some(target.read_write_sources),
        }
    }
}

fn missing(field: &'static str, accepted: &'static str) -> Error {
    RequestError::Missing { field, accepted }.into()
}

/// Converts a tensor that must be present. The fields in errors start with `field`.
fn required(field: &'static str, tensor: Option<&proto::Tensor>) -> Result<Tensor, Error> {
    let tensor = tensor
        .filter(|tensor| tensor.kind.is_some())
        .ok_or_else(|| missing(field, "a shape, a buffer_tensor_desc or strided sizes"))?;
    Tensor::try_from(tensor).map_err(|error| error.below(&FieldPath::of(field)))
}

impl TryFrom<&proto::Tensor> for Tensor {
    type Error = Error;

    fn try_from(tensor: &proto::Tensor) -> Result<Self, Error> {
        use proto::tensor::Kind;
        match &tensor.kind {
            None => Err(missing("kind", "a shape, a buffer_tensor_desc or strided sizes")),
            Some(Kind::Shape(shape)) => {
                let path = FieldPath::new("shape");
                let shape = Shape::try_from(shape).map_err(|error| error.below(&path))?;
                Self::try_from(shape).map_err(|error| Error::from(error).below(&path))
            }
            Some(Kind::BufferTensorDesc(desc)) => {
                let path = FieldPath::new("buffer_tensor_desc");
                let desc = BufferTensorDesc::try_from(desc)
                    .map_err(|error| Error::from(error).below(&path))?;
                Self::try_from(desc).map_err(|error| Error::from(error).below(&path))
            }
            Some(Kind::Strided(strided)) => {
                let given = strided.element_type;
                let element_type = ElementType::ALL
                    .into_iter()
                    .find(|&kind| kind as i32 == given)
                    .ok_or(RequestError::ElementType { field: "strided.element_type", given })?;
                let shape = StridedShape::new(
                    element_type,
                    strided.sizes.iter().copied(),
                    strided.strides.iter().copied(),
                    strided.offset,
                    strided.element_size_in_bits.into(),
                );
                let path = FieldPath::new("strided");
                let shape = shape.map_err(|error| error.below(&path))?;
                Self::try_from(shape).map_err(|error| Error::from(error).below(&path))
            }
        }
    }
}

impl TryFrom<&Tensor> for proto::Tensor {
    type Error = NotationError;

    /// Returns an error for [`TensorForm::Digits`], because no message can represent digits.
    fn try_from(tensor: &Tensor) -> Result<Self, NotationError> {
        use proto::tensor::Kind;
        let kind = match tensor.form() {
            TensorForm::Shape(shape) => Kind::Shape(xla::Shape::from(shape)),
            TensorForm::Buffer(desc) => Kind::BufferTensorDesc(desc.into()),
            TensorForm::Strided(shape) => Kind::Strided(proto::StridedTensor {
                element_type: shape.element_type() as i32,
                sizes: shape.sizes().to_vec(),
                strides: shape.strides().to_vec(),
                offset: shape.offset(),
                element_size_in_bits: u32::try_from(shape.element_size_in_bits())
                    .unwrap_or(u32::MAX),
            }),
            TensorForm::Digits => return Err(NotationError::Digits),
        };
        Ok(Self { kind: Some(kind) })
    }
}
