// architecture: compute_90
// Blind rotations by bundles: a cluster of k + 1 blocks for each ciphertext, for the presets' parameters.
#include "include/tfhe_cluster.cuh"

CLUSTER_KERNEL(tfhe9_rotate_cluster, RotateArgs, 64, 4) { tfhe_rotate_bundles_cluster<8, 2, 4, 1>(a); }
CLUSTER_KERNEL(tfhe10_rotate_cluster, RotateArgs, 128, 3) { tfhe_rotate_bundles_cluster<9, 2, 3, 1>(a); }
