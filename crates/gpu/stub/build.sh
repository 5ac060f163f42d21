#!/bin/sh
# Makes a folder that looks like a CUDA installation to the build scripts of cust_raw and cuda-driver-sys, with a driver library that
# has no functions. For `cargo check` and `cargo test --no-run` with the features cust and rustacuda; nothing runs with it.
#
#   eval "$(crates/gpu/stub/build.sh /tmp/cuda-stub)"
#   cargo test --no-run -p gpu --features cust,rustacuda
#
# What is built so runs on a machine with the driver by LD_PRELOAD=libcuda.so.1.
set -eu
folder=${1:?usage: build.sh FOLDER}
mkdir -p "$folder/include" "$folder/lib64/stubs"
folder=$(cd "$folder" && pwd)
: >"$folder/include/cuda.h"
echo 'int he_cuda_stub;' | ${CC:-cc} -shared -fPIC -Wl,-soname,libcuda.so.1 -x c -o "$folder/lib64/libcuda.so" -
cp "$folder/lib64/libcuda.so" "$folder/lib64/stubs/libcuda.so"
echo "export CUDA_PATH='$folder' CUDA_ROOT='$folder' CUDA_LIBRARY_PATH='$folder'"
echo "export RUSTFLAGS='${RUSTFLAGS:-} -C link-arg=-Wl,--unresolved-symbols=ignore-all'"
