//! Work that others follow, and may end.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Follows the work of a back end, and may end it.
///
/// Back ends ask before each operation, and between the pieces of operations that take long: at
/// least several times per second of work on one core, from any thread, and possibly from several
/// at once. An answer must take well below a microsecond on average.
pub trait Overseer: Send + Sync {
    /// Whether the work goes on; otherwise the operation ends in [`Error::Cancelled`]. Once the
    /// answer is no, it stays no.
    fn goes_on(&self) -> bool {
        true
    }

    /// So many ciphertexts of TFHE have gone through a blind rotation since the last call.
    fn looked_up(&self, count: usize) {
        let _ = count;
    }

    /// Key switches and divisions of rings have done so much work since the last call, in
    /// multiply-adds of words: most of the time of programs of the schemes over RNS rings. A
    /// device that runs behind the host may still have to do it.
    fn worked(&self, work: u64) {
        let _ = work;
    }
}

/// The overseers of a back end: nobody, or one or more [`Overseer`]s. Clones share them.
///
/// Without any, a question costs one branch. Results do not depend on them.
///
/// ```
/// use he_core::{Overseer, Oversight};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// #[derive(Default)]
/// struct Switch(AtomicBool);
///
/// impl Overseer for Switch {
///     fn goes_on(&self) -> bool {
///         !self.0.load(Ordering::Relaxed)
///     }
/// }
///
/// let switch = Arc::new(Switch::default());
/// let oversight = Oversight::default().and(Arc::clone(&switch) as _);
/// assert!(oversight.check().is_ok());
/// switch.0.store(true, Ordering::Relaxed);
/// assert!(matches!(oversight.check(), Err(he_core::Error::Cancelled)));
/// ```
#[derive(Clone, Default)]
pub struct Oversight(Option<Arc<dyn Overseer>>);

/// Two overseers: both are told, and each may end the work.
struct Both(Arc<dyn Overseer>, Arc<dyn Overseer>);

impl Overseer for Both {
    fn goes_on(&self) -> bool {
        self.0.goes_on() && self.1.goes_on()
    }

    fn looked_up(&self, count: usize) {
        self.0.looked_up(count);
        self.1.looked_up(count);
    }

    fn worked(&self, work: u64) {
        self.0.worked(work);
        self.1.worked(work);
    }
}

impl fmt::Debug for Oversight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oversight {{ exists: {} }}", self.exists())
    }
}

impl Oversight {
    /// These, and another one.
    #[must_use]
    pub fn and(&self, overseer: Arc<dyn Overseer>) -> Self {
        Self(Some(match &self.0 {
            None => overseer,
            Some(first) => Arc::new(Both(Arc::clone(first), overseer)),
        }))
    }

    /// Whether anybody oversees the work.
    pub fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// Asks whether the work goes on.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if it is to end.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match &self.0 {
            Some(overseer) if !overseer.goes_on() => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }

    /// Tells of ciphertexts that have gone through a blind rotation.
    #[inline]
    pub fn looked_up(&self, count: usize) {
        if let Some(overseer) = &self.0 {
            overseer.looked_up(count);
        }
    }

    /// Tells of work of rings that has been done.
    #[inline]
    pub fn worked(&self, work: u64) {
        if let Some(overseer) = &self.0 {
            overseer.worked(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    /// Ends the work at a question, and counts.
    #[derive(Default)]
    struct Limited(AtomicUsize, AtomicUsize, AtomicU64);

    impl Overseer for Limited {
        fn goes_on(&self) -> bool {
            self.0.fetch_sub(1, Ordering::Relaxed) > 1
        }

        fn looked_up(&self, count: usize) {
            self.1.fetch_add(count, Ordering::Relaxed);
        }

        fn worked(&self, work: u64) {
            self.2.fetch_add(work, Ordering::Relaxed);
        }
    }

    #[test]
    fn all_are_told_and_each_may_end_the_work() {
        let limited = |questions| {
            Arc::new(Limited(AtomicUsize::new(questions), AtomicUsize::default(), AtomicU64::default()))
        };
        let [first, second] = [limited(9), limited(3)];
        let oversight = Oversight::default().and(Arc::clone(&first) as _).and(Arc::clone(&second) as _);
        oversight.looked_up(5);
        oversight.worked(7);
        assert_eq!([&first, &second].map(|of| of.1.load(Ordering::Relaxed)), [5, 5]);
        assert_eq!([&first, &second].map(|of| of.2.load(Ordering::Relaxed)), [7, 7]);
        assert!(oversight.check().is_ok() && oversight.check().is_ok());
        assert!(matches!(oversight.check(), Err(Error::Cancelled)));
        let nobody = Oversight::default();
        nobody.looked_up(1);
        nobody.worked(1);
        assert!(nobody.check().is_ok() && !nobody.exists() && oversight.exists());
    }
}
