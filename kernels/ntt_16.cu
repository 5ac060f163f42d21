// Transforms of degree 2^16, high bits; ntt_rows.cu has the low ones.
#include "include/ntt_split.cuh"
COLUMN_KERNELS(ntt16_columns, NttArgs, NttArgs, 4, 11, 8, 8, 7, 6, 8, 7)
