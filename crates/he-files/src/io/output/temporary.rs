//! A file that is waiting for its name.
//!
//! Its bytes reach the disk before it gets the name, and the folder after that, so that there is an
//! old file or a whole new one under the name, whenever the power fails, and the new one when the
//! program has ended.

use super::files::parent;
use crate::error::io_text;
use crate::io::pending::Pending;
use std::fs::{self, File};
use std::io::{self, Write};
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

    /// The file that is written to.
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
    /// A file has the name, and `force` is off; the bytes do not reach the disk; the folder may not
    /// be written any more. Nothing is left then.
    pub fn place(self, path: &Path, force: bool) -> io::Result<()> {
        sync_file(self.file())?;
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => place_unnamed(file, path, force)?,
            Self::Named { file, pending: _pending } => {
                step(Step::Name);
                let placed = if force { file.persist(path) } else { file.persist_noclobber(path) };
                placed.map_err(|error| error.error)?;
            }
        }
        sync_folder(parent(path));
        Ok(())
    }
}

/// The steps of a file on its way to its name, for tests of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its bytes reach the disk.
    SyncFile,
    /// It gets the name, or what has the name is replaced.
    Name,
    /// The name reaches the disk.
    SyncFolder,
}

#[cfg(test)]
thread_local! {
    /// The steps of this thread.
    pub static STEPS: std::cell::RefCell<Vec<Step>> = const { std::cell::RefCell::new(Vec::new()) };
}

pub fn step(_step: Step) {
    #[cfg(test)]
    STEPS.with_borrow_mut(|steps| steps.push(_step));
}

/// A file whose bytes are to reach the disk: Windows flushes only those that are open for writing.
fn to_sync(path: &Path) -> io::Result<File> {
    File::options().read(true).write(cfg!(windows)).open(path)
}

/// Waits until the bytes of a file are on the disk.
pub fn sync_file(file: &File) -> io::Result<()> {
    step(Step::SyncFile);
    file.sync_all()
}

/// Waits until the names in a folder are on the disk. Where that is not possible (the folder may
/// not be read, the system has no such call), they get there by themselves in a while.
pub fn sync_folder(folder: &Path) {
    let _ = try_sync_folder(folder);
}

fn try_sync_folder(folder: &Path) -> io::Result<()> {
    step(Step::SyncFolder);
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Moves a complete file to another folder of the same file system, in place of a file that has the
/// name there. Whenever the power fails, it is whole under one of both names; it is on the disk
/// under the new one when this returns. The folder may be new, and then its own name is, too.
///
/// # Errors
/// The file or a folder is missing, may not be written, or does not reach the disk.
pub fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    let folder = parent(to);
    sync_file(&to_sync(from)?)?;
    try_sync_folder(parent(folder))?;
    step(Step::Name);
    fs::rename(from, to)?;
    try_sync_folder(folder)
}

/// Waits until everything in a folder is on the disk: files and folders, not what links point to.
pub fn sync_all(folder: &Path) -> io::Result<()> {
    // A file that may not be read, for the mode that it was given, gets there by itself in a while.
    fn readable<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
        match opened {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            opened => opened.map(Some),
        }
    }
    let Some(entries) = readable(fs::read_dir(folder))? else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_all(&entry.path())?;
        } else if kind.is_file()
            && let Some(file) = readable(to_sync(&entry.path()))?
        {
            sync_file(&file)?;
        }
    }
    sync_folder(folder);
    Ok(())
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
            step(Step::Name);
            return linked.persist(path).map(drop).map_err(|error| error.error);
        }
    } else {
        step(Step::Name);
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
    use std::io::Seek;
    let mut copy = Temporary::named(folder, 0o600)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    copy.file().set_permissions(file.metadata()?.permissions())?;
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

    /// Whatever way a file gets its name, its bytes are on the disk before, and the name after.
    #[test]
    fn bytes_come_before_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let whole = [Step::SyncFile, Step::Name, Step::SyncFolder];
        for force in [false, true, true] {
            for named in [false, true] {
                if !force {
                    let _ = fs::remove_file(&path);
                }
                STEPS.take();
                let made = if named {
                    Temporary::named(dir.path(), 0o600)
                } else {
                    Temporary::create(dir.path(), false)
                };
                made.unwrap().place(&path, force).unwrap();
                assert_eq!(STEPS.take(), whole, "named: {named}, force: {force}");
            }
        }
        // By way of a copy, where links are forbidden: that of the copy counts.
        #[cfg(target_os = "linux")]
        {
            copied(tempfile::tempfile_in(dir.path()).unwrap(), dir.path())
                .unwrap()
                .place(&path, true)
                .unwrap();
            assert_eq!(STEPS.take(), whole);
        }
        // A file that cannot be placed is not placed.
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(Temporary::create(dir.path(), false).unwrap().place(&path, true).is_err());
        assert!(!STEPS.take().contains(&Step::SyncFolder));
    }

    /// A file that is moved is on the disk before, and so is the folder that it goes to; its new
    /// name is afterwards.
    #[test]
    fn files_are_moved_when_they_are_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("new")).unwrap();
        for content in ["first", "second"] {
            fs::write(path("staged"), content).unwrap();
            STEPS.take();
            move_file(&path("staged"), &path("new/file")).unwrap();
            assert_eq!(
                STEPS.take(),
                [Step::SyncFile, Step::SyncFolder, Step::Name, Step::SyncFolder],
                "{content}"
            );
            assert_eq!(fs::read_to_string(path("new/file")).unwrap(), content);
            assert!(!path("staged").exists());
        }
        // A file that cannot be moved stays where it is.
        fs::write(path("staged"), "third").unwrap();
        STEPS.take();
        assert!(move_file(&path("staged"), &path("none/file")).is_err());
        assert!(move_file(&path("missing"), &path("new/file")).is_err());
        assert!(path("staged").exists());
        assert_eq!(fs::read_to_string(path("new/file")).unwrap(), "second");
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
