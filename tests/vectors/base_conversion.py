#!/usr/bin/env python3
"""Known answers of the exact base conversion (crates/he-core/src/ring/base_conversion.rs), from Python's integers.

Usage: python3 tests/vectors/base_conversion.py [--from D ...] [--to T ...]

The residues of x_k, D the product of the primes D, are carried to the primes T with x_k taken in [-D/2, D/2):
x_k = 0, 1, -1, floor(D/3), -floor(D/3), floor(D/7), 3^30 mod D, floor(2 D/5). Without arguments it prints the answers of
`known_answers` in conformance/suite.rs, as Rust arrays.
"""

import argparse
from math import prod


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # Chain primes 1 and 2 of the ring of the known answers, to its first chain prime and its special one.
    parser.add_argument("--from", dest="source", nargs="*", type=int, default=[1125899906842273, 2305843009213693921])
    parser.add_argument("--to", nargs="*", type=int, default=[97, 113])
    a = parser.parse_args()
    product = prod(a.source)
    inputs = [0, 1, -1, product // 3, -(product // 3), product // 7, 3**30 % product, 2 * product // 5]
    centred = [x % product - (product if x % product > product // 2 else 0) for x in inputs]
    for d in a.source:
        print(f"modulo {d}:", [x % d for x in centred])
    for t in a.to:
        print(f"carried to {t}:", [x % t for x in centred])


if __name__ == "__main__":
    main()
