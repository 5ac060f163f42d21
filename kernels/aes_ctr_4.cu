// CTR with four tables in shared memory.
#include "include/aes_ctr.cuh"
AES_CTR(128, 4, 2)
AES_CTR(192, 4, 2)
AES_CTR(256, 4, 2)
