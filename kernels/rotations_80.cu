// architecture: compute_80
#include "include/rotations.cuh"

ROTATION_KERNELS(rotation_sums_80)
