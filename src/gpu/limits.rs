//! [`AdapterLimits`]: the limits of an adapter on which the compilation of an operation depends.

use crate::schedule::{AdapterKind, CostModel, Target};

/// The limits of a device on which the compilation of an operation depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AdapterLimits {
    /// The maximum size of a storage binding, in bytes.
    pub max_storage_buffer_binding_size: u64,
    /// The maximum size of a buffer, in bytes.
    pub max_buffer_size: u64,
    /// The alignment that the offset of a storage binding in its buffer must have, in bytes.
    pub min_storage_buffer_offset_alignment: u32,
    /// The maximum number of workgroups in a dispatch, along each of x, y and z.
    pub max_compute_workgroups_per_dimension: u32,
    /// The maximum number of invocations in a workgroup, as the product x·y·z.
    pub max_compute_invocations_per_workgroup: u32,
    /// The maximum number of invocations in a workgroup along x, y and z.
    pub max_compute_workgroup_size: [u32; 3],
    /// The maximum number of storage buffers that a kernel binds, including its destination.
    pub max_storage_buffers_per_shader_stage: u32,
    /// True if the device is a software driver on the CPU.
    pub is_cpu: bool,
}

impl AdapterLimits {
    /// Converts wgpu's limits for a device of this kind.
    pub(super) fn new(limits: &wgpu::Limits, kind: wgpu::DeviceType) -> Self {
        Self {
            max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
            max_buffer_size: limits.max_buffer_size,
            min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
            max_compute_workgroups_per_dimension: limits.max_compute_workgroups_per_dimension,
            max_compute_invocations_per_workgroup: limits.max_compute_invocations_per_workgroup,
            max_compute_workgroup_size: [
                limits.max_compute_workgroup_size_x,
                limits.max_compute_workgroup_size_y,
                limits.max_compute_workgroup_size_z,
            ],
            max_storage_buffers_per_shader_stage: limits.max_storage_buffers_per_shader_stage,
            is_cpu: kind == wgpu::DeviceType::Cpu,
        }
    }
}

impl AdapterLimits {
    /// Returns a compilation target with these limits. Messages refer to the target by `name`.
    #[must_use]
    pub fn target(&self, name: impl Into<String>) -> Target {
        let invocations =
            self.max_compute_invocations_per_workgroup.min(self.max_compute_workgroup_size[0]);
        let kind = if self.is_cpu { AdapterKind::Cpu } else { AdapterKind::Gpu };
        Target {
            name: name.into(),
            kind,
            model: CostModel::of(kind),
            measured_on: String::new(),
            max_storage_buffer_binding_size: self
                .max_storage_buffer_binding_size
                .min(self.max_buffer_size),
            max_compute_workgroups_per_dimension: self.max_compute_workgroups_per_dimension,
            max_compute_invocations_per_workgroup: invocations,
            max_storage_buffers_per_shader_stage: self.max_storage_buffers_per_shader_stage,
            read_write_sources: false,
        }
    }
}
