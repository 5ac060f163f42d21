//! Frames and sequences of them.

use super::WireError;
use crate::reveal;
use crate::rlwe::Fingerprint;
use crate::secret_words::wipe_stack;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use zeroize::{Zeroize, Zeroizing};

/// The newest version of the format, which is the one written.
pub const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"HEWF";
const HEADER: usize = 48;
const CHECKSUM: usize = 32;
/// The length of the body of an end mark.
const END_BODY: u64 = 40;

/// The kind of content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[non_exhaustive]
pub enum FrameKind {
    /// CKKS parameters.
    CkksParams = 1,
    /// A secret key.
    SecretKey = 2,
    /// A public key.
    PublicKey = 3,
    /// A relinearisation key.
    RelinKey = 4,
    /// A Galois key.
    GaloisKey = 5,
    /// A batch of CKKS ciphertexts.
    CkksCiphertext = 6,
    /// A batch of seeded CKKS ciphertexts.
    CkksSeededCiphertext = 7,
    /// Bytes that belong to the application.
    Attachment = 8,
    /// The last frame.
    End = 9,
    /// An AES key for files.
    AesKey = 10,
    /// BFV parameters.
    BfvParams = 11,
    /// A batch of BFV ciphertexts.
    BfvCiphertext = 12,
    /// A batch of seeded BFV ciphertexts.
    BfvSeededCiphertext = 13,
    /// BGV parameters.
    BgvParams = 14,
    /// A batch of BGV ciphertexts.
    BgvCiphertext = 15,
    /// A batch of seeded BGV ciphertexts.
    BgvSeededCiphertext = 16,
    /// Parameters of CKKS with a big-integer modulus.
    BigCkksParams = 20,
    /// A secret key of it.
    BigCkksSecretKey = 21,
    /// A public key of it.
    BigCkksPublicKey = 22,
    /// A relinearisation or Galois key of it.
    BigCkksSwitchKey = 23,
    /// A batch of ciphertexts of it.
    BigCkksCiphertext = 24,
    /// TFHE parameters.
    TfheParams = 25,
    /// A secret key of TFHE.
    TfheSecretKey = 26,
    /// A bootstrapping key.
    TfheBootstrapKey = 27,
    /// Encrypted bits.
    TfheBits = 28,
    /// A batch of encrypted integers.
    TfheUint = 29,
    /// A batch of encrypted conditions.
    TfheFlags = 30,
    /// The identity of a key set.
    KeySet = 31,
    /// Encrypted bits, with their masks as a seed.
    TfheSeededBits = 32,
    /// A batch of encrypted integers, with their masks as a seed.
    TfheSeededUint = 33,
    /// A batch of encrypted conditions, with their masks as a seed.
    TfheSeededFlags = 34,
    /// CKKS parameters with bootstrapping.
    CkksBootstrapParams = 35,
    /// The key to the sparse secret of bootstrapping.
    CkksSparseKey = 36,
    /// Any other key of bootstrapping.
    CkksBootstrapKey = 37,
    /// BFV parameters with bootstrapping.
    BfvBootstrapParams = 38,
    /// BGV parameters with bootstrapping.
    BgvBootstrapParams = 39,
    /// A key from RLWE to TFHE.
    ToTfheKey = 40,
    /// The keys from TFHE to RLWE.
    FromTfheKey = 41,
    /// A TFHE key of circuit bootstrapping.
    TfheCircuitKey = 42,
    /// The round keys of an AES key under TFHE.
    EncryptedAesKey = 43,
    /// A session of several parties.
    Session = 44,
    /// A public share of a party.
    PartyShare = 45,
    /// A secret share of a party for another one.
    SecretShare = 46,
    /// The secret of a party.
    PartyKey = 47,
    /// The threshold key of a party.
    ThresholdKey = 48,
    /// The ephemeral secret of a party.
    EphemeralKey = 49,
    /// A recipient's key for re-encryption.
    RecipientKey = 50,
    /// A key of re-encryption.
    ReencryptionKey = 51,
    /// An AES key for what is to be transciphered.
    SensorKey = 52,
    /// A public key of TFHE.
    TfhePublicKey = 53,
    /// A compact list of encrypted bits.
    TfheCompactBits = 54,
    /// A compact list of encrypted integers.
    TfheCompactUint = 55,
    /// A compact list of encrypted conditions.
    TfheCompactFlags = 56,
    /// A batch of reduced products of words.
    ReducedWords = 57,
    /// A multi-bit bootstrapping key of TFHE.
    TfheMultiBitKey = 58,
    /// A public key whose second part comes from no seed.
    UnseededPublicKey = 59,
    /// A relinearisation key whose second parts come from no seed.
    UnseededRelinKey = 60,
    /// A Galois key whose second parts come from no seed.
    UnseededGaloisKey = 61,
}

