//! Numbers that are wiped when they are dropped.

use std::ops::{Deref, DerefMut};

/// A vector of a fixed length whose numbers are secret. It is wiped as a whole, with many words per
/// instruction, where [`Zeroizing`](zeroize::Zeroizing) wipes them one by one, which is noticeable
/// for polynomials.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretWords<T: Copy + Default = u64>(Vec<T>);

impl<T: Copy + Default> SecretWords<T> {
    pub(crate) fn zeros(count: usize) -> Self {
        Self(vec![T::default(); count])
    }
}

impl<T: Copy + Default> From<Vec<T>> for SecretWords<T> {
    fn from(words: Vec<T>) -> Self {
        Self(words)
    }
}

impl<T: Copy + Default> Deref for SecretWords<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for SecretWords<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// The bytes of stack that [`wipe_stack`] overwrites: more than the calls of a cipher or a hash
/// use, whose batches of blocks and tweaks lie there.
const STACK: usize = 32 << 10;

/// Overwrites what finished calls left on this thread's stack, next to the caller's frame: cipher
/// libraries keep copies of round keys there, which nothing else can reach.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let frame = [0u64; STACK / 8];
    zeroize::optimization_barrier(&frame);
}

impl<T: Copy + Default> Drop for SecretWords<T> {
    fn drop(&mut self) {
        self.0.fill(T::default());
        // The value seen here has been written.
        zeroize::optimization_barrier(self.0.as_slice());
    }
}
