//! The types that prost generates from `proto/`.

/// XLA's messages, from TensorFlow 1.x to today's.
#[allow(clippy::all, clippy::pedantic, missing_docs)]
pub mod xla {
    include!(concat!(env!("OUT_DIR"), "/xla.rs"));
}

/// XLA's messages of HLO modules.
#[allow(clippy::all, clippy::pedantic, missing_docs, unreachable_pub)]
pub(crate) mod hlo {
    pub use super::xla::*;

    include!(concat!(env!("OUT_DIR"), "/hlo/xla.rs"));
}

/// stridec's own messages.
#[allow(clippy::all, clippy::pedantic, missing_docs)]
pub mod stridec {
    include!(concat!(env!("OUT_DIR"), "/stridec.rs"));
}

/// The descriptors of all these messages: a serialized `google.protobuf.FileDescriptorSet`.
#[cfg(feature = "text-protos")]
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
