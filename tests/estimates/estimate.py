#!/usr/bin/env python3
"""Estimates the security of every parameter set of the library with the lattice estimator.

    tests/estimates/estimate.py CLONE             estimate what results.json lacks, print the table
    tests/estimates/estimate.py CLONE --all       estimate everything anew
    tests/estimates/estimate.py CLONE --only TEXT what has this in its name
    tests/estimates/estimate.py CLONE --hybrids   the hybrid attacks on dense secrets as well (slow)
    tests/estimates/estimate.py CLONE --plain     with nothing of the estimator replaced (slow)
    tests/estimates/estimate.py --check           compare instances.json with results.json

CLONE is a clone of https://github.com/malb/lattice-estimator; README.md says how to install what it
needs. Results are saved after each instance, so that a run that was stopped goes on. The exit status
is 1 if an instance has less than the bits that it states.
"""

import argparse
import json
import math
import pathlib
import sys
import time

from estimator_of import COMMIT, load

HERE = pathlib.Path(__file__).resolve().parent
INSTANCES, RESULTS = HERE / "instances.json", HERE / "results.json"
MODELS = ["MATZOV", "BDGL16"]
HYBRIDS = ["bdd_hybrid", "bdd_mitm_hybrid"]


def attacks(instance, hybrids):
    """The names of the attacks on an instance; README.md has the reasons."""
    if instance["secret"]["kind"] == "sparse ternary":
        return ["usvp", "bdd", "dual", *HYBRIDS]
    return ["usvp", "bdd", "dual", "dual_hybrid", *(HYBRIDS if hybrids else [])]


class Estimator:
    """The estimator, and its parameters and attacks by the names of instances."""

    def __init__(self, clone, plain):
        load(clone, plain)
        from sage.all import RR, ZZ

        from estimator import LWE, ND, RC, lwe_primal

        self.real, self.integer, self.lwe, self.noise, self.costs = RR, ZZ, LWE, ND, RC
        self.hybrid = lwe_primal.PrimalHybrid
        self.reduced = self.hybrid.beta_params

    def parameters(self, instance):
        """The instance with any number of samples. The modulus is a real number: the estimator
        takes only its logarithm, and as an exact number it would be a symbol."""
        n, q = instance["dimension"], self.real(2) ** self.real(instance["log_q"])
        error, secret = instance["error"], instance["secret"]
        if error["kind"] == "centred binomial":
            errors = self.noise.CenteredBinomial(self.integer(error["coins"]))
        else:
            errors = self.noise.DiscreteGaussian(q * self.real(2) ** self.real(error["sigma_log2"]))
        if secret["kind"] == "sparse ternary":
            half = secret["weight"] // 2
            secrets = self.noise.SparseTernary(half, secret["weight"] - half, n=n)
        else:
            secrets = {"binary": self.noise.Binary, "ternary": self.noise.Ternary}[secret["kind"]]
        return self.lwe.Parameters(n=n, q=q, Xs=secrets, Xe=errors, tag=instance["name"])

    def share_reductions(self, rotations):
        """A sample's products with the n powers of X have the same mask, and products of the secret
        with them as secrets. An attack that needs more than n trials may make n of them, with the
        guesses of each, after one reduction of the lattice, whose cost is therefore divided by n."""
        reduced = self.reduced

        def shared(zeta=0, **others):
            found = dict(reduced(zeta=zeta, **others))
            if zeta > 0:
                found["bkz_cost"] = {"rop": found["bkz_cost"]["rop"] / rotations}
            return found

        self.hybrid.beta_params = staticmethod(shared)

    def bits(self, instance, attack, model):
        """log2 of the operations of an attack; infinite if it never succeeds."""
        parameters, cost = self.parameters(instance), getattr(self.costs, model)
        sparse = instance["secret"]["kind"] == "sparse ternary"
        rotations = instance["dimension"] if sparse and instance["ring"] else 1
        self.share_reductions(rotations)
        shape = {"red_cost_model": cost, "red_shape_model": "gsa"}
        hybrid = self.lwe.primal_hybrid
        found = {
            "usvp": lambda: self.lwe.primal_usvp(parameters, **shape),
            "bdd": lambda: self.lwe.primal_bdd(parameters, **shape),
            "dual": lambda: self.lwe.dual(parameters, red_cost_model=cost),
            "dual_hybrid": lambda: self.lwe.dual_hybrid(parameters, red_cost_model=cost),
            "bdd_hybrid": lambda: hybrid(parameters, mitm=False, babai=False, **shape),
            "bdd_mitm_hybrid": lambda: hybrid(parameters, mitm=True, babai=True, **shape),
        }[attack]()
        if rotations > 1 and found.get("zeta", 0) > 0 and found["prob"] * rotations > 1:
            raise ValueError(f"{instance['name']}: {attack} needs fewer than {rotations} trials")
        return float(self.real(found["rop"]).log(2))


