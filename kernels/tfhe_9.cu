// Blind rotations of degree 2^9: gates.
#include "include/tfhe_rotate.cuh"

KERNEL(tfhe9_rotate_one, RotateArgs, 288, 1) { tfhe_rotate_one<8>(a); }
KERNEL(tfhe9_rotate_group, RotateArgs, 384, 1) { tfhe_rotate_group<8, 4, 6, 6>(a); }
