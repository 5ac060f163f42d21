//! The kernels of one device, loaded when they are first needed: a program that adds two
//! polynomials compiles no transform.

use crate::byte_conversion::{row_chunks, row_words};
use crate::cache::lock;
use gpu::{Gpu, Kernel, Module, Result};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

/// The shared memory of 2^log words.
pub(crate) const fn tile(log: u32) -> u32 {
    8 << log
}

/// The shared memory of a tile of 2^log points of a transform, at their places: sixteen words, and
/// one that is free (kernels/include/ntt.cuh).
pub(crate) const fn placed(log: u32) -> u32 {
    tile(log) / 16 * 17
}

/// The shared memory of a conversion in the matrix units at degree 2^`log_n`: a tile of each word
/// of a coefficient, and for each of four targets, in different banks, a tile and its constants,
/// which are those of the prime, of two products of matrices, and the roots of all but the lowest
/// eight stages. If coefficients are longer there is no room for these, nor for more than half a
/// tile of a target, if two blocks are to share a multiprocessor.
pub(crate) const fn byte_tile(log_n: u32, sources: usize) -> u32 {
    const fn area(words: u32) -> u32 {
        8 * (words + 4)
    }
    let of_target = match row_chunks(sources) as u32 {
        chunks @ ..=2 => area(1 << 10) + 96 + chunks * 256 + (8 << (log_n - 8)),
        _ => area(1 << 9),
    };
    row_words(sources) as u32 * area(1 << 10) + 4 * of_target
}

/// The shared memory of a conversion of rows in the matrix units: 128 coefficients, each word of
/// theirs in different banks, or their residues before they are packed.
pub(crate) const fn byte_rows(sources: usize) -> u32 {
    let words = row_words(sources);
    8 * (128 + 4) * (if words > sources { words } else { sources }) as u32
}

/// The shared memory of the last kernel of a key switch: a tile of 2^10 points, one of the next
/// digit, and the roots of the tile, of so many words each.
pub(crate) const fn product_tile(root_words: u32) -> u32 {
    placed(10) + (1 + root_words) * tile(10)
}

/// The most digits of a rotation that come to shared memory together.
pub(crate) const STEP_DIGITS: u32 = 4;

/// The shared memory of sums of rotations in so many entries of a batch together: for each of four
/// warps two places of so many digits, a run of 64 residues of each entry's with those of the keys,
/// and of two runs of each entry's addends. One more digit, which is not used, may be read behind
/// those of a step.
pub(crate) const fn rotation_places(step_digits: u32, key_words: u32, entries: u32) -> u32 {
    let digit = 64 * entries + key_words;
    8 * (4 * 2 * (step_digits * digit + 2 * 64 * entries) + digit)
}

/// The words of a run of both parts of a key, as they are and packed.
pub(crate) const KEY_RUN: [u32; 2] = [128, 100];

/// The shared memory of sums of rotations at most: of whole steps and keys as they are.
const MOST_PLACES: u32 = rotation_places(STEP_DIGITS, KEY_RUN[0], 1);

/// The shared memory of sums of rotations of two entries at most, for which keys are packed.
pub(crate) const MOST_PAIR_PLACES: u32 = rotation_places(STEP_DIGITS, KEY_RUN[1], 2);

/// The shared memory of a product of matrices: stages of so many rows of the left matrix and lines
/// of the right one, of so many chunks of 64 bytes, each with a barrier.
const fn matrix_stages(stages: u32, rows: u32, lines: u32, chunks: u32) -> u32 {
    stages * (chunks * 64 * (rows + lines) + 8)
}

/// The shared memory of blind rotations: polynomials of N words and lines of as many, and the
/// powers of two small ciphertexts of any dimension.
const fn tfhe(polynomials: u32, degree: u32, lines: u32) -> u32 {
    8 * polynomials * degree * lines + 2 * 2 * 4096
}

/// The slots of a block of bundles.
pub(crate) const BUNDLE_SLOTS: u32 = 64;

/// The shared memory of bundles: the values of as many monomials as a group has bits, for so many
/// ciphertexts, twice; then all units, if they are held there.
pub(crate) const fn bundle(group: u32, turn: u32, units: u32) -> u32 {
    16 * (2 * turn * group * BUNDLE_SLOTS + units)
}

