// ECB with two tables in shared memory.
#include "include/aes_ecb.cuh"
AES_ECB_KERNELS(2, 2)
