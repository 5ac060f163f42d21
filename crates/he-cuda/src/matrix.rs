//! Products of matrices.

use crate::ring::CudaRing;
use he_core::backend::MatrixOps;

impl MatrixOps for CudaRing {}
