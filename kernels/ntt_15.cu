// Transforms of degree 2^15, high bits; ntt_rows.cu has the low ones.
#include "include/ntt_columns.cuh"
COLUMN_KERNELS(15, 7)
