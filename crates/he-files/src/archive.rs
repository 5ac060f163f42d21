//! Folders as tar archives: files, folders and symbolic links with their permissions and times, in
//! the order of their names.
//!
//! Archives come from whoever has the key, so they are bounded when they are unpacked: descriptions
//! of an entry are read into memory only up to `MAX_EXTENSION`, paths have at most `MAX_PATH`
//! bytes and `MAX_DEPTH` folders, and none leads out of the folder or through a link.

use crate::error::{ArchiveError, Error, IoContext, Result, io_text};
use crate::pipeline::{Drain, Filler};
use std::cell::Cell;
use std::error::Error as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Builder, Entry, EntryType, Header, HeaderMode};

/// The longest path of an entry and of the target of a link, in bytes: as long as any on Linux.
const MAX_PATH: usize = 4096;
/// The number of folders in which an entry may be nested.
const MAX_DEPTH: usize = 256;
/// The most bytes that may come before the header of an entry: names of the GNU format and PAX
/// attributes.
const MAX_EXTENSION: u64 = 64 << 10;
/// The bytes of a header; contents are padded to whole blocks of this size.
const BLOCK: u64 = 512;

/// Writes everything in a folder.
///
/// # Errors
/// Something cannot be read, changes meanwhile, or is neither file, folder nor link.
pub fn pack(folder: &Path, out: &mut Filler) -> Result<()> {
    let mut archive = Builder::new(out);
    // The paths inside the folder; the next one is last.
    let mut waiting = sorted(folder, Path::new(""))?;
    while let Some(inside) = waiting.pop() {
        let path = folder.join(&inside);
        // Refuse now what could not be unpacked later.
        if inside.components().count() > MAX_DEPTH {
            return Err(ArchiveError::TooDeep { path: shown(&path), most: MAX_DEPTH }.into());
        }
        let metadata = fs::symlink_metadata(&path).at(&path)?;
        if metadata.is_dir() {
            add(&mut archive, &metadata, &path, &inside, io::empty())?;
            waiting.extend(sorted(folder, &inside)?);
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).at(&path)?;
            archive.append_link(&mut header(&metadata), &inside, target).at(&path)?;
        } else if metadata.is_file() {
            let file = File::open(&path).at(&path)?;
            // The metadata of the open file, which may be another one by now.
            let metadata = file.metadata().at(&path)?;
            let mut file = file.take(metadata.len());
            add(&mut archive, &metadata, &path, &inside, &mut file)?;
            if file.limit() > 0 {
                return Err(ArchiveError::Shortened { path: path.display().to_string() }.into());
            }
        } else {
            return Err(ArchiveError::OddFile { path: path.display().to_string() }.into());
        }
    }
    archive.into_inner().map(drop).at(folder)
}

/// The paths in a folder, the first last.
fn sorted(root: &Path, inside: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(inside);
    let entries = fs::read_dir(&folder).at(&folder)?;
    let names = entries.map(|entry| entry.map(|entry| inside.join(entry.file_name())));
    let mut names = names.collect::<io::Result<Vec<_>>>().at(&folder)?;
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names)
}

fn header(metadata: &Metadata) -> Header {
    let mut header = Header::new_gnu();
    header.set_metadata_in_mode(metadata, HeaderMode::Complete);
    header
}

fn add(
    archive: &mut Builder<&mut Filler>,
    metadata: &Metadata,
    path: &Path,
    inside: &Path,
    data: impl Read,
) -> Result<()> {
    archive.append_data(&mut header(metadata), inside, data).at(path)
}

/// A path for messages: its start, if it is long.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Unpacks an archive into a folder, to the end of the data. Errors call the folder `name`.
///
/// # Errors
/// An entry would lie outside the folder, has too long a description, or cannot be written; the
/// archive is damaged.
pub fn unpack(drain: &mut Drain, folder: &Path, name: &str) -> Result<()> {
    let unpacked = unpack_from(drain, folder, name)?;
    // The bytes that follow the archive are verified, too.
    io::copy(drain, &mut io::sink()).map_err(|error| unpacked.failed(None, &error))?;
    unpacked.finish()
}

/// Unpacks to the end of the archive.
fn unpack_from<'a>(reader: &mut impl Read, folder: &'a Path, name: &'a str) -> Result<Unpacking<'a>> {
    let mut unpacking = Unpacking { root: folder, name, last: PathBuf::new(), closed: Vec::new() };
    let limit = Cell::new(MAX_EXTENSION + BLOCK);
    let mut archive = Archive::new(Bounded { inner: reader, at: 0, limit: &limit });
    for entry in archive.entries().map_err(|error| unpacking.damaged(&error))? {
        let mut entry = entry.map_err(|error| unpacking.damaged(&error))?;
        let end = entry
            .raw_file_position()
            .checked_add(entry.size())
            .and_then(|end| end.checked_next_multiple_of(BLOCK));
        limit.set(end.unwrap_or(u64::MAX).saturating_add(MAX_EXTENSION + BLOCK));
        unpacking.place(&mut entry)?;
    }
    Ok(unpacking)
}

/// A reader that fails beyond a limit, which moves with the entries, since `tar` reads the
/// description of an entry without limit.
struct Bounded<'a, R> {
    inner: &'a mut R,
    at: u64,
    limit: &'a Cell<u64>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.limit.get().saturating_sub(self.at);
        if left == 0 && !out.is_empty() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let count = self.inner.read(&mut out[..most])?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A folder into which an archive is unpacked.
