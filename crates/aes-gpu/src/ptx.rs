//! The compiled kernels: the only place that reads kernels/ptx.

macro_rules! sources {
    ($($name:literal)+) => {
        /// Name and PTX of each file of kernels.
        pub(crate) const SOURCES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../ptx/", $name, ".ptx")))),+];
    };
}

sources!("aes_ctr_2" "aes_ctr_4" "aes_ecb_2" "aes_ecb_4" "aes_ecb_columns" "aes_gcm" "aes_xts_2" "aes_xts_4" "aes_xts_units");
