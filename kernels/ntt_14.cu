// Transforms of degree 2^14, high bits; ntt_rows.cu has the low ones.
#include "include/ntt_split.cuh"
COLUMN_KERNELS(ntt14_columns, NttArgs, NttArgs, 4, 11, 6, 8, 7, 6, 8, 7)
