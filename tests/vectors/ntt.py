#!/usr/bin/env python3
"""Known answers of the number-theoretic transform (crates/he-core/src/ring/ntt.rs), by its definition.

Usage: python3 tests/vectors/ntt.py [--log-n 3] [Q ...]

For each prime q = 1 mod 2N: psi, the least x with x^N = -1 mod q, and the transform
A[i] = sum_k a[k] psi^((2 brv(i) + 1) k) mod q of a[k] = (k + 1)^20 mod q, brv reversing log2(N) bits. Without arguments it
prints the answers of `known_answers` in ntt.rs and in conformance/suite.rs, as Rust arrays.
"""

import argparse


def least_root(q, n):
    for g in range(2, q):
        x = pow(g, (q - 1) // (2 * n), q)
        if pow(x, n, q) == q - 1:
            return min(pow(x, odd, q) for odd in range(1, 2 * n, 2))


def reverse(i, bits):
    return int(format(i, f"0{bits}b")[::-1], 2)


def transform(a, q, psi, log_n):
    powers = [pow(psi, 2 * reverse(i, log_n) + 1, q) for i in range(len(a))]
    return [sum(c * pow(x, k, q) for k, c in enumerate(a)) % q for x in powers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log-n", type=int, default=3)
    # The ring of the known answers: its chain and its special prime.
    parser.add_argument("primes", nargs="*", type=int, default=[97, 1125899906842273, 2305843009213693921, 113])
    a = parser.parse_args()
    n = 2**a.log_n
    for q in a.primes:
        psi = least_root(q, n)
        values = transform([pow(k + 1, 20, q) for k in range(n)], q, psi, a.log_n)
        print(f"q = {q}, psi = {psi}:", values)


if __name__ == "__main__":
    main()