impl FrameKind {
    /// The greatest number of a kind.
    pub(super) const LAST: u16 = Self::UnseededGaloisKey as u16;

    fn from_number(found: u16) -> Result<Self, WireError> {
        Ok(match found {
            1 => Self::CkksParams,
            2 => Self::SecretKey,
            3 => Self::PublicKey,
            4 => Self::RelinKey,
            5 => Self::GaloisKey,
            6 => Self::CkksCiphertext,
            7 => Self::CkksSeededCiphertext,
            8 => Self::Attachment,
            9 => Self::End,
            10 => Self::AesKey,
            11 => Self::BfvParams,
            12 => Self::BfvCiphertext,
            13 => Self::BfvSeededCiphertext,
            14 => Self::BgvParams,
            15 => Self::BgvCiphertext,
            16 => Self::BgvSeededCiphertext,
            20 => Self::BigCkksParams,
            21 => Self::BigCkksSecretKey,
            22 => Self::BigCkksPublicKey,
            23 => Self::BigCkksSwitchKey,
            24 => Self::BigCkksCiphertext,
            25 => Self::TfheParams,
            26 => Self::TfheSecretKey,
            27 => Self::TfheBootstrapKey,
            28 => Self::TfheBits,
            29 => Self::TfheUint,
            30 => Self::TfheFlags,
            31 => Self::KeySet,
            32 => Self::TfheSeededBits,
            33 => Self::TfheSeededUint,
            34 => Self::TfheSeededFlags,
            35 => Self::CkksBootstrapParams,
            36 => Self::CkksSparseKey,
            37 => Self::CkksBootstrapKey,
            38 => Self::BfvBootstrapParams,
            39 => Self::BgvBootstrapParams,
            40 => Self::ToTfheKey,
            41 => Self::FromTfheKey,
            42 => Self::TfheCircuitKey,
            43 => Self::EncryptedAesKey,
            44 => Self::Session,
            45 => Self::PartyShare,
            46 => Self::SecretShare,
            47 => Self::PartyKey,
            48 => Self::ThresholdKey,
            49 => Self::EphemeralKey,
            50 => Self::RecipientKey,
            51 => Self::ReencryptionKey,
            52 => Self::SensorKey,
            53 => Self::TfhePublicKey,
            54 => Self::TfheCompactBits,
            55 => Self::TfheCompactUint,
            56 => Self::TfheCompactFlags,
            57 => Self::ReducedWords,
            58 => Self::TfheMultiBitKey,
            59 => Self::UnseededPublicKey,
            60 => Self::UnseededRelinKey,
            61 => Self::UnseededGaloisKey,
            _ => return Err(WireError::UnknownKind { found }),
        })
    }

    /// Whether bodies of this kind may hold secrets, and are wiped.
    fn secret(self) -> bool {
        matches!(
            self,
            Self::SecretKey
                | Self::BigCkksSecretKey
                | Self::TfheSecretKey
                | Self::AesKey
                | Self::Attachment
                | Self::SecretShare
                | Self::PartyKey
                | Self::ThresholdKey
                | Self::EphemeralKey
                | Self::SensorKey
        )
    }
}

