//! Caches of what is computed on first use.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks a cache, which stays valid whatever a panicking thread was doing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One value per type, made on first use: tables of modules that the owner does not know.
#[derive(Debug, Default)]
pub(crate) struct Extensions(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// The value of a type.
    pub(crate) fn get<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut values = lock(&self.0);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        match Arc::clone(value).downcast() {
            Ok(value) => value,
            Err(_) => unreachable!("the key is the type of the value"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_one_value() {
        let extensions = Extensions::default();
        *lock(&extensions.get::<Mutex<u32>>()) = 7;
        assert_eq!(*lock(&extensions.get::<Mutex<u32>>()), 7);
        assert_eq!(*lock(&extensions.get::<Mutex<u64>>()), 0);
    }
}
