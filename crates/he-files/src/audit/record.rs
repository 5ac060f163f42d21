//! Recording what files a computation reads.

use super::plan::HEAD;
use crate::error::{Result, TraceError};
use crate::io::input::Input;
use crate::listing::{Listed, Listing};
use crate::operation::Sources;
use crate::trace::{File, Role};

/// Lists the frames of the files that a computation reads, while it reads them: their checksums
/// are in the files, so this costs nothing.
#[derive(Debug, Default)]
pub struct Recording {
    files: Vec<(Role, String, Listing)>,
    /// Whether the last file was only begun, because nothing takes the rest.
    begun: bool,
}

impl Recording {
    /// The same input, listed as the next file of the computation. Inputs come before keys.
    pub fn listed(&mut self, role: Role, input: Input) -> Input {
        let (name, listing, known) = (input.name().to_owned(), Listing::default(), input.known_len());
        self.files.push((role, name.clone(), listing.clone()));
        let listed = Listed::new(input, listing);
        match known {
            Some(length) => Input::from_sized_reader(name, listed, length),
            None => Input::from_reader(name, listed),
        }
    }

    /// The same files of an evaluation, listed.
    pub fn sources(&mut self, sources: Sources) -> Sources {
        let Sources { input, others, key, bootstrap } = sources;
        let input = self.listed(Role::Input, input);
        let others = others.into_iter().map(|other| self.listed(Role::Input, other)).collect();
        let key = self.listed(Role::Key, key);
        Sources { input, others, key, bootstrap: bootstrap.map(|key| self.listed(Role::Key, key)) }
    }

    /// The files, once they were read.
    pub fn files(&self) -> Vec<File> {
        let file =
            |(role, _, listing): &(Role, String, Listing)| File { role: *role, frames: listing.checksums() };
        self.files.iter().map(file).collect()
    }

    /// The inputs, once they were read.
    pub fn inputs(&self) -> impl Iterator<Item = File> {
        self.files().into_iter().filter(|file| file.role == Role::Input)
    }

    /// The last file is not read to its end, because nothing takes the rest of it.
    pub fn only_begun(&mut self) {
        self.begun = true;
    }

    /// Checks that the files, once they were read, are those that are stated.
    ///
    /// # Errors
    /// [`TraceError::Files`] or [`TraceError::File`].
    pub fn check(&self, stated: &[File]) -> Result<()> {
        for role in [Role::Input, Role::Key] {
            let stated = stated.iter().filter(|file| file.role == role);
            let found = self.files.iter().filter(|file| file.0 == role);
            let (expected, count) = (stated.clone().count(), found.clone().count());
            let role = if role == Role::Input { "input" } else { "key" };
            if expected != count {
                return Err(TraceError::Files { role, found: count, expected }.into());
            }
            for (place, (stated, (_, name, listing))) in stated.zip(found).enumerate() {
                let (found, is_last) = (listing.checksums(), place + 1 == count && role == "key");
                let same = match self.begun && is_last {
                    true => found.len() >= HEAD && stated.frames.starts_with(&found),
                    false => stated.frames == found,
                };
                if !same {
                    let (name, place) = (name.clone(), place + 1);
                    return Err(TraceError::File { name, role, place }.into());
                }
            }
        }
        Ok(())
    }
}
