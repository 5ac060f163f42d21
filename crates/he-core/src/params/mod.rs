//! What the parameters of all schemes share: their errors and the security table.

mod security;

pub use security::{Security, max_log_qp, max_sparse_log_qp, security_of};

/// Errors of parameters, with the value found and the values allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A modulus below 2 or of more than 61 bits.
    #[error("modulus {found} is outside 2 .. 2^61")]
    ModulusRange {
        /// The modulus.
        found: u64,
    },
    /// A modulus that allows no transform of this degree.
    #[error("{found} is not a prime equal to 1 modulo 2^{}", log_n + 1)]
    NotNttPrime {
        /// The modulus.
        found: u64,
        /// log2 of the ring degree.
        log_n: u32,
    },
    /// There are too few primes of this width for this degree.
    #[error("there are not {count} primes of {bits} bits equal to 1 modulo 2^{}; {}", log_n + 1, hints::NOT_ENOUGH_PRIMES)]
    NotEnoughPrimes {
        /// The requested width.
        bits: u32,
        /// log2 of the ring degree.
        log_n: u32,
        /// The requested number of primes.
        count: usize,
    },
    /// The same prime twice.
    #[error("the prime {found} appears twice")]
    RepeatedPrime {
        /// The prime.
        found: u64,
    },
    /// An unsupported ring degree.
    #[error("ring degree 2^{found} is outside 2^{lowest} .. 2^{highest}")]
    Degree {
        /// log2 of the degree.
        found: u32,
        /// log2 of the smallest one.
        lowest: u32,
        /// log2 of the largest one.
        highest: u32,
    },
    /// No primes, or more than supported.
    #[error("{found} primes in the {chain}; {}", hints::chain_length(lowest, highest))]
    ChainLength {
        /// Which chain.
        chain: &'static str,
        /// Its length.
        found: usize,
        /// Least length.
        lowest: usize,
        /// Greatest length.
        highest: usize,
    },
    /// The digits of key switching do not cover the chain, or are wider than the special modulus.
    #[error("key-switching digits: {why}")]
    Digits {
        /// What is wrong.
        why: String,
    },
    /// Below 128-bit security.
    #[error(
        "log2(QP) = {log_qp:.1} at N = 2^{log_n} exceeds {limit} bits, the bound for 128-bit security; {}",
        hints::INSECURE
    )]
    Insecure {
        /// log2 of the degree.
        log_n: u32,
        /// log2 of the whole modulus.
        log_qp: f64,
        /// The table's bound.
        limit: u32,
    },
    /// The groups of levels are not as many levels as there are, or one has none.
    #[error("the groups have {found} levels of {levels}; every level needs a group, and every group a level")]
    LevelGroups {
        /// Levels of all groups.
        found: usize,
        /// Levels of the chain.
        levels: usize,
    },
    /// A step between groups of levels whose primes are too small for its change of scale.
    #[error(
        "below level {level} values would be rounded to multiples of 2^-{constant_log2:.1}, where 2^-{lowest_log2} is the coarsest possible; choose wider primes for the level, or a larger scale below"
    )]
    GroupBorder {
        /// The level above.
        level: usize,
        /// log2 of the constant that ciphertexts are multiplied by on their way down.
        constant_log2: f64,
        /// log2 of the least such constant.
        lowest_log2: f64,
    },
    /// A sparse secret with less than 128-bit security.
    #[error(
        "log2(QP) = {log_qp:.1} at N = 2^{log_n} exceeds {limit} bits, the bound for 128-bit security with a secret of weight {weight}; use parameters over fewer primes, a weight of at least 32, or a constructor named insecure"
    )]
    InsecureSecret {
        /// The Hamming weight.
        weight: usize,
        /// log2 of the degree.
        log_n: u32,
        /// log2 of the whole modulus.
        log_qp: f64,
        /// The bound; 0 where there is no estimate.
        limit: u32,
    },
    /// The exact scales of the levels leave the usable range.
    #[error(
        "the scale at level {level} would be 2^{scale_log2:.2}, too far from the default 2^{default_log2:.2}; {}",
        hints::SCALE_DRIFT
    )]
    ScaleDrift {
        /// The level.
        level: usize,
        /// log2 of the scale there.
        scale_log2: f64,
        /// log2 of the nominal scale of the level's group.
        default_log2: f64,
    },
    /// No degree in the table suffices.
    #[error("depth {depth} with {precision_bits} bits of precision and {range_bits} of range needs log2(QP) = {needed} bits at N = 2^{log_n}, where {limit} are secure; {}",
        possible(*depth, *precision_bits, *most_precision, *most_depth))]
    Unreachable {
        /// The requested depth.
        depth: usize,
        /// The requested precision.
        precision_bits: u32,
        /// The requested range.
        range_bits: u32,
        /// Bits needed at the largest degree.
        needed: u32,
        /// The largest degree tried.
        log_n: u32,
        /// The table's bound there.
        limit: u32,
        /// The greatest precision that is possible at this depth there.
        most_precision: Option<u32>,
        /// The greatest depth that is possible at this precision there.
        most_depth: Option<usize>,
    },
    /// No degree in the table suffices for this many products.
    #[error(
        "depth {depth} modulo {plain_modulus} does not fit the {limit} bits of modulus that are secure at N = 2^{log_n}; {}",
        hints::DEPTH_UNREACHABLE
    )]
    DepthUnreachable {
        /// The requested depth.
        depth: usize,
        /// The plaintext modulus.
        plain_modulus: u64,
        /// The largest degree tried.
        log_n: u32,
        /// The table's bound there.
        limit: u32,
    },
    /// The same for parameters in bits.
    #[error(
        "{depth_bits} bits of depth with {precision_bits} bits of precision need at least log2(q P) = {needed} bits at N = 2^{log_n}, where {limit} are secure; {}",
        hints::UNREACHABLE_BITS
    )]
    UnreachableBits {
        /// The requested bits of depth.
        depth_bits: u32,
        /// The requested precision.
        precision_bits: u32,
        /// Bits needed at the largest degree.
        needed: u32,
        /// The largest degree tried.
        log_n: u32,
        /// The table's bound there.
        limit: u32,
    },
    /// A plaintext modulus that is not coprime to the chain.
    #[error(
        "the plaintext modulus {found} and the chain's prime {prime} have a common factor; {}",
        hints::PLAIN_MODULUS_NOT_COPRIME
    )]
    PlainModulusNotCoprime {
        /// The plaintext modulus.
        found: u64,
        /// The prime of the chain.
        prime: u64,
    },
    /// Not even a fresh encryption could be decrypted.
    #[error(
        "the plaintext modulus {found} exceeds by {excess_bits:.1} bits what a modulus of 2^{log_q:.1} can hold beside the noise of encryption; {}",
        hints::PLAIN_MODULUS_TOO_LARGE
    )]
    PlainModulusTooLarge {
        /// The plaintext modulus.
        found: u64,
        /// Bits that are missing.
        excess_bits: f64,
        /// log2 of the chain's modulus.
        log_q: f64,
    },
    /// Slots need the plaintext modulus to be a prime equal to 1 modulo 2N.
    #[error("the plaintext modulus {found} is not a prime equal to 1 modulo 2^{}, and has no slots; {}",
        log_n + 1, hints::NO_SLOTS)]
    NoSlots {
        /// The plaintext modulus.
        found: u64,
        /// log2 of the ring degree.
        log_n: u32,
    },
    /// A number outside its domain.
    #[error("{what} is {found}; {}", hints::out_of_range(lowest, highest))]
    OutOfRange {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        found: f64,
        /// Least value.
        lowest: f64,
        /// Greatest value.
        highest: f64,
    },
}

