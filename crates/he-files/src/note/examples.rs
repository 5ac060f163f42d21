//! Descriptions of encrypted examples of a model, and of its outputs.

use super::{MAX_BATCH, bad};
use crate::error::Result;
use he_nn::OutputLayout;
use he_nn::graph::Decision;
use serde::{Deserialize, Serialize};

/// The most examples of a file.
const MAX_EXAMPLES: u64 = 1 << 32;
/// The most ciphertexts of an example.
const MAX_PARTS: u32 = 1 << 12;

/// The most tokens of a mask.
const MAX_TOKENS: usize = 1 << 14;

/// The public mask of a sentence: `1` for each of its tokens, `0` for the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MaskNote(String);

impl MaskNote {
    /// Describes a mask.
    pub fn of(mask: &[bool]) -> Self {
        Self(mask.iter().map(|&bit| if bit { '1' } else { '0' }).collect())
    }

    /// The mask.
    pub fn mask(&self) -> Vec<bool> {
        self.0.bytes().map(|byte| byte == b'1').collect()
    }

    /// The tokens of the sentence.
    pub fn kept(&self) -> usize {
        self.0.bytes().filter(|&byte| byte == b'1').count()
    }

    /// Its length.
    pub fn tokens(&self) -> usize {
        self.0.len()
    }

    fn is_valid(&self) -> bool {
        let bits = self.0.bytes().all(|byte| matches!(byte, b'0' | b'1'));
        bits && self.0.contains('1') && self.0.len() <= MAX_TOKENS
    }
}

/// Examples of a model, or their outputs: batches of groups of examples that share ciphertexts,
/// and in each batch the ciphertexts of a group one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExamplesNote {
    /// BLAKE3 of the model's file, in hexadecimal.
    pub model: String,
    /// The number of examples.
    pub examples: u64,
    /// Numbers of an example.
    pub numbers: u64,
    /// Examples that share a ciphertext.
    pub shared: u64,
    /// Ciphertexts of an example.
    pub parts: u32,
    /// Groups in a full batch.
    pub batch: u32,
    /// The mask of each example, of models that have one; nothing for outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<MaskNote>,
    /// The places of the outputs; nothing for inputs.
    pub outputs: Option<OutputLayout>,
}

impl ExamplesNote {
    /// Checks it against the slots of a vector.
    ///
    /// # Errors
    /// It holds impossible numbers.
    pub fn check(&self, slots: usize) -> Result<()> {
        let model = self.model.len() == 64 && self.model.bytes().all(|b| b.is_ascii_hexdigit());
        let counts = (1..=MAX_EXAMPLES).contains(&self.examples) && (1..=1 << 40).contains(&self.numbers);
        let parts = (1..=MAX_PARTS).contains(&self.parts) && (1..=MAX_BATCH).contains(&self.batch);
        let shared = self.shared.is_power_of_two() && self.shared <= slots as u64;
        let outputs = self.outputs.as_ref().is_none_or(|outputs| {
            outputs.is_valid()
                && outputs.slots <= slots
                && outputs.examples as u64 == self.shared
                && outputs.ciphertexts == self.parts as usize
                && outputs.positions.len() as u64 == self.numbers
        });
        let masks = self.masks.is_empty()
            || self.outputs.is_none()
                && self.masks.len() as u64 == self.examples
                && self.masks.iter().all(MaskNote::is_valid);
        match model && counts && parts && shared && outputs && masks {
            true => Ok(()),
            false => Err(bad("layout of examples")),
        }
    }

    /// Whether it says what descriptions before version 6 do not.
    pub fn is_of_sentences(&self) -> bool {
        let unit = |outputs: &OutputLayout| outputs.decision == Decision::UnitLength;
        !self.masks.is_empty() || self.outputs.as_ref().is_some_and(unit)
    }

    /// Groups of examples that share ciphertexts.
    pub fn groups(&self) -> usize {
        self.examples.div_ceil(self.shared) as usize
    }

    /// Describes the content for people.
    pub fn shape(&self) -> String {
        let s = |count| if count == 1 { "" } else { "s" };
        let what = if self.outputs.is_some() { "output" } else { "input" };
        let (examples, numbers) = (self.examples, self.numbers);
        format!("{examples} example{} of {numbers} {what}{}", s(examples), s(numbers))
    }
}
