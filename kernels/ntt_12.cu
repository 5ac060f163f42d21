// Transforms of degree 2^12: one block a row.
#include "include/ntt_single.cuh"
SINGLE_TILE_KERNELS(12, 3)
