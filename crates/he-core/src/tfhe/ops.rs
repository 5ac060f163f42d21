//! The operations that a back end must provide for TFHE.

use super::{BootstrapKey, CircuitKey, TfheParams};
use crate::backend::Backend;
use crate::error::Result;

/// A linear combination of ciphertexts: `constant` (in units of 2^-64) plus the sum of factor times
/// ciphertext.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Combination {
    /// Added to the body.
    pub constant: u64,
    /// The factors, and the indices of ciphertexts.
    pub terms: Vec<(i64, usize)>,
}

/// Batches of LWE operations on one device. Buffers are flat, `[ciphertext][word]`, with the body
/// last.
///
/// # Contract
/// Every implementation leaves the same words, bit for bit: integers wrap modulo 2^64 (large
/// ciphertexts) or 2^32 (small ones, one per 64-bit word), and the transform of the blind rotation
/// is a fixed sequence of IEEE operations. Callers guarantee sizes and indices; empty batches are
/// valid. The time of an operation does not depend on a secret: ciphertexts and evaluation keys are
/// public.
///
/// # Transform
/// A real polynomial modulo X^N + 1 is the complex vector z_j = x_j + i x_(j + M), j < M = N/2.
/// Forward, for d = 0, 1, ..., log2 M - 1: node t = 2^d + c maps elements u, v that lie half a
/// block apart in block c of M / 2^d consecutive elements to s = u + w v and 2u - s, with w = w_t
/// of [`TfheParams::roots`]. fma(a, b, c) is a b + c rounded once: s = (fma(-v_im, w_im, fma(v_re,
/// w_re, u_re)), fma(v_im, w_re, fma(v_re, w_im, u_im))), and 2u - s = fma(2, u, -s). The inverse
/// is: u = s + d, and with (x, y) = s - d, each rounded, v = (fma(y, w_im, x w_re), fma(-x, w_im, y
/// w_re)). Products are summed from zero in the order of the rows, as fma(-a_im, b_im, fma(a_re,
/// b_re, sum_re)) and fma(a_im, b_re, fma(a_re, b_im, sum_im)) with digit a and key b, whose words
/// are centred, rounded to float64 and multiplied by 2^-64 / M. The fraction f = p - ((p + R) - R)
/// of a coefficient p, with R = 3 2^51, is rounded to 52 bits: it is the bits of f 2^52 + R minus
/// those of R, times 2^12.
pub trait LweOps: Backend {
    /// A bootstrapping key on the device, in the form used by its operations.
    type LweKey: Send + Sync;

    /// A key of circuit bootstrapping, likewise.
    type CircuitKey: Send + Sync;

    /// Expands a bootstrapping key.
    ///
    /// # Errors
    /// Device errors.
    fn lwe_key(&self, key: &BootstrapKey) -> Result<Self::LweKey>;

    /// Computes linear combinations of large ciphertexts of `src`, with one result per combination.
    ///
    /// # Errors
    /// Device errors.
    fn lwe_combine(
        &self,
        params: &TfheParams,
        src: &Self::Buf,
        combinations: &[Combination],
    ) -> Result<Self::Buf>;

    /// Switches `count` large ciphertexts of `src` to the small secret; each result has n + 1 words
    /// below 2^32. The body is rounded to 32 bits, half up; mask words are decomposed by
    /// [`Gadget`](super::Gadget).
    ///
    /// # Errors
    /// Device errors.
    fn key_switch(&self, key: &Self::LweKey, src: &Self::Buf, count: usize) -> Result<Self::Buf>;

