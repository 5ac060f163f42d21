// Second kernels of degrees above 2^13: the low eight bits of the index.
#include "include/ntt_split.cuh"
ROW_KERNELS(ntt_rows, NttArgs, 4, 11, 8, 7, 6, 8, 7, 6)
