//! Every algorithm of the scheme in big integers, for any modulus: readable, slow, variable in
//! time, and the oracle of the fast path. It is for tests and experiments only.
//!
//! Sources: Cheon, Kim, Kim, Song, ASIACRYPT 2017 (the scheme), and its serial form by Reynaldi,
//! ITB 2023 (the steps of encoding, and the product by schoolbook and by NTT). Random polynomials
//! are arguments, so that those of another implementation can be used.
//!
//! ```
//! use he_core::bigckks::reference::*;
//! use rand::{SeedableRng, rngs::ChaCha20Rng};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! let (scheme, embedding) = (Scheme::new(16, 40, 80), Embedding::new(16));
//! let s = hamming_weight(16, 5, &mut rng);
//! let key = scheme.public_key(&s, &scheme.q.uniform(&mut rng), &gaussian(16, 3.2, &mut rng));
//! let slots: Vec<_> = (0..8).map(|i| num_complex::Complex64::new(f64::from(i), 0.5)).collect();
//! let message = plain_rounding(&embedding.project(&embedding.pi_inverse(&slots), 2f64.powi(24)));
//! let [v, e0, e1] = [(); 3].map(|()| gaussian(16, 3.2, &mut rng));
//! let ct = scheme.encrypt(&key, &message, &v, [&e0, &e1]);
//! let decoded = embedding.pi(&embedding.sigma(&scheme.decrypt(&ct, &s), 2f64.powi(24)));
//! assert!((decoded[3] - slots[3]).norm() < 1e-3);
//! ```

#[expect(clippy::disallowed_methods, reason = "variable in time, as said above")]
mod embedding;
mod ring;
#[expect(clippy::disallowed_methods, reason = "variable in time, as said above")]
mod samplers;
mod scheme;

pub use embedding::{Embedding, coordinate_wise_random_rounding, plain_rounding};
pub use ring::{QuotientRing, schoolbook, transform_product};
pub use samplers::{gaussian, hamming_weight, sparse_ternary};
pub use scheme::{Pair, Scheme, Triple};

/// Integer coefficients.
pub type IntPoly = Vec<num_bigint::BigInt>;
