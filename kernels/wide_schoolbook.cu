// The product of polynomials modulo X^N + 1 and 2^bits by its definition, a thread an output coefficient, as in P1 (Reynaldi 2023): for
// comparison with the product through transforms, and as its oracle.
#include "include/wide.cuh"

// Mirrored by `wide::schoolbook::Args`.
struct SchoolbookArgs {
    WideShape shape;
    const u64* a;
    const u64* b;
    u64* dst;
};

// Sums and differences of up to 2^31 products of words, in two's complement.
struct SignedSum {
    u64 low, middle, high;

    HE_D void add(u64 x, u64 y, u64 flip) {
        // -p = !p + 1
        u64 carry = flip & 1;
        low = add_carry(low, x * y ^ flip, carry);
        middle = add_carry(middle, __umul64hi(x, y) ^ flip, carry);
        high += flip + carry;
    }
};

KERNEL(wide_schoolbook, SchoolbookArgs, WIDE_THREADS, 1) {
    u32 i;
    if (!coefficient_of(a.shape, i)) return;
    u32 n = 1u << a.shape.log_n, k = i & (n - 1);
    size_t plane = plane_of(a.shape), entry = i - k;
    const u64 *x = a.a + entry, *y = a.b + entry;
    SignedSum carry{0, 0, 0};
    for (u32 first = 0; first < a.shape.words; first += WIDE_GROUP) {
        SignedSum sum[WIDE_GROUP] = {};
        for (u32 m = 0; m < n; ++m) {
            // X^N = -1
            u64 flip = 0 - (u64)(m > k);
            u32 other = (k - m) & (n - 1);
            // The words of the second factor that meet word j, from the highest down.
            u64 window[WIDE_GROUP];
#pragma unroll
            for (u32 r = 0; r < WIDE_GROUP; ++r) window[r] = first + r < a.shape.words ? y[(first + r) * plane + other] : 0;
            for (u32 j = 0; j < min(first + WIDE_GROUP, a.shape.words); ++j) {
                u64 word = x[j * plane + m];
#pragma unroll
                for (u32 r = 0; r < WIDE_GROUP; ++r) sum[r].add(word, window[r], flip);
#pragma unroll
                for (u32 r = WIDE_GROUP; r-- > 1;) window[r] = window[r - 1];
                window[0] = first > j ? y[(first - j - 1) * plane + other] : 0;
            }
        }
#pragma unroll
        for (u32 r = 0; r < WIDE_GROUP; ++r) {
            u64 over = 0;
            sum[r].low = add_carry(sum[r].low, carry.low, over);
            sum[r].middle = add_carry(sum[r].middle, carry.middle, over);
            sum[r].high += carry.high + over;
            u32 w = first + r;
            if (w < a.shape.words) a.dst[w * plane + i] = w + 1 == a.shape.words ? sum[r].low & a.shape.top_mask : sum[r].low;
            carry = SignedSum{sum[r].middle, sum[r].high, (u64)((i64)sum[r].high >> 63)};
        }
    }
}
