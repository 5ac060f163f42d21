// Encryption and decryption of messages modulo t (he_core::backend::{plain_phase, encrypt, remainders, gather}).
#include "include/chacha20.cuh"
#include "include/ntt_small.cuh"
#include "include/rows.cuh"

// Messages, and what makes phases of them; mirrored by `exact::Messages`.
struct Messages {
    const u64* words;      // [entry][coefficient] in [0, t), or none
    u64 t, middle;         // middle = ceil(t / 2)
    u64 factor, quotient;  // f, floor(f 2^64 / t)
    u64 scale[64];         // 1 / t modulo each limb
};

// [f m]_t / t modulo the prime of a limb, [.]_t in [-t/2, t/2).
HE_D u64 phase_of(const Messages& m, u64 word, u32 limb, const Prime& p) {
    u64 x = reduce_once(mul_lazy(word, m.factor, m.quotient, 0 - m.t), m.t);
    i64 centred = (i64)x - (x >= m.middle ? (i64)m.t : 0);
    return mul_mod(reduce_signed_word(centred, p), m.scale[limb], p);
}

// Mirrored by `exact::PhaseArgs`.
struct PhaseArgs {
    Grid grid;
    u64* dst;
    Messages messages;
};

KERNEL(plain_phase_rows, PhaseArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    ulonglong2 m = load2(a.messages.words + ((size_t)at.entry << a.grid.log_n) + at.k);
    store2(a.dst + word_of(a.grid, at, a.grid.limbs.batch), phase_of(a.messages, m.x, at.limb, p), phase_of(a.messages, m.y, at.limb, p));
}

// Mirrored by `exact::EncryptArgs`.
struct EncryptArgs {
    Grid grid;
    u64* samples;      // v, e0 + phase and e1, `poly` words each
    size_t poly;
    const u64* key[2]; // batch 1
    u64* c[2];
    u32 limb_count, unused;
    u32 seed[8];
    Messages messages;
};

constexpr u32 SAMPLE_THREADS = 128;

// Coefficients 8 block ... 8 block + 7 of all messages together, of polynomial 0 (v), 1 (e0) or 2 (e1).
HE_D void encryption_samples(const EncryptArgs& a, u32 poly, u64 block, i64* small) {
    u64 words[8];
    u32 kind = poly == 0 ? 2 : 3;
    chacha20(a.seed, stream_of(kind, 0, poly == 2 ? 1 : 0), block, words);
    small_coefficients(kind, words, small);
}

// blockIdx.z is the polynomial; limbs are dealt out to blockIdx.y.
KERNEL(encrypt_samples, EncryptArgs, SAMPLE_THREADS, 1) {
    u64 block = (u64)blockIdx.x * SAMPLE_THREADS + threadIdx.x;
    u64 count = (u64)a.grid.limbs.batch << a.grid.log_n;
    if (block * 8 >= count) return;
    i64 small[8];
    encryption_samples(a, blockIdx.z, block, small);
    bool has_message = blockIdx.z == 1 && a.messages.words != nullptr;
    for (u32 limb = blockIdx.y; limb < a.limb_count; limb += gridDim.y) {
        const Prime p = a.grid.primes[prime_of(a.grid.limbs, limb)];
        u64* dst = a.samples + blockIdx.z * a.poly + limb * count + block * 8;
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            if (block * 8 + i < count) {
                u64 x = small[i] < 0 ? p.q + small[i] : small[i];
                if (has_message) x = add_mod(x, phase_of(a.messages, a.messages.words[block * 8 + i], limb, p), p.q);
                dst[i] = x;
            }
        }
    }
}

// (b v + e0, a v + e1) of the samples in evaluation form, which it overwrites: they tell the message.
KERNEL(encrypt_rows, EncryptArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, at.limb)];
    size_t word = word_of(a.grid, at, a.grid.limbs.batch), key = word_of(a.grid, at, 1);
    u64* samples = a.samples + word;
    ulonglong2 v = load2(samples), e[2] = {load2(samples + a.poly), load2(samples + 2 * a.poly)};
    ulonglong2 k[2] = {load2(a.key[0] + key), load2(a.key[1] + key)};