impl std::fmt::Display for FrameKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CkksParams => "set of ckks parameters",
            Self::SecretKey => "secret key",
            Self::PublicKey => "public key",
            Self::RelinKey => "relinearisation key",
            Self::GaloisKey => "galois key",
            Self::CkksCiphertext => "ckks ciphertext",
            Self::CkksSeededCiphertext => "seeded ckks ciphertext",
            Self::Attachment => "attachment",
            Self::End => "end mark",
            Self::AesKey => "secret aes key",
            Self::BfvParams => "set of bfv parameters",
            Self::BfvCiphertext => "bfv ciphertext",
            Self::BfvSeededCiphertext => "seeded bfv ciphertext",
            Self::BgvParams => "set of bgv parameters",
            Self::BgvCiphertext => "bgv ciphertext",
            Self::BgvSeededCiphertext => "seeded bgv ciphertext",
            Self::BigCkksParams => "set of bigckks parameters",
            Self::BigCkksSecretKey => "bigckks secret key",
            Self::BigCkksPublicKey => "bigckks public key",
            Self::BigCkksSwitchKey => "bigckks switching key",
            Self::BigCkksCiphertext => "bigckks ciphertext",
            Self::TfheParams => "set of tfhe parameters",
            Self::TfheSecretKey => "tfhe secret key",
            Self::TfheBootstrapKey => "tfhe bootstrapping key",
            Self::TfheBits => "batch of encrypted bits",
            Self::TfheUint => "batch of encrypted integers",
            Self::TfheFlags => "batch of encrypted conditions",
            Self::KeySet => "key set identity",
            Self::TfheSeededBits => "batch of seeded encrypted bits",
            Self::TfheSeededUint => "batch of seeded encrypted integers",
            Self::TfheSeededFlags => "batch of seeded encrypted conditions",
            Self::CkksBootstrapParams => "set of ckks parameters with bootstrapping",
            Self::CkksSparseKey => "key to a sparse secret",
            Self::CkksBootstrapKey => "key of bootstrapping",
            Self::BfvBootstrapParams => "set of bfv parameters with bootstrapping",
            Self::BgvBootstrapParams => "set of bgv parameters with bootstrapping",
            Self::ToTfheKey => "key to tfhe",
            Self::FromTfheKey => "set of keys from tfhe",
            Self::TfheCircuitKey => "key of circuit bootstrapping",
            Self::EncryptedAesKey => "encrypted AES key",
            Self::Session => "session of several parties",
            Self::PartyShare => "share of a party",
            Self::SecretShare => "secret share of a party",
            Self::PartyKey => "secret of a party",
            Self::ThresholdKey => "threshold key of a party",
            Self::EphemeralKey => "ephemeral secret of a party",
            Self::RecipientKey => "recipient's key",
            Self::ReencryptionKey => "re-encryption key",
            Self::SensorKey => "secret key of a sensor",
            Self::TfhePublicKey => "tfhe public key",
            Self::TfheCompactBits => "compact list of encrypted bits",
            Self::TfheCompactUint => "compact list of encrypted integers",
            Self::TfheCompactFlags => "compact list of encrypted conditions",
            Self::ReducedWords => "batch of reduced products",
            Self::TfheMultiBitKey => "multi-bit bootstrapping key",
            Self::UnseededPublicKey => "public key without a seed",
            Self::UnseededRelinKey => "relinearisation key without a seed",
            Self::UnseededGaloisKey => "galois key without a seed",
        })
    }
}

/// The first bytes of a frame, before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The kind of object that the frame holds.
    pub kind: FrameKind,
    /// The fingerprint of the parameters to which it belongs.
    pub fingerprint: Fingerprint,
    /// The bytes of its body.
    pub length: u64,
}

impl FrameHeader {
    /// The bytes of a header.
    pub const SIZE: usize = HEADER;

