//! The contract of bulk encryption: [`BulkCipher`], and the data on which it works.

use super::{AesError, Key, Result, XtsKey};

/// Encrypt or decrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From plaintext to ciphertext.
    Encrypt,
    /// From ciphertext to plaintext.
    Decrypt,
}

/// Bytes to be transformed in place, or from one buffer to another of the same length.
#[derive(Debug)]
pub struct Bulk<'a>(Buffers<'a>);

/// The buffers of a [`Bulk`].
#[derive(Debug)]
pub enum Buffers<'a> {
    /// The same bytes are read and written.
    InPlace(&'a mut [u8]),
    /// Two buffers of the same length. The old contents of `to` have no effect.
    Copy {
        /// Read.
        from: &'a [u8],
        /// Written completely.
        to: &'a mut [u8],
    },
}

impl<'a> Bulk<'a> {
    /// Transforms the bytes in place.
    pub fn in_place(data: &'a mut [u8]) -> Self {
        Self(Buffers::InPlace(data))
    }

    /// Reads one buffer and writes another.
    ///
    /// # Errors
    /// [`AesError::LengthMismatch`] for buffers of different lengths.
    pub fn copy(from: &'a [u8], to: &'a mut [u8]) -> Result<Self> {
        if from.len() != to.len() {
            return Err(AesError::LengthMismatch { from: from.len(), to: to.len() });
        }
        Ok(Self(Buffers::Copy { from, to }))
    }

    /// Bytes to transform.
    pub fn len(&self) -> usize {
        self.input().len()
    }

    /// Returns whether there is nothing to transform.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that are read, or, after an operation in place, the bytes that it wrote.
    pub fn input(&self) -> &[u8] {
        match &self.0 {
            Buffers::InPlace(data) => data,
            Buffers::Copy { from, .. } => from,
        }
    }

    /// The bytes that are written.
    pub fn output(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Buffers::InPlace(data) => data,
            Buffers::Copy { to, .. } => to,
        }
    }

    /// Borrows the same data for a shorter time, so that several calls can use them.
    pub fn reborrow(&mut self) -> Bulk<'_> {
        Bulk(match &mut self.0 {
            Buffers::InPlace(data) => Buffers::InPlace(data),
            Buffers::Copy { from, to } => Buffers::Copy { from, to },
        })
    }

    /// Splits the data into the first `mid` bytes and the rest.
    ///
    /// # Panics
    /// If there are fewer than `mid`.
    pub fn split_at(self, mid: usize) -> (Self, Self) {
        match self.0 {
            Buffers::InPlace(data) => {
                let (head, tail) = data.split_at_mut(mid);
                (Self(Buffers::InPlace(head)), Self(Buffers::InPlace(tail)))
            }
            Buffers::Copy { from, to } => {
                let (from, from_tail) = from.split_at(mid);
                let (to, to_tail) = to.split_at_mut(mid);
                (Self(Buffers::Copy { from, to }), Self(Buffers::Copy { from: from_tail, to: to_tail }))
            }
        }
    }

    /// Cuts the data into pieces of `len` bytes, in order. The last may be shorter; empty data have
    /// none.
    ///
    /// # Panics
    /// If `len` is 0.
    pub fn pieces(self, len: usize) -> impl Iterator<Item = Bulk<'a>> {
        assert!(len > 0, "pieces of no bytes");
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let data = rest.take().filter(|data| !data.is_empty())?;
            let (piece, tail) = {
                let mid = len.min(data.len());
                data.split_at(mid)
            };
            rest = Some(tail);
            Some(piece)
        })
    }

    /// The buffers themselves.
    pub fn into_buffers(self) -> Buffers<'a> {
        self.0
    }
}

/// Nonces and associated data of many messages for one call of GCM under one key.
///
/// The data are cut into chunks of `chunk_len` bytes, of which the last may be shorter; empty data
/// are one empty chunk. Chunk i has nonce i and bytes `i * aad_len .. (i + 1) * aad_len` of the
/// associated data. **A nonce must never occur twice under one key**: within a call this is
/// refused, across calls it is not checked.
#[derive(Clone, Copy, Debug)]
pub struct GcmChunks<'a> {
    chunk_len: usize,
    nonces: &'a [[u8; 12]],
    aads: &'a [u8],
}

