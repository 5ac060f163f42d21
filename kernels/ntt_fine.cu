// Transforms of degrees 2^12 ... 2^15 when there are few rows: small tiles and eight points a thread spread a row over many
// multiprocessors. The low nine bits, and the high ones of each degree.
#include "include/ntt_split.cuh"
ROW_KERNELS(ntt_fine_rows, 3, 10, 9, 6, 5, 6, 6, 5)
COLUMN_KERNELS(ntt_fine12_columns, 3, 10, 3, 9, 6, 4, 6, 6)
COLUMN_KERNELS(ntt_fine13_columns, 3, 10, 4, 9, 6, 4, 6, 6)
COLUMN_KERNELS(ntt_fine14_columns, 3, 10, 5, 9, 6, 4, 6, 6)
COLUMN_KERNELS(ntt_fine15_columns, 3, 10, 6, 9, 6, 4, 6, 6)
