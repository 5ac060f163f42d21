//! Random generators, which keys and encryptions take as a parameter: the traits of the crate
//! `rand`, in the version that this crate's signatures use, and the generator of the operating
//! system.

#[cfg(feature = "os-rng")]
use crate::secret_words::wipe_stack;
#[doc(no_inline)]
pub use ::rand::{
    CryptoRng, Fill, Rng, RngExt, SeedableRng, TryCryptoRng, TryRng, distr, rand_core, rngs, seq,
};
#[cfg(feature = "os-rng")]
use ::rand::{
    distr::{Distribution, StandardUniform},
    rand_core::UnwrapErr,
    rngs::{ChaCha20Rng, SysRng},
};
#[cfg(feature = "os-rng")]
use std::convert::Infallible;
#[cfg(feature = "os-rng")]
use zeroize::Zeroizing;

/// A ChaCha20 stream under a seed of 256 bits from the operating system: [`rng`] makes it. No two
/// generators share anything.
///
/// A process that was forked draws a seed of its own before it draws anything else: each call
/// compares the number of the process with that of the one that drew the seed. The number is all
/// that tells processes apart. It is the same in both if a new namespace of processes gives the
/// child the number of its parent: make generators after such a fork, not before.
#[cfg(feature = "os-rng")]
pub struct SystemRng {
    stream: ChaCha20Rng,
    process: u32,
}

#[cfg(feature = "os-rng")]
impl std::fmt::Debug for SystemRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SystemRng { .. }")
    }
}

/// The number of this process; 0 where processes do not fork.
#[cfg(feature = "os-rng")]
fn process() -> u32 {
    if cfg!(unix) { std::process::id() } else { 0 }
}

/// A generator with a fresh seed of the operating system.
///
/// # Panics
/// The operating system has no random numbers.
#[cfg(feature = "os-rng")]
pub fn rng() -> SystemRng {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(SysRng).fill_bytes(seed.as_mut());
    let stream = ChaCha20Rng::from_seed(*seed);
    // The generator takes its seed by value, which may leave a copy on the stack.
    wipe_stack();
    SystemRng { stream, process: process() }
}

/// A random value, of the distribution of `rand`'s `random`: uniform for integers and arrays of
/// them. Each call draws a seed from the operating system.
///
/// ```
/// let seed: [u8; 32] = he_core::rand::random();
/// assert_ne!(seed, he_core::rand::random::<[u8; 32]>());
/// ```
///
/// # Panics
/// The operating system has no random numbers.
#[cfg(feature = "os-rng")]
pub fn random<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    rng().random()
}

#[cfg(feature = "os-rng")]
impl SystemRng {
    /// The stream, of this process.
    fn own(&mut self) -> &mut ChaCha20Rng {
        if self.process != process() {
            *self = rng();
        }
        &mut self.stream
    }
}

#[cfg(feature = "os-rng")]
impl TryRng for SystemRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.own().next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.own().next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.own().fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(feature = "os-rng")]
impl TryCryptoRng for SystemRng {}

#[cfg(all(test, feature = "os-rng"))]
mod tests {
    use super::*;

    /// The state that a fork leaves in a process of this number.
    fn forked(parent: &SystemRng, child: u32) -> SystemRng {
        let mut stream = ChaCha20Rng::from_seed(parent.stream.get_seed());
        stream.set_word_pos(parent.stream.get_word_pos());
        SystemRng { stream, process: parent.process.wrapping_add(child) }
    }

    /// A copy of the state whose seed another process drew goes on with another stream, whichever
    /// way it is drawn from, and stays with that; a copy in the same process would repeat it.
    #[test]
    fn processes_share_no_stream() {
        type Draw = fn(&mut SystemRng) -> [u64; 2];
        let draws: [Draw; 3] = [
            |rng| [rng.next_u64(), rng.next_u64()],
            |rng| [0; 2].map(|_: u64| u64::from(rng.next_u32()) << 32 | u64::from(rng.next_u32())),
            |rng| {
                let mut bytes = [0; 16];
                rng.fill_bytes(&mut bytes);
                let words = bytes.as_chunks::<8>().0;
                [0, 1].map(|i| u64::from_le_bytes(words[i]))
            },
        ];
        for draw in draws {
            let mut parent = rng();
            draw(&mut parent);
            let (mut same, mut child) = (forked(&parent, 0), forked(&parent, 1));
            let next = draw(&mut parent);
            assert_eq!(draw(&mut same), next);
            let of_child = draw(&mut child);
            assert_ne!(of_child, next);
            // It has one seed of its own, not one per call.
            let mut again = forked(&child, 0);
            assert_eq!(draw(&mut child), draw(&mut again));
        }
    }

    #[test]
    fn generators_share_nothing() {
        let (mut a, mut b) = (rng(), rng());
        assert_ne!(a.next_u64(), b.next_u64());
        assert_ne!(random::<[u8; 32]>(), random::<[u8; 32]>());
        assert_eq!(format!("{a:?}"), "SystemRng { .. }");
    }
}
