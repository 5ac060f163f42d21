#!/usr/bin/env bash
# The page and the service together: a browser drives the page that a real he-cli serve delivers, and
# programs ask the service. Everything that is installed goes to target/web, but for the browser and
# its driver, which are packages of the system.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
work="$target/web"
venv="$work/venv"
python="${PYTHON:-python3}"
mkdir -p "$work"

fail() { echo "web/ci.sh: $*" >&2; exit 1; }

# The system's packages, where they are missing.
need=()
command -v "${CHROMIUM:-chromium}" >/dev/null || need+=(chromium)
command -v chromedriver >/dev/null || need+=(chromium-driver)
"$python" -c 'import ensurepip, venv' 2>/dev/null || need+=(python3 python3-venv)
if [ "${#need[@]}" -gt 0 ]; then
    command -v apt-get >/dev/null || fail "${need[*]} are missing: install them (Debian's names)"
    apt-get update -qq || fail "cannot update the list of packages: install ${need[*]} by hand"
    apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null ||
        fail "cannot install ${need[*]}: install them by hand (as root)"
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r web/tests/requirements.txt ||
    fail "cannot install the packages of web/tests/requirements.txt"

# Rules of accessibility. Without npm, only the page's own checks of it run.
if [ ! -f "$work/axe.min.js" ] && command -v npm >/dev/null; then
    if (cd "$work" && npm pack --silent axe-core@4 >/dev/null && tar -xzf axe-core-4*.tgz package/axe.min.js); then
        mv "$work/package/axe.min.js" "$work/axe.min.js"
    else
        echo "web/ci.sh: axe-core cannot be had from npm, and its rules are not checked" >&2
    fi
fi

# HE_WEB_BUILT says that web/dist is there: building it again would build the service again.
[ -n "${HE_WEB_BUILT:-}" ] || web/build.sh
# The client of browsers on the WebAssembly that was built.
if command -v npm >/dev/null; then
    (cd web/client && npm test --silent)
else
    echo "web/ci.sh: npm is missing, and the client is tested in the browser alone" >&2
fi

# The commands that ask the service, and the service itself, unless HE_CLI says where it is built.
if [ -z "${HE_CLI:-}" ]; then
    # The default members, as the tests of the workspace build them.
    cargo test --locked --features he-cli/server,he-cli/client --test cli -- remote surface
    cargo build --locked --bin he-cli --features he-cli/server,he-cli/client
    export HE_CLI="$target/debug/he-cli"
fi
HE_WEB_WORK="$work" "$venv/bin/python" -m pytest -q -p no:cacheprovider web/tests "$@"