    /// Reads a header. Nothing is known of the body yet, and its length may be false.
    ///
    /// # Errors
    /// [`WireError::NotThisFormat`], [`WireError::UnsupportedVersion`] or
    /// [`WireError::UnknownKind`].
    pub fn parse(header: &[u8; Self::SIZE]) -> Result<Self, WireError> {
        if header[..4] != MAGIC {
            return Err(WireError::NotThisFormat);
        }
        let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let found = number(4);
        if found == 0 || found > VERSION {
            return Err(WireError::UnsupportedVersion { found, supported: VERSION });
        }
        let kind = FrameKind::from_number(number(6))?;
        let mut fingerprint = Fingerprint([0; 32]);
        fingerprint.0.copy_from_slice(&header[8..40]);
        let mut length = [0; 8];
        length.copy_from_slice(&header[40..48]);
        Ok(Self { kind, fingerprint, length: u64::from_le_bytes(length) })
    }

    /// The reason for which these bytes, fewer than those of a header, are not one.
    fn of_fewer(bytes: &[u8]) -> WireError {
        let start = bytes.len().min(MAGIC.len());
        if bytes[..start] == MAGIC[..start] { WireError::Truncated } else { WireError::NotThisFormat }
    }
}

/// One frame: kind, fingerprint of the parameters, body. Bodies of secret keys, AES keys,
/// secrets of parties and attachments are wiped on drop; the others are public.
pub struct Frame {
    /// The kind of object that it holds.
    pub kind: FrameKind,
    /// The fingerprint of the parameters to which it belongs.
    pub fingerprint: Fingerprint,
    /// The body.
    pub body: Vec<u8>,
}

impl Drop for Frame {
    fn drop(&mut self) {
        if self.kind.secret() {
            self.body.zeroize();
        }
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame {{ {}, {}, {} bytes }}", self.kind, self.fingerprint, self.body.len())
    }
}

impl Frame {
    /// The largest attachment, in bytes.
    pub const MAX_ATTACHMENT: u64 = 1 << 20;

    /// Makes a frame of application bytes, at most [`MAX_ATTACHMENT`](Self::MAX_ATTACHMENT).
    ///
    /// # Errors
    /// [`WireError::Length`].
    pub fn attachment(fingerprint: Fingerprint, bytes: Vec<u8>) -> Result<Self, WireError> {
        let found = bytes.len() as u64;
        if found > Self::MAX_ATTACHMENT {
            return Err(WireError::Length {
                kind: FrameKind::Attachment,
                found,
                expected: Self::MAX_ATTACHMENT,
            });
        }
        Ok(Self { kind: FrameKind::Attachment, fingerprint, body: bytes })
    }

    /// Checks kind and fingerprint.
    pub(super) fn expect(&self, expected: FrameKind, params: Fingerprint) -> Result<(), WireError> {
        if self.kind != expected {
            return Err(WireError::UnexpectedKind { found: self.kind, expected });
        }
        if self.fingerprint != params {
            let (found, expected) = (self.fingerprint.to_string(), params.to_string());
            return Err(WireError::WrongParams { kind: self.kind, found, expected });
        }
        Ok(())
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[0..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&VERSION.to_le_bytes());
        header[6..8].copy_from_slice(&(self.kind as u16).to_le_bytes());
        header[8..40].copy_from_slice(&self.fingerprint.0);
        header[40..48].copy_from_slice(&(self.body.len() as u64).to_le_bytes());
        header
    }

    /// Computes the checksum.
    pub fn seal(self) -> SealedFrame {
        let header = self.header();
        let checksum = *checksum(&header, &self.body).as_bytes();
        SealedFrame { header, frame: self, checksum }
    }

    /// The bytes of a frame with a body of this length.
    pub const fn size(body: u64) -> u64 {
        HEADER as u64 + body + CHECKSUM as u64
    }
}

/// A frame with its checksum, which may be wrong until it is [`open`](Self::open)ed. Hashing takes
/// longer than reading and writing, so a program with several threads can seal and open frames on
/// one and read and write them on another.
#[derive(Debug)]
pub struct SealedFrame {
    header: [u8; HEADER],
    frame: Frame,
    checksum: [u8; CHECKSUM],
}

