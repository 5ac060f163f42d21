//! A homomorphic-encryption toolkit for Rust: the facade over the crates of the workspace. See
//! [`he_core`], and [`cuda`] and [`aes_gpu`] for GPUs.
#![forbid(unsafe_code)]

mod device;
pub mod prelude;

/// AES on GPUs.
#[cfg(feature = "cuda")]
pub use aes_gpu;
pub use device::{Device, DeviceBuf, DeviceLweKey, DeviceRing};
pub use he_core::*;
/// The CUDA back end.
#[cfg(feature = "cuda")]
pub use he_cuda as cuda;

/// The programs of the guide, chapter by chapter, as documentation tests.
#[cfg(doctest)]
mod guide {
    macro_rules! chapters {
        ($($name:ident: $path:literal),* $(,)?) => {
            $(#[doc = include_str!($path)] mod $name {})*
        };
    }

    chapters! {
        introduction: "../docs/guide/src/introduction.md",
        choosing: "../docs/guide/src/choosing.md",
        parameters: "../docs/guide/src/parameters.md",
        packing: "../docs/guide/src/packing.md",
        functions: "../docs/guide/src/functions.md",
        linear_algebra: "../docs/guide/src/linear_algebra.md",
        bootstrapping: "../docs/guide/src/bootstrapping.md",
        integers: "../docs/guide/src/integers.md",
        switching: "../docs/guide/src/switching.md",
        transciphering: "../docs/guide/src/transciphering.md",
        models: "../docs/guide/src/models.md",
        search: "../docs/guide/src/search.md",
        lookup: "../docs/guide/src/lookup.md",
        intersection: "../docs/guide/src/intersection.md",
        keys: "../docs/guide/src/keys.md",
        client_server: "../docs/guide/src/client_server.md",
        security: "../docs/guide/src/security.md",
        publishing: "../docs/guide/src/publishing.md",
        parties: "../docs/guide/src/parties.md",
        gpu: "../docs/guide/src/gpu.md",
        performance: "../docs/guide/src/performance.md",
    }
}
