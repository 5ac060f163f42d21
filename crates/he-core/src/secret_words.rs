//! Numbers that are wiped when they are dropped.

use std::ops::{Deref, DerefMut};

/// A vector of a fixed length whose numbers are secret. It is wiped whole, many words an
/// instruction, where [`Zeroizing`](zeroize::Zeroizing) takes them one by one: of polynomials that
/// is felt.
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

/// Bytes of stack that [`wipe_stack`] overwrites: more than the calls of a cipher or a hash take,
/// whose batches of blocks and tweaks lie there.
const STACK: usize = 32 << 10;

/// Overwrites what calls that have returned left on this thread's stack, next to the caller's
/// frame: libraries of ciphers keep copies of round keys there that nobody else can reach.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let frame = [0u64; STACK / 8];
    zeroize::optimization_barrier(&frame);
}

impl<T: Copy + Default> Drop for SecretWords<T> {
    fn drop(&mut self) {
        self.0.fill(T::default());
        // What is seen here has been written.
        zeroize::optimization_barrier(self.0.as_slice());
    }
}
