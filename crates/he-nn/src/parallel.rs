//! Work on many items, on the threads of the current rayon pool where there are any.

/// The results of `f` in the order of the items.
#[cfg(feature = "rayon")]
pub fn mapped<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    use rayon::prelude::*;
    items.par_iter().map(f).collect()
}

/// The results of `f` in the order of the items.
#[cfg(not(feature = "rayon"))]
pub fn mapped<T, R>(items: &[T], f: impl Fn(&T) -> R) -> Vec<R> {
    items.iter().map(f).collect()
}

/// The parts in which `count` items are worked on: at least one item each, and a few for each
/// thread.
pub fn parts(count: usize) -> usize {
    #[cfg(feature = "rayon")]
    let most = 4 * rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    let most = 1;
    count.clamp(1, most)
}
