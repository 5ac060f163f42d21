// Circuit bootstrapping and lookups of bits for degree 2^11 with k = 1, four digits of a switch and two of a selection.
#include "include/tfhe_circuit.cuh"

constexpr u32 CIRCUIT11_THREADS = 256;

// Four rows of digits, and two components: each half of the threads transforms two rows, and then takes the products of all rows with
// its component of the key.
struct Circuit11 {
    using F = TfheTransform<10, 3>;
    static constexpr u32 M = F::M, P = F::P, N = 2 * M, LOG_N = 11, ROWS = 4;

    TfheHeldRoots<F::ROOTS> roots;
    double2* lines;    // of the rows
    double2* exchange; // of the components
    u32 component, tau;

    HE_D Circuit11(const double2* w, double2* shared)
        : lines(shared), exchange(shared + ROWS * M), component(threadIdx.x / F::T), tau(threadIdx.x % F::T) {
        F::hold(roots, w, tau);
    }

    // Rows `from` and `from` + 1 of this component of a key.
    HE_D void read(double2 (&factors)[ROWS][P], const double2* key, u32 from) const {
#pragma unroll
        for (u32 r = 0; r < 2; ++r) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) factors[from + r][p] = __ldg(key + (component * ROWS + from + r) * M + tfhe_slot(F::last(tau, p), 10));
        }
    }

    // The sum over rows of their digits' values times the key's, in coefficients: `digits` writes those of a row at the places of `first`.
    template <class Digits>
    HE_D void product(double2 (&sums)[P], const double2* key, Digits digits) const {
        double2 factors[ROWS][P];
        read(factors, key, 0);
#pragma unroll
        for (u32 r = 0; r < 2; ++r) {
            double2 x[P], *line = lines + (2 * component + r) * M;
            digits(x, 2 * component + r);
            F::forward(x, line, roots, component, tau);
            F::store<F::LAST>(x, line, tau);
        }
        read(factors, key, 2);
        __syncthreads();
#pragma unroll
        for (u32 p = 0; p < P; ++p) sums[p] = make_double2(0.0, 0.0);
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) {
            double2 y[P];
            F::load<F::LAST>(y, lines + r * M, tau);
#pragma unroll
            for (u32 p = 0; p < P; ++p) sums[p] = tfhe_mul_add(y[p], factors[r][p], sums[p]);
        }
        F::inverse(sums, exchange + component * M, roots, component, tau);
    }

    // Transforms words of the torus at the places of `first` to values of a row of a GGSW ciphertext.
    HE_D void write(const u64 (&words)[2][P], double scale, double2* dst) const {
        double2 x[P];
#pragma unroll
        for (u32 p = 0; p < P; ++p) x[p] = circuit_value(words[0][p], words[1][p], scale);
        F::forward(x, exchange + component * M, roots, component, tau);
#pragma unroll
        for (u32 p = 0; p < P; ++p) dst[tfhe_slot(F::last(tau, p), 10)] = x[p];
    }
};

// blockIdx.x: a sample; y: a digit of the selection.
// Shared memory: 2 N words, six lines of M values.
KERNEL(tfhe11_circuit_ggsw, GgswArgs, CIRCUIT11_THREADS, 1) {
    using C = Circuit11;
    constexpr u32 M = C::M, N = C::N, P = C::P;
    SHARED(u64, acc);
    u64* body = acc + N;
    C of(a.roots, reinterpret_cast<double2*>(acc + 2 * N));
    for (u32 t = threadIdx.x; t < 2 * N; t += CIRCUIT11_THREADS) acc[t] = circuit_start(a, blockIdx.x, blockIdx.y, t);
    __syncthreads();

    double2 sums[P];
    u64 words[2][P];
    // The automorphisms, then the digits of the mask as they are, for the product by the secret.
    for (u32 i = 0; i <= C::LOG_N; ++i) {
        bool image = i < C::LOG_N;
        u32 inverse = image ? circuit_inverse(i, C::LOG_N) : 1;
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) {
                u32 m = C::F::first(of.tau, p) + h * M;
                // Row 0 of the GGSW ciphertext has the body in the place of the mask.
                if (!image) {
                    words[h][p] = of.component == 0 ? body[m] : 0;
                } else {
                    words[h][p] = of.component == 0 ? acc[m] : body[m] + circuit_image(body, m, inverse, C::LOG_N);
                }
            }
        }
        of.product(sums, a.key + (size_t)i * 2 * C::ROWS * M, [&](double2 (&x)[P], u32 row) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) {
                u32 m = C::F::first(of.tau, p);
                u64 re = circuit_image(acc, m, inverse, C::LOG_N) + a.offset, im = circuit_image(acc, m + M, inverse, C::LOG_N) + a.offset;
                x[p] = make_double2(tfhe_digit(a, re, row + 1), tfhe_digit(a, im, row + 1));
            }
        });
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            words[0][p] += tfhe_word(sums[p].x);
            words[1][p] += tfhe_word(sums[p].y);
            if (!image) continue;
            acc[of.component * N + C::F::first(of.tau, p)] = words[0][p];
            acc[of.component * N + C::F::first(of.tau, p) + M] = words[1][p];
        }
        __syncthreads();
    }

    u32 rows = 2 * a.digits;
    double2* dst = a.dst + ((size_t)(blockIdx.x * 2 + of.component) * rows + blockIdx.y) * M;
    of.write(words, a.scale, dst);
    __syncthreads();
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
#pragma unroll
        for (u32 p = 0; p < P; ++p) words[h][p] = acc[of.component * N + C::F::first(of.tau, p) + h * M];
    }
    of.write(words, a.scale, dst + (size_t)a.digits * M);
}

// Likewise; blockIdx.x: an index; y: a table.
KERNEL(tfhe11_circuit_select, SelectArgs, CIRCUIT11_THREADS, 1) {
    using C = Circuit11;
    constexpr u32 M = C::M, N = C::N, P = C::P;
    SHARED(u64, acc);
    C of(a.roots, reinterpret_cast<double2*>(acc + 2 * N));
    const u64* table = a.tables + (size_t)blockIdx.y * N;
    for (u32 t = threadIdx.x; t < 2 * N; t += CIRCUIT11_THREADS) acc[t] = t < N ? 0 : table[t - N];
    __syncthreads();

    const double2* ggsw = a.ggsw + (size_t)blockIdx.x * a.bits * 2 * C::ROWS * M;
    const u64* part = acc + of.component * N;
    for (u32 bit = 0; bit < a.bits; ++bit, ggsw += 2 * C::ROWS * M) {
        u32 power = 2 * N - (N >> a.bits << bit);
        double2 sums[P];
        of.product(sums, ggsw, [&](double2 (&x)[P], u32 row) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) {
                u32 m = C::F::first(of.tau, p);
                u64 re = tfhe_difference(a, part, m, power, C::LOG_N), im = tfhe_difference(a, part, m + M, power, C::LOG_N);
                x[p] = make_double2(tfhe_digit(a, re, row % 2 + 1), tfhe_digit(a, im, row % 2 + 1));
            }
        });
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            acc[of.component * N + C::F::first(of.tau, p)] += tfhe_word(sums[p].x);
            acc[of.component * N + C::F::first(of.tau, p) + M] += tfhe_word(sums[p].y);
        }
        __syncthreads();
    }
    circuit_extract(a, acc);
}
