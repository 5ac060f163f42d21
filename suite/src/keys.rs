//! Key files: the client's secret, and the keys of the server.

use crate::error::{At as _, Error};
use crate::output;
use he::Device;
use he::ckks::CkksParams;
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The bytes of headers and identities beside those of keys.
const HEADERS: u64 = 1 << 20;

/// The keys of a client: the secret one lies outside of what the server gets.
#[derive(Debug)]
pub(crate) struct KeyFiles {
    pub secret: PathBuf,
    pub evaluation: PathBuf,
}

impl KeyFiles {
    /// Generates the secret key and the evaluation keys that are needed.
    pub(crate) fn generate(&self, params: &CkksParams, needs: KeyRequirements) -> Result<(), Error> {
        let mut rng = he::rand::rng();
        let ring = Ring::new(Device::cpu(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
        write_secret(&self.secret, &secret.to_bytes(params)?)?;
        output::write(&self.evaluation, &keys.to_bytes(params)?)
    }

    /// The secret key.
    pub(crate) fn secret(&self, params: &CkksParams) -> Result<SecretKey, Error> {
        SecretKey::from_bytes(params, &read_secret(&self.secret)?).at(&self.secret)
    }

    /// The keys of the server, of at most so many bytes without headers.
    pub(crate) fn evaluation(
        &self,
        params: &CkksParams,
        ring: &Ring<Device>,
        most: u64,
    ) -> Result<EvaluationKeys<Device>, Error> {
        let bytes = read(&self.evaluation, most + HEADERS)?;
        EvaluationKeys::from_bytes(params, ring, &bytes).at(&self.evaluation)
    }
}

/// Writes a secret key, for its owner's eyes only.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    output::write(path, bytes)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).at(path)
}

/// The bytes of a secret key, which are few.
pub(crate) fn read_secret(path: &Path) -> Result<Vec<u8>, Error> {
    read(path, HEADERS)
}

/// The bytes of a file of at most this length.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let length = File::open(path).at(path)?.metadata().at(path)?.len();
    if length > most {
        return Err(Error::count(path, format!("{length} bytes"), format!("at most {most}")));
    }
    std::fs::read(path).at(path)
}
