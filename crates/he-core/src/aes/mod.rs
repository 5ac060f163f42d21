//! AES (FIPS-197) over much data: ECB, CTR, GCM and XTS behind one trait, [`BulkCipher`].
//!
//! For data that matter use GCM ([`BulkCipher::gcm_seal`]) with a nonce that never repeats under one key.

mod bulk;
mod error;
mod field;
mod key;

pub use bulk::{Buffers, Bulk, BulkCipher, Direction, GcmChunks, check_ecb, check_gcm, check_xts};
pub use error::{AesError, Result};
pub use key::{BLOCK, Key, KeySchedule, KeySize, XtsKey};
