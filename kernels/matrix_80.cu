// architecture: compute_80
// Products of matrices of bytes by the matrix units, warp by warp.
#include "include/matrix_product.cuh"

KERNEL(matrix_product_80, MatrixProductArgs, PRODUCT_THREADS, 2) { matrix_product<WarpTile>(a); }
