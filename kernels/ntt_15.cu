// Transforms of degree 2^15, high bits; ntt_rows.cu has the low ones.
#include "include/ntt_split.cuh"
COLUMN_KERNELS(ntt15_columns, NttArgs, NttArgs, 4, 11, 7, 8, 7, 6, 8, 7)