macro_rules! entries {
    ($($variant:ident = $source:literal . $name:literal $shared:expr;)+) => {
        /// A kernel.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub(crate) enum Entry {
            $($variant),+
        }

        /// File, name and dynamic shared memory of each kernel.
        pub(crate) const ENTRIES: &[(&str, &str, u32)] = &[$(($source, $name, $shared)),+];
    };
}

entries! {
    Add = "elementwise"."add_rows" 0;
    Sub = "elementwise"."sub_rows" 0;
    Neg = "elementwise"."neg_rows" 0;
    Mul = "elementwise"."mul_rows" 0;
    MulAdd = "elementwise"."mul_add_rows" 0;
    Scale = "elementwise"."scale_rows" 0;
    ScaleAdd = "elementwise"."scale_add_rows" 0;
    AddScalar = "elementwise"."shift_rows" 0;
    ReduceSigned = "elementwise"."reduce_signed_rows" 0;
    AutomorphismValues = "elementwise"."automorphism_values" 0;
    AutomorphismCoefficients = "elementwise"."automorphism_coefficients" 0;
    CopyBlocks = "elementwise"."copy_blocks" 0;
    CopyPlaces = "elementwise"."copy_places" 0;
    JoinRuns = "elementwise"."join_runs" 0;
    TransposeWords = "elementwise"."transpose_words" 0;
    FftForward = "embedding"."fft_forward" tile(12);
    FftInverse = "embedding"."fft_inverse" tile(12);
    FftInverseRound = "embedding"."fft_inverse_round" tile(12);
    FftMessages = "embedding"."fft_messages" tile(12);
    ComposeSlots = "embedding"."compose_slots" tile(8);
    MessagePhase = "exact"."plain_phase_rows" 0;
    EncryptSamples = "exact"."encrypt_samples" 0;
    EncryptRows = "exact"."encrypt_rows" 0;
    EncryptSmall = "exact"."encrypt_small" 3 * tile(11);
    RemainderRows = "exact"."remainder_rows" 0;
    RemainderSmall = "exact"."remainder_small" tile(11);
    Gather = "exact"."gather_rows" 0;
    Tensor = "key_switch"."tensor_rows" 0;
    TensorSum = "key_switch"."tensor_sum_rows" 0;
    TensorSumListed = "key_switch"."tensor_sum_listed" 0;
    KeyProduct = "key_switch"."key_product_rows" 0;
    KeyProductPairs = "key_switch"."key_product_pairs" 0;
    KeyProductPacked = "key_switch"."key_product_packed_rows" 0;
    KeyProductPackedPairs = "key_switch"."key_product_packed_pairs" 0;
    PackKey = "key_switch"."pack_key" 0;
    UnpackKey = "key_switch"."unpack_key" 0;
    RotationSums1 = "rotations"."rotation_sums_1" MOST_PLACES;
    RotationSums2 = "rotations"."rotation_sums_2" MOST_PLACES;
    RotationSums3 = "rotations"."rotation_sums_3" MOST_PLACES;
    RotationSums4 = "rotations"."rotation_sums_4" MOST_PLACES;
    RotationSums8 = "rotations"."rotation_sums_8" MOST_PLACES;
    AsyncRotationSums1 = "rotations_80"."rotation_sums_80_1" MOST_PLACES;
    AsyncRotationSums2 = "rotations_80"."rotation_sums_80_2" MOST_PLACES;
    AsyncRotationSums3 = "rotations_80"."rotation_sums_80_3" MOST_PLACES;
    AsyncRotationSums4 = "rotations_80"."rotation_sums_80_4" MOST_PLACES;
    AsyncRotationSums8 = "rotations_80"."rotation_sums_80_8" MOST_PLACES;
    RotationPairSums1 = "rotations_80"."rotation_pair_sums_80_1" MOST_PAIR_PLACES;
    RotationPairSums2 = "rotations_80"."rotation_pair_sums_80_2" MOST_PAIR_PLACES;
    RotationPairSums3 = "rotations_80"."rotation_pair_sums_80_3" MOST_PAIR_PLACES;
    RotationPairSums4 = "rotations_80"."rotation_pair_sums_80_4" MOST_PAIR_PLACES;
    Convert = "key_switch"."convert_rows" 16 * 128 * 13;
    ConvertTwice = "convert_twice"."convert_rows_twice" 16 * 128 * 13;
    Convert14Columns4 = "convert_14"."convert14_columns_4" byte_tile(14, 4);
    Convert14Columns9 = "convert_14"."convert14_columns_9" byte_tile(14, 9);
    Convert14Columns13 = "convert_14"."convert14_columns_13" byte_tile(14, 13);
    Convert15Columns4 = "convert_15"."convert15_columns_4" byte_tile(15, 4);
    Convert15Columns9 = "convert_15"."convert15_columns_9" byte_tile(15, 9);
    Convert15Columns13 = "convert_15"."convert15_columns_13" byte_tile(15, 13);
    Convert16Columns4 = "convert_16"."convert16_columns_4" byte_tile(16, 4);
    Convert16Columns9 = "convert_16"."convert16_columns_9" byte_tile(16, 9);
    Convert16Columns13 = "convert_16"."convert16_columns_13" byte_tile(16, 13);
    ConvertBytes13 = "convert_rows_80"."convert_bytes_13" byte_rows(13);
    ConvertBytes18 = "convert_rows_80"."convert_bytes_18" byte_rows(18);
    Convert16 = "key_switch"."convert_16_rows" 16 * 16 * 19;
    Convert24 = "key_switch"."convert_24_rows" 16 * 16 * 27;
    Convert40 = "key_switch"."convert_40_rows" 16 * 16 * 43;
    Lift = "key_switch"."lift_rows" 0;
    MatrixProduct = "matrix"."matrix_product" matrix_stages(3, 64, 256, 1);
    MatrixProduct80 = "matrix_80"."matrix_product_80" matrix_stages(4, 64, 256, 1);
    MatrixProduct90 = "matrix_90"."matrix_product_90" matrix_stages(4, 128, 256, 2);
    MatrixProduct90Lines128 = "matrix_90"."matrix_product_90_128" matrix_stages(3, 128, 128, 2);
    MatrixProduct90Lines64 = "matrix_90"."matrix_product_90_64" matrix_stages(3, 128, 64, 2);
    MatrixPackBytes = "matrix"."matrix_pack_bytes" 0;
    MatrixPackDigits = "matrix"."matrix_pack_digits" 0;
    MatrixPackRemainders = "matrix"."matrix_pack_remainders" 0;
    MatrixSumColumns = "matrix"."matrix_sum_columns" 0;
    MatrixCombine = "matrix"."matrix_combine" 0;
    SampleUniform = "sampler"."sample_uniform" 0;
    SampleSmall = "sampler"."sample_small" 0;
    SendSignals = "signals"."send_signals" 0;
    AwaitSignals = "signals"."await_signals" 0;
    SmallForward = "ntt_small"."ntt_small_forward" tile(11);
    SmallInverse = "ntt_small"."ntt_small_inverse" tile(11);
    Forward12 = "ntt_12"."ntt12_forward" placed(12);
    Convert12 = "ntt_12"."ntt12_convert" placed(12);
    ForwardSub12 = "ntt_12"."ntt12_forward_sub" placed(12);
    ConvertSub12 = "ntt_12"."ntt12_convert_sub" placed(12);
    Inverse12 = "ntt_12"."ntt12_inverse" placed(12);
    InverseProduct12 = "ntt_12"."ntt12_inverse_product" placed(12);
    Forward13 = "ntt_13"."ntt13_forward" placed(13);
    Convert13 = "ntt_13"."ntt13_convert" placed(13);
    ForwardSub13 = "ntt_13"."ntt13_forward_sub" placed(13);
    ConvertSub13 = "ntt_13"."ntt13_convert_sub" placed(13);
    Inverse13 = "ntt_13"."ntt13_inverse" placed(13);
    InverseProduct13 = "ntt_13"."ntt13_inverse_product" placed(13);
    Columns14 = "ntt_14"."ntt14_columns" placed(11);
    ColumnsConvert14 = "ntt_14"."ntt14_columns_convert" placed(11);
    ColumnsInverse14 = "ntt_14"."ntt14_columns_inverse" placed(11);
    ColumnsInverseShared14 = "ntt_14"."ntt14_columns_inverse_shared" placed(11);
    Columns15 = "ntt_15"."ntt15_columns" placed(11);
    ColumnsConvert15 = "ntt_15"."ntt15_columns_convert" placed(11);
    ColumnsInverse15 = "ntt_15"."ntt15_columns_inverse" placed(11);
    ColumnsInverseShared15 = "ntt_15"."ntt15_columns_inverse_shared" placed(11);
    Columns16 = "ntt_16"."ntt16_columns" placed(11);
    ColumnsConvert16 = "ntt_16"."ntt16_columns_convert" placed(11);
    ColumnsInverse16 = "ntt_16"."ntt16_columns_inverse" placed(11);
    ColumnsInverseShared16 = "ntt_16"."ntt16_columns_inverse_shared" placed(11);
    ColumnsLines16 = "ntt_16"."ntt16_columns_lines" placed(12);
    Columns17 = "ntt_17"."ntt17_columns" placed(12);
    ColumnsConvert17 = "ntt_17"."ntt17_columns_convert" placed(12);
    ColumnsInverse17 = "ntt_17"."ntt17_columns_inverse" placed(12);
    ColumnsInverseShared17 = "ntt_17"."ntt17_columns_inverse_shared" placed(12);
    FineRows = "ntt_fine"."ntt_fine_rows" placed(10);
    FineRowsSub = "ntt_fine"."ntt_fine_rows_sub" placed(10);
    FineRowsSubTensor = "ntt_fine"."ntt_fine_rows_sub_tensor" placed(10);
    FineRowsInverse = "ntt_fine"."ntt_fine_rows_inverse" placed(10);
    FineRowsInverseProduct = "ntt_fine"."ntt_fine_rows_inverse_product" placed(10);
    FineRowsInverseTensor = "ntt_fine"."ntt_fine_rows_inverse_tensor" placed(10);
    FineColumns12 = "ntt_fine"."ntt_fine12_columns" placed(10);
    FineColumnsConvert12 = "ntt_fine"."ntt_fine12_columns_convert" placed(10);
    FineColumnsInverse12 = "ntt_fine"."ntt_fine12_columns_inverse" placed(10);
    FineColumnsInverseShared12 = "ntt_fine"."ntt_fine12_columns_inverse_shared" placed(10);
    FineColumns13 = "ntt_fine"."ntt_fine13_columns" placed(10);
    FineColumnsConvert13 = "ntt_fine"."ntt_fine13_columns_convert" placed(10);
    FineColumnsInverse13 = "ntt_fine"."ntt_fine13_columns_inverse" placed(10);
    FineColumnsInverseShared13 = "ntt_fine"."ntt_fine13_columns_inverse_shared" placed(10);
    FineColumns14 = "ntt_fine"."ntt_fine14_columns" placed(10);
    FineColumnsConvert14 = "ntt_fine"."ntt_fine14_columns_convert" placed(10);
    FineColumnsInverse14 = "ntt_fine"."ntt_fine14_columns_inverse" placed(10);
    FineColumnsInverseShared14 = "ntt_fine"."ntt_fine14_columns_inverse_shared" placed(10);
    FineColumns15 = "ntt_fine"."ntt_fine15_columns" placed(10);
    FineColumnsConvert15 = "ntt_fine"."ntt_fine15_columns_convert" placed(10);
    FineColumnsInverse15 = "ntt_fine"."ntt_fine15_columns_inverse" placed(10);
    FineColumnsInverseShared15 = "ntt_fine"."ntt_fine15_columns_inverse_shared" placed(10);
    FineWholeRows = "ntt_fine_whole"."ntt_fine_whole_rows" placed(10);
    FineWholeRowsSub = "ntt_fine_whole"."ntt_fine_whole_rows_sub" placed(10);
    FineWholeRowsSubTensor = "ntt_fine_whole"."ntt_fine_whole_rows_sub_tensor" placed(10);
    FineWholeRowsInverse = "ntt_fine_whole"."ntt_fine_whole_rows_inverse" placed(10);
    FineWholeRowsInverseProduct = "ntt_fine_whole"."ntt_fine_whole_rows_inverse_product" placed(10);
    FineWholeRowsInverseTensor = "ntt_fine_whole"."ntt_fine_whole_rows_inverse_tensor" placed(10);
    FineWholeColumns12 = "ntt_fine_whole"."ntt_fine_whole12_columns" placed(10);
    FineWholeColumnsConvert12 = "ntt_fine_whole"."ntt_fine_whole12_columns_convert" placed(10);
    FineWholeColumnsInverse12 = "ntt_fine_whole"."ntt_fine_whole12_columns_inverse" placed(10);
    FineWholeColumnsInverseShared12 = "ntt_fine_whole"."ntt_fine_whole12_columns_inverse_shared" placed(10);
    FineWholeColumns13 = "ntt_fine_whole"."ntt_fine_whole13_columns" placed(10);
    FineWholeColumnsConvert13 = "ntt_fine_whole"."ntt_fine_whole13_columns_convert" placed(10);
    FineWholeColumnsInverse13 = "ntt_fine_whole"."ntt_fine_whole13_columns_inverse" placed(10);
    FineWholeColumnsInverseShared13 = "ntt_fine_whole"."ntt_fine_whole13_columns_inverse_shared" placed(10);
    FineWholeColumns14 = "ntt_fine_whole"."ntt_fine_whole14_columns" placed(10);
    FineWholeColumnsConvert14 = "ntt_fine_whole"."ntt_fine_whole14_columns_convert" placed(10);
    FineWholeColumnsInverse14 = "ntt_fine_whole"."ntt_fine_whole14_columns_inverse" placed(10);
    FineWholeColumnsInverseShared14 = "ntt_fine_whole"."ntt_fine_whole14_columns_inverse_shared" placed(10);
    FineWholeColumns15 = "ntt_fine_whole"."ntt_fine_whole15_columns" placed(10);
    FineWholeColumnsConvert15 = "ntt_fine_whole"."ntt_fine_whole15_columns_convert" placed(10);
    FineWholeColumnsInverse15 = "ntt_fine_whole"."ntt_fine_whole15_columns_inverse" placed(10);
    FineWholeColumnsInverseShared15 = "ntt_fine_whole"."ntt_fine_whole15_columns_inverse_shared" placed(10);
    NttProduct = "ntt_product"."ntt_product" product_tile(2);
    NttProductPacked = "ntt_product"."ntt_product_packed" product_tile(1);
    NttProductPackedPairs = "ntt_product"."ntt_product_packed_pairs" product_tile(1);
    NttProductMixed = "ntt_product"."ntt_product_mixed" product_tile(2);
    NttProductMixedPairs = "ntt_product"."ntt_product_mixed_pairs" product_tile(2);
    NttProductPairs = "ntt_product"."ntt_product_pairs" product_tile(2);
    AsyncNttProduct = "ntt_product_80"."ntt_product_80" product_tile(2);
    AsyncNttProductPacked = "ntt_product_80"."ntt_product_80_packed" product_tile(1);
    AsyncNttProductPackedPairs = "ntt_product_80"."ntt_product_80_packed_pairs" product_tile(1);
    AsyncNttProductMixed = "ntt_product_80"."ntt_product_80_mixed" product_tile(2);
    AsyncNttProductMixedPairs = "ntt_product_80"."ntt_product_80_mixed_pairs" product_tile(2);
    AsyncNttProductPairs = "ntt_product_80"."ntt_product_80_pairs" product_tile(2);
    Rows = "ntt_rows"."ntt_rows" placed(11);
    RowsSub = "ntt_rows"."ntt_rows_sub" placed(11);
    RowsSubTensor = "ntt_rows"."ntt_rows_sub_tensor" placed(11);
    RowsInverse = "ntt_rows"."ntt_rows_inverse" placed(11);
    RowsInverseProduct = "ntt_rows"."ntt_rows_inverse_product" placed(11);
    RowsInverseTensor = "ntt_rows"."ntt_rows_inverse_tensor" placed(11);
    WideSum = "wide"."wide_sum" 0;
    WideScale = "wide"."wide_scale" 0;
    WideShiftRound = "wide"."wide_shift_round" 0;
    WideAutomorphism = "wide"."wide_automorphism" 0;
    WideSigned = "wide"."wide_signed" 0;
    WideSampleSmall = "wide"."wide_sample_small" 0;
    WideSampleUniform = "wide"."wide_sample_uniform" 0;
    WideResidues = "wide"."wide_residues" 0;
    WideCompose = "wide"."wide_compose" 0;
    WideTensor = "wide"."wide_tensor" 0;
    WideKeyProduct = "wide"."wide_key_product" 0;
    WideRoundSlots = "wide"."wide_round_slots" tile(7);
    WideScaleSlots = "wide"."wide_scale_slots" 0;
    WideSchoolbook = "wide_schoolbook"."wide_schoolbook" 0;
    TfheCombine = "tfhe"."tfhe_combine" 0;
    TfheKeySwitchOne = "tfhe"."tfhe_key_switch_one" 4 * 16 * 16;
    TfheKeySwitchMany = "tfhe"."tfhe_key_switch_many" 4 * 16 * 16 * 16;
    TfheKeyValues = "tfhe"."tfhe_key_values" 2 * tile(11);
    TfheBundle2 = "tfhe"."tfhe_bundle_2" bundle(2, 2, 0);
    TfheBundle3 = "tfhe"."tfhe_bundle_3" bundle(3, 2, 0);
    TfheBundle4 = "tfhe"."tfhe_bundle_4" bundle(4, 2, 0);
    TfheBundle4Many = "tfhe"."tfhe_bundle_4_many" bundle(4, 4, 4096);
    TfheRotateAny = "tfhe"."tfhe_rotate_any" 0;
    TfheRotateOne9 = "tfhe_9"."tfhe9_rotate_one" tfhe(4, 512, 2);
    TfheRotateOne9K1 = "tfhe_9"."tfhe9_rotate_one_k1" tfhe(2, 512, 2);
    TfheRotateGroup9 = "tfhe_9"."tfhe9_rotate_group" tfhe(8, 512, 2);
    TfheRotateBundles9 = "tfhe_9"."tfhe9_rotate_bundles" tfhe(4, 512, 2);
    TfheRotateOne10 = "tfhe_10"."tfhe10_rotate_one" tfhe(3, 1024, 3);
    TfheRotateOne10K1L3 = "tfhe_10"."tfhe10_rotate_one_k1_l3" tfhe(2, 1024, 7);
    TfheRotateGroup10 = "tfhe_10"."tfhe10_rotate_group" tfhe(6, 1024, 2);
    TfheRotateBundles10 = "tfhe_10"."tfhe10_rotate_bundles" tfhe(3, 1024, 2);
    TfheRotateOne11 = "tfhe_11"."tfhe11_rotate_one" tfhe(2, 2048, 3);
    TfheRotateOne11L2 = "tfhe_11"."tfhe11_rotate_one_l2" tfhe(2, 2048, 5);
    TfheRotateBundles11 = "tfhe_11"."tfhe11_rotate_bundles" tfhe(2, 2048, 2);
    TfheRotateBundles11L2 = "tfhe_11"."tfhe11_rotate_bundles_l2" tfhe(2, 2048, 4);
    TfheRotateCluster9 = "tfhe_90"."tfhe9_rotate_cluster" tfhe(4, 512, 2);
    TfheRotateCluster10 = "tfhe_90"."tfhe10_rotate_cluster" tfhe(3, 1024, 2);
    TfheCircuitGgsw = "tfhe_circuit"."tfhe_circuit_ggsw" 8 * tile(11);
    TfheCircuitSelect = "tfhe_circuit"."tfhe_circuit_select" 8 * tile(11);
    TfheCircuitGgsw11 = "tfhe_circuit_11"."tfhe11_circuit_ggsw" 8 * tile(11);
    TfheCircuitSelect11 = "tfhe_circuit_11"."tfhe11_circuit_select" 8 * tile(11);
}

