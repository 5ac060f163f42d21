//! Decryption of files of ciphertexts.

use super::Contents;
use super::clear::{Plain, View};
use crate::cipher_file::CipherReader;
use crate::error::Result;
use crate::team::Team;

impl Plain {
    /// Decrypts a file; `view` is the requested view of an image.
    ///
    /// # Errors
    /// The file is damaged; the device fails; the result does not match its description.
    pub fn decrypt<S: Contents>(
        team: &Team<S>,
        key: &S::Secret,
        reader: &mut CipherReader<S>,
        view: View,
    ) -> Result<Self> {
        let decryptors = team.each(|engine| S::decryptor(engine, key))?;
        S::unpack(team, reader, &decryptors, view)
    }
}
