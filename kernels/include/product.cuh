// Inner products of the digits of a key switch with a key.
#pragma once
#include "conversion.cuh"
#include "key.cuh"

// Inner products of digits with both parts of a key, plus P times a polynomial over the chain; mirrored by
// `key_switch::ProductArgs`.
struct ProductArgs {
    Grid grid;
    const u64* digits;
    size_t digit_words;
    const u64* own;    // evaluation form of what was decomposed, read for a digit's own limbs; none if the digits hold them
    const u64* key;
    size_t key_words;  // of one part of one digit
    u32 key_chain;     // chain limbs of the key
    u32 count;         // digits
    u32 key_packed, pad;
    const u64* addend[2]; // over the chain, or none
    u64* sums[2];
    u64 special[64];      // P modulo each chain prime
    unsigned char digit_of[64]; // of each chain limb
};
