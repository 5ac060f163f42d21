//! The compiled kernels: the only place that reads kernels/ptx.

/// A file of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file's name.
    pub(crate) name: &'static str,
    /// Its PTX.
    pub(crate) ptx: &'static str,
}

macro_rules! sources {
    ($($name:ident)+) => {
        /// All files of kernels.
        pub(crate) const SOURCES: &[Source] = &[
            $(Source { name: stringify!($name), ptx: include_str!(concat!("../ptx/", stringify!($name), ".ptx")) }),+
        ];
    };
}

sources!(convert_14 convert_15 convert_16 convert_rows_80 convert_twice elementwise embedding exact key_switch ntt_12 ntt_13 ntt_14 ntt_15 ntt_16 ntt_17 ntt_fine ntt_fine_whole ntt_product ntt_product_80 ntt_rows ntt_small rotations rotations_80 sampler signals tfhe tfhe_9 tfhe_10 tfhe_11 tfhe_circuit wide wide_schoolbook);
