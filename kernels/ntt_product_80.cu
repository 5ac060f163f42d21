// architecture: compute_80
#include "include/transform_product.cuh"

PRODUCT_KERNELS(ntt_product_80)
