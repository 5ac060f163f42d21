#!/usr/bin/env python3
"""Searches parameters of TFHE: the least errors for 128 bits, and with them the least work.

    tests/estimates/tfhe.py line CLONE     the least log2 of the deviation of errors for 128 bits with
                                           a binary secret, at dimensions from 450 to 2048, and how
                                           far the line below is above it
    tests/estimates/tfhe.py search         the sets of least work whose failures are rare enough, of
                                           each shape of GLWE, with errors on that line
    tests/estimates/tfhe.py multibit       how rarely lookups fail by multi-bit keys of each group, by
                                           decomposition and dimension

The line is `least_sigma_log2` of crates/he-core/src/tfhe/params.rs, and the variances are those of
crates/he-core/src/tfhe/noise.rs, written here again. Work is counted in operations on numbers, with
the weights that a measurement of both parts of a bootstrap gives them (docs/benchmarks.md, "TFHE,
smaller dimensions").
"""

import argparse
import math
import sys

# The line of the library: log2 of the deviation at a dimension, and the slope.
AT, SIGMA, SLOPE = 620, -13.29, -0.02568
LEAST_DIMENSION = 450

# The sum of squared coefficients and the margin of the worst lookup: GATE_LOOKUP and DIGIT_LOOKUP.
LOOKUPS = {"gates": (6, 1 / 8), "digits": (85, 1 / 64)}

# Nanoseconds per floating-point operation of a blind rotation, and per product of a key switch, on
# a quiet machine.
ROTATION_NS, SWITCH_NS = 0.062, 0.069


def line(dimension):
    """log2 of the least deviation that the library accepts."""
    return SIGMA + SLOPE * (min(dimension, 2048) - AT)


def digit_square(base_log):
    return (4**base_log + 2) / 12


def rounding(base_log, levels):
    return 4.0 ** -(base_log * levels) / 12


def variance(n, k, log_degree, bootstrap, switch, norm, group=1):
    """The variance at a lookup, by a key of so many bits in a group."""
    degree, rows = 1 << log_degree, (k + 1) * bootstrap[1]
    glwe, lwe = 4 ** line(k * degree), 4 ** line(n)
    products, errors, rounded, steps = (n, 1, 0.5, 0) if group == 1 else (n / group, 2**group, 1, group)
    eps = (21 * (log_degree - 1) + 10 + 7 * steps) / 2**53
    digits = rows * degree * digit_square(bootstrap[0])
    rotation = products * (errors * digits * glwe + rounded * rounding(*bootstrap) * (1 + k * degree / 2))
    transform = products * errors * digits / 12 * eps * eps
    key_switch = k * degree * (switch[1] * digit_square(switch[0]) * lwe + 0.5 * rounding(*switch))
    modulus_switch = (n / 4 + 1) / 12 / (2 * degree) ** 2
    return norm * max(rotation + transform, glwe) + key_switch + modulus_switch


def failure_log2(variance, margin):
    """log2 of an upper bound on the probability that a Gaussian error reaches the margin."""
    x = margin / math.sqrt(2 * variance)
    if x <= 1:
        return math.log2(math.erfc(x))
    return (-x * x - math.log(x * math.sqrt(math.pi))) / math.log(2)


def milliseconds(n, k, log_degree, bootstrap, switch):
    """The work of a bootstrap: transforms and products of a blind rotation, and the key switch."""
    half, levels = 1 << (log_degree - 1), bootstrap[1]
    transforms = (k + 1) * (levels + 1) * 5 * half * (log_degree - 1)
    products = (k + 1) ** 2 * levels * 8 * half
    switched = (k << log_degree) * switch[1] * (n + 1)
    return (n * (transforms + products) * ROTATION_NS + switched * SWITCH_NS) / 1e6


def least_dimension(shape, bootstrap, switch, lookup, goal):
    """The least n whose lookups fail as rarely as the goal. The errors of the key switch fall fast
    with n and everything else grows slowly: the sets that serve are a wide interval, of which steps
    of 16 miss nothing."""
    norm, margin = LOOKUPS[lookup]

    def serves(n):
        return failure_log2(variance(n, *shape, bootstrap, switch, norm), margin) <= goal

    found = next(filter(serves, range(LEAST_DIMENSION, 1100, 16)), None)
    return found and next(filter(serves, range(max(found - 15, LEAST_DIMENSION), found + 1)))


