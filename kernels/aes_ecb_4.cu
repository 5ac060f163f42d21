// ECB with four tables in shared memory.
#include "include/aes_ecb.cuh"
AES_ECB_KERNELS(4, 2)
