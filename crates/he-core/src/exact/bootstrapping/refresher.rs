//! A bootstrapper as what programs refresh with.

use super::{Bootstrapper, params::MARGIN_BITS};
use crate::backend::{Cpu, RingOps};
use crate::bootstrapping::BootstrapKeys;
use crate::error::{Error, Result};
use crate::exact::{Ciphertext, Scheme};

/// A bootstrapper and its keys, for programs of any depth: what
/// [`circuits::ckks::Refresher`](crate::circuits::ckks::Refresher) is to CKKS, where levels run out
/// instead of noise budgets.
///
/// ```
/// # use he_core::{backend::Cpu, bfv::*, bootstrapping::BootstrapKeys, rlwe::*};
/// use he_core::exact::bootstrapping::*;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let spec = BootstrapSpec::insecure_for_depth::<Bfv>(257, 1, 9)?;
/// # let boot = BootstrapParams::<Bfv>::insecure(spec)?;
/// # let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
/// # let mut rng = he_core::rand::rng();
/// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
/// # let public = PublicKey::generate(&secret, &ring, &mut rng)?;
/// # let needs = KeyRequirements::new().relinearisation();
/// # let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
/// # let boot_keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng)?;
/// # let ev = BfvEvaluator::new(params, &ring)?;
/// # let bootstrapper = Bootstrapper::new(&boot, &ring)?;
/// # let (encoder, decryptor) = (ev.encoder(), BfvDecryptor::new(params, &secret, &ring)?);
/// let three = encoder.encode_coefficients(&[3i64])?;
/// let x = BfvEncryptor::new(params, &public)?.encrypt(&three, &mut rng)?;
/// let refresher = bootstrapper.with_keys(&boot_keys);
/// // x <- x^2 + i twelve times over: each step is one product deep.
/// let y = refresher.repeat(&x, 12, 1, |i, x| ev.add_scalar(&ev.square(x, &keys)?, i as i64))?;
/// let expected = (0..12).fold(3, |x, i| (x * x + i) % 257);
/// assert_eq!(encoder.decode_coefficients::<u64>(&decryptor.decrypt(&y)?)?[0][0], expected);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RefreshWith<'a, S: Scheme, B: RingOps = Cpu> {
    bootstrapper: &'a Bootstrapper<S, B>,
    keys: &'a BootstrapKeys<B>,
    reserve_bits: f64,
}

impl<S: Scheme, B: RingOps> Clone for RefreshWith<'_, S, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scheme, B: RingOps> Copy for RefreshWith<'_, S, B> {}

impl<S: Scheme, B: RingOps> Bootstrapper<S, B> {
    /// Pairs the bootstrapper with its keys, as a refresher for programs of any depth. Sums and
    /// rotations between two products may take the ten bits of budget that
    /// [`BootstrapParams::for_depth`](super::BootstrapParams::for_depth) leaves for them.
    pub fn with_keys<'a>(&'a self, keys: &'a BootstrapKeys<B>) -> RefreshWith<'a, S, B> {
        RefreshWith { bootstrapper: self, keys, reserve_bits: MARGIN_BITS }
    }
}

impl<S: Scheme, B: RingOps> RefreshWith<'_, S, B> {
    /// With another reserve for sums and rotations, in bits of budget.
    #[must_use]
    pub fn reserve_bits(self, reserve_bits: f64) -> Self {
        Self { reserve_bits, ..self }
    }

    /// Whether `depth` successive products of this ciphertext by ones like it leave what a refresh
    /// needs, and the reserve (`false`: it must be refreshed before).
    ///
    /// # Errors
    /// [`Error::BudgetTooLow`], with the bits that are left after the products, if they fit neither
    /// this ciphertext nor a refreshed one.
    pub fn fits(&self, ct: &Ciphertext<S, B>, depth: usize) -> Result<bool> {
        let boot = self.bootstrapper.params();
        let needed_bits = boot.needed_budget() + self.reserve_bits;
        if boot.budget_after_products(ct.noise(), ct.level() + 1, depth) >= needed_bits {
            return Ok(true);
        }
        let chain = boot.params().noise().chain();
        let left_bits = boot.budget_after_products(boot.refreshed_noise(), chain, depth);
        if left_bits < needed_bits {
            return Err(Error::BudgetTooLow { left_bits, needed_bits });
        }
        Ok(false)
    }

    /// Whether the ciphertext is one that [`refresh`](Self::refresh) takes.
    ///
    /// # Errors
    /// Returns the errors of `refresh` that are found before any work.
    pub fn check(&self, ct: &Ciphertext<S, B>) -> Result<()> {
        self.bootstrapper.check(ct, self.keys)
    }

    /// [`Bootstrapper::refresh`].
    ///
    /// # Errors
    /// The same as for it.
    pub fn refresh(&self, ct: &Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        self.bootstrapper.refresh(ct, self.keys)
    }

    /// x <- step(i, x) for i = 0 ... `times` - 1, each step at most `depth` products deep:
    /// a loop of any length. The ciphertext is refreshed before a step that would not fit. It is
    /// checked before the first step.
    ///
    /// # Errors
    /// The same as for [`fits`](Self::fits), [`check`](Self::check) and
    /// [`refresh`](Self::refresh); what `step` returns.
    pub fn repeat(
        &self,
        ct: &Ciphertext<S, B>,
        times: usize,
        depth: usize,
        step: impl FnMut(usize, &Ciphertext<S, B>) -> Result<Ciphertext<S, B>>,
    ) -> Result<Ciphertext<S, B>> {
        self.sequence(ct, std::iter::repeat_n(depth, times), step)
    }

    /// Runs steps of different depths in sequence, as [`repeat`](Self::repeat) does one.
    ///
    /// # Errors
    /// The same as for [`repeat`](Self::repeat).
    pub fn sequence(
        &self,
        ct: &Ciphertext<S, B>,
        depths: impl IntoIterator<Item = usize>,
        mut step: impl FnMut(usize, &Ciphertext<S, B>) -> Result<Ciphertext<S, B>>,
    ) -> Result<Ciphertext<S, B>> {
        self.check(ct)?;
        let mut last: Option<Ciphertext<S, B>> = None;
        for (i, depth) in depths.into_iter().enumerate() {
            let x = last.as_ref().unwrap_or(ct);
            last = Some(if self.fits(x, depth)? { step(i, x)? } else { step(i, &self.refresh(x)?)? });
        }
        last.map_or_else(|| ct.duplicate(), Ok)
    }
}