impl SealedFrame {
    /// Returns the frame if its checksum is correct.
    ///
    /// # Errors
    /// [`WireError::Checksum`].
    pub fn open(self) -> Result<Frame, WireError> {
        // Constant-time comparison: the body may be a secret key.
        let found = checksum(&self.header, &self.frame.body);
        if !reveal::bit(found == blake3::Hash::from_bytes(self.checksum)) {
            return Err(WireError::Checksum { kind: self.frame.kind });
        }
        Ok(self.frame)
    }

    /// The frame as it is, whether or not its checksum is correct, for inspecting a frame that was
    /// just sealed.
    pub fn unverified(&self) -> &Frame {
        &self.frame
    }

    /// The bytes of the frame.
    pub fn size(&self) -> u64 {
        Frame::size(self.frame.body.len() as u64)
    }
}

/// Bodies of this length and beyond are hashed on several threads.
#[cfg(feature = "rayon")]
const LONG_BODY: usize = 1 << 17;

fn checksum(header: &[u8; HEADER], body: &[u8]) -> blake3::Hash {
    let hash = hashed(header, body);
    // The end of the body, which may be that of a secret key, was copied there.
    wipe_stack();
    hash
}

/// This has a stack frame of its own, below that of [`checksum`].
#[inline(never)]
fn hashed(header: &[u8; HEADER], body: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header);
    #[cfg(feature = "rayon")]
    let update = if body.len() < LONG_BODY { blake3::Hasher::update } else { blake3::Hasher::update_rayon };
    #[cfg(not(feature = "rayon"))]
    let update = blake3::Hasher::update;
    update(&mut hasher, body);
    let (mut hash, mut output) = ([0; CHECKSUM], hasher.finalize_xof());
    output.fill(&mut hash);
    output.zeroize();
    hasher.zeroize();
    blake3::Hash::from_bytes(hash)
}

/// Writes frames, then the end mark.
#[derive(Debug)]
pub struct FrameWriter<W: Write> {
    inner: W,
    count: u64,
    chain: blake3::Hasher,
}

impl<W: Write> FrameWriter<W> {
    /// Starts a sequence.
    pub fn new(inner: W) -> Self {
        Self { inner, count: 0, chain: blake3::Hasher::new() }
    }

    /// Writes a frame, and returns its length in bytes.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn write(&mut self, frame: &Frame) -> Result<u64, WireError> {
        let header = frame.header();
        self.write_parts(&header, &frame.body, checksum(&header, &frame.body).as_bytes())
    }

    /// Writes a frame with its checksum, and returns its length in bytes.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn write_sealed(&mut self, sealed: &SealedFrame) -> Result<u64, WireError> {
        self.write_parts(&sealed.header, &sealed.frame.body, &sealed.checksum)
    }

    fn write_parts(
        &mut self,
        header: &[u8; HEADER],
        body: &[u8],
        checksum: &[u8; CHECKSUM],
    ) -> Result<u64, WireError> {
        self.inner.write_all(header)?;
        self.inner.write_all(body)?;
        self.inner.write_all(checksum)?;
        self.chain.update(checksum);
        self.count += 1;
        Ok(Frame::size(body.len() as u64))
    }

    /// Writes the end mark, flushes, and returns the writer.
    ///
    /// # Errors
    /// [`WireError::Io`].
    pub fn finish(mut self, fingerprint: Fingerprint) -> Result<W, WireError> {
        let mut body = self.count.to_le_bytes().to_vec();
        body.extend(self.chain.finalize().as_bytes());
        self.write(&Frame { kind: FrameKind::End, fingerprint, body })?;
        self.inner.flush()?;
        Ok(self.inner)
    }
}

/// The place of a frame in a file, as [`FrameReader::skip_frame`] finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlace {
    /// Its first byte, counted from the beginning of the file.
    pub start: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its checksum, which is that of the body if the frame is opened without an error.
    pub checksum: [u8; CHECKSUM],
}

