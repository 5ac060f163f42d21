#!/bin/sh
# Builds the WebAssembly and fills web/dist: client/ (the npm package) and, if there is one, the
# page. The command wasm-bindgen of the version in Cargo.lock is installed if it is missing;
# wasm-opt is used if it is found.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)
if [ "$(wasm-bindgen --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
  # Not optimised, it is compiled in less than half the time, and takes two seconds more. A mirror of
  # the registry may lack versions of its lock file.
  cargo install wasm-bindgen-cli --version "$version" --debug --locked ||
    cargo install wasm-bindgen-cli --version "$version" --debug
fi
rustup target add wasm32-unknown-unknown 2>/dev/null || true
target=${CARGO_TARGET_DIR:-target}
RUSTFLAGS="-C target-feature=+simd128,+bulk-memory" \
  cargo build --locked -p he-wasm --lib --target wasm32-unknown-unknown --profile wasm

dist=web/dist
rm -rf "$dist"
mkdir -p "$dist/client"
wasm-bindgen --target web --no-typescript --out-dir "$dist/client" \
  "$target/wasm32-unknown-unknown/wasm/he_wasm.wasm"
if command -v wasm-opt >/dev/null; then
  wasm-opt -O3 --enable-simd --enable-bulk-memory --enable-nontrapping-float-to-int \
    --enable-sign-ext --enable-mutable-globals --enable-reference-types --enable-multivalue \
    -o "$dist/client/optimised.wasm" "$dist/client/he_wasm_bg.wasm"
  mv "$dist/client/optimised.wasm" "$dist/client/he_wasm_bg.wasm"
fi
cp web/client/client.js web/client/client.d.ts web/client/conceal.js web/client/worker.js \
  web/client/package.json web/client/README.md "$dist/client/"
if [ -d web/page ]; then
  mkdir -p "$dist/page"
  cp -R web/page/. "$dist/page/"
  if [ -f "$dist/page/index.html" ]; then mv "$dist/page/index.html" "$dist/"; fi
fi
# Sizes: as it is, and with gzip.
for file in "$dist"/client/he_wasm*; do
  printf '%s: %s bytes, %s with gzip\n' "$file" "$(wc -c <"$file")" "$(gzip -9 -c "$file" | wc -c)"
done
