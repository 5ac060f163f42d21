// XTS with four tables in shared memory.
#include "include/aes_xts.cuh"
AES_XTS_KERNELS(4, 2)