impl ParamsError {
    /// What to do about it, where the error says so: the end of its text, behind a semicolon.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotEnoughPrimes { .. } => Some(hints::NOT_ENOUGH_PRIMES.to_owned()),
            Self::ChainLength { lowest, highest, .. } => Some(hints::chain_length(lowest, highest)),
            Self::Insecure { .. } => Some(hints::INSECURE.to_owned()),
            Self::ScaleDrift { .. } => Some(hints::SCALE_DRIFT.to_owned()),
            Self::Unreachable { depth, precision_bits, most_precision, most_depth, .. } => {
                Some(possible(*depth, *precision_bits, *most_precision, *most_depth))
            }
            Self::DepthUnreachable { .. } => Some(hints::DEPTH_UNREACHABLE.to_owned()),
            Self::UnreachableBits { .. } => Some(hints::UNREACHABLE_BITS.to_owned()),
            Self::PlainModulusNotCoprime { .. } => Some(hints::PLAIN_MODULUS_NOT_COPRIME.to_owned()),
            Self::PlainModulusTooLarge { .. } => Some(hints::PLAIN_MODULUS_TOO_LARGE.to_owned()),
            Self::NoSlots { .. } => Some(hints::NO_SLOTS.to_owned()),
            Self::OutOfRange { lowest, highest, .. } => Some(hints::out_of_range(lowest, highest)),
            _ => None,
        }
    }

    /// What is wrong: its text without the [`hint`](Self::hint).
    pub fn message(&self) -> String {
        crate::error::without_hint(self, self.hint())
    }
}

/// What to do about errors: stated once, for the text and for `hint`.
mod hints {
    use std::fmt::Display;

    pub const NOT_ENOUGH_PRIMES: &str = "use wider primes";
    pub fn chain_length(lowest: impl Display, highest: impl Display) -> String {
        format!("{lowest} to {highest} are possible")
    }
    pub const INSECURE: &str =
        "use a larger degree, fewer or smaller primes, or a constructor named insecure";
    pub const SCALE_DRIFT: &str = "choose primes nearer to the scale";
    pub const DEPTH_UNREACHABLE: &str = "ask for less depth, a smaller plaintext modulus or a smaller margin";
    pub const UNREACHABLE_BITS: &str = "ask for less depth or precision";
    pub const PLAIN_MODULUS_NOT_COPRIME: &str = "use another prime in the chain";
    pub const PLAIN_MODULUS_TOO_LARGE: &str = "use a smaller plaintext modulus or a longer chain";
    pub const NO_SLOTS: &str = "use such a prime, or encode coefficients";
    pub fn out_of_range(lowest: impl Display, highest: impl Display) -> String {
        format!("it must be in {lowest} ..= {highest}")
    }
}

/// What to request instead of a depth and a precision that are not possible together.
fn possible(
    depth: usize,
    precision_bits: u32,
    most_precision: Option<u32>,
    most_depth: Option<usize>,
) -> String {
    let precision = most_precision.map(|most| format!("at most {most} bits of precision at depth {depth}"));
    let depth = most_depth.map(|most| format!("at most depth {most} with {precision_bits} bits"));
    let parts: Vec<String> = [precision, depth].into_iter().flatten().collect();
    if parts.is_empty() {
        return "ask for less depth, precision or range".to_owned();
    }
    format!("ask for {}", parts.join(", or for "))
}
