// Transforms of degrees 2^12 ... 2^15 when there are few rows: small tiles and eight points a thread spread a row over many
// multiprocessors; modulo wide primes half of a tile and four.
#include "include/ntt_split.cuh"
FINE_KERNELS(ntt_fine, HalvedNttArgs)
