// Where copies are not asynchronous.
#include "include/transform_product.cuh"

PRODUCT_KERNELS(ntt_product)
