//! Contexts, streams and buffers that an application made with other crates. They are taken by
//! value: the crate that made them ends them, once the last user here has been dropped.

#[cfg(feature = "cust")]
mod cust;
#[cfg(feature = "rustacuda")]
mod rustacuda;

use std::any::Any;
use std::mem::ManuallyDrop;

/// Something that ends a driver's object when it is dropped, and that is not used otherwise.
pub(crate) struct Owner(#[allow(dead_code)] Box<dyn Any + Send + Sync>);

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owner")
    }
}

/// The marker by which an owner may move to another thread.
struct Sealed<T>(ManuallyDrop<T>);

// SAFETY: the value is only dropped, which calls the driver, and the driver accepts calls from any
// thread. `Owner::new` requires it.
unsafe impl<T> Send for Sealed<T> {}
// SAFETY: a shared reference gives no access.
unsafe impl<T> Sync for Sealed<T> {}

impl<T> Drop for Sealed<T> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped only here, once.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

impl Owner {
    /// # Safety
    /// `T` may be dropped on any thread.
    #[cfg_attr(not(any(feature = "cust", feature = "rustacuda")), allow(dead_code))] // For these features alone.
    pub(crate) unsafe fn new<T: 'static>(value: T) -> Self {
        Self(Box::new(Sealed(ManuallyDrop::new(value))))
    }
}
