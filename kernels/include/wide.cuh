// Numbers modulo powers of two in planes of words, [word][batch][coefficient], the least word first (he_core::backend::WideOps). A
// thread has a coefficient, takes its words in order and keeps carries in registers.
#pragma once
#include "modular.cuh"

constexpr u32 WIDE_THREADS = 128;
constexpr u32 WIDE_GROUP = 4; // words or limbs that a thread has under way together

// Rows of numbers modulo 2^bits: ceil(bits / 64) words; `top_mask` are the bits of the highest that belong to them. Mirrored by
// `wide::Shape`.
struct WideShape {
    u32 log_n, batch, words, bits;
    u64 top_mask;
};

HE_HD size_t plane_of(const WideShape& s) { return (size_t)s.batch << s.log_n; }

// The coefficient of a thread among those of all batch entries, and whether there is one.
HE_D bool coefficient_of(const WideShape& s, u32& i) {
    i = blockIdx.x * WIDE_THREADS + threadIdx.x;
    return i < plane_of(s);
}

// The place of coefficient i in a plane of an operand with as many batch entries, or with one for all.
HE_HD u32 place_in(const WideShape& s, u32 batch, u32 i) { return batch == 1 ? i & ((1u << s.log_n) - 1) : i; }

HE_HD u64 add_carry(u64 x, u64 y, u64& carry) {
    u64 sum = x + y;
    u64 over = sum < x;
    sum += carry;
    carry = over + (sum < carry);
    return sum;
}

// Sums of products of numbers below 2^50 with words, in parts of 25 and of 32 bits: a product of parts is below 2^57, so that 128 of
// them add up in 64 bits, each by one instruction.
constexpr u32 PART_BITS = 25;

struct PartSum {
    u64 part[4];

    HE_HD void add(u32 low, u32 high, u64 word) {
        u32 first = (u32)word, second = (u32)(word >> 32);
        part[0] += (u64)low * first;
        part[1] += (u64)high * first;
        part[2] += (u64)low * second;
        part[3] += (u64)high * second;
    }
    HE_HD Wide total() const {
        Wide sum{part[0], 0};
        add_shifted(sum, part[1], PART_BITS);
        add_shifted(sum, part[2], 32);
        add_shifted(sum, part[3], PART_BITS + 32);
        return sum;
    }

  private:
    HE_HD static void add_shifted(Wide& sum, u64 x, u32 by) {
        u64 low = x << by;
        sum.low += low;
        sum.high += (x >> (64 - by)) + (sum.low < low);
    }
};

HE_HD u32 low_part(u64 x) { return (u32)x & ((1u << PART_BITS) - 1); }
HE_HD u32 high_part(u64 x) { return (u32)(x >> PART_BITS); }

// A bit field of words that come one after the other from the least on: word j of (number >> shift) is complete when word
// skip + j + 1 is there.
struct Shift {
    u32 skip, bits;
    u64 previous;

    HE_HD explicit Shift(u32 shift) : skip(shift / 64), bits(shift % 64), previous(0) {}
    // Whether word w completes one, which is `word`: that with index w - 1 - skip.
    HE_HD bool take(u32 w, u64 x, u64& word) {
        word = previous >> bits | x << 1 << (63 - bits);
        previous = x;
        return w > skip;
    }
};

// Stores floor(number / 2^shift + 1/2), and what is added to it, from the words of the number.
struct RoundedStore {
    Shift shift;
    u32 half; // the highest bit that is cut off, or none
    u64 carry;
    u64* dst;
    const u64* addend; // or none
    size_t plane;
    u32 words;
    u64 top_mask;

    HE_HD RoundedStore(const WideShape& to, u32 by, u64* dst, const u64* addend)
        : shift(by), half(by - 1), carry(0), dst(dst), addend(addend), plane(plane_of(to)), words(to.words), top_mask(to.top_mask) {}

    HE_HD void take(u32 w, u64 x) {
        // floor(x / 2^s + 1/2) = floor(x / 2^s) + the highest bit cut off.
        if (w == half / 64) carry = x >> (half % 64) & 1;
        u64 word;
        if (shift.take(w, x, word)) put(w - 1 - shift.skip, word);
    }
    // Behind `count` words.
    HE_HD void finish(u32 count) { take(count, 0); }

  private:
    HE_HD void put(u32 j, u64 word) {
        if (j >= words) return;
        u64 sum = add_carry(word, addend == nullptr ? 0 : addend[j * plane], carry);
        dst[j * plane] = j + 1 == words ? sum & top_mask : sum;
    }
};
