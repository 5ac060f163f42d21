//! The work of the owner of the keys: encrypting cells and reading answers. Nothing of a query and
//! nothing of a cluster uses this module.

use crate::column::{CellType, Kind};
use crate::engine::{Engine, ExactSite, Value};
use crate::error::{Error, Result};
use crate::function::check_owner;
use crate::keys::device;
use crate::params::Params;
use he::Device;
use he_any::layout::Layout;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::num_complex::Complex64;
use he_core::rlwe::PublicKey;
use he_core::tfhe::{CompactPublicKey, TfheSecretKey};
use he_core::wire::WireScheme;
use he_core::{Result as CoreResult, ckks, exact};
use he_files::io::input::Input;
use he_files::key_file::{AnyKey, Key};
use he_files::passphrase::Passphrases;
use he_files::scheme::OneOf;
use he_files::scheme::engine::rng;
use he_files::tfhe;
use std::path::Path;

/// A key of the owner: a public one, which encrypts, or the secret one, which also decrypts.
pub struct OwnerKey {
    engine: Engine,
    params: Params,
    key_set: Option<String>,
    role: Role,
}

type ExactPair<S> = (exact::SecretEncryptor<S, Device>, exact::Decryptor<S, Device>);

enum Role {
    Public(Box<PublicKey<Device>>),
    Ckks(Box<(ckks::SecretEncryptor<Device>, ckks::Decryptor<Device>)>),
    Bfv(Box<ExactPair<Bfv>>),
    Bgv(Box<ExactPair<Bgv>>),
    Tfhe(Box<TfheSecretKey>),
    TfhePublic(Box<CompactPublicKey>),
}

/// The values of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// Integers.
    Integers(Vec<i64>),
    /// Real numbers.
    Reals(Vec<f64>),
}

