#!/usr/bin/env python3
"""Known answers of the samplers (crates/he-core/src/ring/sampler.rs), from a ChaCha20 written here.

Usage: python3 tests/vectors/sampler.py [--byte 7] [--index 9] [--first 0] [--uniform-count 8] [--count 24]
                                        [--prime INDEX:Q ...]

The seed is 32 times the byte. `--prime` names a prime's index in its ring and its value. Without arguments it prints the
answers of `known_first_words` in sampler.rs and of `known_answers` in conformance/suite.rs, as Rust arrays.

ChaCha20 is djb's variant: 20 rounds, 64-bit block counter, 64-bit stream number, both little-endian in words 12..16. Checked
against the vector of RFC 8439, appendix A.1, number 1, whose two variants agree (all zero). Element e of a row takes bytes
[e w, (e + 1) w) of the stream `kind << 56 | prime << 40 | index`:
  uniform (kind 1, w = 16): little-endian number mod q
  ternary (kind 2, prime 0, w = 8): floor(3 x / 2^64) - 1
  error   (kind 3, prime 0, w = 8): popcount(x mod 2^21) - popcount(floor(x / 2^21) mod 2^21)
"""

import argparse
import struct

MASK32 = 0xFFFFFFFF


def quarter(x, a, b, c, d):
    for first, second, rotation, target in ((a, b, 16, d), (c, d, 12, b), (a, b, 8, d), (c, d, 7, b)):
        x[first] = (x[first] + x[second]) & MASK32
        word = x[target] ^ x[first]
        x[target] = ((word << rotation) | (word >> (32 - rotation))) & MASK32


def block(seed, stream, counter):
    state = list(struct.unpack("<4I", b"expand 32-byte k")) + list(struct.unpack("<8I", seed))
    state += [counter & MASK32, counter >> 32, stream & MASK32, stream >> 32]
    x = state.copy()
    for _ in range(10):
        for column in range(4):
            quarter(x, column, 4 + column, 8 + column, 12 + column)
        for i in range(4):
            quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *[(a + b) & MASK32 for a, b in zip(x, state)])


def elements(seed, kind, prime, index, width, first, count):
    stream = kind << 56 | prime << 40 | index
    start, end = first * width, (first + count) * width
    blocks = b"".join(block(seed, stream, i) for i in range(start // 64, (end + 63) // 64))
    skipped = start // 64 * 64
    return [int.from_bytes(blocks[at - skipped : at - skipped + width], "little") for at in range(start, end, width)]


def uniform(seed, index, prime, q, first, count):
    return [x % q for x in elements(seed, 1, prime, index, 16, first, count)]


def ternary(seed, index, first, count):
    return [(3 * x >> 64) - 1 for x in elements(seed, 2, 0, index, 8, first, count)]


def error(seed, index, first, count):
    ones = lambda x: bin(x % 2**21).count("1")
    return [ones(x) - ones(x >> 21) for x in elements(seed, 3, 0, index, 8, first, count)]


def main():
    zero = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    assert block(bytes(32), 0, 0).hex().startswith(zero), "ChaCha20 is broken"

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byte", type=int, default=7)
    parser.add_argument("--index", type=int, default=9)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--uniform-count", type=int, default=8)
    parser.add_argument("--count", type=int, default=24)
    # The prime of sampler.rs, then those of the ring of the known answers: its chain and its special prime.
    primes = ["1:1152921504606830593", "0:97", "1:1125899906842273", "2:2305843009213693921", "3:113"]
    parser.add_argument("--prime", nargs="*", default=primes)
    a = parser.parse_args()
    seed = bytes([a.byte] * 32)
    print(f"seed 32 x {a.byte}, index {a.index}, first element {a.first}")
    for prime in a.prime:
        i, q = map(int, prime.split(":"))
        print(f"uniform, prime {i} = {q}:", uniform(seed, a.index, i, q, a.first, a.uniform_count))
    print("ternary:", ternary(seed, a.index, a.first, a.count))
    print("error:", error(seed, a.index, a.first, a.count))


if __name__ == "__main__":
    main()
