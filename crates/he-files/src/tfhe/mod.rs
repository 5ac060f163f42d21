//! TFHE: columns of integers, added, compared, sorted and looked up under encryption, exactly.
//!
//! Its ciphertexts are not polynomials of a ring, so it is not one of the [schemes](crate::scheme):
//! it has key files, encrypted files and contents of its own, of the
//! same frames. A column is one frame, and one batch of the evaluator.

pub mod columns;
pub mod entries;
pub mod eval;
pub mod file;
pub mod keys;
pub mod note;
pub mod sort;

use crate::bootstrap::secure_or_toy;
use crate::error::Result;
use crate::file_start::{AnyStart, FileFormat, FileStart};
use he_core::ring::Seed;
use he_core::tfhe::{DIGIT_LOOKUP, GlweMasks, TfheParams, presets};
use he_core::wire::tfhe::fresh_frame_limit;
use he_core::wire::{Frame, FrameKind, WireParams};
use note::ColumnsNote;
use serde_json::{Value, json};

/// TFHE as a format of files.
pub struct Tfhe;

impl FileFormat for Tfhe {
    const NAME: &'static str = NAME;
    type Params = TfheParams;
    type Content = ColumnsNote;

    fn take(start: AnyStart) -> Option<FileStart<Self>> {
        match start {
            AnyStart::Tfhe(start) => Some(start),
            AnyStart::Scheme(_) | AnyStart::Bootstrap(..) | AnyStart::Aes(_) | AnyStart::Sensor(_) => None,
        }
    }

    fn read_params(frame: &Frame) -> he_core::Result<TfheParams> {
        secure_or_toy(frame, || presets::insecure_phases().ok().map(|toy| toy.fingerprint()))
    }

    fn params_json(params: &TfheParams) -> Value {
        params_json(params)
    }

    fn check_content(params: &TfheParams, content: &ColumnsNote) -> Result<()> {
        content.check(params)
    }

    fn ciphertext_limit(params: &TfheParams, content: &ColumnsNote, kind: FrameKind) -> u64 {
        let [whole, seeded, compact] = content.frame_kinds();
        let most = content.most(params);
        match kind {
            kind if kind == whole => params.ciphertext_frame_limit(most),
            kind if kind == seeded => fresh_frame_limit::<Seed>(params, most),
            kind if kind == compact => fresh_frame_limit::<GlweMasks>(params, most),
            _ => 0,
        }
    }
}

/// Its name, as in `keygen NAME`.
pub const NAME: &str = "tfhe";

/// log2 of the probability that a lookup of a digit errs.
fn failure_log2(params: &TfheParams) -> f64 {
    params.noise().failure_log2(DIGIT_LOOKUP.0, DIGIT_LOOKUP.1)
}

/// The parameters for programs.
pub fn params_json(params: &TfheParams) -> Value {
    let spec = params.spec();
    json!({
        "scheme": NAME,
        "fingerprint": params.fingerprint().to_string(),
        "lwe_dimension": spec.lwe_dimension,
        "glwe_dimension": spec.glwe_dimension,
        "degree": params.degree(),
        "lwe_sigma_log2": spec.lwe_sigma_log2,
        "glwe_sigma_log2": spec.glwe_sigma_log2,
        "failure_log2": failure_log2(params),
        "security_bits": if params.is_secure() { 128 } else { 0 },
    })
}

/// The parameters for people: lines of a name and a text.
pub fn params_text(params: &TfheParams) -> Vec<(&'static str, String)> {
    let spec = params.spec();
    vec![
        ("parameters", format!("{NAME} {}", params.fingerprint())),
        ("security", if params.is_secure() { "128 bits" } else { "none" }.to_owned()),
        (
            "dimensions",
            format!("n = {}, k = {}, N = {}", spec.lwe_dimension, spec.glwe_dimension, params.degree()),
        ),
        (
            "errors",
            format!("2^{:.2} (n), 2^{:.2} (k N) of the torus", spec.lwe_sigma_log2, spec.glwe_sigma_log2),
        ),
        ("failure", format!("2^{:.1} a lookup", failure_log2(params))),
    ]
}
