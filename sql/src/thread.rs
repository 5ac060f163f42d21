//! One thread per operation, whatever he-core was built with.

/// Makes operations of he-core that this thread calls run on it alone.
///
/// The engine has a thread per partition. With the feature `cuda` he-core divides its loops among
/// the threads of the current pool of rayon, which by default is one of all cores for all callers:
/// an executor with one core would take them all, and several times the CPU time. Here the thread
/// becomes the only one of a pool of its own.
pub fn compute_alone() {
    #[cfg(feature = "cuda")]
    {
        thread_local! {
            /// Lives as long as the thread, which cannot leave its pool.
            static POOL: std::mem::ManuallyDrop<Option<rayon::ThreadPool>> = std::mem::ManuallyDrop::new(
                // Threads of another pool stay in it.
                rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok(),
            );
        }
        POOL.with(|_| ());
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::compute_alone;

    /// Every thread for itself, also where the pool of all cores has more threads.
    #[test]
    fn loops_stay_on_their_thread() {
        use rayon::prelude::*;
        let places = || {
            compute_alone();
            let places: Vec<_> = (0..64).into_par_iter().map(|_| std::thread::current().id()).collect();
            let here = std::thread::current().id();
            (rayon::current_num_threads(), places.iter().all(|&place| place == here))
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(places)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), (1, true));
        }
    }
}
