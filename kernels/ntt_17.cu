// Transforms of degree 2^17, high bits; ntt_rows.cu has the low ones. A tile of half as many points would have columns of four words, too few to
// fill two sectors of memory with each row.
#include "include/ntt_split.cuh"
COLUMN_KERNELS(ntt17_columns, NttArgs, NttArgs, 4, 12, 9, 8, 4, 3, 4, 3)
