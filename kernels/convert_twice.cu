// Two conversions of rows, one after the other.
#include "include/convert_rows.cuh"

KERNEL(convert_rows_twice, ConvertStepsArgs, ROW_THREADS, 3) {
    convert_steps(a, [](const ConvertArgs& step, u32 part) { convert_few(step, part); });
}
