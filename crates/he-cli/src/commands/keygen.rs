//! `keygen`: the three key files of CKKS, the one of AES.

use crate::args::{Keygen, KeygenAes, KeygenCkks, Scheme};
use crate::device::on_device;
use crate::engine::{Engine, rng};
use crate::error::{CliError, IoContext, Result};
use crate::images::square_tile;
use crate::keys::{write_aes_key, write_key};
use crate::output::{Output, OutputOptions, create_dir};
use crate::passphrase::{self, Passphrase};
use crate::payload::KeyId;
use crate::team::Team;
use crate::units;
use he_core::aes::container::UserKey;
use he_core::backend::RingOps;
use he_core::ckks::CkksParams;
use he_core::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he_core::wire;
use rand::CryptoRng;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use zeroize::Zeroizing;

/// The largest radius for which keys of all rotations are made: 225 of them.
const MAX_RADIUS: usize = 7;

/// The three keys of a key set.
pub struct KeySet<B: RingOps> {
    /// What marks files of this set.
    pub id: KeyId,
    /// For decryption.
    pub secret: SecretKey,
    /// For encryption.
    pub public: PublicKey<B>,
    /// For evaluation.
    pub evaluation: EvaluationKeys<B>,
}

impl<B: RingOps> KeySet<B> {
    /// Generates all keys: rotations by powers of two, which compose to any, and directly those of filters up to `radius`.
    ///
    /// # Errors
    /// The device fails, or the radius is too large.
    pub fn generate(engine: &Engine<B>, radius: usize, rng: &mut impl CryptoRng) -> Result<Self> {
        let params = engine.params.rlwe();
        let secret = SecretKey::generate(params, rng);
        let public = PublicKey::generate(&secret, &engine.ring, rng)?;
        let steps = rotation_steps(&engine.params, radius)?;
        let evaluation = EvaluationKeys::generate(&secret, &engine.ring, steps, false, rng)?;
        Ok(Self { id: KeyId::random(rng), secret, public, evaluation })
    }
}

/// The files of a key set, begun but not yet named.
pub struct KeyFiles {
    secret: Output,
    public: Output,
    evaluation: Output,
}

/// Their names.
pub const KEY_NAMES: [&str; 3] = ["secret.key", "public.key", "eval.key"];

impl KeyFiles {
    /// Begins the three files.
    ///
    /// # Errors
    /// They exist, or cannot be written.
    pub fn create(folder: &Path, force: bool) -> Result<Self> {
        let [secret, public, evaluation] = KEY_NAMES.map(|name| {
            let options = OutputOptions { force, secret: name == KEY_NAMES[0], text: false };
            Output::create(folder.join(name), options, &[])
        });
        Ok(Self { secret: secret?, public: public?, evaluation: evaluation? })
    }

    /// Writes and names them: all, or none. Returns their bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write<B: RingOps>(
        mut self,
        keys: &KeySet<B>,
        params: &CkksParams,
        passphrase: Option<&Passphrase>,
    ) -> Result<[u64; 3]> {
        let (id, name) = (&keys.id, self.secret.name());
        // Room for all from the start, so that no growing leaves copies of the secret behind.
        let mut plain = Wiped(Zeroizing::new(Vec::with_capacity(params.rlwe().ring().n() + (1 << 16))));
        write_key(&mut plain, params, id, [wire::encode_secret_key(params, &keys.secret)], &name)?;
        let secret = match passphrase {
            Some(passphrase) => Zeroizing::new(passphrase::seal(&plain.0, passphrase)?),
            None => plain.0,
        };
        self.secret.write_all(&secret).writing(&name)?;

        let name = self.public.name();
        let frame = wire::encode_public_key(params, &keys.public);
        let public = write_key(&mut self.public, params, id, [frame], &name)?;

        let name = self.evaluation.name();
        let relin = std::iter::once_with(|| wire::encode_relin_key(params, keys.evaluation.relin()?));
        let galois = keys.evaluation.galois_keys().map(|(g, key)| wire::encode_galois_key(params, g, key));
        let evaluation = write_key(&mut self.evaluation, params, id, relin.chain(galois), &name)?;

        Output::commit_all([self.secret, self.public, self.evaluation])?;
        Ok([secret.len() as u64, public, evaluation])
    }
}