def least(result, model):
    """The bits of the cheapest attack, and its name."""
    return min((bits, attack) for attack, bits in result["bits"][model].items() if bits is not None)


def table(results):
    """Markdown: an instance per row, with the bits of the cheapest attack by each model."""
    rows = ["| instance | n | log2 q | secret | states | " + " | ".join(MODELS) + " | cheapest |"]
    rows.append("|---|---|---|---|---|" + "---|" * len(MODELS) + "---|")
    for result in results:
        instance, secret = result["instance"], result["instance"]["secret"]
        kind = f"h = {secret['weight']}" if "weight" in secret else secret["kind"]
        states = instance["bits"] or "insecure"
        found = [least(result, model) for model in MODELS]
        bits = " | ".join(f"{bits:.1f}" for bits, _ in found)
        n, log_q = instance["dimension"], f"{instance['log_q']:.1f}".removesuffix(".0")
        rows.append(f"| {instance['name']} | {n} | {log_q} | {kind} | {states} | {bits} | {found[0][1]} |")
    return "\n".join(rows)


def failures(instances, results):
    """What instances lack: results, or bits. Bits count to two decimals, as they are committed."""
    found = {result["instance"]["name"]: result for result in results}
    for instance in instances:
        name = instance["name"]
        if name not in found or found[name]["instance"] != instance:
            yield f"{name}: not estimated"
            continue
        for model in MODELS:
            bits, attack = least(found[name], model)
            if bits < instance["bits"]:
                yield f"{name}: {bits:.2f} bits by {attack} ({model}), and it states {instance['bits']}"


def problem(instance):
    """What an attack sees of an instance."""
    return {key: value for key, value in instance.items() if key not in ("name", "bits")}


def run(args, instances, results):
    """Estimates what is missing, and saves after each instance."""
    done = {} if args.all else {result["instance"]["name"]: result for result in results}
    estimator = Estimator(args.clone, args.plain)
    for instance in instances:
        name, began = instance["name"], time.process_time()
        if args.only is not None and args.only not in name:
            continue
        if name not in done or done[name]["instance"] != instance:
            done[name] = {"instance": instance, "bits": {model: {} for model in MODELS}}
        bits = done[name]["bits"]
        for other in done.values():
            if problem(other["instance"]) == problem(instance):
                for model in MODELS:
                    bits[model].update(other["bits"][model])
        asked = [(model, attack) for model in MODELS for attack in attacks(instance, args.hybrids)]
        asked = [(model, attack) for model, attack in asked if attack not in bits[model]]
        for model, attack in asked:
            found = estimator.bits(instance, attack, model)
            bits[model][attack] = round(found, 2) if math.isfinite(found) else None
        if asked:
            seconds, found = time.process_time() - began, least(done[name], MODELS[0])
            print(f"{name}: {found}, {seconds:.1f} s", file=sys.stderr, flush=True)
        if not args.plain:
            save([done[i["name"]] for i in instances if i["name"] in done])
    return [done[i["name"]] for i in instances if i["name"] in done]


def save(results):
    """One result per line, which can be compared by line."""
    lines = ",\n".join("    " + json.dumps(result) for result in results)
    models = json.dumps({"commit": COMMIT, "shape": "GSA", "models": MODELS})[1:-1]
    RESULTS.write_text(f'{{\n  {models},\n  "results": [\n{lines}\n  ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description="Security estimates of all parameter sets.")
    parser.add_argument("clone", nargs="?", help="a clone of the lattice estimator")
    parser.add_argument("--all", action="store_true", help="estimate everything anew")
    parser.add_argument("--only", metavar="TEXT", help="estimate what has this in its name")
    parser.add_argument("--hybrids", action="store_true", help="hybrid attacks on dense secrets")
    parser.add_argument("--plain", action="store_true", help="replace nothing; results are not saved")
    parser.add_argument("--check", action="store_true", help="estimate nothing")
    args = parser.parse_args()
    if not args.clone and not args.check:
        parser.error("give a clone of the lattice estimator, or --check")
    instances = json.loads(INSTANCES.read_text())
    results = json.loads(RESULTS.read_text())["results"] if RESULTS.exists() else []
    if not args.check:
        results = run(args, instances, results)
    print(table(results))
    failed = list(failures(instances, results))
    print("\n".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
