//! Contexts, streams and buffers that an application made with other crates. They are taken by value: what made them ends them, when
//! the last part here is gone.

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

/// What lets an owner go to another thread.
struct Sealed<T>(ManuallyDrop<T>);

// SAFETY: the value is only dropped, which calls the driver, and the driver takes calls from any thread. `Owner::new` asks for that.
unsafe impl<T> Send for Sealed<T> {}
// SAFETY: a shared reference gives nothing.
unsafe impl<T> Sync for Sealed<T> {}

impl<T> Drop for Sealed<T> {
    fn drop(&mut self) {
        // SAFETY: once, here.
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
