//! The keys of TFHE, and what is done with them step by step.

use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::session::Column;
use crate::task::{Tell, Written, pause};
use he::Device;
use he_core::tfhe::{BootstrapKey, CompactPublicKey, TfheParams, TfheSecretKey};
use he_core::wire::{Wire, WireParams};
use he_files::contents::clear::Plain;
use he_files::data::table::{Cell, Table};
use he_files::error::FileError;
use he_files::io::input::Input;
use he_files::key_set::{Wiped, sealed};
use he_files::note::{KeyId, Payload};
use he_files::passphrase::Passphrase;
use he_files::scheme::OfKeySet;
use he_files::tfhe::columns::{describe, numbers};
use he_files::tfhe::file::{Reader, Writer};
use he_files::tfhe::keys::{Key, KeyFile, write_key};
use he_files::tfhe::note::Integers;
use he_files::tfhe::{NAME, params_json};
use num_bigint::{BigInt, BigUint};
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use zeroize::Zeroizing;

const KEYS: &str = "the secret key";
const FILE: &str = "the file";

/// The keys of TFHE.
pub struct Keys {
    file: KeyFile,
    /// The generator that the first evaluation key is drawn from, if the secret key was made here:
    /// together they are those that he-cli makes of one seed.
    rest: RefCell<Option<ChaCha20Rng>>,
}

impl Keys {
    /// Makes a secret key.
    pub fn generate(params: TfheParams, mut rng: ChaCha20Rng) -> Self {
        let (id, key) = (KeyId::random(&mut rng), TfheSecretKey::generate(&params, &mut rng));
        let key = Key::Secret(key.of(&id));
        let file = KeyFile { name: KEYS.to_owned(), params, id, key, sealed: false };
        Self { file, rest: RefCell::new(Some(rng)) }
    }

    /// The secret key of a file.
    ///
    /// # Errors
    /// It is another kind of key.
    pub fn load(file: KeyFile) -> Result<Self> {
        file.secret()?;
        Ok(Self { file, rest: RefCell::default() })
    }

    /// Their scheme.
    pub fn scheme(&self) -> &'static str {
        NAME
    }

    /// Describes the keys, for programs.
    pub fn info(&self) -> Value {
        let parameters = params_json(&self.file.params);
        json!({ "scheme": NAME, "keySet": self.file.id.short(), "rotations": 0, "parameters": parameters })
    }

    /// The file of the secret key.
    ///
    /// # Errors
    /// There is too little memory for Argon2id.
    pub fn secret_file(&self, passphrase: Option<&Passphrase>) -> Result<Zeroizing<Vec<u8>>> {
        let KeyFile { params, id, .. } = &self.file;
        let frame = self.file.secret()?.to_frame(params)?;
        // The buffer has its full size from the start, because growing would leave copies of the
        // secret behind.
        let mut plain = Wiped::with_capacity(frame.body.len() + (1 << 12));
        write_key(&mut plain, params, id, frame, KEYS)?;
        Ok(sealed(plain, passphrase)?)
    }

    /// The file of a public key, which `rng` makes: one key set may have several.
    ///
    /// # Errors
    /// None in practice.
    pub fn public_file(&self, rng: &mut ChaCha20Rng) -> Result<Vec<u8>> {
        let KeyFile { params, id, .. } = &self.file;
        let frame = CompactPublicKey::generate(self.file.secret()?, rng).to_frame(params)?;
        let mut file = Vec::new();
        write_key(&mut file, params, id, frame, "the public key")?;
        Ok(file)
    }

    /// Makes the evaluation key and writes its file.
    pub async fn evaluation_file(
        self: Rc<Self>,
        rng: ChaCha20Rng,
        written: Written,
        tell: Tell,
    ) -> Result<Value> {
        let mut rng = self.rest.take().unwrap_or(rng);
        let KeyFile { params, id, .. } = &self.file;
        tell.begin(1);
        pause().await;
        let frame = BootstrapKey::generate(self.file.secret()?, &mut rng).to_frame(params)?;
        let bytes = write_key(written, params, id, frame, "the evaluation key")?;
        tell.advance(1);
        Ok(json!({ "bytes": bytes }))
    }

    /// Encrypts a table of unsigned integers of `width` bits into the file that he-cli makes of the
    /// same seed.
    pub async fn encrypt(
        self: Rc<Self>,
        names: Option<Vec<String>>,
        columns: Vec<Column>,
        width: u32,
        mut rng: ChaCha20Rng,
        written: Written,
        tell: Tell,
    ) -> Result<Value> {
        let (params, secret) = (&self.file.params, self.file.secret()?);
        let named = |i: usize| names.as_ref().map_or_else(|| (i + 1).to_string(), |names| names[i].clone());
        let unsigned = |(i, column): (usize, Column)| {
            let wrong = || Error::Column { name: named(i), takes: "unsigned integers of the given width" };
            let Column::Integer(values) = column else { return Err(wrong()) };
            let fits = |x: &i64| *x >= 0 && (width >= 63 || *x < 1 << width);
            if !values.iter().all(fits) {
                return Err(wrong());
            }
            Ok(values.into_iter().map(|x| BigUint::from(x.unsigned_abs())).collect::<Vec<_>>())
        };
        let columns = columns.into_iter().enumerate().map(unsigned).collect::<Result<Vec<_>>>()?;
        let table = Table::new(names, columns)?;
        let content = describe(&table, Integers::unsigned(width), None, params)?;
        let payload = Payload { key_id: self.file.id.clone(), history: Vec::new(), content };
        let mut writer = Writer::new(written.output(FILE), params, &payload)?;
        tell.begin(table.columns().len());
        for values in table.columns() {
            writer.fresh_column(&secret.encrypt_uint_seeded(values, width as usize, &mut rng)?)?;
            tell.advance(1);
            pause().await;
        }
        Ok(Value::Object(writer.commit()?.facts))
    }

    /// Decrypts a file that is pushed in.
    pub async fn decrypt(self: Rc<Self>, feed: Feed, tell: Tell) -> Result<Plain> {
        feed.frames(2).await;
        let mut reader = Reader::new(Input::from_reader(FILE, feed.clone()))?;
        let (secret, device) = (self.file.secret()?, Device::cpu());
        self.file.check_owner(&reader.params, &reader.payload.key_id, FILE)?;
        let note = reader.payload.content.clone();
        feed.set_limit(reader.params.ciphertext_frame_limit(note.most(&reader.params)));
        tell.begin(note.columns.len());
        let mut columns = Vec::with_capacity(note.columns.len());
        for (number, _) in (3..).zip(&note.columns) {
            feed.frames(number).await;
            let found = numbers(secret, &note, reader.column(&device)?)?;
            let cell = |number: &BigInt| i64::try_from(number).ok().map(Cell::Number);
            let cells: Option<Vec<Cell>> = found.iter().map(cell).collect();
            let too_wide = || FileError::Count { name: FILE.to_owned(), how: "wider" };
            columns.push(cells.ok_or_else(too_wide).map_err(he_files::Error::from)?);
            tell.advance(1);
            pause().await;
        }
        feed.whole().await;
        reader.end()?;
        Ok(Plain::Cells(Table::new(note.columns.into_iter().collect(), columns)?))
    }
}
