//! Reduced products of words as frames.

use super::bytes::Fields;
use super::numbers::{pack, packed_len, unpack};
use super::{Frame, FrameKind, WireError};
use crate::backend::WideRows;
use crate::error::Result;
use crate::words::{ReducedWords, WordParams};

/// Bits of a word and of a coefficient, batch and scale.
const FIELDS: usize = 1 + 1 + 4 + 8;

impl ReducedWords {
    /// The products as a frame: bits of a word, bits of a coefficient, batch, scale, and the
    /// coefficients of c0 and c1, packed.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch) for products of other parameters;
    /// [`Error::Argument`](crate::Error::Argument) for a batch of 2^32 and more.
    pub fn to_frame(&self, params: &WordParams) -> Result<Frame> {
        self.check(params)?;
        let too_large = |_| crate::Error::argument("batch", format!("{} ciphertexts", self.batch()));
        let batch = u32::try_from(self.batch()).map_err(too_large)?;
        let mut body = vec![params.spec().bits as u8, self.bits() as u8];
        body.extend(batch.to_le_bytes());
        body.extend(Self::scale_of(params).to_bits().to_le_bytes());
        let (n, rows) = (params.ckks().rlwe().ring().n(), WideRows::new(self.bits(), self.batch()));
        for part in self.parts() {
            let start = body.len();
            body.resize(start + packed_len(rows, n), 0);
            pack(rows, n, part, &mut body[start..]);
        }
        Ok(Frame { kind: FrameKind::ReducedWords, fingerprint: self.fingerprint(), body })
    }

    /// The products of a frame. Memory is a small multiple of the frame's length.
    ///
    /// # Errors
    /// [`Error::Wire`](crate::Error::Wire) for anything but the frame of products of these
    /// parameters.
    pub fn from_frame(params: &WordParams, frame: &Frame) -> Result<Self> {
        let kind = FrameKind::ReducedWords;
        frame.expect(kind, params.ckks().fingerprint())?;
        let (spec, n) = (params.spec(), params.ckks().rlwe().ring().n());
        let mut fields = Fields::new(kind, &frame.body);
        for (field, expected) in [("size of words", spec.bits), ("number of bits", spec.result_bits)] {
            if u32::from(fields.u8(field)?) != expected {
                return Err(fields.error(field).into());
            }
        }
        let batch = fields.u32("batch")? as usize;
        if fields.f64("scale")? != Self::scale_of(params) {
            return Err(fields.error("scale").into());
        }
        let rest = fields.rest();
        let one = packed_len(WideRows::new(spec.result_bits, 1), n) as u64;
        let expected = one.saturating_mul(2).saturating_mul(batch as u64);
        if batch == 0 || rest.len() as u64 != expected {
            return Err(WireError::Length { kind, found: rest.len() as u64, expected }.into());
        }
        let rows = WideRows::new(spec.result_bits, batch);
        let (c0, c1) = rest.split_at(rest.len() / 2);
        Self::from_parts(params, [unpack(kind, rows, n, c0)?, unpack(kind, rows, n, c1)?])
    }

    /// The longest body of a frame of at most `max_batch` ciphertexts.
    pub fn frame_limit(params: &WordParams, max_batch: usize) -> u64 {
        let n = params.ckks().rlwe().ring().n();
        let one = packed_len(WideRows::new(params.spec().result_bits, 1), n) as u64;
        one.saturating_mul(2).saturating_mul(max_batch as u64).saturating_add(FIELDS as u64)
    }
}