def search(lookup, goal):
    """The set of least work for each shape of GLWE and each number of levels of key switching."""
    for k, log_degree in [(2, 9), (3, 9), (4, 9), (6, 8), (8, 8), (1, 10), (2, 10), (3, 10), (1, 11)]:
        for switch_levels in range(2, 9):
            found = []
            for levels in (1, 2):
                for base in range(16 // levels, 28):
                    for switch_base in range(1, 7):
                        shape, switch = (k, log_degree), (switch_base, switch_levels)
                        if base * levels > 52 or switch_base * switch_levels > 20:
                            continue
                        n = least_dimension(shape, (base, levels), switch, lookup, goal)
                        if n is not None:
                            set_ = (n, k, log_degree, (base, levels), switch)
                            norm, margin = LOOKUPS[lookup]
                            rarely = failure_log2(variance(*set_, norm), margin)
                            found.append((milliseconds(*set_), rarely, set_))
            if found:
                yield min(found)


def bits(estimator, n, sigma_log2, log_q):
    """Of the attacks that are the cheapest on binary secrets of these dimensions."""
    instance = {"name": "", "dimension": n, "log_q": log_q, "ring": False, "secret": {"kind": "binary"},
                "error": {"kind": "gaussian", "sigma_log2": sigma_log2}}
    return min(estimator.bits(instance, attack, "MATZOV") for attack in ("dual_hybrid", "bdd", "usvp"))


def least_sigma(estimator, n, log_q):
    """By bisection, to a hundredth, from above: 128 bits hold at the result."""
    low, high = line(n) - 2.0, line(n) + 2.0
    while high - low > 0.01:
        middle = (low + high) / 2
        if bits(estimator, n, middle, log_q) >= 128:
            high = middle
        else:
            low = middle
    return high


def print_line(clone):
    from estimate import Estimator

    estimator = Estimator(clone, False)
    print("| n | least log2 of the deviation | line | bits on the line |\n|---|---|---|---|")
    for n in [450, 500, 600, 700, 800, 900, 1000, 1280, 1536, 1792, 2048]:
        log_q = 64 if n > 1000 else 32
        least, found = least_sigma(estimator, n, log_q), bits(estimator, n, line(n), log_q)
        print(f"| {n} | {least:.2f} | {line(n):.2f} | {found:.2f} |", flush=True)


def print_search():
    for lookup, goal in [("gates", -128), ("gates", -40), ("digits", -128), ("digits", -40)]:
        print(f"{lookup}, failures below 2^{goal}")
        print("| work | failure | n | k | N | bootstrapping | key switching |\n|---|---|---|---|---|---|---|")
        for work, rarely, (n, k, log_degree, bootstrap, switch) in sorted(search(lookup, goal))[:12]:
            rest = f"{k} | {1 << log_degree} | {bootstrap} | {switch} |"
            print(f"| {work:.2f} ms | 2^{rarely:.1f} | {n} | {rest}", flush=True)


def print_multibit():
    """The least dimension of a whole number of groups for each decomposition, near the presets'."""
    for lookup, goal, shape, switch in [
        ("gates", -128, (3, 9), (4, 3)),
        ("gates", -40, (3, 9), (4, 3)),
        ("digits", -128, (1, 11), (3, 6)),
        ("digits", -40, (2, 10), (3, 5)),
    ]:
        norm, margin = LOOKUPS[lookup]
        print(f"{lookup}, failures below 2^{goal}, k = {shape[0]}, N = {1 << shape[1]}, switching {switch}")
        print("| n | bootstrapping | groups of 1 | 2 | 3 | 4 bits |\n|---|---|---|---|---|---|")
        for base in range(16, 25):
            for n in range(452, 1000, 4):
                variances = [variance(n, *shape, (base, 1), switch, norm, group) for group in (1, 2, 3, 4)]
                found = [failure_log2(variance, margin) for variance in variances]
                if max(found) <= goal:
                    columns = " | ".join(f"2^{log2:.1f}" for log2 in found)
                    print(f"| {n} | ({base}, 1) | {columns} |")
                    break


def main():
    parser = argparse.ArgumentParser(description="Search parameters of TFHE.")
    parser.add_argument("what", choices=["line", "search", "multibit"])
    parser.add_argument("clone", nargs="?", help="a clone of the lattice estimator, for the line")
    args = parser.parse_args()
    if args.what == "search":
        print_search()
    elif args.what == "multibit":
        print_multibit()
    elif args.clone is None:
        parser.error("give a clone of the lattice estimator")
    else:
        print_line(args.clone)


if __name__ == "__main__":
    sys.exit(main())