impl OwnerKey {
    /// Reads a public key, or a secret one, whose passphrase is asked for if it is sealed.
    ///
    /// # Errors
    /// The file is another one, damaged, or sealed with another passphrase.
    pub fn open(path: &Path, passphrases: &dyn Passphrases) -> Result<Self> {
        let wanted = "a public or secret key";
        let other = |why: &str| Error::Table(format!("{}: not the key of an owner; {why}", path.display()));
        macro_rules! rlwe {
            ($file:expr, $variant:ident, $module:ident) => {{
                let file = $file;
                let params = Params::$variant(file.params.clone());
                let engine = Engine::new(&params, device())?;
                let Engine::$variant(site) = &engine else { return Err(file.wrong_kind(wanted).into()) };
                let key_set = file.id.key_set().map(|id| id.to_string());
                let role = match &file.key {
                    Key::Secret(key) => Role::$variant(Box::new((
                        $module::SecretEncryptor::new(&site.params, key, &site.ring)?,
                        $module::Decryptor::new(&site.params, key, &site.ring)?,
                    ))),
                    Key::Public(_) => Role::Public(Box::new(file.public(&site.ring)?)),
                    Key::Evaluation(_) => return Err(file.wrong_kind(wanted).into()),
                };
                Ok(Self { params, key_set, role, engine })
            }};
        }
        match AnyKey::read(Input::open(path)?, wanted, Some(passphrases))? {
            AnyKey::Scheme(OneOf::Ckks(file)) => rlwe!(file, Ckks, ckks),
            AnyKey::Scheme(OneOf::Bfv(file)) => rlwe!(file, Bfv, exact),
            AnyKey::Scheme(OneOf::Bgv(file)) => rlwe!(file, Bgv, exact),
            AnyKey::Tfhe(file) => {
                let params = Params::Tfhe(file.params.clone());
                let key_set = file.id.key_set().map(|id| id.to_string());
                let wrong_kind = file.wrong_kind(wanted);
                let role = match file.key {
                    tfhe::keys::Key::Secret(key) => Role::Tfhe(Box::new(key)),
                    tfhe::keys::Key::Public(key) => Role::TfhePublic(Box::new(key)),
                    _ => return Err(wrong_kind.into()),
                };
                let engine = Engine::new(&params, device())?;
                Ok(Self { engine, params, key_set, role })
            }
            _ => Err(other("columns are of ckks, bfv, bgv or tfhe")),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The type of a column of cells of `size` values each.
    ///
    /// # Errors
    /// Cells do not hold so many.
    pub fn column(&self, size: usize, signed: bool) -> Result<CellType> {
        let slots = self.params.slots();
        let layout = match self.params {
            Params::Tfhe(_) => None,
            _ if size > slots => {
                return Err(Error::Table(format!(
                    "cells of {size} values, where {slots} slots are there; pack fewer rows"
                )));
            }
            _ => Some(Layout::new(None, size, false, Some(0.0))),
        };
        let kind = match (layout, signed) {
            (Some(_), _) => Kind::Ciphertext,
            (None, true) => Kind::Int,
            (None, false) => Kind::Uint,
        };
        Ok(CellType {
            kind,
            scheme: self.params.scheme().to_owned(),
            params: self.params.fingerprint(),
            key_set: self.key_set.clone(),
            layout,
            progress: None,
        })
    }

    /// Encrypts the values of a cell of a column; integers of TFHE have `bits` bits. Cells by a
    /// secret key of CKKS, BFV or BGV are seeded: half as long.
    ///
    /// # Errors
    /// Values that are too large for the parameters; the key is of another scheme; the operating
    /// system has no randomness.
    pub fn encrypt(&self, column: &CellType, values: &Plain, bits: usize) -> Result<Vec<u8>> {
        let rng = &mut rng()?;
        let wrong = || {
            Error::Table(format!(
                "{} takes integers of 64 bits; round the numbers, or take ckks",
                self.params.scheme()
            ))
        };
        macro_rules! exact {
            ($site:expr, $variant:ident) => {{
                let Plain::Integers(values) = values else { return Err(wrong()) };
                let plain = $site.ev.encoder().encode(values)?;
                Value::$variant(match &self.role {
                    Role::Public(key) => exact::Encryptor::new(&$site.params, key)?.encrypt(&plain, rng)?,
                    Role::$variant(pair) => {
                        return Ok(pair.0.encrypt(&plain, rng)?.to_bytes(&$site.params)?);
                    }
                    _ => return Err(wrong()),
                })
            }};
        }
        let value = match &self.engine {
            Engine::Ckks(site) => {
                let values: Vec<Complex64> = match values {
                    Plain::Reals(values) => values.iter().map(|&x| x.into()).collect(),
                    Plain::Integers(values) => values.iter().map(|&x| (x as f64).into()).collect(),
                };
                let slots = column.layout.map_or(values.len(), |layout| layout.slots(site.params.slots()));
                let to = site.params.encoding().slots(slots);
                let plain = site.ev.encoder().encode_batch(&[&values[..]], to)?;
                Value::Ckks(match &self.role {
                    Role::Public(key) => ckks::Encryptor::new(&site.params, key)?.encrypt(&plain, rng)?,
                    Role::Ckks(pair) => return Ok(pair.0.encrypt(&plain, rng)?.to_bytes(&site.params)?),
                    _ => return Err(wrong()),
                })
            }
            Engine::Bfv(site) => exact!(site, Bfv),
            Engine::Bgv(site) => exact!(site, Bgv),
            Engine::Tfhe(_, device) => {
                let Plain::Integers(values) = values else { return Err(wrong()) };
                if column.kind == Kind::Int {
                    Value::Int(match &self.role {
                        Role::Tfhe(key) => key.encrypt_i64(device, values, bits, rng)?,
                        Role::TfhePublic(key) => key.encrypt_i64(values, bits, rng)?.expand(device)?,
                        _ => return Err(wrong()),
                    })
                } else {
                    let unsigned =
                        values.iter().map(|&value| u64::try_from(value)).collect::<Result<Vec<_>, _>>();
                    let unsigned = unsigned.map_err(|_| {
                        Error::Table("negative numbers in a column without a sign; take --signed".to_owned())
                    })?;
                    Value::Uint(match &self.role {
                        Role::Tfhe(key) => key.encrypt_u64(device, &unsigned, bits, rng)?,
                        Role::TfhePublic(key) => key.encrypt_u64(&unsigned, bits, rng)?.expand(device)?,
                        _ => return Err(wrong()),
                    })
                }
            }
        };
        Ok(self.engine.encode(&value)?)
    }

    /// Checks that this key decrypts a column.
    ///
    /// # Errors
    /// It is not the secret one, or another than the column's.
    pub fn check(&self, name: &str, column: &CellType) -> Result<()> {
        check_owner(&self.params, self.key_set.as_deref(), name, column)?;
        match self.role {
            Role::Public(_) | Role::TfhePublic(_) => {
                Err(Error::Table(format!("column {name}: a public key decrypts nothing; give secret.key")))
            }
            _ => Ok(()),
        }
    }

    /// Decrypts a cell of a column.
    ///
    /// # Errors
    /// The key is not the secret one, or another than the column's; a damaged cell, or one that
    /// does not decrypt to anything.
    pub fn decrypt(&self, name: &str, column: &CellType, cell: &[u8]) -> Result<Plain> {
        self.check(name, column)?;
        let value = self.engine.decode(column.kind, cell)?;
        Ok(match (&self.engine, &self.role, value) {
            (Engine::Ckks(site), Role::Ckks(pair), Value::Ckks(ct)) => {
                let rows = site.ev.encoder().decode_real(&pair.1.decrypt(&ct)?)?;
                Plain::Reals(laid_out(column, rows))
            }
            (Engine::Bfv(site), Role::Bfv(pair), Value::Bfv(ct)) => integers(site, pair, column, &ct)?,
            (Engine::Bgv(site), Role::Bgv(pair), Value::Bgv(ct)) => integers(site, pair, column, &ct)?,
            (_, Role::Tfhe(key), Value::Uint(x)) => {
                let wide = |x| {
                    i64::try_from(x).map_err(|_| Error::Table(format!("column {name}: {x} is above 2^63")))
                };
                Plain::Integers(key.decrypt_u64(&x)?.into_iter().map(wide).collect::<Result<_>>()?)
            }
            (_, Role::Tfhe(key), Value::Int(x)) => Plain::Integers(key.decrypt_i64(&x)?),
            (_, Role::Tfhe(key), Value::Flags(x)) => {
                Plain::Integers(key.decrypt_flags(&x)?.into_iter().map(i64::from).collect())
            }
            _ => {
                return Err(Error::Table(format!(
                    "column {name}: cells of another kind; write the file again"
                )));
            }
        })
    }
}

fn integers<S: WireScheme>(
    site: &ExactSite<S>,
    pair: &ExactPair<S>,
    column: &CellType,
    ct: &exact::Ciphertext<S, Device>,
) -> CoreResult<Plain> {
    let rows = site.ev.encoder().decode::<i64>(&pair.1.decrypt(ct)?)?;
    Ok(Plain::Integers(laid_out(column, rows)))
}

/// The values of the vectors of a cell, without padding.
fn laid_out<T: Clone>(column: &CellType, rows: Vec<Vec<T>>) -> Vec<T> {
    match column.layout {
        Some(Layout { entries: Some(_), size, .. }) => {
            rows.into_iter().flat_map(|row| row.into_iter().take(size)).collect()
        }
        Some(Layout { size, .. }) => rows.into_iter().flatten().take(size).collect(),
        None => rows.into_iter().flatten().collect(),
    }
}
