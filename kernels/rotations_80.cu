// architecture: compute_80
#include "include/rotations.cuh"

ROTATION_KERNELS(rotation_sums_80)
ROTATION_PAIR_KERNELS(rotation_pair_sums_80)