impl FramePlace {
    /// Reads the frame from its file.
    ///
    /// # Errors
    /// Every error of bytes: [`WireError::Checksum`], too, if there is another frame in its place.
    pub fn read(&self, mut file: impl Read + Seek) -> Result<Frame, WireError> {
        file.seek(SeekFrom::Start(self.start))?;
        let mut reader = FrameReader::new(file);
        let body = self.bytes.saturating_sub(Frame::size(0));
        let sealed = reader.next_sealed(|_, _| body)?.ok_or(WireError::Sequence)?;
        if sealed.checksum != self.checksum {
            return Err(WireError::Checksum { kind: sealed.frame.kind });
        }
        sealed.open()
    }
}

/// Reads frames until the end mark.
#[derive(Debug)]
pub struct FrameReader<R: Read> {
    inner: R,
    /// The fingerprint of the first frame, which the end mark must have, too.
    fingerprint: Option<Fingerprint>,
    count: u64,
    chain: blake3::Hasher,
    ended: bool,
    spare: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    /// Starts reading a sequence.
    pub fn new(inner: R) -> Self {
        let chain = blake3::Hasher::new();
        Self { inner, fingerprint: None, count: 0, chain, ended: false, spare: Vec::new() }
    }

    /// Returns the next frame, with its checksum verified, or `None` after a valid end mark that
    /// nothing follows. `limit` gives the longest body of a kind that the caller accepts, under the
    /// fingerprint found; memory grows with the bytes that actually arrive.
    ///
    /// # Errors
    /// Every error of bytes.
    pub fn next_frame(
        &mut self,
        limit: impl Fn(FrameKind, Fingerprint) -> u64,
    ) -> Result<Option<Frame>, WireError> {
        self.next_sealed(limit)?.map(SealedFrame::open).transpose()
    }

    /// Memory for the next body of a frame that is not secret. Reusing it saves time, because fresh
    /// memory costs as much as reading.
    pub fn recycle(&mut self, spare: Vec<u8>) {
        self.spare = spare;
    }

    /// The same as [`next_frame`](Self::next_frame), but the checksum is not verified yet, except
    /// that of the end mark.
    ///
    /// # Errors
    /// Every error of bytes except a wrong checksum of a frame.
    pub fn next_sealed(
        &mut self,
        limit: impl Fn(FrameKind, Fingerprint) -> u64,
    ) -> Result<Option<SealedFrame>, WireError> {
        if self.ended {
            return Ok(None);
        }
        let (bytes, header) = self.next_header(limit)?;
        let sealed = self.rest(bytes, header)?;
        if header.kind == FrameKind::End {
            return self.check_end(&sealed.open()?).map(|()| None);
        }
        self.passed(header.fingerprint, &sealed.checksum);
        Ok(Some(sealed))
    }

    /// Reads body and checksum of a frame behind its header.
    fn rest(&mut self, bytes: [u8; HEADER], header: FrameHeader) -> Result<SealedFrame, WireError> {
        let FrameHeader { kind, fingerprint, length } = header;
        let frame = Frame { kind, fingerprint, body: self.read_body(kind, length)? };
        Ok(SealedFrame { header: bytes, frame, checksum: self.next_checksum()? })
    }

    /// Reads what a frame says of itself, and bounds the length of its body.
    fn next_header(
        &mut self,
        limit: impl Fn(FrameKind, Fingerprint) -> u64,
    ) -> Result<([u8; HEADER], FrameHeader), WireError> {
        let mut bytes = [0u8; HEADER];
        let got = read_up_to(&mut self.inner, &mut bytes)?;
        if got < HEADER {
            return Err(FrameHeader::of_fewer(&bytes[..got]));
        }
        let header = FrameHeader::parse(&bytes)?;
        let FrameHeader { kind, fingerprint, length: found } = header;
        let expected = match kind {
            FrameKind::End => END_BODY,
            FrameKind::Attachment => Frame::MAX_ATTACHMENT.min(limit(kind, fingerprint)),
            _ => limit(kind, fingerprint),
        };
        if found > expected {
            return Err(WireError::Length { kind, found, expected });
        }
        Ok((bytes, header))
    }