impl Entry {
    /// log2 of the points of a tile that is all the shared memory of a kernel.
    pub(crate) const fn log_tile(self) -> u32 {
        (ENTRIES[self as usize].2 / tile(0)).ilog2()
    }
}

/// The kernels of one device.
#[derive(Debug)]
pub(crate) struct Kernels {
    gpu: Gpu,
    modules: Mutex<HashMap<&'static str, Module>>,
    kernels: Vec<OnceLock<Kernel>>,
}

impl Kernels {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            modules: Mutex::default(),
            kernels: ENTRIES.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns a kernel, loading it if necessary.
    pub(crate) fn get(&self, entry: Entry) -> Result<&Kernel> {
        let slot = &self.kernels[entry as usize];
        if let Some(kernel) = slot.get() {
            return Ok(kernel);
        }
        let kernel = self.load(entry)?;
        Ok(slot.get_or_init(|| kernel))
    }

    fn load(&self, entry: Entry) -> Result<Kernel> {
        let (file, name, shared) = ENTRIES[entry as usize];
        let mut modules = lock(&self.modules);
        if let Some(module) = modules.get(file) {
            return module.kernel(name, shared);
        }
        let missing =
            || gpu::Error::Module { module: file.into(), reason: "it is not part of the program".into() };
        let module = self.gpu.load(file, &he_ptx::text(file).ok_or_else(missing)?)?;
        modules.entry(file).or_insert(module).kernel(name, shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_its_ptx() {
        let mut texts = HashMap::new();
        for (file, name, _) in ENTRIES {
            let ptx: &String = texts.entry(*file).or_insert_with(|| he_ptx::text(file).unwrap());
            assert!(ptx.contains(&format!(".entry {name}(")), "{name} is not in {file}.ptx");
        }
    }
}
