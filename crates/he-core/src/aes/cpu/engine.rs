//! RustCrypto's AES for all key sizes, and jobs over its batches of blocks.
//!
//! The crate calls a job from a function that is compiled for the instructions found, so all parts
//! of a job that are inlined use them as well.

use crate::aes::{Buffers, Bulk, Key, KeySize};
use aes::cipher::array::{Array, ArraySize};
use aes::cipher::consts::U16;
use aes::cipher::inout::{InOut, InOutBuf};
use aes::cipher::typenum::Unsigned;
use aes::cipher::{
    BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
};
use aes::{Aes128Dec, Aes128Enc, Aes192Dec, Aes192Enc, Aes256Dec, Aes256Enc};

pub(super) type Block = Array<u8, U16>;
pub(super) type Blocks<P> = Array<Block, <P as Permutation>::Size>;

/// The data in RustCrypto's form.
#[inline(always)]
pub(super) fn in_out(data: Bulk<'_>) -> InOutBuf<'_, '_, u8> {
    match data.into_buffers() {
        Buffers::InPlace(data) => data.into(),
        Buffers::Copy { from, to } => InOutBuf::new(from, to).expect("a Bulk has buffers of one length"),
    }
}

/// One direction of the cipher, over batches of the size that suits the processor.
pub(super) trait Permutation {
    /// Blocks in a batch.
    type Size: ArraySize;

    fn one(&self, block: InOut<'_, '_, Block>);
    fn batch(&self, blocks: InOut<'_, '_, Array<Block, Self::Size>>);

    /// The first blocks of a batch, and perhaps the others: a full batch costs no more than a few
    /// single blocks in sequence.
    #[inline(always)]
    fn first(&self, count: usize, blocks: &mut Array<Block, Self::Size>) {
        if 16 * count <= Self::Size::USIZE {
            blocks[..count].iter_mut().for_each(|block| self.one(block.into()));
        } else {
            self.batch(blocks.into());
        }
    }
}

/// Work on blocks, for any batch size. `run` must be `#[inline(always)]`.
pub(super) trait Job {
    fn run<P: Permutation>(self, permutation: &P);
}

/// A key ready for a direction.
pub(super) trait Direct: Sync {
    fn run(&self, job: impl Job);
}

struct Encrypt<'a, B>(&'a B);
struct Decrypt<'a, B>(&'a B);

impl<B: BlockCipherEncBackend<BlockSize = U16>> Permutation for Encrypt<'_, B> {
    type Size = B::ParBlocksSize;

    #[inline(always)]
    fn one(&self, block: InOut<'_, '_, Block>) {
        self.0.encrypt_block(block);
    }

    #[inline(always)]
    fn batch(&self, blocks: InOut<'_, '_, Array<Block, Self::Size>>) {
        self.0.encrypt_par_blocks(blocks);
    }
}

impl<B: BlockCipherDecBackend<BlockSize = U16>> Permutation for Decrypt<'_, B> {
    type Size = B::ParBlocksSize;

    #[inline(always)]
    fn one(&self, block: InOut<'_, '_, Block>) {
        self.0.decrypt_block(block);
    }

    #[inline(always)]
    fn batch(&self, blocks: InOut<'_, '_, Array<Block, Self::Size>>) {
        self.0.decrypt_par_blocks(blocks);
    }
}

struct Closure<J>(J);

impl<J> BlockSizeUser for Closure<J> {
    type BlockSize = U16;
}

impl<J: Job> BlockCipherEncClosure for Closure<J> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        self.0.run(&Encrypt(backend));
    }
}

impl<J: Job> BlockCipherDecClosure for Closure<J> {
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = U16>>(self, backend: &B) {
        self.0.run(&Decrypt(backend));
    }
}

/// Defines the keys of one direction, for all sizes. They wipe themselves (feature `zeroize` of
/// `aes`).
macro_rules! direction {
    ($(#[$attribute:meta])* $name:ident, $method:ident, $bits128:ident, $bits192:ident, $bits256:ident) => {
        $(#[$attribute])*
        pub(super) enum $name {
            Bits128($bits128),
            Bits192($bits192),
            Bits256($bits256),
        }

        impl $name {
            pub(super) fn new(key: &Key) -> Self {
                const FITS: &str = "a key has the length of its size";
                let bytes = key.expose_bytes();
                match key.size() {
                    KeySize::Bits128 => Self::Bits128($bits128::new_from_slice(bytes).expect(FITS)),
                    KeySize::Bits192 => Self::Bits192($bits192::new_from_slice(bytes).expect(FITS)),
                    KeySize::Bits256 => Self::Bits256($bits256::new_from_slice(bytes).expect(FITS)),
                }
            }
        }

        impl Direct for $name {
            fn run(&self, job: impl Job) {
                match self {
                    Self::Bits128(aes) => aes.$method(Closure(job)),
                    Self::Bits192(aes) => aes.$method(Closure(job)),
                    Self::Bits256(aes) => aes.$method(Closure(job)),
                }
            }
        }
    };
}

direction!(
    /// Keys for encryption.
    Encryptor, encrypt_with_backend, Aes128Enc, Aes192Enc, Aes256Enc
);
direction!(
    /// Keys for decryption.
    Decryptor, decrypt_with_backend, Aes128Dec, Aes192Dec, Aes256Dec
);
