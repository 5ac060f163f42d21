// Blind rotations of degree 2^11: digits.
#include "include/tfhe_rotate.cuh"

KERNEL(tfhe11_rotate_one, RotateArgs, 512, 1) { tfhe_rotate_one<10>(a); }
KERNEL(tfhe11_rotate_group, RotateArgs, 384, 1) { tfhe_rotate_group<10, 2, 3, 3>(a); }
