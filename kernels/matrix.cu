// Products of matrices: packing, the product on devices without fast matrix units, and numbers from their remainders.
#include "include/matrix_product.cuh"

KERNEL(matrix_product, MatrixProductArgs, PRODUCT_THREADS, 1) { matrix_product<DotTile>(a); }

// One side of a product; mirrored by `matrix::PackArgs`.
struct MatrixPackArgs {
    const u64* src;
    byte_t* out;
    u64 lines, inner;            // numbers
    u64 line_step, inner_step;   // words from one to the next
    u64 chunks;                  // of a block
    u64 plane;                   // bytes from one plane of remainders to the next
    const Prime* prime;          // null: modulo 2^32
    u32 block_lines, parts;      // digits of the left numbers, each with a product of its own
    u32 digits, count;           // of a right number; planes
    u32 flip, unused;
    u32 moduli[MOST_MODULI];
    u32 factors[MOST_MODULI];    // by which remainders are multiplied
};

constexpr u32 PACK_THREADS = 256;
constexpr u64 COLUMN_PART = 256; // of a column that a thread adds up

// A unit of 16 bytes: its line within the block, that of the block's first, and the first of its bytes.
struct PackUnit {
    u64 index, line, at;
    u32 within;
    HE_D PackUnit(const MatrixPackArgs& a, u32 lines) {
        index = (u64)blockIdx.x * PACK_THREADS + threadIdx.x;
        within = (u32)(index % lines);
        u64 rest = index / lines, units = a.chunks * UNITS, block = rest / units;
        at = rest % units * UNIT, line = block * lines + within;
    }
    HE_D bool is_within(const MatrixPackArgs& a, u32 lines) const {
        return index < (a.lines + lines - 1) / lines * lines * a.chunks * UNITS;
    }
};

// The digits of a word to the base 256, in [-128, 127], as bytes.
HE_D u64 signed_digits(u64 x) {
    const u64 bias = 0x8080808080808080ull;
    return (x + bias) ^ bias;
}

HE_D u64 centered_word(u64 x, u64 q) { return x - (x > q / 2 ? q : 0); }

// Bytes of the left matrix: those that are there, made signed ones by `flip`, or the signed digits of its numbers.
KERNEL(matrix_pack_bytes, MatrixPackArgs, PACK_THREADS, 1) {
    PackUnit unit(a, LEFT_LINES);
    if (!unit.is_within(a, LEFT_LINES)) return;
    const byte_t* bytes = reinterpret_cast<const byte_t*>(a.src) + unit.line * a.inner;
    byte_t* out = a.out + unit.index * UNIT;
    if (!a.prime && a.inner % UNIT == 0 && unit.line < a.lines) {
        // Whole units, and so aligned to words.
        u64 flip = a.flip * 0x0101010101010101ull;
        u64 words[2] = {0, 0};
        if (unit.at < a.inner) {
            const u64* from = reinterpret_cast<const u64*>(bytes + unit.at);
            words[0] = from[0] ^ flip, words[1] = from[1] ^ flip;
        }
        *reinterpret_cast<ulonglong2*>(out) = make_ulonglong2(words[0], words[1]);
        return;
    }
    const u64* numbers = a.src + unit.line * a.line_step;
    u64 number = unit.at / a.parts, digits = 0;
    u32 part = (u32)(unit.at - number * a.parts);
    bool is_new = true;
#pragma unroll 1
    for (u32 i = 0; i < UNIT / 4; ++i) {
        u32 word = 0;
        if (unit.line < a.lines) {
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                if (number >= a.inner) break;
                if (a.prime) {
                    if (is_new) digits = signed_digits(centered_word(numbers[number], a.prime->q));
                    word |= ((u32)(digits >> part * 8) & 255) << j * 8;
                } else {
                    word |= (u32)(bytes[number] ^ a.flip) << j * 8;
                }
                is_new = ++part == a.parts;
                if (is_new) ++number, part = 0;
            }
        }
        *reinterpret_cast<u32*>(out + 4 * i) = word;
    }
}

// Signed digits of the right numbers, times a power of two for each part of the left ones.
KERNEL(matrix_pack_digits, MatrixPackArgs, PACK_THREADS, 1) {
    u32 outputs = RIGHT_LINES / a.digits;
    PackUnit unit(a, outputs);
    if (!unit.is_within(a, outputs)) return;
    byte_t* out = a.out + (unit.index / outputs * RIGHT_LINES + unit.within * a.digits) * UNIT;
    u64 number = unit.at / a.parts;
    u32 part = (u32)(unit.at - number * a.parts);
#pragma unroll 1
    for (u32 i = 0; i < UNIT / 4; ++i) {
        u32 words[8] = {};
        if (unit.line < a.lines) {
#pragma unroll 1
            for (u32 j = 0; j < 4 && number < a.inner; ++j) {
                u64 x = a.src[number * a.inner_step + unit.line];
                if (a.prime) {
                    const Prime& p = *a.prime;
                    if (part) x = mul_mod(x, reduce_word(1ull << part * 8, p), p);
                    x = centered_word(x, p.q);
                }
                u64 digits = signed_digits(x);
#pragma unroll
                for (u32 d = 0; d < 8; ++d) words[d] |= ((u32)(digits >> d * 8) & 255) << j * 8;
                if (++part == a.parts) ++number, part = 0;
            }
        }
#pragma unroll
        for (u32 d = 0; d < 8; ++d) {
            if (d < a.digits) *reinterpret_cast<u32*>(out + d * UNIT + 4 * i) = words[d];
        }
    }
}

