//! The T-table form of AES, as in Jiwandono, "AES-128-ECB on CUDA" (ITB, 2011), after Daemen and
//! Rijmen, "The Design of Rijndael", section 4.2: SubBytes, ShiftRows and MixColumns of a column
//! are four look-ups in tables of 1 KiB.
//!
//! **Timing depends on keys and data** through the cache (Bernstein 2005; Osvik, Shamir, Tromer
//! 2006). For experiments only: [`Cpu`](super::Cpu) is constant time, and faster.

use super::field::{INV_MIX, INV_S_BOX, MIX, S_BOX, mix_column};
use super::{BLOCK, BlockCipher, Key, KeySchedule, Modes};
use zeroize::ZeroizeOnDrop;

/// The modes over [`Aes`].
pub type TTable = Modes<Aes>;

/// Look-ups of one direction. Columns are big-endian words: row 0 is the highest byte.
#[derive(Debug)]
pub struct Tables {
    /// `rounds[r][a]`: the contribution of byte a in row r to a column by substitution and mixing.
    pub rounds: [[u32; 256]; 4],
    /// The substitution alone, for the last round.
    pub last: [u8; 256],
}

/// Tables of the cipher: T0 ... T3 and the S-box.
pub static ENCRYPT: Tables = Tables::new(S_BOX, MIX);
/// Tables of the equivalent inverse cipher (FIPS-197, 5.3.5), for the round keys of
/// [`KeySchedule::inverse`].
pub static DECRYPT: Tables = Tables::new(INV_S_BOX, INV_MIX);

impl Tables {
    const fn new(last: [u8; 256], mix: [u8; 4]) -> Self {
        let mut rounds = [[0; 256]; 4];
        let mut a = 0;
        while a < 256 {
            let column = u32::from_be_bytes(mix_column([last[a], 0, 0, 0], mix));
            let mut row = 0;
            while row < 4 {
                rounds[row][a] = column.rotate_right(8 * row as u32);
                row += 1;
            }
            a += 1;
        }
        Self { rounds, last }
    }

    /// All rounds. Row r of column c comes from column c + r SHIFT modulo 4: SHIFT is 1 for the
    /// cipher and 3 for its inverse.
    fn apply<const SHIFT: usize>(&self, keys: &[[u32; 4]], block: &mut [u8; BLOCK]) {
        let Some((first, [middle @ .., last])) = keys.split_first() else { return };
        let bytes = block.as_chunks().0;
        let mut state: [u32; 4] = std::array::from_fn(|c| u32::from_be_bytes(bytes[c]) ^ first[c]);
        let byte =
            |state: &[u32; 4], c: usize, r: usize| usize::from(state[(c + r * SHIFT) % 4].to_be_bytes()[r]);
        for key in middle {
            state =
                std::array::from_fn(|c| (0..4).fold(key[c], |t, r| t ^ self.rounds[r][byte(&state, c, r)]));
        }
        for (c, column) in block.as_chunks_mut().0.iter_mut().enumerate() {
            let substituted = std::array::from_fn(|r| self.last[byte(&state, c, r)]);
            *column = (u32::from_be_bytes(substituted) ^ last[c]).to_be_bytes();
        }
    }
}

/// AES by tables.
#[derive(Clone, ZeroizeOnDrop)]
pub struct Aes {
    #[zeroize(skip)]
    rounds: usize,
    encrypt: [[u32; 4]; 15],
    decrypt: [[u32; 4]; 15],
}

fn words(schedule: &KeySchedule) -> [[u32; 4]; 15] {
    let mut words = [[0; 4]; 15];
    for (words, key) in words.iter_mut().zip(schedule.expose_round_keys()) {
        *words = std::array::from_fn(|c| u32::from_be_bytes(key.as_chunks().0[c]));
    }
    words
}

impl BlockCipher for Aes {
    const NAME: &'static str = "T-tables";

    fn new(key: &Key) -> Self {
        let (encrypt, decrypt) = (words(&KeySchedule::new(key)), words(&KeySchedule::inverse(key)));
        Self { rounds: key.size().rounds(), encrypt, decrypt }
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        ENCRYPT.apply::<1>(&self.encrypt[..=self.rounds], block);
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        DECRYPT.apply::<3>(&self.decrypt[..=self.rounds], block);
    }
}
