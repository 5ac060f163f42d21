"""The lattice estimator, loaded from a clone of it, over Sage's modular wheels.

    from estimator_of import load
    estimator = load(path_of_the_clone)

https://github.com/malb/lattice-estimator imports its numbers from `sage.all`, the module of the
whole of Sage. `passagemath-symbolics` has everything of it that the estimator computes with, under
another name; only `line`, which draws, is missing.

Sage computes with pi, e and lists of real numbers as symbols and one by one, which takes most of the
estimator's time. `load(path)` replaces three things by faster ones of the same values: pi and e are
real numbers of 53 bits, as what they are multiplied by; the shape of a reduced basis (the geometric
series assumption) is an array; and so are the probabilities over it. `load(path, plain=True)`
replaces nothing, to compare.
"""

import importlib
import pathlib
import subprocess
import sys

# The state of the estimator that the results are of.
COMMIT = "27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5"


def load(clone, plain=False):
    """The package `estimator` of a clone at COMMIT."""
    clone = pathlib.Path(clone).resolve()
    command = ["git", "-C", str(clone), "rev-parse", "HEAD"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if found != COMMIT:
        raise SystemExit(f"{clone} is at {found}: git -C {clone} checkout {COMMIT}")
    sage = importlib.import_module("sage.all__sagemath_symbolics")
    sage.line = None
    if not plain:
        sage.pi, sage.e = sage.RR(sage.pi), sage.RR(sage.e)
    sys.modules["sage.all"] = sage
    sys.path.insert(0, str(clone))
    estimator = importlib.import_module("estimator")
    if not plain:
        _vectorise(estimator, sage.RR)
    return estimator


def _vectorise(estimator, RR):
    """Replaces the shape of a reduced basis, and what is computed of all of it, by arrays. They are
    of `longdouble`, whose exponents reach the squares of moduli of 3523 bits."""
    import numpy as np
    from scipy.special import betainc, erf

    from estimator import lwe_primal, simulator
    from estimator.reduction import delta

    def gsa(d, n, q, beta, xi=1, tau=1, dual=False):
        if tau:
            log_vol = float(RR(q).log(2)) * (d - n - 1) + float(RR(xi).log(2)) * n + float(RR(tau).log(2))
        else:
            log_vol = float(RR(q).log(2)) * (d - n) + float(RR(xi).log(2)) * n
        slope = float(RR(delta(beta)).log(2))
        steps = np.arange(d - 1, -d - 1, -2, dtype=np.longdouble)
        return np.exp2(2 * (steps * slope + np.longdouble(log_vol) / d))

    def real(x):
        mantissa, exponent = np.frexp(x)
        return RR(float(mantissa)) * RR(2) ** int(exponent)

    def babai(r, norm):
        ratio = np.minimum(r / np.longdouble(2 * float(norm)) ** 2, 1).astype(float)
        return real(np.prod((1 - betainc((len(r) - 1) / 2, 0.5, 1 - ratio)).astype(np.longdouble)))

    def mitm(r, stddev, fast=False):
        x = np.minimum(np.sqrt(r / 2) / np.longdouble(float(stddev)), 1e8).astype(float)
        terms = erf(x) + np.expm1(-x * x) / (x * np.sqrt(np.pi))
        return real(np.prod(terms.astype(np.longdouble)))

    simulator.GSA = lwe_primal.GSA = gsa
    lwe_primal.prob_babai = babai
    lwe_primal.mitm_babai_probability = mitm
