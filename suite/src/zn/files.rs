//! Operands and products, in files of one batch per frame.

use crate::error::{At as _, Error};
use crate::frames::Reader;
use he::Device;
use he::ckks::SeededCiphertext;
use he::ring::Ring;
use he::wire::{FrameKind, Wire as _, WireParams as _};
use he::words::{Operand, ReducedWords, SeededWords, WordParams};

/// The most ciphertexts of one frame.
pub(super) const BATCH: usize = 128;

/// The next operands of a file, if there are any.
pub(super) fn operands<R: Operand>(
    reader: &mut Reader,
    params: &WordParams,
    ring: &Ring<Device>,
) -> Result<Option<SeededWords<R, Device>>, Error> {
    let most = params.ckks().ciphertext_frame_limit(BATCH);
    let Some(frame) = reader.next(FrameKind::CkksSeededCiphertext, most)? else { return Ok(None) };
    let ct = SeededCiphertext::from_frame(params.ckks(), ring, &frame).at(reader.path())?;
    SeededWords::from_ciphertext(params, ct).at(reader.path()).map(Some)
}

/// The next products of a file, if there are any.
pub(super) fn products(reader: &mut Reader, params: &WordParams) -> Result<Option<ReducedWords>, Error> {
    let most = ReducedWords::frame_limit(params, BATCH);
    let Some(frame) = reader.next(FrameKind::ReducedWords, most)? else { return Ok(None) };
    ReducedWords::from_frame(params, &frame).at(reader.path()).map(Some)
}

/// How many ciphertexts hold so many words.
pub(super) fn ciphertexts(params: &WordParams, words: u64) -> u64 {
    words.div_ceil(params.words_per_ciphertext() as u64)
}
