// Blind rotations of degree 2^10: digits, and the gates of 2018.
#include "include/tfhe_bundle.cuh"
#include "include/tfhe_rotate.cuh"

KERNEL(tfhe10_rotate_one, RotateArgs, 192, 1) { tfhe_rotate_one<9, 3, 3, 1>(a); }
KERNEL(tfhe10_rotate_one_k1_l3, RotateArgs, 128, 1) { tfhe_rotate_one<9, 3, 2, 3>(a); }
KERNEL(tfhe10_rotate_group, RotateArgs, 192, 2) { tfhe_rotate_group<9, 3, 2>(a); }
KERNEL(tfhe10_rotate_bundles, RotateArgs, 192, 1) { tfhe_rotate_bundles<9, 3, 3, 1>(a); }
