#!/bin/sh
# Builds he-suite in the repository that the variable HE names, and links the stages of the workload
# to it. Called by the harness in the root of its repository. It also takes the place of
# scripts/get_openfhe.sh, as a copy that is called without arguments and does nothing.
set -e
[ "$#" -gt 0 ] || exit 0
: "${HE:?names the root of the repository of he-suite}"
cargo build --release --locked --manifest-path "$HE/Cargo.toml" -p he-suite
programs=submission/build
mkdir -p "$programs"
echo ml-inference > "$programs/workload"
for stage in client_key_generation server_preprocess_model client_preprocess_input \
    client_encode_encrypt_input server_encrypted_compute client_decrypt_decode client_postprocess; do
    ln -sf "${CARGO_TARGET_DIR:-$HE/target}/release/he-suite" "$programs/$stage"
done
