#!/bin/sh
# Builds he-suite in the repository that the variable HE names, and links the stages of the workload
# to it. Called by the harness in the root of its repository.
set -e
: "${HE:?names the root of the repository of he-suite}"
cargo build --release --locked --manifest-path "$HE/Cargo.toml" -p he-suite
programs=submission/target/release
mkdir -p "$programs"
echo transciphering > "$programs/workload"
for stage in client_preprocess client_key_generation client_encode_encrypt \
    server_preprocess_dataset server_encrypted_aes_decryption server_encrypted_compute \
    client_decrypt_decode_aes_decryption client_postprocess_aes_decryption client_decrypt_decode \
    client_postprocess; do
    ln -sf "${CARGO_TARGET_DIR:-$HE/target}/release/he-suite" "$programs/$stage"
done
