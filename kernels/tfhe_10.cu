// Blind rotations of degree 2^10: digits.
#include "include/tfhe_rotate.cuh"

KERNEL(tfhe10_rotate_one, RotateArgs, 512, 1) { tfhe_rotate_one<9>(a); }
KERNEL(tfhe10_rotate_group, RotateArgs, 384, 1) { tfhe_rotate_group<9, 3, 4, 4>(a); }