#pragma unroll
    for (u32 part = 0; part < 2; ++part) {
        store2(a.c[part] + word, add_mod(e[part].x, mul_mod(v.x, k[part].x, p), p.q), add_mod(e[part].y, mul_mod(v.y, k[part].y, p), p.q));
    }
#pragma unroll
    for (u32 poly = 0; poly < 3; ++poly) store2(samples + poly * a.poly, 0, 0);
}

// Degrees up to 2^11 are done by one kernel: a block has 2 blockDim.x coefficients, which are one message or several.
constexpr u32 SMALL_THREADS = 1024;

template <class A>
HE_D void encrypt_small_limb(const EncryptArgs& a, u32 limb, const Prime& p) {
    SHARED(typename A::Value, x);
    A arithmetic(p);
    u32 log_n = a.grid.log_n, span = 2 * blockDim.x;
    u64 first = (u64)blockIdx.x * span, count = (u64)a.grid.limbs.batch << log_n;
    for (u32 j = threadIdx.x; j < 3 * span / 8; j += blockDim.x) {
        u32 poly = j / (span / 8), at = (j - poly * (span / 8)) * 8;
        if (first + at >= count) continue;
        i64 small[8];
        encryption_samples(a, poly, (first + at) / 8, small);
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            u64 word = small[i] < 0 ? p.q + small[i] : small[i];
            if (poly == 1 && a.messages.words != nullptr && first + at + i < count) {
                word = add_mod(word, phase_of(a.messages, a.messages.words[first + at + i], limb, p), p.q);
            }
            x[poly * span + at + i] = arithmetic.load(word);
        }
    }
    u32 half = 1u << (log_n - 1), row = threadIdx.x >> (log_n - 1) << log_n;
    for (u32 poly = 0; poly < 3; ++poly) forward_shared(arithmetic, x + poly * span + row, p.roots, log_n, threadIdx.x & (half - 1));
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        u32 at = threadIdx.x + i * blockDim.x;
        if (first + at >= count) continue;
        u64 v = arithmetic.store(x[at]), word = limb * count + first + at;
        size_t key = ((size_t)limb << log_n) + (at & (2 * half - 1));
#pragma unroll
        for (u32 part = 0; part < 2; ++part) {
            a.c[part][word] = add_mod(arithmetic.store(x[(part + 1) * span + at]), mul_mod(v, a.key[part][key], p), p.q);
        }
    }
}

// blockIdx.y is the limb.
KERNEL(encrypt_small, EncryptArgs, SMALL_THREADS, 1) {
    const Prime p = a.grid.primes[prime_of(a.grid.limbs, blockIdx.y)];
    if (p.is_short) {
        encrypt_small_limb<Fp64>(a, blockIdx.y, p);
    } else {
        encrypt_small_limb<U64>(a, blockIdx.y, p);
    }
}

// Mirrored by `exact::RemainderArgs`.
struct RemainderArgs {
    Grid grid;
    u64* y;                   // x_i (Q/q_i)^-1 mod q_i, [limb][entry][coefficient]
    const u64* c[2];          // for small degrees, which have no y in memory
    const u64* secret;
    u64* dst;
    const Factor* scale;      // of the inverse transform, for each limb
    const Factor* scale_last;
    const double* reciprocal; // 1 / q_i
    const u64* hat;           // Q/q_i modulo m
    u64 minus_product;        // -Q modulo m
    Prime modulus;            // m, without roots
    Factor after;             // what remainders are multiplied by
    u32 limb_count, unused;
};

// A sum over limbs as he_core::ring::BaseConversion takes it.
struct RemainderSum {
    Wide sum{0, 0};
    double overflow = 0.0;