/// Checks that no nonce occurs twice. Increasing counters are recognised in one pass.
fn check_nonces(nonces: &[[u8; 12]]) -> Result<()> {
    if nonces.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..nonces.len()).collect();
    order.sort_unstable_by_key(|&i| (nonces[i], i));
    let twice = order.windows(2).find(|pair| nonces[pair[0]] == nonces[pair[1]]);
    twice.map_or(Ok(()), |pair| Err(AesError::RepeatedNonce { first: pair[0], second: pair[1] }))
}

impl<'a> GcmChunks<'a> {
    /// Chunks of this many bytes, with one nonce each and associated data of one length.
    ///
    /// # Errors
    /// [`AesError::ChunkLength`] for chunks of no bytes, [`AesError::ChunkCount`] without a nonce
    /// or for associated data that cannot be cut into equal parts, [`AesError::TooLong`] beyond the
    /// limits of GCM, [`AesError::RepeatedNonce`] for two chunks of one nonce. Nonces that
    /// increase, as big-endian numbers, are checked in one pass; others are sorted.
    pub fn new(chunk_len: usize, nonces: &'a [[u8; 12]], aads: &'a [u8]) -> Result<Self> {
        if chunk_len == 0 {
            return Err(AesError::ChunkLength);
        }
        if nonces.is_empty() {
            return Err(AesError::ChunkCount { what: "nonces", found: 0, expected: 1 });
        }
        if !aads.len().is_multiple_of(nonces.len()) {
            return Err(AesError::ChunkCount {
                what: "bytes of associated data, not a multiple of the number of chunks,",
                found: aads.len(),
                expected: nonces.len(),
            });
        }
        check_gcm(chunk_len, aads.len() / nonces.len())?;
        check_nonces(nonces)?;
        Ok(Self { chunk_len, nonces, aads })
    }

    /// The bytes of every chunk except the last.
    pub fn chunk_len(&self) -> usize {
        self.chunk_len
    }

    /// The number of chunks, at least 1.
    pub fn count(&self) -> usize {
        self.nonces.len()
    }

    /// The nonces of all chunks.
    pub fn nonces(&self) -> &'a [[u8; 12]] {
        self.nonces
    }

    /// The associated data of all chunks, in order.
    pub fn aads(&self) -> &'a [u8] {
        self.aads
    }

    /// The bytes of associated data per chunk.
    pub fn aad_len(&self) -> usize {
        self.aads.len() / self.nonces.len()
    }

    /// The associated data of one chunk.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn aad(&self, index: usize) -> &'a [u8] {
        let len = self.aad_len();
        &self.aads[index * len..(index + 1) * len]
    }

    /// Checks that data of `len` bytes and this many tags have this number of chunks.
    ///
    /// # Errors
    /// [`AesError::ChunkCount`].
    pub fn check(&self, len: usize, tags: usize) -> Result<()> {
        let expected = len.div_ceil(self.chunk_len).max(1);
        for (what, found) in [("nonces", self.count()), ("tags", tags)] {
            if found != expected {
                return Err(AesError::ChunkCount { what, found, expected });
            }
        }
        Ok(())
    }
}

/// AES for large amounts of data. Every implementation gives the same bytes.
///
/// Methods return when the output is complete. After an error other than a wrong tag, the output is
/// unspecified, but holds no plaintext that failed authentication. `hazmat` methods are for
/// experiments and for building modes: they hide less than one expects (in ECB equal blocks stay
/// equal; in CTR anybody can flip plaintext bits, and a repeated counter reveals everything). Each
/// implementation states its timing.
pub trait BulkCipher: Send + Sync {
    /// The name of the implementation, for messages.
    fn name(&self) -> String;

