//! The errors, the fingerprint and the security table that the parameters of all schemes share.

mod fingerprint;
mod security;

use crate::error::errors;

pub use fingerprint::Fingerprint;
pub use security::{Security, max_log_qp, max_sparse_log_qp, security_of};

errors! {
    /// Errors of parameters, with the value found and the values allowed.
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub enum ParamsError {
        /// A modulus below 2 or of more than 61 bits.
        ModulusRange {
            /// The modulus.
            found: u64,
        }:
            ("modulus {found} is outside 2 .. 2^61");
        /// A modulus that allows no transform of this degree.
        NotNttPrime {
            /// The modulus.
            found: u64,
            /// log2 of the ring degree.
            log_n: u32,
        }:
            ("{found} is not a prime equal to 1 modulo 2^{}", log_n + 1);
        /// There are too few primes of this width for this degree.
        NotEnoughPrimes {
            /// The requested width.
            bits: u32,
            /// log2 of the ring degree.
            log_n: u32,
            /// The requested number of primes.
            count: usize,
        }:
            ("there are not {count} primes of {bits} bits equal to 1 modulo 2^{}", log_n + 1),
            ("use wider primes");
        /// The same prime twice.
        RepeatedPrime {
            /// The prime.
            found: u64,
        }:
            ("the prime {found} appears twice");
        /// An unsupported ring degree.
        Degree {
            /// log2 of the degree.
            found: u32,
            /// log2 of the smallest one.
            lowest: u32,
            /// log2 of the largest one.
            highest: u32,
        }:
            ("ring degree 2^{found} is outside 2^{lowest} .. 2^{highest}");
        /// No primes, or more than supported.
        ChainLength {
            /// The name of the chain.
            chain: &'static str,
            /// Its length.
            found: usize,
            /// Least length.
            lowest: usize,
            /// Greatest length.
            highest: usize,
        }:
            ("{found} primes in the {chain}"),
            ("{lowest} to {highest} are possible");
        /// The digits of key switching do not cover the chain, or are wider than the special
        /// modulus.
        Digits {
            /// The fault.
            why: String,
        }:
            ("key-switching digits: {why}");
        /// Below 128-bit security.
        Insecure {
            /// log2 of the degree.
            log_n: u32,
            /// log2 of the whole modulus.
            log_qp: f64,
            /// The table's bound.
            limit: u32,
        }:
            ("log2(QP) = {log_qp:.1} at N = 2^{log_n} exceeds {limit} bits, the bound for 128-bit security"),
            ("use a larger degree, fewer or smaller primes, or a constructor named insecure");
        /// The groups of levels are not as many levels as there are, or one has none.
        LevelGroups {
            /// Levels of all groups.
            found: usize,
            /// Levels of the chain.
            levels: usize,
        }:
            ("the groups have {found} levels of {levels}"),
            ("every level needs a group, and every group a level");
        /// A step between groups of levels whose primes are too small for its change of scale.
        GroupBorder {
            /// The level above.
            level: usize,
            /// log2 of the constant that ciphertexts are multiplied by on their way down.
            constant_log2: f64,
            /// log2 of the least such constant.
            lowest_log2: f64,
        }:
            ("below level {level} values would be rounded to multiples of 2^-{constant_log2:.1}, where 2^-{lowest_log2} is the coarsest possible"),
            ("choose wider primes for the level, or a larger scale below");
        /// A sparse secret with less than 128-bit security.
        InsecureSecret {
            /// The Hamming weight.
            weight: usize,
            /// log2 of the degree.
            log_n: u32,
            /// log2 of the whole modulus.
            log_qp: f64,
            /// The bound; 0 where there is no estimate.
            limit: u32,
        }:
            ("log2(QP) = {log_qp:.1} at N = 2^{log_n} exceeds {limit} bits, the bound for 128-bit security with a secret of weight {weight}"),
            ("use parameters over fewer primes, a weight of at least 32, or a constructor named insecure");
        /// The exact scales of the levels leave the usable range.
        ScaleDrift {
            /// The level.
            level: usize,
            /// log2 of the scale there.
            scale_log2: f64,
            /// log2 of the nominal scale of the level's group.
            default_log2: f64,
        }:
            ("the scale at level {level} would be 2^{scale_log2:.2}, too far from the default 2^{default_log2:.2}"),
            ("choose primes nearer to the scale");
        /// No degree in the table suffices.
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
        }:
            ("depth {depth} with {precision_bits} bits of precision and {range_bits} of range needs log2(QP) = {needed} bits at N = 2^{log_n}, where {limit} are secure"),
            ("{}", possible(*depth, *precision_bits, *most_precision, *most_depth));
        /// The floods of published results take a wider scale than there is.
        PublishedScale {
            /// The statistical security that was requested.
            security_bits: u32,
            /// The decryptions that are published.
            decryptions: u64,
            /// The requested precision.
            precision_bits: u32,
            /// log2 of the scale that these need.
            scale_log2: u32,
            /// log2 of the widest scale.
            most: u32,
            /// The greatest precision that is possible with this security.
            most_precision: Option<u32>,
            /// The greatest statistical security that is possible with this precision.
            most_security: Option<u32>,
        }:
            ("{precision_bits} bits of precision in {decryptions} published decryptions with {security_bits} bits of security need a scale of 2^{scale_log2}, and 2^{most} is the widest"),
            ("{}", publishable(*most_precision, *most_security));
        /// No degree in the table suffices for this many products.
        DepthUnreachable {
            /// The requested depth.
            depth: usize,
            /// The plaintext modulus.
            plain_modulus: u64,
            /// The largest degree tried.
            log_n: u32,
            /// The table's bound there.
            limit: u32,
        }:
            ("depth {depth} modulo {plain_modulus} does not fit the {limit} bits of modulus that are secure at N = 2^{log_n}"),
            ("ask for less depth, a smaller plaintext modulus or a smaller margin");
        /// No degree in the table suffices for this depth and precision in bits.
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
        }:
            ("{depth_bits} bits of depth with {precision_bits} bits of precision need at least log2(q P) = {needed} bits at N = 2^{log_n}, where {limit} are secure"),
            ("ask for less depth or precision");
        /// Words of a number of bits that there is no encoding for.
        WordSize {
            /// The bits of a word.
            found: u32,
        }:
            ("words of {found} bits"),
            ("words have 8, 16, 32 or 64 bits");
        /// Words would decrypt wrongly too often.
        WordFailure {
            /// log2 of the bound on the probability.
            found_log2: f64,
            /// log2 of the greatest probability that is allowed.
            limit_log2: f64,
        }:
            ("words would be wrong with a probability of up to 2^{found_log2:.1}, where 2^{limit_log2:.1} is allowed"),
            ("use a wider prime, more bits of reduced products, or fewer terms");
        /// A plaintext modulus that is not coprime to the chain.
        PlainModulusNotCoprime {
            /// The plaintext modulus.
            found: u64,
            /// The prime of the chain.
            prime: u64,
        }:
            ("the plaintext modulus {found} and the chain's prime {prime} have a common factor"),
            ("use another prime in the chain");
        /// Not even a fresh encryption could be decrypted.
        PlainModulusTooLarge {
            /// The plaintext modulus.
            found: u64,
            /// Bits that are missing.
            excess_bits: f64,
            /// log2 of the chain's modulus.
            log_q: f64,
        }:
            ("the plaintext modulus {found} exceeds by {excess_bits:.1} bits what a modulus of 2^{log_q:.1} can hold beside the noise of encryption"),
            ("use a smaller plaintext modulus or a longer chain");
        /// Slots need the plaintext modulus to be a prime equal to 1 modulo 2N.
        NoSlots {
            /// The plaintext modulus.
            found: u64,
            /// log2 of the ring degree.
            log_n: u32,
        }:
            ("the plaintext modulus {found} is not a prime equal to 1 modulo 2^{}, and has no slots", log_n + 1),
            ("use such a prime, or encode coefficients");
        /// A number outside its domain.
        OutOfRange {
            /// The name of the number.
            what: &'static str,
            /// Its value.
            found: f64,
            /// Least value.
            lowest: f64,
            /// Greatest value.
            highest: f64,
        }:
            ("{what} is {found}"),
            ("it must be in {lowest} ..= {highest}");
    }
}

/// The advice for a precision and a security that are not possible together.
fn publishable(most_precision: Option<u32>, most_security: Option<u32>) -> String {
    let precision = most_precision.map(|most| format!("at most {most} bits of precision"));
    let security = most_security.map(|most| format!("at most {most} bits of statistical security"));
    ask_for([precision, security], "less precision, fewer decryptions or less statistical security")
}

/// The advice for a depth and a precision that are not possible together.
fn possible(
    depth: usize,
    precision_bits: u32,
    most_precision: Option<u32>,
    most_depth: Option<usize>,
) -> String {
    let precision = most_precision.map(|most| format!("at most {most} bits of precision at depth {depth}"));
    let depth = most_depth.map(|most| format!("at most depth {most} with {precision_bits} bits"));
    ask_for([precision, depth], "less depth, precision or range")
}

/// The advice to ask for one of the possible values, or else for `otherwise`.
fn ask_for(possible: [Option<String>; 2], otherwise: &str) -> String {
    let parts: Vec<String> = possible.into_iter().flatten().collect();
    let wanted = if parts.is_empty() { otherwise.to_owned() } else { parts.join(", or for ") };
    format!("ask for {wanted}")
}
