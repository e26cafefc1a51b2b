//! Pages for embedders: [`protos`], [`compilers`], [`programs`], [`conversions`], [`sharding`],
//! [`notations`], [`javascript`], [`snapshots`] and the glossary [`names`]. [`stability`] lists the
//! parts of the interface that stay compatible between versions.
#![cfg_attr(feature = "accessors", doc = "Layouts in kernels of your own: [`accessors`].")]
#![cfg_attr(feature = "gpu", doc = "With a wgpu device of your own: [`runtimes`].")]

#[doc = include_str!("../docs/protos.md")]
pub mod protos {}

#[doc = include_str!("../docs/compilers.md")]
pub mod compilers {}

#[doc = include_str!("../docs/programs.md")]
pub mod programs {}

#[doc = include_str!("../docs/sharding.md")]
pub mod sharding {}

#[doc = include_str!("../docs/notations.md")]
pub mod notations {}

#[doc = include_str!("../docs/conversions.md")]
pub mod conversions {}

#[cfg(feature = "accessors")]
#[doc = include_str!("../docs/accessors.md")]
pub mod accessors {}

#[cfg(feature = "gpu")]
#[doc = include_str!("../docs/runtimes.md")]
pub mod runtimes {}

#[doc = include_str!("../docs/javascript.md")]
pub mod javascript {}

#[doc = include_str!("../docs/snapshots.md")]
pub mod snapshots {}

#[doc = include_str!("../docs/names.md")]
pub mod names {}

#[doc = include_str!("../docs/stability.md")]
pub mod stability {}