    HE_D void add(const RemainderArgs& a, u32 limb, u64 y) {
        overflow = __dadd_rn(overflow, __dmul_rn(__ull2double_rn(y), a.reciprocal[limb]));
        multiply_add(sum, y, a.hat[limb]);
    }
    HE_D u64 finish(const RemainderArgs& a) {
        multiply_add(sum, (u64)__double2ull_rn(overflow), a.minus_product);
        return mul_factor(reduce_wide(sum.low, sum.high, a.modulus), a.after, a.modulus.q);
    }
};

constexpr u32 REMAINDER_THREADS = 128;

// From the y, which it overwrites: they tell the secret.
KERNEL(remainder_rows, RemainderArgs, REMAINDER_THREADS, 1) {
    u64 at = (u64)blockIdx.x * REMAINDER_THREADS + threadIdx.x, count = (u64)a.grid.limbs.batch << a.grid.log_n;
    if (at >= count) return;
    RemainderSum sum;
#pragma unroll 4
    for (u32 limb = 0; limb < a.limb_count; ++limb) {
        sum.add(a, limb, a.y[limb * count + at]);
    }
    for (u32 limb = 0; limb < a.limb_count; ++limb) a.y[limb * count + at] = 0;
    a.dst[at] = sum.finish(a);
}

template <class A>
HE_D void remainder_small_limb(const RemainderArgs& a, u32 limb, const Prime& p, const u64* words, u64* y) {
    SHARED(typename A::Value, x);
    A arithmetic(p);
    u32 log_n = a.grid.log_n, half = 1u << (log_n - 1), row = threadIdx.x >> (log_n - 1) << log_n;
    // What a thread has read of the limb before is its own.
#pragma unroll
    for (u32 i = 0; i < 2; ++i) x[threadIdx.x + i * blockDim.x] = arithmetic.load(words[i]);
    inverse_shared(arithmetic, x + row, p.inverse_roots, log_n, threadIdx.x & (half - 1), a.scale[limb], a.scale_last[limb]);
#pragma unroll
    for (u32 i = 0; i < 2; ++i) y[i] = arithmetic.store(x[threadIdx.x + i * blockDim.x]);
}

KERNEL(remainder_small, RemainderArgs, SMALL_THREADS, 1) {
    u32 n = 1u << a.grid.log_n;
    u64 first = (u64)blockIdx.x * 2 * blockDim.x, count = (u64)a.grid.limbs.batch << a.grid.log_n;
    RemainderSum sums[2];
    for (u32 limb = 0; limb < a.limb_count; ++limb) {
        const Prime p = a.grid.primes[prime_of(a.grid.limbs, limb)];
        u64 words[2] = {0, 0}, y[2];
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
            u64 at = first + threadIdx.x + i * blockDim.x;
            if (at >= count) continue;
            u64 secret = a.secret[((size_t)limb << a.grid.log_n) + (at & (n - 1))];
            words[i] = add_mod(a.c[0][limb * count + at], mul_mod(a.c[1][limb * count + at], secret, p), p.q);
        }
        if (p.is_short) {
            remainder_small_limb<Fp64>(a, limb, p, words, y);
        } else {
            remainder_small_limb<U64>(a, limb, p, words, y);
        }
#pragma unroll
        for (u32 i = 0; i < 2; ++i) sums[i].add(a, limb, y[i]);
    }
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        u64 at = first + threadIdx.x + i * blockDim.x;
        if (at < count) a.dst[at] = sums[i].finish(a);
    }
}

// Mirrored by `exact::GatherArgs`. Word k of each row is word index[k] of the same row of src.
struct GatherArgs {
    const u64* src;
    const u64* index;
    u64* dst;
    u64 words;
    u32 log_n, unused;
};

KERNEL(gather_rows, GatherArgs, ROW_THREADS, 1) {
    u64 at = (u64)blockIdx.x * ROW_THREADS + threadIdx.x, low = (1ull << a.log_n) - 1;
    if (at < a.words) a.dst[at] = a.src[(at & ~low) | (a.index[at & low] & low)];
}
