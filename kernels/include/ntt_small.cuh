// Transforms of a row of up to 2^11 points in shared memory, two points a thread and stage: thread `i` of N/2. All threads of the block
// take part, each group of N/2 on its own row.
#pragma once
#include "policy.cuh"

template <class A>
HE_D void forward_shared(const A& a, typename A::Value* x, const void* table, u32 log_n, u32 i) {
    const typename A::Root* roots = static_cast<const typename A::Root*>(table);
    for (u32 s = 0; s < log_n; ++s) {
        __syncthreads();
        u32 log = log_n - 1 - s, block = i >> log, at = block << (log + 1) | (i & ((1u << log) - 1));
        typename A::Value u = a.relax(x[at]), v = x[at + (1u << log)];
        a.forward(u, v, roots[(1u << s) + block]);
        x[at] = u;
        x[at + (1u << log)] = v;
    }
    __syncthreads();
}

// With the factors of the whole in the last stage.
template <class A>
HE_D void inverse_shared(const A& a, typename A::Value* x, const void* table, u32 log_n, u32 i, const Factor& scale, const Factor& last) {
    const typename A::Root* roots = static_cast<const typename A::Root*>(table);
    for (u32 s = log_n; s-- > 0;) {
        __syncthreads();
        u32 log = log_n - 1 - s, block = i >> log, at = block << (log + 1) | (i & ((1u << log) - 1));
        typename A::Value u = a.relax(x[at]), v = a.relax(x[at + (1u << log)]);
        if (s == 0) {
            a.inverse_last(u, v, scale, last);
        } else {
            a.inverse(u, v, roots[(1u << s) + block]);
        }
        x[at] = u;
        x[at + (1u << log)] = v;
    }
    __syncthreads();
}