// Adds 128 times the sum of a part of each column modulo 2^32: what is missing from products with bytes of which 128 was subtracted.
KERNEL(matrix_sum_columns, MatrixPackArgs, PACK_THREADS, 1) {
    u64 column = (u64)blockIdx.x * PACK_THREADS + threadIdx.x, first = (u64)blockIdx.y * COLUMN_PART;
    if (column >= a.lines) return;
    u32 sum = 0;
    for (u64 k = first; k < min(first + COLUMN_PART, a.inner); ++k) sum += (u32)a.src[k * a.inner_step + column];
    atomicAdd(reinterpret_cast<u32*>(a.out) + 2 * column, sum << 7);
}

// Remainders of the numbers of either side, centred, by each modulus.
KERNEL(matrix_pack_remainders, MatrixPackArgs, PACK_THREADS, 1) {
    PackUnit unit(a, a.block_lines);
    if (!unit.is_within(a, a.block_lines)) return;
    const Prime& prime = *a.prime;
    const u64* numbers = a.src + unit.line * a.line_step;
    u64 x[UNIT];
#pragma unroll
    for (u32 i = 0; i < UNIT; ++i) {
        x[i] = unit.line < a.lines && unit.at + i < a.inner ? numbers[(unit.at + i) * a.inner_step] : 0;
    }
    for (u32 plane = 0; plane < a.count; ++plane) {
        u32 p = a.moduli[plane], factor = a.factors[plane], words[4] = {0, 0, 0, 0};
        u32 inverse = 0xffffffffu / p, high = (u32)(0x100000000ull % p), lift = (u32)((u64)p * p - prime.q % p);
#pragma unroll
        for (u32 i = 0; i < UNIT; ++i) {
            // Below 2^32: the upper half, which is below 2^29, by its remainder.
            u32 upper = (u32)(x[i] >> 32), lower = (u32)x[i];
            upper -= __umulhi(upper, inverse) * p;
            lower -= __umulhi(lower, inverse) * p;
            u32 r = upper * high + lower + (x[i] > prime.q / 2 ? lift : 0);
            r -= __umulhi(r, inverse) * p;
            r = min(r, r - p);
            r *= factor;
            r -= __umulhi(r, inverse) * p;
            r = min(r, r - p);
            r = min(r, r - p);
            if (r > 127) r -= p;
            words[i / 4] |= (r & 255) << i % 4 * 8;
        }
        *reinterpret_cast<uint4*>(a.out + plane * a.plane + unit.index * UNIT) = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

// Mirrored by `matrix::CombineArgs`.
struct MatrixCombineArgs {
    const byte_t* remainders; // [plane][row][pitch]
    u64 remainder_plane;
    u64* c;
    const Prime* prime;
    u64 minus_product;          // of all moduli, modulo the prime
    u64 weights[MOST_MODULI];   // products of all moduli but one
    u32 inverses[MOST_MODULI];  // round(2^20 / p)
    u32 rows, columns, pitch, count, add, unused;
};

// Numbers of least magnitude from their remainders, which were divided by the products of the other moduli, modulo a prime: four in a row.
KERNEL(matrix_combine, MatrixCombineArgs, PACK_THREADS, 1) {
    u64 index = (u64)blockIdx.x * PACK_THREADS + threadIdx.x;
    u32 quads = (a.columns + 3) / 4, row = (u32)(index / quads), column = (u32)(index % quads) * 4;
    if (row >= a.rows) return;
    const byte_t* from = a.remainders + (size_t)row * a.pitch + column;
    const Prime& p = *a.prime;
    bool is_low = p.q >> 32 == 0;
    // Below 2^45 each; multiples are in units of 2^-20, and within 2^-8 of an integer plus less than half.
    u64 low[4] = {}, high[4] = {};
    u32 multiple[4] = {};
#pragma unroll 2
    for (u32 plane = 0; plane < a.count; ++plane) {
        u32 packed = *reinterpret_cast<const u32*>(from + plane * a.remainder_plane);
        u32 weight_low = (u32)a.weights[plane], weight_high = (u32)(a.weights[plane] >> 32), inverse = a.inverses[plane];
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            u32 x = packed >> 8 * i & 255;
            low[i] += (u64)x * weight_low;
            if (!is_low) high[i] += (u64)x * weight_high;
            multiple[i] += x * inverse;
        }
    }
    bool is_short = p.q >> 51 == 0; // sums are below 2^64
    u64* to = a.c + (size_t)row * a.columns + column;
    u32 width = min(4u, a.columns - column);
    u64 results[4];
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        u64 times = (multiple[i] + (1u << 19)) >> 20, x;
        if (is_short) {
            x = reduce_word(low[i] + (high[i] << 32) + times * a.minus_product, p);
        } else {
            Wide sum = {low[i], 0};
            multiply_add(sum, high[i], 1ull << 32);
            multiply_add(sum, times, a.minus_product);
            x = reduce_wide(sum.low, sum.high, p);
        }
        results[i] = a.add && i < width ? add_mod(x, to[i], p.q) : x;
    }
    if (width == 4 && reinterpret_cast<size_t>(to) % 16 == 0) {
        reinterpret_cast<ulonglong2*>(to)[0] = make_ulonglong2(results[0], results[1]);
        reinterpret_cast<ulonglong2*>(to)[1] = make_ulonglong2(results[2], results[3]);
        return;
    }
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        if (i < width) to[i] = results[i];
    }
}
