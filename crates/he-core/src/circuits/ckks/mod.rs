//! Circuits on CKKS ciphertexts.
//!
//! Each states its [`Requirements`](super::Requirements) without a ciphertext, and its documentation
//! says what it does to level, noise and the magnitude of the values.

mod affine;
mod block_transform;
mod convolution;
mod functions;
mod inner_product;
mod layers;
mod layout;
mod linear_transform;
mod logistic_regression;
mod matrix_product;
mod polynomial;
mod refresher;
mod statistics;
mod sweep;

pub use affine::{
    Affine, LUMA, blend, blend_masked, blend_masked_requirements, blend_requirements, grayscale,
    grayscale_requirements,
};
pub use block_transform::{
    BlockOutline, BlockParts, BlockTransform, MapPart, PartOf, PartValue, PreparedBlocks,
};
pub use convolution::{compact_convolution_requirements, convolution_requirements, convolve};
pub use functions::{Comparison, CompositeSign, Function, GroupFunction, Groups, Minimax, Parity};
pub use inner_product::{inner_product, inner_product_requirements};
pub use layers::{AveragePooling, Convolution2d, FullyConnected};
pub use layout::{TensorGrid, TensorLayout};
pub use linear_transform::{LinearTransform, PreparedTransform};
pub use logistic_regression::{Examples, LogisticRegression, TrainingBatch, TrainingLayout};
pub use matrix_product::{MatrixProduct, PreparedProduct};
pub use polynomial::Polynomial;
pub(crate) use polynomial::{ComplexPolynomials, Part, Powers};
pub use refresher::{NeverRefresh, Refresher};
pub use statistics::{Statistic, dot, mean, sum, variance};
