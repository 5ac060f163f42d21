//! GHASH with VPCLMULQDQ: 16 blocks at a time, one reduction for all (Gueron, Kounavis 2010, "Intel
//! Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode", aggregated
//! reduction).
//!
//! Blocks are byte-reversed and H is multiplied by x, which makes GHASH the POLYVAL of RFC 8452
//! (appendix A): products are a b x^-128 modulo x^128 + x^127 + x^126 + x^121 + 1, little-endian.

#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_loadu_si128, _mm_set_epi8, _mm_set_epi64x, _mm_setzero_si128,
    _mm_shuffle_epi32, _mm_slli_si128, _mm_srli_si128, _mm_storeu_si128, _mm_xor_si128,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_clmulepi64_epi128, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_xor_si256,
    _mm256_zextsi128_si256,
};
use zeroize::ZeroizeOnDrop;

/// The number of blocks per reduction.
const GROUP: usize = 16;

/// Powers of H. A value of this type proves that the processor has the instructions.
#[derive(Clone, ZeroizeOnDrop)]
pub(in crate::aes::cpu) struct Powers {
    /// H^16, ..., H^1.
    powers: [u128; GROUP],
    /// The sum of both halves of each power, in both halves: the third factor of Karatsuba's
    /// product.
    sums: [u128; GROUP],
}

impl Powers {
    /// `None` if the processor lacks the instructions.
    pub(super) fn new(h: &[u8; 16]) -> Option<Self> {
        let detected = is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("avx2");
        if !detected {
            return None;
        }
        const POLYNOMIAL: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;
        let h = u128::from_be_bytes(*h);
        let h = (h << 1) ^ (POLYNOMIAL & (h >> 127).wrapping_neg());
        let mut key = Self { powers: [0; GROUP], sums: [0; GROUP] };
        key.powers[GROUP - 1] = h;
        for n in 2..=GROUP {
            // Computes H^n from two halves, so that powers do not wait for each other.
            let [half, rest] = [n / 2, n - n / 2].map(|n| key.powers[GROUP - n]);
            // SAFETY: the features were found above.
            key.powers[GROUP - n] = unsafe { times(half, rest) };
        }
        for (sum, power) in key.sums.iter_mut().zip(&key.powers) {
            let half = (power ^ (power >> 64)) & u128::from(u64::MAX);
            *sum = half | (half << 64);
        }
        Some(key)
    }

    /// The state after these blocks.
    pub(super) fn update(&self, state: [u8; 16], blocks: &[[u8; 16]]) -> [u8; 16] {
        let mut state = u128::from_be_bytes(state);
        let (groups, rest) = blocks.as_chunks::<GROUP>();
        // SAFETY: `Powers` exist only where the features were found.
        unsafe {
            state = update_groups(self, state, groups);
            state = update_some(self, state, rest);
        }
        state.to_be_bytes()
    }
}

/// Sums of products before the reduction: low halves, high halves, and sums of halves.
#[derive(Clone, Copy)]
struct Products<T> {
    low: T,
    high: T,
    sums: T,
}

#[inline]
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn load(word: &u128) -> __m128i {
    // SAFETY: 16 bytes are read, unaligned.
    unsafe { _mm_loadu_si128(std::ptr::from_ref(word).cast()) }
}

#[inline]
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn load_two(words: &[u128; 2]) -> __m256i {
    // SAFETY: 32 bytes are read, unaligned.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn load_blocks(blocks: &[[u8; 16]; 2]) -> __m256i {
    // SAFETY: 32 bytes are read, unaligned.
    unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
}

/// Karatsuba's middle term, and reduction by 64 bits twice (in the field of RFC 8452, as in
/// Montgomery reduction).
#[inline]
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn reduced(products: Products<__m128i>) -> u128 {
    let Products { low, high, sums } = products;
    let middle = _mm_xor_si128(sums, _mm_xor_si128(low, high));
    let mut low = _mm_xor_si128(low, _mm_slli_si128::<8>(middle));
    let high = _mm_xor_si128(high, _mm_srli_si128::<8>(middle));
    let polynomial = _mm_set_epi64x(0, 0xc200_0000_0000_0000_u64 as i64);
    for _ in 0..2 {
        let folded = _mm_clmulepi64_si128::<0x00>(low, polynomial);
        low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), folded);
    }
    let mut word = 0u128;
    // SAFETY: 16 bytes are written, unaligned.
    unsafe { _mm_storeu_si128(std::ptr::from_mut(&mut word).cast(), _mm_xor_si128(low, high)) };
    word
}

#[inline]
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn add_product(sum: &mut Products<__m128i>, x: __m128i, power: __m128i, sums: __m128i) {
    let halves = _mm_xor_si128(x, _mm_shuffle_epi32::<0x4e>(x));
    sum.low = _mm_xor_si128(sum.low, _mm_clmulepi64_si128::<0x00>(x, power));
    sum.high = _mm_xor_si128(sum.high, _mm_clmulepi64_si128::<0x11>(x, power));
    sum.sums = _mm_xor_si128(sum.sums, _mm_clmulepi64_si128::<0x00>(halves, sums));
}

#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn times(a: u128, b: u128) -> u128 {
    let zero = _mm_setzero_si128();
    let mut product = Products { low: zero, high: zero, sums: zero };
    let b = load(&b);
    add_product(&mut product, load(&a), b, _mm_xor_si128(b, _mm_shuffle_epi32::<0x4e>(b)));
    reduced(product)
}

/// At most one group.
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn update_some(key: &Powers, state: u128, blocks: &[[u8; 16]]) -> u128 {
    if blocks.is_empty() {
        return state;
    }
    let zero = _mm_setzero_si128();
    let mut sum = Products { low: zero, high: zero, sums: zero };
    let first = GROUP - blocks.len();
    let mut state = state;
    for (block, (power, sums)) in blocks.iter().zip(key.powers[first..].iter().zip(&key.sums[first..])) {
        let x = u128::from_be_bytes(*block) ^ state;
        state = 0;
        add_product(&mut sum, load(&x), load(power), load(sums));
    }
    reduced(sum)
}

#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn update_groups(key: &Powers, mut state: u128, groups: &[[[u8; 16]; GROUP]]) -> u128 {
    let reverse =
        _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    let (powers, sums) = (key.powers.as_chunks::<2>().0, key.sums.as_chunks::<2>().0);
    let zero = _mm256_setzero_si256();
    for group in groups {
        let mut sum = Products { low: zero, high: zero, sums: zero };
        // The state is added to the first block.
        let mut add = _mm256_zextsi128_si256(load(&state));
        for (blocks, (power, sums)) in group.as_chunks::<2>().0.iter().zip(powers.iter().zip(sums)) {
            let x = _mm256_xor_si256(_mm256_shuffle_epi8(load_blocks(blocks), reverse), add);
            add = zero;
            let (power, sums) = (load_two(power), load_two(sums));
            let halves = _mm256_xor_si256(x, _mm256_shuffle_epi32::<0x4e>(x));
            sum.low = _mm256_xor_si256(sum.low, _mm256_clmulepi64_epi128::<0x00>(x, power));
            sum.high = _mm256_xor_si256(sum.high, _mm256_clmulepi64_epi128::<0x11>(x, power));
            sum.sums = _mm256_xor_si256(sum.sums, _mm256_clmulepi64_epi128::<0x00>(halves, sums));
        }
        state = reduced(Products { low: both(sum.low), high: both(sum.high), sums: both(sum.sums) });
    }
    state
}

/// The sum of both lanes.
#[inline]
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn both(lanes: __m256i) -> __m128i {
    _mm_xor_si128(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes))
}
