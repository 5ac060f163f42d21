//! The chains of primes with which libraries are compared.

use crate::error::Result;
use he_core::ckks::{CkksParams, CkksSpec};
use he_core::exact::{ExactSpec, Params, Scheme};

/// A chain of CKKS by the widths of its primes.
#[derive(Clone, Debug)]
pub struct Chain {
    /// log2 of the degree.
    pub log_n: u32,
    q_bits: Vec<u32>,
    p_bits: Vec<u32>,
    scale_log2: f64,
    dnum: Option<usize>,
}

impl Chain {
    fn new(log_n: u32, base: u32, rest: u32, count: usize, p_bits: &[u32], dnum: Option<usize>) -> Self {
        let q_bits = [vec![base], vec![rest; count]].concat();
        Self { log_n, q_bits, p_bits: p_bits.to_vec(), scale_log2: f64::from(rest), dnum }
    }

    /// The parameters. Some of the peers' chains exceed the table of 2024 by a few bits.
    ///
    /// # Errors
    /// There are not enough primes.
    pub fn params(&self) -> Result<CkksParams> {
        let spec = CkksSpec::from_bits(self.log_n, &self.q_bits, &self.p_bits, self.scale_log2)?;
        Ok(CkksParams::insecure(self.dnum.into_iter().fold(spec, CkksSpec::with_dnum))?)
    }
}

/// The chains of peers on CPUs.
pub fn on_cpus() -> Vec<Chain> {
    vec![
        Chain::new(12, 39, 30, 1, &[39], None),
        Chain::new(13, 60, 40, 2, &[60], None),
        Chain::new(14, 60, 40, 7, &[60], None),
        Chain::new(15, 60, 50, 15, &[60], None),
        Chain::new(16, 60, 40, 29, &[45; 10], Some(3)),
    ]
}

/// The chains of peers on GPUs.
pub fn on_gpus() -> Vec<Chain> {
    vec![
        Chain::new(12, 39, 30, 2, &[39], Some(3)),
        Chain::new(13, 60, 40, 2, &[60], Some(3)),
        Chain::new(14, 60, 40, 7, &[60], Some(8)),
        Chain::new(15, 60, 50, 14, &[60; 3], Some(5)),
        long(16),
    ]
}

/// A chain for bootstrapping.
pub fn long(log_n: u32) -> Chain {
    Chain::new(log_n, 50, 44, 28, &[46; 8], Some(4))
}

/// A chain of BFV and BGV: log2 of the degree, the widths of its primes and of the special one.
pub type ExactChain = (u32, Vec<u32>, u32);

/// SEAL's defaults for BFV and BGV.
pub fn exact_on_cpus() -> Vec<ExactChain> {
    vec![
        (12, vec![36; 2], 37),
        (13, vec![43, 43, 44, 44], 44),
        (14, vec![48, 48, 48, 49, 49, 49, 49, 49], 49),
        (15, vec![55; 15], 56),
    ]
}

/// The chains of peers on GPUs for BFV and BGV.
pub fn exact_on_gpus() -> Vec<ExactChain> {
    vec![(13, vec![48; 3], 49), (14, vec![49; 7], 49), (15, vec![49; 15], 49)]
}

/// The parameters of such a chain for t = 65537.
///
/// # Errors
/// There are not enough primes.
pub fn exact_params<S: Scheme>((log_n, q_bits, p_bits): &ExactChain) -> Result<Params<S>> {
    let spec = ExactSpec::from_bits(*log_n, q_bits, &[*p_bits], 65537)?;
    Ok(Params::insecure(spec)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::bfv::Bfv;

    /// The shapes by which docs/benchmarks.md names them.
    #[test]
    fn shapes_are_those_of_the_tables() {
        let shape = |chain: &Chain| {
            let params = chain.params().unwrap();
            let ring = params.rlwe().ring();
            (ring.log_n(), ring.q().len(), ring.p().len(), params.rlwe().digits().len())
        };
        assert_eq!(shape(&on_cpus()[0]), (12, 2, 1, 2));
        assert_eq!(shape(&on_gpus()[3]), (15, 15, 3, 5));
        assert_eq!(shape(&long(16)), (16, 29, 8, 4));
        let params = exact_params::<Bfv>(&exact_on_cpus()[1]).unwrap();
        assert_eq!((params.rlwe().ring().log_n(), params.rlwe().ring().q().len()), (13, 4));
    }
}
