// Transforms of degree 2^17, high bits; ntt_rows.cu has the low ones.
#include "include/ntt_split.cuh"
COLUMN_KERNELS(ntt17_columns, 4, 12, 9, 3)
