// Transforms of degree 2^16, high bits; ntt_rows.cu has the low ones. A tile of 2^12 points has columns of 16 words: whole lines of 128 bytes,
// which matters where many rows come from memory.
#include "include/ntt_split.cuh"
COLUMN_KERNELS(ntt16_columns, NttArgs, NttArgs, 4, 11, 8, 8, 7, 6, 8, 7)
FORWARD_COLUMNS_KERNEL(ntt16_columns_lines, NttArgs, 4, 12, 8, 8, 4)
