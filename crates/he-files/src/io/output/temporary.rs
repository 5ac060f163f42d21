//! A file that is waiting for its name.

use super::files::parent;
use crate::error::io_text;
use crate::io::pending::Pending;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// A file that does not have its name yet. It is removed when dropped.
pub enum Temporary {
    /// It has no name at all (`O_TMPFILE`), so that it goes with the process, whatever ends that.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// It has a temporary name, where there is nothing better: removed when this is dropped, or by
    /// a signal.
    Named { file: NamedTempFile, pending: Pending },
}

impl Temporary {
    /// An empty file in `folder`: the owner's alone from its first byte if it is `private`,
    /// otherwise as any program's.
    ///
    /// # Errors
    /// The folder is missing or may not be written.
    pub fn create(folder: &Path, private: bool) -> io::Result<Self> {
        // Less the umask.
        let mode = if private { 0o600 } else { 0o666 };
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(folder, mode) {
            return Ok(Self::Unnamed(file));
        }
        Self::named(folder, mode)
    }

    fn named(folder: &Path, mode: u32) -> io::Result<Self> {
        let mut builder = builder();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = mode;
        let file = builder.tempfile_in(folder).map_err(|error| without_path(&error))?;
        let pending = Pending::new(file.path().to_owned());
        Ok(Self::Named { file, pending })
    }

    /// What is written to.
    pub fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named { file, .. } => file.as_file(),
        }
    }

    /// Gives it its name, in the folder that it was made in; with `force` in place of a file that
    /// has the name.
    ///
    /// # Errors
    /// A file has the name, and `force` is off; the folder may not be written any more. Nothing is
    /// left then.
    pub fn place(self, path: &Path, force: bool) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => place_unnamed(file, path, force),
            Self::Named { file, pending: _pending } => {
                let placed = if force { file.persist(path) } else { file.persist_noclobber(path) };
                placed.map(drop).map_err(|error| error.error)
            }
        }
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Hidden names that say whose they are.
pub fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".he-cli-").suffix(".part");
    builder
}

/// The error without the path that `tempfile` adds: ours is named by the caller.
pub fn without_path(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), io_text(&error.kind().into()))
}

/// A file without a name, unless the file system has none such, or nothing could give it a name
/// later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, mode: u32) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::TMPFILE.bits() as i32;
    let file = File::options().read(true).write(true).mode(mode).custom_flags(flags).open(folder).ok()?;
    fs::symlink_metadata(descriptor(&file)).is_ok().then_some(file)
}

/// The path by which an open file is linked: without privileges there is no other way.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(target_os = "linux")]
fn place_unnamed(file: File, path: &Path, force: bool) -> io::Result<()> {
    if force {
        // A link replaces nothing, a rename does: by way of a hidden name, for a moment.
        let linked = builder().make_in(parent(path), |hidden| {
            let pending = Pending::new(hidden.to_owned());
            link(&file, hidden).map(|()| pending)
        });
        if let Ok(linked) = linked {
            return linked.persist(path).map(drop).map_err(|error| error.error);
        }
    } else {
        match link(&file, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
            placed => return placed,
        }
    }
    // Where links are forbidden (in some sandboxes) the work is not lost.
    copied(file, parent(path))?.place(path, force)
}

/// The same content and permissions under a temporary name.
#[cfg(target_os = "linux")]
fn copied(mut file: File, folder: &Path) -> io::Result<Temporary> {
    let mut copy = Temporary::named(folder, 0o600)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    copy.file().set_permissions(file.metadata()?.permissions())?;
    copy.file().sync_all()?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn copies_take_the_place_of_links() {
        use std::io::Read;
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mut plain = tempfile::tempfile_in(dir.path()).unwrap();
        plain.write_all(b"content").unwrap();
        plain.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
        copied(plain, dir.path()).unwrap().place(&dir.path().join("a"), false).unwrap();
        let mut back = File::open(dir.path().join("a")).unwrap();
        let mut content = String::new();
        back.read_to_string(&mut content).unwrap();
        assert_eq!(
            (content.as_str(), back.metadata().unwrap().permissions().mode() & 0o777),
            ("content", 0o640)
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn both_kinds_are_placed_alike() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let make = |named: bool| {
            let made =
                if named { Temporary::named(dir.path(), 0o600) } else { Temporary::create(dir.path(), true) };
            let mut made = made.unwrap();
            made.write_all(if named { b"named" } else { b"other" }).unwrap();
            made
        };
        for named in [true, false] {
            make(named).place(&path, false).unwrap();
            for again in [true, false] {
                let error = make(again).place(&path, false).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
                make(again).place(&path, true).unwrap();
                assert_eq!(fs::read(&path).unwrap(), if again { b"named" } else { b"other" });
            }
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
        // Nothing but a file is replaced.
        fs::create_dir_all(path.join("full")).unwrap();
        for named in [true, false] {
            assert!(make(named).place(&path, true).is_err());
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
}