    /// Evaluates `functions` functions, a power of two up to N, on each of `count` small
    /// ciphertexts by one rotation: from a phase p in units of 1/2N, function f leaves coefficient
    /// p + f N / `functions` modulo 2N of table `which[i]` of `tables` (N words each), where
    /// coefficient N + p is minus coefficient p, as a large ciphertext: `[function][ciphertext]`.
    /// With one function, the table covers all phases; with several, each covers the phases in [0,
    /// 1 / (2 `functions`)) (after PBSmanyLUT of Chillotti, Ligier, Orfila, Tap 2021).
    ///
    /// A multi-bit key of groups of g bits ([`BootstrapKey::group`]) selects by a group at a time,
    /// see below.
    ///
    /// Small words are first switched to modulus 2N: mask words a to round(a 2N / 2^32), half up;
    /// with e their errors in units of 2^-32 (a minus the rounded word times 2^32 / 2N), the body
    /// to round((b - floor(sum of e / 2)) 2N / 2^32): the sum of e s has expectation sum of e / 2,
    /// which is public. Then acc = X^-b table, and acc += GGSW(s_i) x (X^a_i acc - acc) for i = 0,
    /// 1, ... (Chillotti, Gama, Georgieva, Izabachene 2020, algorithm 9), digits by
    /// [`Gadget`](super::Gadget); by a multi-bit key, acc = bundle x acc for each group of bits i =
    /// 0, g, 2 g, ... instead, and the digits of coefficients of odd index round ties down: the
    /// gadget's offset is smaller by 1. Its bundle is the sum over the patterns u of GGSW(the bits
    /// are u) times X^e, e = a_i u_0 + a_(i + 1) u_1 + ..., in values, of which value c of X^a is
    /// entry (1 + 4 r) a modulo 2N of [`TfheParams::units`], r the log2 M bits of c reversed: v_u
    /// becomes v_2u plus X^a_i times v_(2u + 1), then, of these half as many, v_2u plus X^a_(i + 1)
    /// times v_(2u + 1), and so on to one, each with the fused operations of products, with X^a as
    /// digit. Finally, the coefficients f N / `functions` are extracted: coefficient h of A S is
    /// the sum of a_(h - j) s_j over j <= h minus that of a_(N + h - j) s_j over j > h.
    ///
    /// # Errors
    /// Device errors.
    fn blind_rotate(
        &self,
        key: &Self::LweKey,
        src: &Self::Buf,
        count: usize,
        tables: &Self::Buf,
        which: &[u32],
        functions: usize,
    ) -> Result<Self::Buf>;

    /// Expands a key of circuit bootstrapping.
    ///
    /// # Errors
    /// Device errors.
    fn circuit_key(&self, key: &CircuitKey) -> Result<Self::CircuitKey>;

    /// Looks `count` indices of `bits` bits up: `src` has large ciphertexts
    /// `[function][index][bit]` (the first `levels` functions are read) of phases -2^(63 - j B) for
    /// 0 and 2^(63 - j B) for 1, j = 1, 2, ... the function, B and `levels` those of
    /// [`CircuitSpec::select`](super::CircuitSpec); coefficient x N / 2^bits + o of table t of
    /// `tables` (N words each) is output t N / 2^bits + o of index x. Results are
    /// `[index][output]`, the first `outputs` ones.
    ///
    /// A ciphertext (a, b) becomes the GLWE ciphertext (A, B) whose constant coefficient it is:
    /// with q(x) = floor((x + N/2) / N) of words below 2^64, A_r has coefficients q(a_(r, 0)) and
    /// q(-a_(r, N - i)) for i > 0, B only q(b + 2^(63 - j B)). Then, for i = 0, 1, ... log2 N - 1
    /// and g = N / 2^i + 1: (A, B) += (0, B(X^g)) + the sum over r and digits of A_r(X^g) times
    /// rows of [`CircuitKey::row`]. Row r levels + j - 1 of the GGSW ciphertext, r < k, is (A', 0)
    /// with A'_r = B and A' zero elsewhere, plus the sum over s and digits of A_s times rows of
    /// products; rows k levels + j - 1 are (A, B) itself. Its transforms are those of a
    /// bootstrapping key. Tables are then accumulators, and acc += GGSW(bit i) x (X^(-2^i N /
    /// 2^bits) acc - acc) for i = 0, 1, ... selects, as in [`blind_rotate`](Self::blind_rotate).
    ///
    /// # Errors
    /// Device errors.
    fn lookup_bits(
        &self,
        key: &Self::CircuitKey,
        src: &Self::Buf,
        bits: usize,
        count: usize,
        tables: &Self::Buf,
        outputs: usize,
    ) -> Result<Self::Buf>;
}