/// Rotations for which keys are made.
fn rotation_steps(params: &CkksParams, radius: usize) -> Result<BTreeSet<i64>> {
    if radius > MAX_RADIUS {
        return Err(CliError::usage(format!("a radius of {radius} would take too many keys")).hint(format!(
            "choose --radius up to {MAX_RADIUS}; larger filters work too, slower, by several rotations in place of one"
        )));
    }
    let slots = params.slots();
    let (width, _) = square_tile(slots);
    let mut steps: BTreeSet<i64> = (0..slots.trailing_zeros()).map(|i| 1i64 << i).collect();
    let (radius, width) = (radius as i64, width as i64);
    for dy in -radius..=radius {
        for dx in -radius..=radius {
            steps.insert((dy * width + dx).rem_euclid(slots as i64));
        }
    }
    steps.remove(&0);
    Ok(steps)
}

/// A wiped vector to write into.
struct Wiped(Zeroizing<Vec<u8>>);

impl Write for Wiped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Generates a key set into its files; returns their bytes.
fn generate<B: RingOps>(
    backends: Vec<B>,
    params: &CkksParams,
    radius: usize,
    files: KeyFiles,
    passphrase: Option<&Passphrase>,
) -> Result<[u64; 3]> {
    let team = Team::new(params, backends)?;
    let keys = KeySet::generate(team.lead(), radius, &mut rng()?)?;
    files.write(&keys, params, passphrase)
}

pub(super) fn run(args: &Keygen) -> Result<()> {
    match &args.scheme {
        Scheme::Ckks(args) => ckks(args),
        Scheme::Aes(args) => aes(args),
    }
}

fn ckks(args: &KeygenCkks) -> Result<()> {
    let params = args.needs.params()?;
    rotation_steps(&params, args.radius)?;
    let folder = create_dir(&args.output)?;
    let files = KeyFiles::create(folder.path(), args.force)?;
    // Before anybody is asked for a passphrase.
    let device = args.device.choice.open()?;
    let passphrase = args.seal.obtain(&args.output.join(KEY_NAMES[0]).display().to_string())?;
    let sizes =
        on_device!(device, backends => generate(backends, &params, args.radius, files, passphrase.as_ref()))?;
    folder.keep();
    let mut out = std::io::stderr().lock();
    for (name, size) in KEY_NAMES.into_iter().zip(sizes) {
        // The keys are there, whether anybody hears of it or not.
        let _ = writeln!(out, "{}: {}", args.output.join(name).display(), units::bytes(size));
    }
    Ok(())
}

fn aes(args: &KeygenAes) -> Result<()> {
    let options = OutputOptions { force: args.force, secret: true, text: false };
    let mut output = Output::create(&args.output, options, &[])?;
    let name = output.name();
    let passphrase = args.seal.obtain(&name)?;
    let key = UserKey::generate(&mut rng()?);
    // Room for all from the start, so that no growing leaves copies of the secret behind.
    let mut plain = Wiped(Zeroizing::new(Vec::with_capacity(1 << 10)));
    write_aes_key(&mut plain, &key, &name)?;
    let bytes = match passphrase {
        Some(passphrase) => Zeroizing::new(passphrase::seal(&plain.0, &passphrase)?),
        None => plain.0,
    };
    output.write_all(&bytes).writing(&name)?;
    output.commit()?;
    // The key is there, whether anybody hears of it or not.
    let (name, size) = (args.output.display(), units::bytes(bytes.len() as u64));
    let _ = writeln!(std::io::stderr().lock(), "{name}: {size}, key {}", key.id());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rotation_of_a_filter_has_a_key() -> Result<()> {
        let params = CkksParams::for_depth(1).build()?;
        let (slots, (width, _)) = (params.slots() as i64, square_tile(params.slots()));
        let steps = rotation_steps(&params, 2)?;
        for dy in -2..=2 {
            for dx in -2..=2 {
                let step = (dy * width as i64 + dx).rem_euclid(slots);
                assert_eq!(steps.contains(&step), step != 0, "{dy}, {dx}");
            }
        }
        assert!((0..slots.ilog2()).all(|bit| steps.contains(&(1 << bit))));
        for radius in [MAX_RADIUS + 1, usize::MAX] {
            assert_eq!(rotation_steps(&params, radius).unwrap_err().exit_code(), 2);
        }
        Ok(())
    }
}