struct Unpacking<'a> {
    root: &'a Path,
    name: &'a str,
    /// The folder inside that was made or found last.
    last: PathBuf,
    /// Folders that their owner may not write to or list, with their permissions, which are set
    /// last.
    closed: Vec<(PathBuf, u32)>,
}

impl Unpacking<'_> {
    fn refused(&self, what: &str) -> Error {
        ArchiveError::Refused { name: self.name.to_owned(), why: what.to_owned() }.into()
    }

    /// The archive cannot be read any further.
    fn damaged(&self, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::FileTooLarge {
            let limit = crate::units::bytes(MAX_EXTENSION);
            return self.refused(&format!("the name and attributes of an entry are longer than {limit}"));
        }
        // `tar` quotes whole headers behind a colon.
        let text = io_text(error);
        self.refused(&format!("the archive is damaged ({})", text.split(": ").next().unwrap_or_default()))
    }

    /// An entry, or the rest of the data, cannot be dealt with.
    fn failed(&self, path: Option<&Path>, error: &io::Error) -> Error {
        let what = match path {
            Some(path) => format!("{}: {}", self.name, shown(path)),
            None => self.name.to_owned(),
        };
        Error::Unpack { name: what, source: cause(error) }
    }

    fn place(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<()> {
        let too_long = |what: &str, len: usize| {
            (len > MAX_PATH).then(|| self.refused(&format!("{what} has {len} bytes, more than {MAX_PATH}")))
        };
        let (bytes, target) = (entry.path_bytes().into_owned(), entry.link_name_bytes());
        let target_len = target.map_or(0, |target| target.len());
        let long = too_long("the path of an entry", bytes.len());
        if let Some(error) = long.or_else(|| too_long("the target of a link", target_len)) {
            return Err(error);
        }
        let path = entry.path().map_err(|error| self.damaged(&error))?.into_owned();
        let name = self.name;
        let outside =
            || -> Error { ArchiveError::Outside { entry: shown(&path), name: name.to_owned() }.into() };
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(outside());
        }
        let inside: PathBuf = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let depth = inside.components().count();
        if depth > MAX_DEPTH {
            let what = format!("the entry {} lies {depth} folders deep, more than {MAX_DEPTH}", shown(&path));
            return Err(self.refused(&what));
        }
        match entry.header().entry_type() {
            EntryType::Directory => self.place_folder(inside, entry.header()),
            // This is the form of old archives.
            EntryType::Regular if bytes.ends_with(b"/") => self.place_folder(inside, entry.header()),
            EntryType::Symlink if target_len == 0 => {
                Err(self.refused(&format!("the link {} points to nothing", shown(&path))))
            }
            EntryType::Regular | EntryType::Symlink => {
                self.make_folder(inside.parent().unwrap_or(Path::new("")))?;
                match entry.unpack_in(self.root) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(outside()),
                    Err(error) => Err(self.failed(Some(&path), &error)),
                }
            }
            _ => Err(ArchiveError::OddEntry { entry: shown(&path) }.into()),
        }
    }

    /// Makes a folder with all above it. (`tar` would, too, and check every one of them from the
    /// root on at every step.)
    fn make_folder(&mut self, inside: &Path) -> Result<()> {
        if inside == self.last {
            return Ok(());
        }
        let mut path = self.root.to_owned();
        for part in inside {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(there) if there.is_dir() => {}
                Ok(_) => {
                    let what = path.strip_prefix(self.root).unwrap_or(&path);
                    return Err(
                        self.refused(&format!("{} is not a folder, and an entry lies in it", shown(what)))
                    );
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir(&path).map_err(|error| self.failed(Some(inside), &error))?;
                }
                Err(error) => return Err(self.failed(Some(inside), &error)),
            }
        }
        self.last = inside.to_owned();
        Ok(())
    }

    fn place_folder(&mut self, inside: PathBuf, header: &Header) -> Result<()> {
        self.make_folder(&inside)?;
        match header.mode() {
            // The folder itself is as it was made.
            Ok(mode) if !inside.as_os_str().is_empty() => {
                if mode & 0o700 == 0o700 {
                    self.set_mode(&inside, mode)
                } else {
                    self.closed.push((inside, mode));
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }

    #[cfg(unix)]
    fn set_mode(&self, inside: &Path, mode: u32) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let permissions = fs::Permissions::from_mode(mode & 0o777);
        let set = fs::set_permissions(self.root.join(inside), permissions);
        set.map_err(|error| self.failed(Some(inside), &error))
    }

    #[cfg(not(unix))]
    fn set_mode(&self, _: &Path, _: u32) -> Result<()> {
        Ok(())
    }

    /// Closes folders, inner ones first.
    fn finish(mut self) -> Result<()> {
        self.closed.sort_by(|a, b| b.cmp(a));
        self.closed.iter().try_for_each(|(inside, mode)| self.set_mode(inside, *mode))
    }
}

/// The cause of an error of `tar`, whose own text names our temporary folder.
fn cause(error: &io::Error) -> io::Error {
    let mut deepest = error;
    let mut next = error.source();
    while let Some(source) = next {
        if let Some(error) = source.downcast_ref::<io::Error>() {
            deepest = error;
        }
        next = source.source();
    }
    match (deepest.raw_os_error(), deepest.kind()) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, io::ErrorKind::Other) => io::Error::other(deepest.to_string()),
        (None, kind) => kind.into(),
    }
}
