//! The work of the owner of the keys: encrypting cells and reading answers. Nothing of a query and
//! nothing of a cluster uses this module.

use crate::cells::decode;
use crate::column::{CellType, Kind};
use crate::error::{Error, Result};
use crate::function::check_owner;
use crate::keys::device;
use he_any::arrays::{self, Values};
use he_any::layout::Layout;
use he_any::rlwe::Owner;
use he_any::tfhe::Integers;
use he_any::{Engine, Family, Params, Public, Value};
use he_core::tfhe::TfheSecretKey;
use he_files::io::input::Input;
use he_files::key_file::{AnyKey, Key};
use he_files::passphrase::Passphrases;
use he_files::scheme::engine::rng;
use he_files::{on_rlwe, tfhe};
use std::path::Path;

/// A key of the owner: a public one, which encrypts, or the secret one, which also decrypts.
pub struct OwnerKey {
    engine: Engine,
    params: Params,
    key_set: Option<String>,
    role: Role,
}

enum Role {
    Public(Public),
    Secret(Family<Owner, TfheSecretKey>),
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
        match AnyKey::read(Input::open(path)?, wanted, Some(passphrases))? {
            AnyKey::Scheme(file) => on_rlwe!(
                file,
                file => {
                    let params = Params::from(file.params.clone());
                    let engine = Engine::new(&params, device())?;
                    let Engine::Rlwe(of) = &engine else { return Err(file.wrong_kind(wanted).into()) };
                    let key_set = file.id.key_set().map(|id| id.to_string());
                    let role = match &file.key {
                        Key::Secret(key) => Role::Secret(Family::Rlwe(Owner::new(of, key)?)),
                        Key::Public(_) => Role::Public(Public::Rlwe(file.public(of.ring())?)),
                        Key::Evaluation(_) => return Err(file.wrong_kind(wanted).into()),
                    };
                    Ok(Self { params, key_set, role, engine })
                },
                bigckks _ => Err(other("columns are of ckks, bfv, bgv or tfhe"))
            ),
            AnyKey::Tfhe(file) => {
                let params = Params::Tfhe(file.params.clone());
                let key_set = file.id.key_set().map(|id| id.to_string());
                let wrong_kind = file.wrong_kind(wanted);
                let role = match file.key {
                    tfhe::keys::Key::Secret(key) => Role::Secret(Family::Tfhe(key)),
                    tfhe::keys::Key::Public(key) => Role::Public(Public::Tfhe(key)),
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
        let layout = match self.params.slots() {
            None => None,
            Some(slots) if size > slots => {
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
            params: self.params.fingerprint_text(),
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
        let value = match (&self.engine, &self.role) {
            (Engine::Rlwe(engine), role) => {
                let (array, count) = match values {
                    Plain::Integers(values) => (Values::Signed(values), values.len()),
                    Plain::Reals(_) if engine.is_exact() => return Err(wrong()),
                    Plain::Reals(values) => (Values::Real(values), values.len()),
                };
                let layout = column.layout.unwrap_or_else(|| Layout::new(None, count, false, Some(0.0)));
                let plain = arrays::encoded(engine, (array, &[count]), &layout, None)?;
                Value::Rlwe(match role {
                    Role::Public(Family::Rlwe(key)) => engine.encrypt(key, &plain, rng)?,
                    Role::Secret(Family::Rlwe(key)) => {
                        return Ok(key.encrypt_to_bytes(engine, &plain, rng)?);
                    }
                    _ => return Err(wrong()),
                })
            }
            (Engine::Tfhe(of), role) => {
                let Plain::Integers(values) = values else { return Err(wrong()) };
                let device = &of.device;
                if column.kind == Kind::Int {
                    Value::Tfhe(Integers::Int(match role {
                        Role::Secret(Family::Tfhe(key)) => key.encrypt_i64(device, values, bits, rng)?,
                        Role::Public(Family::Tfhe(key)) => {
                            key.encrypt_i64(values, bits, rng)?.expand(device)?
                        }
                        _ => return Err(wrong()),
                    }))
                } else {
                    let unsigned =
                        values.iter().map(|&value| u64::try_from(value)).collect::<Result<Vec<_>, _>>();
                    let unsigned = unsigned.map_err(|_| {
                        Error::Table("negative numbers in a column without a sign; take --signed".to_owned())
                    })?;
                    Value::Tfhe(Integers::Uint(match role {
                        Role::Secret(Family::Tfhe(key)) => key.encrypt_u64(device, &unsigned, bits, rng)?,
                        Role::Public(Family::Tfhe(key)) => {
                            key.encrypt_u64(&unsigned, bits, rng)?.expand(device)?
                        }
                        _ => return Err(wrong()),
                    }))
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
            Role::Public(_) => {
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
        let value = decode(&self.engine, column.kind, cell)?;
        Ok(match (&self.engine, &self.role, value) {
            (Engine::Rlwe(engine), Role::Secret(Family::Rlwe(key)), Value::Rlwe(ct)) => {
                let plain = key.decrypt(&ct)?;
                match engine.is_exact() {
                    true => Plain::Integers(laid_out(column, engine.integers(&plain)?)),
                    false => Plain::Reals(laid_out(column, engine.reals(&plain)?)),
                }
            }
            (_, Role::Secret(Family::Tfhe(key)), Value::Tfhe(Integers::Uint(x))) => {
                let wide = |x| {
                    i64::try_from(x).map_err(|_| Error::Table(format!("column {name}: {x} is above 2^63")))
                };
                Plain::Integers(key.decrypt_u64(&x)?.into_iter().map(wide).collect::<Result<_>>()?)
            }
            (_, Role::Secret(Family::Tfhe(key)), Value::Tfhe(Integers::Int(x))) => {
                Plain::Integers(key.decrypt_i64(&x)?)
            }
            (_, Role::Secret(Family::Tfhe(key)), Value::Tfhe(Integers::Flags(x))) => {
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
