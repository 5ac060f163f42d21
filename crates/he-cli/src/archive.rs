//! Folders as tar archives: files, folders and symbolic links with their permissions and times, in the order of their names.

use crate::core_error::DAMAGED;
use crate::error::{CliError, IoContext, Result, io_text};
use crate::pipeline::{Drain, Filler};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header, HeaderMode};

/// Writes all that a folder holds.
///
/// # Errors
/// Something cannot be read, changes meanwhile, or is neither file, folder nor link.
pub fn pack(folder: &Path, out: &mut Filler) -> Result<()> {
    let mut archive = Builder::new(out);
    // Paths inside the folder, those to come last.
    let mut waiting = sorted(folder, Path::new(""))?;
    while let Some(inside) = waiting.pop() {
        let path = folder.join(&inside);
        let metadata = fs::symlink_metadata(&path).at(&path)?;
        if metadata.is_dir() {
            add(&mut archive, &metadata, &path, &inside, io::empty())?;
            waiting.extend(sorted(folder, &inside)?);
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).at(&path)?;
            archive.append_link(&mut header(&metadata), &inside, target).at(&path)?;
        } else if metadata.is_file() {
            let file = File::open(&path).at(&path)?;
            // Of the open file, which may be another by now.
            let metadata = file.metadata().at(&path)?;
            let mut file = file.take(metadata.len());
            add(&mut archive, &metadata, &path, &inside, &mut file)?;
            if file.limit() > 0 {
                return Err(CliError::new(format!("{} became shorter while it was read", path.display()))
                    .hint("try again when nobody writes to it"));
            }
        } else {
            return Err(CliError::new(format!("{} is neither file, folder nor link", path.display()))
                .hint("move it out of the folder, or pipe an archive of your own into he-cli encrypt -"));
        }
    }
    archive.into_inner().map(drop).at(folder)
}

/// Paths of what a folder holds, the first last.
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

/// Unpacks an archive into a folder, to the end of the data. `name` is what errors call the folder.
///
/// # Errors
/// An entry would lie outside of the folder, or cannot be written; the archive is damaged.
pub fn unpack(drain: &mut Drain, folder: &Path, name: &str) -> Result<()> {
    let failed = |error: io::Error| {
        CliError::new(format!("cannot unpack into {name}: {}", io_text(&error)))
            .hint("decrypt to a .tar file, and unpack that with another program")
    };
    let mut archive = Archive::new(&mut *drain);
    let mut folders = Vec::new();
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let outside = || {
            CliError::new(format!("the entry {} would lie outside of {name}", path.display())).hint(DAMAGED)
        };
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(outside());
        }
        match entry.header().entry_type() {
            // Last, for one may be read-only.
            EntryType::Directory => folders.push(entry),
            EntryType::Regular | EntryType::Symlink => {
                if !entry.unpack_in(folder).map_err(failed)? {
                    return Err(outside());
                }
            }
            _ => {
                return Err(CliError::new(format!(
                    "the entry {} is neither file, folder nor link",
                    path.display()
                ))
                .hint("decrypt to a .tar file, and unpack that with another program"));
            }
        }
    }
    // Inner ones first: permissions and times of the outer ones are not touched any more.
    folders.sort_by(|a, b| b.path_bytes().cmp(&a.path_bytes()));
    for mut entry in folders {
        entry.unpack_in(folder).map_err(failed)?;
    }
    // What follows the archive is verified, too.
    io::copy(drain, &mut io::sink()).map(drop).map_err(failed)
}
