// The same as in ntt_fine.cu with whole tiles modulo wide primes, too, for more blocks.
#include "include/ntt_split.cuh"
FINE_KERNELS(ntt_fine_whole, FineNttArgs)
