//! One layer over the schemes CKKS, BFV, BGV and TFHE: parameters, keys, ciphertexts and their
//! arithmetic, for a scheme that is chosen when the program runs, as [`he::Device`] is for the
//! device.
//!
//! - [`Params`], [`Engine`], [`Value`] and the keys of [`keys`]: whatever the scheme;
//! - [`rlwe`]: vectors under CKKS, BFV and BGV;
//! - [`tfhe`]: integers and conditions under TFHE;
//! - [`layout`]: how arrays lie in the slots of vectors, and public bounds of their values;
//! - [`arrays`]: encryption, broadcasting, sums, products and indices of such arrays.
//!
//! The two families have one arithmetic where it means the same, and types of their own where it
//! does not: a [`Family`] is either one. Within RLWE, an operation is written once for the engines
//! and ciphertexts of all schemes; CKKS has its own part where numbers are not integers. Programs
//! that know their scheme when they are compiled name its types instead.
//!
//! # Examples
//! ```
//! use he::Device;
//! use he_any::arrays::{self, Values};
//! use he_any::layout::{Layout, Packing};
//! use he_any::{Engine, Params};
//! use he_core::ckks::CkksParams;
//! use he_core::rlwe::KeyRequirements;
//!
//! # let mut rng = he_core::rand::rng();
//! let params = Params::from(CkksParams::for_depth(1).precision_bits(20).build()?);
//! let any = Engine::new(&params, Device::cpu())?;
//! let needs = KeyRequirements::new().rotations([1]);
//! let (secret, _, keys) = any.generate(&needs, &mut rng, |_, _| ())?;
//! let (owner, engine) = (secret.owner(&any)?, any.rlwe().unwrap());
//!
//! let (numbers, shape) = ([0.5, -3.0], [2]);
//! let layout = Layout::of_array(&shape, engine.slots(), Packing::Auto, "numbers")?;
//! let plain = arrays::encoded(engine, (Values::Real(&numbers), &shape), &layout, None)?;
//! let x = owner.encrypt(&plain, &mut rng)?;
//! let axes = layout.axes();
//! let (sum, layout) = arrays::sum(engine, keys.rlwe().unwrap(), (&x, &layout), &axes, false)?;
//! let sum = layout.values(&engine.reals(&owner.decrypt(&sum)?)?);
//! assert!((sum[0] + 2.5).abs() < 1e-3);
//! # Ok::<(), he_any::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod arrays;
mod engine;
mod error;
mod family;
mod frames;
pub mod keys;
pub mod layout;
mod number;
mod params;
mod powers;
pub mod rlwe;
pub mod tfhe;
mod value;

pub use engine::Engine;
pub use error::{Error, Result};
pub use family::Family;
pub use keys::{Evaluation, Keys, Public, Secret};
pub use number::{Number, reals};
pub use params::Params;
pub use powers::power_sum;
pub use value::{Kind, Value};
