#!/usr/bin/env bash
# Writes the software bill of materials of he-cli, with all its features, for this target, as
# CycloneDX 1.5 in JSON. Needs python3.
#
#   tests/sbom.sh [FILE]                     he-cli.cdx.json, unless named
#
# The same commit gives the same bytes wherever it lies.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-he-cli.cdx.json}")
command -v cargo-cyclonedx >/dev/null || cargo install cargo-cyclonedx --locked --quiet
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# It writes one file beside the manifest of each member; the program's is the one that is asked for.
trap 'find . -name he-cli-sbom.json -not -path "./target/*" -delete' EXIT
cargo cyclonedx --manifest-path crates/he-cli/Cargo.toml --all-features --format json --spec-version 1.5 --override-filename he-cli-sbom
built=$(cargo tree --locked -p he-cli --all-features --edges normal,build --prefix none --format '{p}')
python3 - crates/he-cli/he-cli-sbom.json "$out" "$built" <<'END'
import json, os, pathlib, sys

source, out, built = sys.argv[1:]
# Names of local packages hold where they lie.
text = pathlib.Path(source).read_text().replace("file://" + os.getcwd(), "file://")
bom = json.loads(text)
# It also lists what Cargo.lock names and no build takes: cargo tree knows what is built.
wanted = {tuple(line.replace(" v", " ", 1).split()[:2]) for line in built.splitlines() if line}
listed = {(part["name"], part["version"]) for part in bom["components"]}
missing = wanted - listed - {("he-cli", bom["metadata"]["component"]["version"])}
assert not missing, f"built, and not listed: {sorted(missing)}"
bom["components"] = [part for part in bom["components"] if (part["name"], part["version"]) in wanted]
names = {part["bom-ref"] for part in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
bom["dependencies"] = [edge for edge in bom["dependencies"] if edge["ref"] in names]
for edge in bom["dependencies"]:
    edge["dependsOn"] = [name for name in edge.get("dependsOn", []) if name in names]
text = json.dumps(bom, indent=2) + "\n"
for place in (os.getcwd(), os.path.expanduser("~")):
    assert place + "/" not in text, f"the paths of {place} are in the file"
pathlib.Path(out).write_text(text)
print(f"{len(bom['components'])} components")
END