    fn next_checksum(&mut self) -> Result<[u8; CHECKSUM], WireError> {
        let mut checksum = [0; CHECKSUM];
        if read_up_to(&mut self.inner, &mut checksum)? < CHECKSUM {
            return Err(WireError::Truncated);
        }
        Ok(checksum)
    }

    /// Counts a frame for the end mark.
    fn passed(&mut self, fingerprint: Fingerprint, checksum: &[u8; CHECKSUM]) {
        self.fingerprint.get_or_insert(fingerprint);
        self.chain.update(checksum);
        self.count += 1;
    }

    /// Reads a body. Memory grows with the bytes that arrive, so that a false length costs none.
    fn read_body(&mut self, kind: FrameKind, length: u64) -> Result<Vec<u8>, WireError> {
        if kind.secret() {
            return self.read_secret(length).map(|mut body| std::mem::take(&mut *body));
        }
        let mut body = std::mem::take(&mut self.spare);
        body.clear();
        let inner = &mut self.inner;
        inner.take(length).read_to_end(&mut body)?;
        if (body.len() as u64) < length {
            return Err(WireError::Truncated);
        }
        Ok(body)
    }

    /// Does the same without leaving copies of a growing secret behind.
    fn read_secret(&mut self, length: u64) -> Result<Zeroizing<Vec<u8>>, WireError> {
        const PIECE: u64 = 1 << 20;
        let mut body = Zeroizing::new(Vec::new());
        while (body.len() as u64) < length {
            let filled = body.len();
            let piece = (length - filled as u64).min(PIECE.max(filled as u64)) as usize;
            let mut larger = Zeroizing::new(Vec::with_capacity(filled + piece));
            larger.extend_from_slice(&body);
            larger.resize(filled + piece, 0);
            if read_up_to(&mut self.inner, &mut larger[filled..])? < piece {
                return Err(WireError::Truncated);
            }
            body = larger;
        }
        Ok(body)
    }

    fn check_end(&mut self, end: &Frame) -> Result<(), WireError> {
        let mut expected = self.count.to_le_bytes().to_vec();
        expected.extend(self.chain.finalize().as_bytes());
        if end.body != expected {
            return Err(WireError::Sequence);
        }
        end.expect(FrameKind::End, self.fingerprint.unwrap_or(end.fingerprint))?;
        if read_up_to(&mut self.inner, &mut [0])? != 0 {
            return Err(WireError::Trailing);
        }
        self.ended = true;
        Ok(())
    }
}

impl<R: Read + Seek> FrameReader<R> {
    /// Passes over the next frame without reading its body, and returns where it lies, or `None`
    /// after a valid end mark that nothing follows. Whether a body matches its checksum is not
    /// known then; that these are the frames of the sequence, in this order, is known at its end.
    ///
    /// # Errors
    /// Every error of bytes except a wrong checksum of a frame; [`WireError::Io`] if the reader
    /// cannot seek.
    pub fn skip_frame(
        &mut self,
        limit: impl Fn(FrameKind, Fingerprint) -> u64,
    ) -> Result<Option<FramePlace>, WireError> {
        if self.ended {
            return Ok(None);
        }
        let start = self.inner.stream_position()?;
        let (bytes, header) = self.next_header(limit)?;
        if header.kind == FrameKind::End {
            let end = self.rest(bytes, header)?.open()?;
            return self.check_end(&end).map(|()| None);
        }
        let forward = i64::try_from(header.length).map_err(|_| WireError::Truncated)?;
        self.inner.seek_relative(forward)?;
        let checksum = self.next_checksum()?;
        self.passed(header.fingerprint, &checksum);
        Ok(Some(FramePlace { start, bytes: Frame::size(header.length), checksum }))
    }
}

/// Fills the buffer as far as bytes are available.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, WireError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}
