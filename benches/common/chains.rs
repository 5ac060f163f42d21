//! Modulus chains.

use super::common::Chain;

/// The chains with which the peers are measured.
pub fn peer_chains() -> Vec<Chain> {
    let chain = |log_n, base: u32, rest: u32, count: usize, p_bits: &[u32], dnum| Chain {
        log_n,
        q_bits: [vec![base], vec![rest; count]].concat(),
        p_bits: p_bits.to_vec(),
        scale_log2: f64::from(rest),
        dnum,
    };
    vec![
        chain(12, 39, 30, 1, &[39], None),
        chain(13, 60, 40, 2, &[60], None),
        chain(14, 60, 40, 7, &[60], None),
        chain(15, 60, 50, 15, &[60], None),
        chain(16, 60, 40, 29, &[45; 10], Some(3)),
    ]
}
