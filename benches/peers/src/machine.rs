//! The machine and the versions with which a table was measured.

/// The lock file with which this was built.
const LOCK: &str = include_str!("../../../Cargo.lock");
/// The instruction sets by which ours or the peers choose code.
const FLAGS: [&str; 5] = ["avx2", "avx512f", "avx512ifma", "vaes", "vpclmulqdq"];

/// The processor's name and its vector instructions, if Linux reports them.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(": ")).map_or("", |(_, value)| value)
    };
    let flags: Vec<&str> = value("flags").split(' ').filter(|flag| FLAGS.contains(flag)).collect();
    match value("model name") {
        "" => format!("unknown {}", std::env::consts::ARCH),
        name => format!("{name} ({})", flags.join(" ")),
    }
}

/// The name of a dependency with the version with which this was built.
///
/// # Panics
/// If the lock file does not name it.
pub fn version(dependency: &str) -> String {
    let version = locked(LOCK, env!("CARGO_PKG_NAME"), dependency).expect("a direct dependency");
    format!("{dependency} {version}")
}

/// The version of a package's dependency in a lock file, which states it with the dependency only
/// where there are several.
fn locked<'a>(lock: &'a str, package: &str, dependency: &str) -> Option<&'a str> {
    let find = |name: &str| {
        let head = format!("name = \"{name}\"\n");
        lock.split("[[package]]\n").find_map(|entry| entry.strip_prefix(&head))
    };
    let names = find(package)?.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
    let found =
        names.map(|line| line.split_once(' ').unwrap_or((line, ""))).find(|(name, _)| *name == dependency);
    match found? {
        (name, "") => find(name)?.strip_prefix("version = \"")?.split('"').next(),
        (_, version) => Some(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_lock_file() {
        let entry = |name: &str, version: &str, dependencies: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n{dependencies}]\n\n"
            )
        };
        let lock = [
            entry("one", "1.0.0", ""),
            entry("two", "2.1.0", ""),
            entry("two", "2.2.0", ""),
            entry("user", "0.1.0", " \"one\",\n \"two 2.2.0\",\n"),
        ]
        .concat();
        assert_eq!(locked(&lock, "user", "one"), Some("1.0.0"));
        assert_eq!(locked(&lock, "user", "two"), Some("2.2.0"));
        assert_eq!(locked(&lock, "user", "three"), None);
    }

    #[test]
    fn the_lock_file_names_the_peers() {
        for peer in ["aes", "aes-gcm", "ctr", "fhe", "tfhe", "tfhe-ntt", "xts-mode"] {
            assert!(version(peer).starts_with(peer));
        }
    }
}
