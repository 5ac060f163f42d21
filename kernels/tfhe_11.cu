// Blind rotations of degree 2^11: digits, and phases by two levels.
#include "include/tfhe_bundle.cuh"
#include "include/tfhe_rotate.cuh"

KERNEL(tfhe11_rotate_one, RotateArgs, 256, 1) { tfhe_rotate_one<10, 3, 2, 1>(a); }
KERNEL(tfhe11_rotate_one_l2, RotateArgs, 256, 1) { tfhe_rotate_one<10, 3, 2, 2>(a); }
KERNEL(tfhe11_rotate_bundles, RotateArgs, 256, 1) { tfhe_rotate_bundles<10, 3, 2, 1>(a); }
KERNEL(tfhe11_rotate_bundles_l2, RotateArgs, 256, 1) { tfhe_rotate_bundles<10, 3, 2, 2>(a); }
