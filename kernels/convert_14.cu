// architecture: compute_80
// Conversions and the high bits of the transforms of their results, degree 2^14.
#include "include/convert_columns.cuh"
CONVERT_KERNELS(convert14_columns, 6)
