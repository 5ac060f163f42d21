// ECB as in Jiwandono, Parallel AES Encryption on CUDA (2011): four threads a block, one column each, the state in shared memory, the
// four tables in constant memory. Lanes wait for each other in constant memory; kept to be measured beside the other kernels.
#include "include/aes.cuh"

struct AesColumnsArgs {
    u64 src, dst, keys, blocks;
    u32 rounds, unused;
};

struct AesFourTables {
    u32 rows[4][256];

    HE_HD constexpr AesFourTables() : rows() {
        AesTables tables;
        for (u32 i = 0; i < 256; ++i) {
            u32 entry = tables.forward[i];
            for (u32 r = 0; r < 4; ++r) {
                rows[r][i] = entry;
                entry = entry << 8 | entry >> 24;
            }
        }
    }
};

__constant__ static const AesFourTables AES_FOUR_TABLES = AesFourTables();

KERNEL(aes_ecb_columns, AesColumnsArgs, 256, 1) {
    SHARED(u32, state);
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const bool some = at / 4 < a.blocks;
    const u32 own = threadIdx.x, column = own & 3, block = own - column;
    const u32* keys = (const u32*)a.keys;
    u32 word = some ? ((const u32*)a.src)[at] ^ keys[column] : 0;
#pragma unroll 1
    for (u32 r = 1; r <= a.rounds; ++r) {
        // The last round takes a byte s of each entry.
        state[own] = word;
        __syncthreads();
        const u32 w0 = AES_FOUR_TABLES.rows[0][state[block + column] & 255];
        const u32 w1 = AES_FOUR_TABLES.rows[1][state[block + ((column + 1) & 3)] >> 8 & 255];
        const u32 w2 = AES_FOUR_TABLES.rows[2][state[block + ((column + 2) & 3)] >> 16 & 255];
        const u32 w3 = AES_FOUR_TABLES.rows[3][state[block + ((column + 3) & 3)] >> 24];
        word = r < a.rounds ? w0 ^ w1 ^ w2 ^ w3
                            : (w0 >> 8 & 0xff) | (w1 >> 8 & 0xff00) | (w2 >> 8 & 0xff0000) | w3 << 24;
        word ^= keys[4 * r + column];
        __syncthreads();
    }
    if (some) ((u32*)a.dst)[at] = word;
}
