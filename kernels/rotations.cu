// Where copies are not asynchronous.
#include "include/rotations.cuh"

ROTATION_KERNELS(rotation_sums)