    /// ECB (SP 800-38A, 6.1): every block of 16 bytes by itself.
    ///
    /// # Errors
    /// [`AesError::PartialBlock`] for a length that is not a multiple of 16; [`AesError::Backend`].
    fn hazmat_ecb(&self, key: &Key, direction: Direction, data: Bulk<'_>) -> Result<()>;

    /// CTR (SP 800-38A, 6.5): data XOR cipher(counter) || cipher(counter + 1) || ..., for any
    /// length. The counter is a big-endian number modulo 2^128. Decryption is the same operation.
    ///
    /// # Errors
    /// [`AesError::Backend`].
    fn hazmat_ctr(&self, key: &Key, counter: &[u8; 16], data: Bulk<'_>) -> Result<()>;

    /// XTS (IEEE 1619, SP 800-38E) of data units of `unit_len` bytes numbered `first`,
    /// `first + 1`, ... (the number, little-endian, is the tweak). The last unit may be shorter.
    /// Units that are not whole blocks use ciphertext stealing. XTS does not authenticate: it is
    /// for storage that has no room for tags.
    ///
    /// # Errors
    /// [`AesError::ShortUnit`] for a unit, the last included, below 16 bytes, [`AesError::TooLong`]
    /// for units beyond 2^24 bytes, [`AesError::UnitNumber`] for numbers beyond 2^128 - 1;
    /// [`AesError::Backend`].
    fn xts(
        &self,
        keys: &XtsKey,
        first: u128,
        unit_len: usize,
        direction: Direction,
        data: Bulk<'_>,
    ) -> Result<()>;

    /// Encrypts by GCM (SP 800-38D) with a nonce of 96 bits, and returns the tag of 128 bits. A
    /// nonce must never occur twice under one key.
    ///
    /// # Errors
    /// [`AesError::TooLong`] beyond 2^36 - 32 bytes of data or 2^61 - 1 of associated data;
    /// [`AesError::Backend`].
    fn gcm_seal(&self, key: &Key, nonce: &[u8; 12], aad: &[u8], data: Bulk<'_>) -> Result<[u8; 16]>;

    /// Verifies and decrypts the output of [`gcm_seal`](Self::gcm_seal). Tags are compared in
    /// constant time.
    ///
    /// # Errors
    /// [`AesError::Tag`] for a wrong tag: then the whole output is zero, in place too. Otherwise as
    /// `gcm_seal`.
    fn gcm_open(&self, key: &Key, nonce: &[u8; 12], aad: &[u8], tag: &[u8; 16], data: Bulk<'_>)
    -> Result<()>;

    /// Applies [`gcm_seal`](Self::gcm_seal) to every chunk, in one call, and writes one tag for
    /// each.
    ///
    /// # Errors
    /// [`AesError::ChunkCount`] if nonces or tags are not one for each chunk;
    /// [`AesError::Backend`].
    fn gcm_seal_chunks(
        &self,
        key: &Key,
        chunks: GcmChunks<'_>,
        data: Bulk<'_>,
        tags: &mut [[u8; 16]],
    ) -> Result<()> {
        seal_chunks(self, key, chunks, data, tags)
    }

    /// Applies [`gcm_open`](Self::gcm_open) to every chunk, in one call.
    ///
    /// # Errors
    /// [`AesError::ChunkTag`] with the first chunk whose tag is wrong: then the whole output, of
    /// all chunks, is zero, in place too. Otherwise as [`gcm_seal_chunks`](Self::gcm_seal_chunks).
    fn gcm_open_chunks(
        &self,
        key: &Key,
        chunks: GcmChunks<'_>,
        tags: &[[u8; 16]],
        data: Bulk<'_>,
    ) -> Result<()> {
        open_chunks(self, key, chunks, tags, data)
    }
}

/// [`BulkCipher::gcm_seal_chunks`] by one call of [`BulkCipher::gcm_seal`] per chunk.
///
/// # Errors
/// The same as for the method.
pub fn seal_chunks<C: BulkCipher + ?Sized>(
    cipher: &C,
    key: &Key,
    chunks: GcmChunks<'_>,
    data: Bulk<'_>,
    tags: &mut [[u8; 16]],
) -> Result<()> {
    chunks.check(data.len(), tags.len())?;
    for (i, (tag, chunk)) in tags.iter_mut().zip(in_chunks(chunks, data)).enumerate() {
        *tag = cipher.gcm_seal(key, &chunks.nonces[i], chunks.aad(i), chunk)?;
    }
    Ok(())
}

/// [`BulkCipher::gcm_open_chunks`] by one call of [`BulkCipher::gcm_open`] per chunk.
///
/// # Errors
/// The same as for the method.
pub fn open_chunks<C: BulkCipher + ?Sized>(
    cipher: &C,
    key: &Key,
    chunks: GcmChunks<'_>,
    tags: &[[u8; 16]],
    mut data: Bulk<'_>,
) -> Result<()> {
    chunks.check(data.len(), tags.len())?;
    let opened =
        tags.iter().zip(in_chunks(chunks, data.reborrow())).enumerate().try_for_each(|(i, (tag, chunk))| {
            let opened = cipher.gcm_open(key, &chunks.nonces[i], chunks.aad(i), tag, chunk);
            opened.map_err(|e| if matches!(e, AesError::Tag) { AesError::ChunkTag { index: i } } else { e })
        });
    if opened.is_err() {
        data.output().fill(0);
    }
    opened
}

/// The chunks of the data; empty data are one empty chunk.
pub(super) fn in_chunks<'a>(chunks: GcmChunks<'_>, data: Bulk<'a>) -> Vec<Bulk<'a>> {
    if data.is_empty() { vec![data] } else { data.pieces(chunks.chunk_len).collect() }
}

/// Checks that ECB accepts data of this length.
///
/// # Errors
/// [`AesError::PartialBlock`].
pub fn check_ecb(len: usize) -> Result<()> {
    if len.is_multiple_of(16) { Ok(()) } else { Err(AesError::PartialBlock { found: len }) }
}

/// Checks that GCM accepts data and associated data of these lengths (SP 800-38D, 5.2.1.1).
///
/// # Errors
/// [`AesError::TooLong`].
pub fn check_gcm(len: usize, aad: usize) -> Result<()> {
    for (what, found, limit) in
        [("data", len as u64, (1 << 36) - 32), ("associated data", aad as u64, (1 << 61) - 1)]
    {
        if found > limit {
            return Err(AesError::TooLong { mode: "GCM", what, found, limit });
        }
    }
    Ok(())
}

/// Checks that XTS accepts data of this length in units of this length and numbers.
///
/// # Errors
/// The same as for [`BulkCipher::xts`].
pub fn check_xts(first: u128, unit_len: usize, len: usize) -> Result<()> {
    const LIMIT: u64 = 1 << 24;
    if unit_len < 16 {
        return Err(AesError::ShortUnit { found: unit_len });
    }
    if unit_len as u64 > LIMIT {
        return Err(AesError::TooLong {
            mode: "XTS",
            what: "data units",
            found: unit_len as u64,
            limit: LIMIT,
        });
    }
    let last = len % unit_len;
    if (1..16).contains(&last) {
        return Err(AesError::ShortUnit { found: last });
    }
    let units = len.div_ceil(unit_len) as u128;
    if units > 0 && first.checked_add(units - 1).is_none() {
        return Err(AesError::UnitNumber { first, units });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(nonces: &[[u8; 12]]) -> Option<[usize; 2]> {
        match GcmChunks::new(16, nonces, &[]) {
            Ok(_) => None,
            Err(AesError::RepeatedNonce { first, second }) => Some([first, second]),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_nonce_occurs_once_in_a_call() {
        let nonce = |i: u32| -> [u8; 12] { std::array::from_fn(|j| i.to_be_bytes()[j % 4]) };
        for count in [1u32, 2, 3, 1000] {
            let growing: Vec<_> = (0..count).map(nonce).collect();
            let falling: Vec<_> = (0..count).rev().map(nonce).collect();
            let mixed: Vec<_> = (0..count).map(|i| nonce(i.wrapping_mul(0x9e37_79b1))).collect();
            for nonces in [growing, falling, mixed] {
                assert_eq!(repeated(&nonces), None, "{count}");
                for first in [0, nonces.len() / 2, nonces.len() - 1] {
                    let mut nonces = nonces.clone();
                    nonces.push(nonces[first]);
                    assert_eq!(repeated(&nonces), Some([first, count as usize]), "{count}");
                }
            }
        }
        let message = GcmChunks::new(16, &[[0; 12]; 2], &[]).unwrap_err().to_string();
        assert!(
            message.contains("chunks 0 and 1") && message.contains("use a separate nonce for each"),
            "{message}"
        );
    }
}
