//! FIPS-197 byte by byte: the oracle of every other implementation.
//!
//! The S-box is a table here, so timing depends on keys and data: this is for tests, not for
//! secrets.

use super::field::{INV_MIX, INV_S_BOX, MIX, S_BOX, mix_column};
use super::{BLOCK, BlockCipher, Key, KeySchedule, Modes};

/// The modes over [`Aes`].
pub type Reference = Modes<Aes>;

/// AES as FIPS-197 writes it. The state's byte in row r, column c is `state[r + 4 c]`.
#[derive(Clone, Debug)]
pub struct Aes(KeySchedule);

type State = [u8; BLOCK];

fn add_round_key(state: &mut State, key: &[u8; BLOCK]) {
    state.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
}

fn sub_bytes(state: &mut State) {
    *state = state.map(|byte| S_BOX[usize::from(byte)]);
}

fn inv_sub_bytes(state: &mut State) {
    *state = state.map(|byte| INV_S_BOX[usize::from(byte)]);
}

/// Row r moves r places to the left.
fn shift_rows(state: &mut State) {
    let old = *state;
    *state = std::array::from_fn(|i| old[(i + 4 * (i % 4)) % BLOCK]);
}

/// Row r moves r places to the right.
fn inv_shift_rows(state: &mut State) {
    let old = *state;
    *state = std::array::from_fn(|i| old[(i + 12 * (i % 4)) % BLOCK]);
}

fn mix_columns(state: &mut State) {
    state.as_chunks_mut().0.iter_mut().for_each(|column| *column = mix_column(*column, MIX));
}

fn inv_mix_columns(state: &mut State) {
    state.as_chunks_mut().0.iter_mut().for_each(|column| *column = mix_column(*column, INV_MIX));
}

impl BlockCipher for Aes {
    const NAME: &'static str = "reference";

    fn new(key: &Key) -> Self {
        Self(KeySchedule::new(key))
    }

    fn encrypt(&self, state: &mut State) {
        let keys = self.0.expose_round_keys();
        let rounds = keys.len() - 1;
        add_round_key(state, &keys[0]);
        for key in &keys[1..rounds] {
            sub_bytes(state);
            shift_rows(state);
            mix_columns(state);
            add_round_key(state, key);
        }
        sub_bytes(state);
        shift_rows(state);
        add_round_key(state, &keys[rounds]);
    }

    fn decrypt(&self, state: &mut State) {
        let keys = self.0.expose_round_keys();
        let rounds = keys.len() - 1;
        add_round_key(state, &keys[rounds]);
        for key in keys[1..rounds].iter().rev() {
            inv_shift_rows(state);
            inv_sub_bytes(state);
            add_round_key(state, key);
            inv_mix_columns(state);
        }
        inv_shift_rows(state);
        inv_sub_bytes(state);
        add_round_key(state, &keys[0]);
    }
}
