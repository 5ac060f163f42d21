// Transforms of degree 2^14, high bits; ntt_rows.cu has the low ones.
#include "include/ntt_columns.cuh"
COLUMN_KERNELS(14, 6)
