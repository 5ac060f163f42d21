#!/usr/bin/env python3
"""Compares Cargo.lock with the advisories of RustSec, without a network.

    tests/advisories.py                       check Cargo.lock against tests/data/advisories.txt
    tests/advisories.py --lock FILE           check the lock file of another workspace, sql/Cargo.lock
    tests/advisories.py --update REPOSITORY   write that list from a clone of
                                              https://github.com/rustsec/advisory-db

The list has one line per advisory: its name, the crate, its kind (a vulnerability, or unsound,
unmaintained or a notice), and the versions that are not affected, as in the database. Vulnerable
and unsound crates fail the check, unless `EXCEPTIONS` says why they may stay; crates that nobody
maintains are named.
"""

import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/data/advisories.txt"

# Advisories that do not apply, and why, by lock file. deny.toml has the same as the first, but for
# what is in no build.
QUICK_XML = {
    "RUSTSEC-2026-0194": "quick-xml reads what the operator's own object store answers (s3), by serde",
    "RUSTSEC-2026-0195": "quick-xml is used by object_store without its reader of namespaces",
}
EXCEPTIONS = {
    ROOT / "Cargo.lock": {
        "RUSTSEC-2023-0071": "rsa is a part of sqlx-mysql, which is in Cargo.lock and in no build",
        **QUICK_XML,
    },
    ROOT / "sql/Cargo.lock": QUICK_XML,
}


def parse(version):
    """A version as something that compares by the rules of SemVer."""
    core, _, rest = version.partition("+")[0].partition("-")
    numbers = [int(number) for number in core.split(".")]
    numbers += [0] * (3 - len(numbers))
    # A release comes after all of its pre-releases; numbers come before words.
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in rest.split(".") if part]
    return (numbers, not parts, parts)


def bump(version, at):
    """The first version that differs in the number at this place or before it."""
    numbers = parse(version)[0]
    return (numbers[:at] + [numbers[at] + 1] + [0] * (2 - at), False, [])


def matches_one(version, requirement):
    operator, wanted = re.fullmatch(r"(>=|<=|>|<|=|\^|~)?\s*v?(.+)", requirement.strip()).groups()
    wanted = wanted.replace(".*", "")
    found, bound = parse(version), parse(wanted)
    given = len(wanted.partition("-")[0].split("."))
    if operator == ">=":
        return found >= bound
    if operator == ">":
        return found > bound
    if operator == "<=":
        return found <= bound
    if operator == "<":
        return found < bound
    if operator == "=":
        return found == bound
    if operator == "~":
        return bound <= found < bump(wanted, min(given, 2) - 1)
    # A caret: the first number that is not 0 stays.
    numbers = bound[0]
    at = next((i for i, number in enumerate(numbers[:given]) if number), given - 1)
    return bound <= found < bump(wanted, at)


def matches(version, requirement):
    return all(matches_one(version, part) for part in requirement.split(",") if part.strip())


def update(repository):
    def git(*arguments):
        return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True).stdout

    def read(names):
        """The contents of many files, by one process."""
        queries = "".join(f"HEAD:{name}\n" for name in names).encode()
        batch = subprocess.run(
            ["git", "-C", repository, "cat-file", "--batch"], input=queries, check=True, capture_output=True
        )
        at = 0
        for name in names:
            end = batch.stdout.index(b"\n", at)
            size = int(batch.stdout[at:end].split()[2])
            yield name, batch.stdout[end + 1 : end + 1 + size].decode()
            at = end + 2 + size

    names = git("ls-tree", "-r", "--name-only", "HEAD", "crates").decode().split()
    lines = []
    for name, text in read([name for name in names if name.endswith(".md")]):
        toml = tomllib.loads(re.search(r"^```toml\n(.*?)^```", text, re.S | re.M).group(1))
        advisory, versions = toml["advisory"], toml.get("versions", {})
        if advisory.get("withdrawn"):
            continue
        fine = versions.get("patched", []) + versions.get("unaffected", [])
        kind = advisory.get("informational", "vulnerability")
        fine = " | ".join(requirement.replace(" ", "") for requirement in fine)
        lines.append(f"{advisory['id']} {advisory['package']} {kind} {fine}".rstrip())
    date = git("log", "-1", "--format=%cs").decode().strip()
    head = f"# RustSec advisory-db at {git('rev-parse', 'HEAD').decode().strip()} of {date}; advisories.py writes it.\n"
    LIST.write_text(head + "\n".join(sorted(lines)) + "\n")
    print(f"{len(lines)} advisories of {date}")


def check(lock=ROOT / "Cargo.lock"):
    head, *lines = LIST.read_text().splitlines()
    packages = tomllib.loads(pathlib.Path(lock).read_text())["package"]
    exceptions = EXCEPTIONS.get(pathlib.Path(lock).resolve(), {})
    versions = {}
    for package in packages:
        if "source" in package:
            versions.setdefault(package["name"], []).append(package["version"])
    bad, excepted = 0, set()
    for line in lines:
        name, crate, kind, *fine = line.split(" ", 3)
        for version in versions.get(crate, []):
            if any(matches(version, requirement) for requirement in (fine[0].split(" | ") if fine else [])):
                continue
            if name in exceptions:
                excepted.add(name)
                continue
            refused = kind in ("vulnerability", "unsound")
            bad += refused
            print(f"{'error' if refused else 'note'}: {crate} {version}: {name}, {kind}")
    for name in exceptions.keys() - excepted:
        bad += 1
        print(f"error: {name} is an exception, and concerns no dependency any more")
    count = sum(map(len, versions.values()))
    print(
        f"{count} dependencies, {len(lines)} advisories of {head.split()[6].rstrip(';')}, "
        f"{len(excepted)} exceptions: {bad} refused"
    )
    return bad == 0


def test():
    """The rules of versions, on examples."""
    for version, requirement, expected in [
        ("1.2.3", ">=1.2.3", True),
        ("1.2.3-rc.1", ">=1.2.3", False),
        ("1.2.3-rc.10", ">1.2.3-rc.9", True),
        ("1.4.0", "^1.2", True),
        ("2.0.0", "^1.2", False),
        ("0.3.9", "^0.3.2", True),
        ("0.4.0", "^0.3.2", False),
        ("0.0.4", "^0.0.3", False),
        ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False),
        ("1.5.0", ">=1.2, <1.5", False),
        ("1.4.9+build", ">=1.2, <1.5", True),
        ("0.10.0", "<0.9.9", False),
        ("1.0.0", "=1.0.0", True),
        ("1.9.0", "1.*", True),
    ]:
        assert matches(version, requirement) == expected, (version, requirement)


if __name__ == "__main__":
    test()
    if sys.argv[1:2] == ["--update"] and len(sys.argv) == 3:
        update(sys.argv[2])
    elif sys.argv[1:2] == ["--lock"] and len(sys.argv) == 3:
        sys.exit(0 if check(sys.argv[2]) else 1)
    elif len(sys.argv) == 1:
        sys.exit(0 if check() else 1)
    else:
        sys.exit(__doc__)
