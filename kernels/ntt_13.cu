// Transforms of degree 2^13: one block a row.
#include "include/ntt_single.cuh"
SINGLE_TILE_KERNELS(13, 1)
