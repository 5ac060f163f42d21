//! The open files that the operating system allows this process.

/// Makes room for so many, as far as the operating system lets it, and says if that is not enough.
pub fn raise(needed: usize) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let (needed, Rlimit { current, maximum }) = (needed as u64 + OTHERS, getrlimit(Resource::Nofile));
        if current.is_none_or(|current| current >= needed) {
            return;
        }
        let wanted = maximum.map_or(needed, |most| most.min(needed));
        let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
        if raised.is_err() || wanted < needed {
            tracing::warn!(
                needed,
                allowed = wanted,
                "too few open files are allowed: raise the limit, or lower the setting connections"
            );
        }
    }
    #[cfg(not(unix))]
    let _ = needed;
}

/// Files of jobs, of the database and of the program itself.
#[cfg(unix)]
const OTHERS: u64 = 256;
