//! Bounds on log2(QP) for uniform ternary secrets and error deviation about 3.2.
//!
//! Source: Bossuat, Cammarota, Chillotti, Curtis, Dai, Gong, Hales, Kim, Kumar, Lee, Lu, Maple,
//! Pedrouzo-Ulloa, Player, Polyakov, Lopez, Song, Yhee: *Security Guidelines for Implementing
//! Homomorphic Encryption*, 2024, classical attacks. Five of the greatest bounds are 1 to 3 bits
//! lower than there, because the lattice estimator of 2026 finds up to 0.2 bits too few at this
//! crate's error distribution: 597 at N = 2^15, 1747 at 2^16, and 3523, 2411 and 1866 at 2^17.
//! `tests/estimates` has the estimate of every entry.

/// log2(N), then the largest log2(QP) for 128, 192 and 256 bits; 0 if no modulus is secure.
const TABLE: [(u32, [u32; 3]); 8] = [
    (10, [26, 0, 0]),
    (11, [53, 36, 27]),
    (12, [106, 73, 56]),
    (13, [214, 147, 114]),
    (14, [430, 297, 230]),
    (15, [868, 596, 462]),
    (16, [1746, 1199, 929]),
    (17, [3520, 2408, 1865]),
];

/// Security of a parameter set against classical attacks, by the table of 2024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Security {
    /// Below 128 bits: experiments only.
    Insecure,
    /// At least 128 bits.
    Bits128,
    /// At least 192 bits.
    Bits192,
    /// At least 256 bits.
    Bits256,
}

impl Security {
    /// The bits that are guaranteed; 0 when insecure.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Insecure => 0,
            Self::Bits128 => 128,
            Self::Bits192 => 192,
            Self::Bits256 => 256,
        }
    }
}

impl std::fmt::Display for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Insecure => f.write_str("INSECURE (below 128 bits)"),
            secure => write!(f, "{} bits", secure.bits()),
        }
    }
}

/// The largest log2(QP) at degree 2^log_n that reaches `security`; `None` if the table has no
/// entry.
pub fn max_log_qp(log_n: u32, security: Security) -> Option<u32> {
    let column = match security {
        Security::Insecure => return None,
        Security::Bits128 => 0,
        Security::Bits192 => 1,
        Security::Bits256 => 2,
    };
    let (_, bounds) = TABLE.iter().find(|(degree, _)| *degree == log_n)?;
    Some(bounds[column]).filter(|&bound| bound > 0)
}

/// The highest security that the table grants to log2(QP) at degree 2^log_n.
pub fn security_of(log_n: u32, log_qp: f64) -> Security {
    [Security::Bits256, Security::Bits192, Security::Bits128]
        .into_iter()
        .find(|&security| max_log_qp(log_n, security).is_some_and(|bound| log_qp <= f64::from(bound)))
        .unwrap_or(Security::Insecure)
}

/// The largest log2(QP) at degree 2^log_n for which a sparse ternary secret of this Hamming weight
/// has 128 bits of security; `None` below weight 32 and degree 2^15, for which there are no
/// estimates.
///
/// Source: the lattice estimator (Albrecht, Player, Scott, *On the concrete hardness of Learning
/// with Errors*, 2015, and its successors) at weight 32 and this crate's error distribution, with
/// the cost model MATZOV (`tests/estimates`). The cheapest attack is the hybrid of lattice
/// reduction and meet in the middle that uses the ring's rotations: 128.5 bits at log2(QP) = 185
/// and N = 2^15, and 131.5 bits at 340 and N = 2^16. A greater weight or degree makes every attack
/// harder.
pub fn max_sparse_log_qp(log_n: u32, weight: usize) -> Option<u32> {
    match log_n {
        _ if weight < 32 => None,
        15 => Some(185),
        16 | 17 => Some(340),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_secrets_have_bounds_of_their_own() {
        assert_eq!(max_sparse_log_qp(15, 32), Some(185));
        assert_eq!(max_sparse_log_qp(16, 64), Some(340));
        for (log_n, weight) in [(15, 31), (14, 32), (18, 32), (16, 0)] {
            assert_eq!(max_sparse_log_qp(log_n, weight), None, "{log_n}, {weight}");
        }
        for log_n in 15..=17 {
            assert!(max_sparse_log_qp(log_n, 32) < max_log_qp(log_n, Security::Bits128));
        }
    }

    #[test]
    fn bounds_and_security_agree() {
        for (log_n, bounds) in TABLE {
            for (bound, security) in
                bounds.into_iter().zip([Security::Bits128, Security::Bits192, Security::Bits256])
            {
                if bound == 0 {
                    assert_eq!(max_log_qp(log_n, security), None);
                    continue;
                }
                assert_eq!(security_of(log_n, f64::from(bound)), security);
                assert!(security_of(log_n, f64::from(bound) + 0.01) < security);
            }
        }
        assert_eq!(security_of(9, 10.0), Security::Insecure);
        assert_eq!(security_of(18, 10.0), Security::Insecure);
        assert_eq!(max_log_qp(13, Security::Bits128), Some(214));
    }
}
