//! Loops over several threads: rayon's parallel iterators with the feature `rayon`, and the same
//! names over the standard library's iterators without it.

#[cfg(feature = "rayon")]
pub(crate) use rayon::{current_num_threads as threads, prelude::*};

#[cfg(not(feature = "rayon"))]
pub(crate) use sequential::*;

/// The subset of `rayon::prelude` that this crate uses, on the calling thread.
#[cfg(not(feature = "rayon"))]
mod sequential {
    use std::slice::{Chunks, ChunksExact, ChunksExactMut, ChunksMut, Iter, IterMut};

    /// The number of threads.
    pub(crate) const fn threads() -> usize {
        1
    }

    /// Loops over `IntoIterator`.
    pub(crate) trait IntoParallelIterator: IntoIterator + Sized {
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<I: IntoIterator> IntoParallelIterator for I {}

    /// Loops over shared slices.
    pub(crate) trait ParallelSlice<T> {
        fn par_iter(&self) -> Iter<'_, T>;
        fn par_chunks(&self, len: usize) -> Chunks<'_, T>;
        fn par_chunks_exact(&self, len: usize) -> ChunksExact<'_, T>;
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> Iter<'_, T> {
            self.iter()
        }

        fn par_chunks(&self, len: usize) -> Chunks<'_, T> {
            self.chunks(len)
        }

        fn par_chunks_exact(&self, len: usize) -> ChunksExact<'_, T> {
            self.chunks_exact(len)
        }
    }

    /// Loops over mutable slices.
    pub(crate) trait ParallelSliceMut<T> {
        fn par_iter_mut(&mut self) -> IterMut<'_, T>;
        fn par_chunks_mut(&mut self, len: usize) -> ChunksMut<'_, T>;
        fn par_chunks_exact_mut(&mut self, len: usize) -> ChunksExactMut<'_, T>;
    }

    impl<T> ParallelSliceMut<T> for [T] {
        fn par_iter_mut(&mut self) -> IterMut<'_, T> {
            self.iter_mut()
        }

        fn par_chunks_mut(&mut self, len: usize) -> ChunksMut<'_, T> {
            self.chunks_mut(len)
        }

        fn par_chunks_exact_mut(&mut self, len: usize) -> ChunksExactMut<'_, T> {
            self.chunks_exact_mut(len)
        }
    }

    /// The methods of parallel iterators that those of the standard library lack.
    pub(crate) trait ParallelIterator: Iterator + Sized {
        fn with_min_len(self, _: usize) -> Self {
            self
        }

        fn for_each_init<S>(self, init: impl FnOnce() -> S, mut work: impl FnMut(&mut S, Self::Item)) {
            let mut state = init();
            self.for_each(|item| work(&mut state, item));
        }
    }

    impl<I: Iterator> ParallelIterator for I {}
}
