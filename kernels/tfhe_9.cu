// Blind rotations of degree 2^9: gates.
#include "include/tfhe_bundle.cuh"
#include "include/tfhe_rotate.cuh"

KERNEL(tfhe9_rotate_one, RotateArgs, 384, 1) { tfhe_rotate_gate<8, 3, 4>(a); }
KERNEL(tfhe9_rotate_one_k1, RotateArgs, 320, 1) { tfhe_rotate_gate<8, 3, 2>(a); }
KERNEL(tfhe9_rotate_group, RotateArgs, 128, 3) { tfhe_rotate_group<8, 4, 2>(a); }
KERNEL(tfhe9_rotate_bundles, RotateArgs, 256, 1) { tfhe_rotate_bundles<8, 2, 4, 1>(a); }
