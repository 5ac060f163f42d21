// XTS with two tables in shared memory.
#include "include/aes_xts.cuh"
AES_XTS_KERNELS(2, 2)
