// CTR with two tables in shared memory.
#include "include/aes_ctr.cuh"
AES_CTR(128, 2, 2)
AES_CTR(192, 2, 2)
AES_CTR(256, 2, 2)
