//! Words that are wiped when they are dropped.

use std::ops::{Deref, DerefMut};

/// A vector of a fixed length whose words are secret. It is wiped whole, many words an instruction, where
/// [`Zeroizing`](zeroize::Zeroizing) takes them one by one: of polynomials that is felt.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretWords(Vec<u64>);

impl SecretWords {
    pub(crate) fn zeros(count: usize) -> Self {
        Self(vec![0; count])
    }
}

impl From<Vec<u64>> for SecretWords {
    fn from(words: Vec<u64>) -> Self {
        Self(words)
    }
}

impl Deref for SecretWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl DerefMut for SecretWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

impl Drop for SecretWords {
    fn drop(&mut self) {
        self.0.fill(0);
        // What is seen here has been written.
        zeroize::optimization_barrier(self.0.as_slice());
    }
}
