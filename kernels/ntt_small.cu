// Transforms of degrees 2^2 ... 2^11, one block a row, two points a thread and stage: what they do is decided at run time.
#include "include/ntt.cuh"
#include "include/ntt_small.cuh"

constexpr u32 SMALL_THREADS = 1024;

template <class A>
HE_D void forward_small(const NttArgs& a, const Tile& t, const Prime& p) {
    SHARED(typename A::Value, x);
    A arithmetic(p);
    u32 n = 1u << a.log_n, half = n / 2;
    const u64* src = a.src[t.part] + t.digit * a.src_digit;
    for (u32 i = threadIdx.x; i < n; i += half) {
        if (a.convert) {
            const Basis& basis = a.bases[t.digit];
            size_t stride = (size_t)a.limbs.batch << a.log_n, at = ((size_t)t.entry << a.log_n) + i;
            FewConversion<A> conversion(basis, t.limb, p);
            typename FewConversion<A>::Sum sum[1] = {};
            for (u32 s = 0; s < (u32)basis.count; ++s) {
                u64 y[1] = {src[(basis.first + s) * stride + at]};
                conversion.add(conversion.constants(s), y, arithmetic, sum);
            }
            x[i] = conversion.value(sum[0], arithmetic);
        } else {
            x[i] = arithmetic.load(src[((size_t)t.row << a.log_n) + i]);
        }
    }
    forward_shared(arithmetic, x, p.roots, a.log_n, threadIdx.x);
    for (u32 i = threadIdx.x; i < n; i += half) {
        if (a.factors != nullptr) {
            auto acc = reading<0>([&] { return Words<0>{acc_row(a, t)[i]}; });
            auto addend = reading<0>([&] {
                const u64* row = addend_row(a, t);
                return Words<0>{row != nullptr ? row[i] : 0};
            });
            auto factor = when_needed([&] { return a.factors[t.limb]; });
            store_differences<A, 0>(a, t, arithmetic, p, i, 0, x + i, factor, acc, addend);
        } else {
            store_values<A, 0>(a, t, arithmetic, i, 0, x + i);
        }
    }
}

template <class A>
HE_D void inverse_small(const NttArgs& a, const Tile& t, const Prime& p) {
    SHARED(typename A::Value, x);
    A arithmetic(p);
    u32 n = 1u << a.log_n, half = n / 2;
    size_t row = (size_t)t.row << a.log_n;
    u64* dst = placed_row(a, t);
    for (u32 i = threadIdx.x; i < n; i += half) x[i] = arithmetic.load(a.src[t.part][row + i]);
    const Factor *scale = a.scale[t.part >> 1] + t.prime, *last = a.scale_last[t.part >> 1] + t.prime;
    inverse_shared(arithmetic, x, p.inverse_roots, a.log_n, threadIdx.x, *scale, *last);
    for (u32 i = threadIdx.x; i < n; i += half) dst[i] = arithmetic.store(x[i]);
}

KERNEL(ntt_small_forward, NttArgs, SMALL_THREADS, 1) {
    Tile t = tile_of(a);
    if (is_absent(a, t)) return;
    if (is_own(a, t)) {
        if (a.own == COPY_OWN) {
            size_t at = (size_t)t.row << a.log_n;
            for (u32 i = threadIdx.x; i < (1u << a.log_n); i += blockDim.x) a.dst[t.part][t.digit * a.dst_digit + at + i] = a.acc[0][at + i];
        }
        return;
    }
    const Prime& p = a.primes[t.prime];
    if (p.is_short) {
        forward_small<Fp64>(a, t, p);
    } else {
        forward_small<U64>(a, t, p);
    }
}

KERNEL(ntt_small_inverse, NttArgs, SMALL_THREADS, 1) {
    Tile t = tile_of(a);
    const Prime& p = a.primes[t.prime];
    if (p.is_short) {
        inverse_small<Fp64>(a, t, p);
    } else {
        inverse_small<U64>(a, t, p);
    }
}
