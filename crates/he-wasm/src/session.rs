//! The keys of one user, and the work that is done with them.

use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::options::{KeyOptions, Purpose as KeyPurpose, SchemeName};
use crate::scheme_keys::Keys;
use crate::task::{Task, Tell, Written, pause};
use crate::tfhe_keys;
use he_core::aes::container::{HEADER, UserKey};
use he_core::tfhe::presets;
use he_files::aes_file::Secret;
use he_files::aes_file::stream::{Opener, Sealer};
use he_files::contents::clear::{Clear, Plain, View};
use he_files::contents::integers::{self, IntegerTable};
use he_files::contents::tables::RealTable;
use he_files::contents::{Contents, images};
use he_files::data::picture::{Channels, Picture, Samples};
use he_files::data::table::Table;
use he_files::error::AesFileError;
use he_files::info::describe;
use he_files::io::input::Input;
use he_files::key_file::{AnyKey, KeyFile, write_aes_key};
use he_files::key_set::{Wiped, sealed};
use he_files::models::ModelFile;
use he_files::models::examples::Examples;
use he_files::passphrase::{Passphrase, Purpose};
use he_files::scheme::engine::rng;
use he_files::scheme::{Bfv, Bgv, BigCkks, Ckks, OneOf, Scheme, Taken};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::Cursor;
use std::rc::Rc;
use zeroize::Zeroizing;

/// The names of a file that was given, and of a model, in errors.
const FILE: &str = "the file";
const MODEL: &str = "the model";

/// The keys of a scheme.
#[derive(Clone)]
enum Held {
    Ckks(Rc<Keys<Ckks>>),
    Bfv(Rc<Keys<Bfv>>),
    Bgv(Rc<Keys<Bgv>>),
    Tfhe(Rc<tfhe_keys::Keys>),
}

macro_rules! on_held {
    ($held:expr, $keys:ident => $call:expr) => {
        on_held!($held, $keys => $call, tfhe $keys => $call)
    };
    ($held:expr, $keys:ident => $call:expr, tfhe $other:pat => $of_tfhe:expr) => {
        match $held {
            Held::Ckks($keys) => $call,
            Held::Bfv($keys) => $call,
            Held::Bgv($keys) => $call,
            Held::Tfhe($other) => $of_tfhe,
        }
    };
}

/// A column of a table in the clear.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Doubles.
    Real(Vec<f64>),
    /// Integers.
    Integer(Vec<i64>),
}

/// The secret that opens and closes a file under AES.
pub enum FileSecret {
    /// A passphrase.
    Passphrase(Zeroizing<Vec<u8>>),
    /// The file of an AES key, and its passphrase if it is sealed.
    Key(Zeroizing<Vec<u8>>, Option<Zeroizing<Vec<u8>>>),
}

/// The output of a task that makes a file, and its progress.
pub struct Making {
    /// The work; its result are facts about the file.
    pub task: Task<Value>,
    /// The bytes that were made.
    pub written: Written,
    /// The progress.
    pub tell: Tell,
}

#[derive(Default)]
struct State {
    keys: Option<Held>,
    /// The model that examples are encrypted for.
    model: Option<Rc<ModelFile>>,
    /// The seed from which all randomness is drawn in tests.
    insecure_seed: Option<u64>,
}

/// The keys of one user. Work that was begun keeps the keys that it was begun with.
#[derive(Clone, Default)]
pub struct Session(Rc<RefCell<State>>);

impl Session {
    /// Without keys.
    pub fn new() -> Self {
        Self::default()
    }

    fn keys(&self) -> Result<Held> {
        self.0.borrow().keys.clone().ok_or(Error::NoKeys)
    }

    fn rng(&self) -> Result<ChaCha20Rng> {
        match self.0.borrow().insecure_seed {
            Some(seed) => Ok(ChaCha20Rng::seed_from_u64(seed)),
            None => Ok(rng()?),
        }
    }

    fn model(&self) -> Result<Rc<ModelFile>> {
        self.0.borrow().model.clone().ok_or(Error::NoModel)
    }

    /// Holds keys in place of those before.
    fn hold(&self, keys: Option<Held>, insecure_seed: Option<u64>) {
        let mut state = self.0.borrow_mut();
        (state.keys, state.insecure_seed) = (keys, insecure_seed);
    }

    /// Reads a compiled model, and holds it in place of the one before. The result is what keys for
    /// it need: [`ModelFile::json`].
    ///
    /// # Errors
    /// It is not one, of another version, or damaged; it has refreshes, whose keys are too large.
    pub fn load_model(&self, file: &[u8]) -> Result<Value> {
        let model = ModelFile::from_bytes(MODEL, file)?;
        if model.bootstrapping().is_some() {
            return Err(Error::Refreshes);
        }
        let info = model.json()?;
        self.0.borrow_mut().model = Some(Rc::new(model));
        Ok(info)
    }

    /// Makes keys, and holds them from its last step on in place of those before. The result is
    /// [`info`](Self::keys_info).
    ///
    /// # Errors
    /// [`Error::Options`]; there is no random generator; keys are for a model, and there is none.
    pub fn generate(&self, options: &KeyOptions) -> Result<(Task<Value>, Tell)> {
        let seed = options.insecure_seed;
        let rng = match seed {
            Some(seed) => ChaCha20Rng::seed_from_u64(seed),
            None => rng()?,
        };
        let (options, session, tell) = (options.clone(), self.clone(), Tell::default());
        let told = tell.clone();
        let task = Task::new(Feed::default(), async move {
            pause().await;
            let keys = match options.scheme {
                SchemeName::Ckks if options.purpose == KeyPurpose::Model => {
                    let model = session.model()?;
                    let (params, rotations) = (model.params().clone(), model.rotations()?);
                    Held::Ckks(Rc::new(Keys::generate(params, rotations, rng, told).await?))
                }
                SchemeName::Ckks => {
                    let params = options.real().params()?;
                    let rotations = images::rotations(&params, options.radius())?;
                    Held::Ckks(Rc::new(Keys::generate(params, rotations, rng, told).await?))
                }
                SchemeName::Bfv => Held::Bfv(of_integers(&options, rng, told).await?),
                SchemeName::Bgv => Held::Bgv(of_integers(&options, rng, told).await?),
                SchemeName::Tfhe => {
                    let params = presets::digits_2m128().map_err(he_core::Error::from)?;
                    Held::Tfhe(Rc::new(tfhe_keys::Keys::generate(params, rng)))
                }
            };
            let info = on_held!(&keys, keys => keys.info());
            session.hold(Some(keys), seed);
            Ok(info)
        });
        Ok((task, tell))
    }

    /// Reads the file of a secret key, and holds it in place of the keys before. Its evaluation
    /// keys are those for the model that was loaded, if they have its parameters. The result is
    /// [`info`](Self::keys_info).
    ///
    /// Keys that do not suit `needs` are refused: those of another scheme, of CKKS those of less
    /// depth, and for a model those of other parameters than its own.
    ///
    /// # Errors
    /// It is not one; it is sealed, and the passphrase is missing or wrong; [`Error::Unsuited`]; it
    /// is for a model, and there is none.
    pub fn load(
        &self,
        file: Zeroizing<Vec<u8>>,
        passphrase: Option<Zeroizing<Vec<u8>>>,
        needs: Option<&KeyOptions>,
    ) -> Result<Value> {
        const NEEDED: &str = "a secret key";
        let keys = match read_key(file, NEEDED, passphrase)? {
            AnyKey::Tfhe(file) => Held::Tfhe(Rc::new(tfhe_keys::Keys::load(*file)?)),
            key => match key.scheme(NEEDED)? {
                OneOf::Ckks(file) => {
                    let model = self.model().ok().filter(|model| model.params() == &file.params);
                    let rotations = match model {
                        Some(model) => model.rotations()?,
                        None => images::rotations(&file.params, 1)?,
                    };
                    Held::Ckks(Rc::new(Keys::load(file, rotations)?))
                }
                OneOf::Bfv(file) => Held::Bfv(loaded(file)?),
                OneOf::Bgv(file) => Held::Bgv(loaded(file)?),
                OneOf::BigCkks(_) => return Err(Error::Elsewhere { scheme: BigCkks::NAME }),
            },
        };
        if let Some(needs) = needs {
            self.check_suits(&keys, needs)?;
        }
        let info = on_held!(&keys, keys => keys.info());
        self.hold(Some(keys), None);
        Ok(info)
    }

    /// Checks that keys suit their purpose.
    fn check_suits(&self, keys: &Held, needs: &KeyOptions) -> Result<()> {
        let (found, needed) = (on_held!(keys, keys => keys.scheme()), needs.scheme.name());
        if found != needed {
            let of = |scheme: &str| format!("of {scheme}");
            return Err(Error::Unsuited { found: of(found), needed: of(needed) });
        }
        let Held::Ckks(keys) = keys else { return Ok(()) };
        if needs.purpose == KeyPurpose::Model {
            if keys.params() == self.model()?.params() {
                return Ok(());
            }
            let (found, needed) = ("of other parameters".to_owned(), "for the model".to_owned());
            return Err(Error::Unsuited { found, needed });
        }
        let (found, needed) = (keys.params().max_level(), needs.real().depth);
        if found < needed {
            let of = |depth: usize| format!("of depth {depth}");
            return Err(Error::Unsuited { found: of(found), needed: of(needed) });
        }
        Ok(())
    }

    /// Describes the keys: scheme, key set, number of rotations, parameters.
    ///
    /// # Errors
    /// [`Error::NoKeys`].
    pub fn keys_info(&self) -> Result<Value> {
        Ok(on_held!(self.keys()?, keys => keys.info()))
    }

    /// The file of the secret key, sealed if there is a passphrase.
    ///
    /// # Errors
    /// [`Error::NoKeys`]; there is too little memory for Argon2id.
    pub fn save(&self, passphrase: Option<Zeroizing<Vec<u8>>>) -> Result<Zeroizing<Vec<u8>>> {
        let passphrase = passphrase.map(Passphrase::new).transpose()?;
        on_held!(self.keys()?, keys => keys.secret_file(passphrase.as_ref()))
    }

    /// Drops the keys, which wipes them once no task holds them.
    pub fn forget(&self) {
        self.hold(None, None);
    }

    /// The file of the public key.
    ///
    /// # Errors
    /// [`Error::NoKeys`]; there is no random generator.
    pub fn public_key(&self) -> Result<Vec<u8>> {
        let mut rng = self.rng()?;
        on_held!(self.keys()?, keys => keys.public_file(&mut rng))
    }

    /// Writes the file of the evaluation keys.
    ///
    /// # Errors
    /// [`Error::NoKeys`]; there is no random generator.
    pub fn evaluation_key(&self) -> Result<Making> {
        let (written, tell, rng) = (Written::default(), Tell::default(), self.rng()?);
        let (out, told) = (written.clone(), tell.clone());
        let task = on_held!(self.keys()?, keys => {
            Task::new(Feed::default(), keys.evaluation_file(rng, out, told))
        });
        Ok(Making { task, written, tell })
    }

    fn encrypt<S: Contents>(
        &self,
        keys: Rc<Keys<S>>,
        clear: Clear<S::Table>,
        halo: Option<usize>,
    ) -> Result<Making> {
        let (written, tell, rng) = (Written::default(), Tell::default(), self.rng()?);
        let task = Task::new(Feed::default(), keys.encrypt(clear, halo, rng, written.clone(), tell.clone()));
        Ok(Making { task, written, tell })
    }

    /// Encrypts an image of 8-bit samples, interleaved, row by row from the top. `halo` is the sum
    /// of the radii of filters that can follow one another, under CKKS alone; 2 if not given.
    ///
    /// # Errors
    /// [`Error::NoKeys`], [`Error::Channels`], [`Error::NoImages`]; the samples are not as many as
    /// there should be; the halo does not fit the keys.
    pub fn encrypt_image(
        &self,
        width: u32,
        height: u32,
        channels: u32,
        data: Vec<u8>,
        halo: Option<usize>,
    ) -> Result<Making> {
        let channels = match channels {
            1 => Channels::Gray,
            2 => Channels::GrayAlpha,
            3 => Channels::Rgb,
            4 => Channels::Rgba,
            found => return Err(Error::Channels { found }),
        };
        let keys = self.keys()?;
        let picture = Picture::new(width, height, channels, Samples::Eight(data))?;
        on_held!(keys, keys => self.encrypt(keys, Clear::Picture(picture), halo),
            tfhe _ => Err(Error::NoImages))
    }

    /// Encrypts a table: doubles under CKKS (integers are converted), integers under the others.
    /// `width` is that of the unsigned integers of TFHE, in bits.
    ///
    /// # Errors
    /// [`Error::NoKeys`], [`Error::Column`], [`Error::NotFinite`]; the columns differ in length.
    pub fn encrypt_table(
        &self,
        names: Option<Vec<String>>,
        columns: Vec<Column>,
        width: Option<u32>,
    ) -> Result<Making> {
        on_held!(self.keys()?,
        keys => self.encrypt(keys, Clear::Table(OfColumns::of(names, columns)?), None),
        tfhe keys => {
            let (written, tell, rng) = (Written::default(), Tell::default(), self.rng()?);
            let width = width.unwrap_or(32);
            let work = keys.encrypt(names, columns, width, rng, written.clone(), tell.clone());
            Ok(Making { task: Task::new(Feed::default(), work), written, tell })
        })
    }

    /// Encrypts examples for the model that was loaded: numbers in the order of its input, one
    /// example behind the other.
    ///
    /// # Errors
    /// [`Error::NoKeys`], [`Error::NoModel`], [`Error::NotForModels`]; the keys are of other
    /// parameters; an example is not whole, or leads out of the calibrated ranges.
    pub fn encrypt_examples(&self, numbers: &[f64]) -> Result<Making> {
        let Held::Ckks(keys) = self.keys()? else { return Err(Error::NotForModels) };
        let model = self.model()?;
        let examples = Examples::of(numbers, model.model.graph());
        let (written, tell, rng) = (Written::default(), Tell::default(), self.rng()?);
        let work = keys.encrypt_examples(model, examples, rng, written.clone(), tell.clone());
        Ok(Making { task: Task::new(Feed::default(), work), written, tell })
    }

    /// Decrypts a file that is pushed into the task's feed.
    ///
    /// # Errors
    /// [`Error::NoKeys`].
    pub fn decrypt(&self, view: View) -> Result<(Task<Plain>, Tell)> {
        let (feed, tell) = (Feed::default(), Tell::default());
        let (own, told) = (feed.clone(), tell.clone());
        let task = on_held!(self.keys()?, keys => Task::new(feed, keys.decrypt(own, view, told)),
            tfhe keys => Task::new(feed, keys.decrypt(own, told)));
        Ok((task, tell))
    }

    /// Encrypts bytes that are pushed into the task's feed, under AES.
    ///
    /// # Errors
    /// The key cannot be read; there is no random generator, or too little memory for Argon2id.
    pub fn encrypt_file(&self, secret: FileSecret) -> Result<Making> {
        let (feed, written, tell) = (Feed::default(), Written::default(), Tell::default());
        let (own, mut out, mut rng) = (feed.clone(), written.clone(), self.rng()?);
        let task = Task::new(feed, async move {
            let (mut sealer, header) = secret.with(|secret| Sealer::new(secret, &mut rng, FILE))?;
            let (mut bytes, mut plain) = (header.to_vec(), 0u64);
            while let Some(data) = own.some().await {
                let data = Zeroizing::new(data);
                plain += data.len() as u64;
                sealer.push(&data, &mut bytes)?;
                out.append(&mut bytes);
                pause().await;
            }
            sealer.finish(&mut bytes)?;
            out.append(&mut bytes);
            Ok(json!({ "bytes": plain }))
        });
        Ok(Making { task, written, tell })
    }

    /// Decrypts a file under AES that is pushed into the task's feed. The written bytes are
    /// authentic; that nothing is missing is certain when the task is done.
    ///
    /// # Errors
    /// The key cannot be read.
    pub fn decrypt_file(&self, secret: FileSecret) -> Result<Making> {
        let (feed, written, tell) = (Feed::default(), Written::default(), Tell::default());
        let (own, mut out) = (feed.clone(), written.clone());
        let task = Task::new(feed, async move {
            let mut start = Vec::new();
            while start.len() < HEADER {
                let Some(data) = own.some().await else {
                    let error = AesFileError::Truncated { name: FILE.to_owned() };
                    return Err(he_files::Error::from(error).into());
                };
                start.extend(data);
            }
            let (header, rest) = start.split_at(HEADER);
            let header = header.first_chunk().ok_or(Error::UnderAes)?;
            let mut opener = secret.with(|secret| Opener::new(header, secret, FILE))?;
            let (mut bytes, mut plain) = (Vec::new(), 0u64);
            opener.push(rest, &mut bytes)?;
            plain += bytes.len() as u64;
            out.append(&mut bytes);
            while let Some(data) = own.some().await {
                opener.push(&data, &mut bytes)?;
                plain += bytes.len() as u64;
                out.append(&mut bytes);
                pause().await;
            }
            opener.finish(&mut bytes)?;
            plain += bytes.len() as u64;
            out.append(&mut bytes);
            Ok(json!({ "bytes": plain }))
        });
        Ok(Making { task, written, tell })
    }
}

/// Describes a file, as `he-cli info --json` does.
///
/// # Errors
/// It is not a file of ours, or it is damaged.
pub fn info(input: Input, passphrase: Option<Zeroizing<Vec<u8>>>) -> Result<Value> {
    let description = match passphrase {
        None => describe(input, None, None)?,
        Some(bytes) => {
            let give = |_: Purpose, _: &str| Passphrase::new(bytes.clone());
            describe(input, None, Some(&give))?
        }
    };
    Ok(description.json())
}

/// A new AES key as a file, sealed if there is a passphrase.
///
/// # Errors
/// There is no random generator, or too little memory for Argon2id.
pub fn file_key(passphrase: Option<Zeroizing<Vec<u8>>>) -> Result<Zeroizing<Vec<u8>>> {
    let passphrase = passphrase.map(Passphrase::new).transpose()?;
    // The buffer has its full size from the start, because growing would leave copies of the secret
    // behind.
    let mut plain = Wiped::with_capacity(1 << 10);
    write_aes_key(&mut plain, &UserKey::generate(&mut rng()?).to_frame(), "the key")?;
    Ok(sealed(plain, passphrase.as_ref())?)
}

fn read_key(
    file: Zeroizing<Vec<u8>>,
    needed: &str,
    passphrase: Option<Zeroizing<Vec<u8>>>,
) -> Result<AnyKey> {
    // An empty passphrase is refused in words that say so.
    let bytes = passphrase.unwrap_or_default();
    let give = |_: Purpose, _: &str| Passphrase::new(bytes.clone());
    Ok(AnyKey::read(Input::from_reader(FILE, Cursor::new(file)), needed, Some(&give))?)
}

impl FileSecret {
    fn with<T>(self, work: impl FnOnce(Secret<'_>) -> he_files::Result<T>) -> Result<T> {
        match self {
            Self::Passphrase(bytes) => {
                let give = |_: Purpose, _: &str| Passphrase::new(bytes.clone());
                Ok(work(Secret::Passphrase(&give))?)
            }
            Self::Key(file, passphrase) => {
                let key: UserKey = read_key(file, "an AES key", passphrase)?.aes()?.key;
                Ok(work(Secret::Key(&key))?)
            }
        }
    }
}

fn title(names: &Option<Vec<String>>, index: usize) -> String {
    names
        .as_ref()
        .map_or_else(|| (index + 1).to_string(), |names| names.get(index).cloned().unwrap_or_default())
}

/// New keys of BFV or BGV.
async fn of_integers<S: Taken>(options: &KeyOptions, rng: ChaCha20Rng, tell: Tell) -> Result<Rc<Keys<S>>> {
    let params = options.integer().params::<S>()?;
    let rotations = integers::rotations(&params);
    Ok(Rc::new(Keys::generate(params, rotations, rng, tell).await?))
}

/// The keys of BFV or BGV in a file.
fn loaded<S: Taken>(file: KeyFile<S>) -> Result<Rc<Keys<S>>> {
    let rotations = integers::rotations(&file.params);
    Ok(Rc::new(Keys::load(file, rotations)?))
}

/// The tables of a scheme, of columns in the clear.
trait OfColumns: Sized {
    /// The table of these columns.
    ///
    /// # Errors
    /// Columns of another type; they differ in length.
    fn of(names: Option<Vec<String>>, columns: Vec<Column>) -> Result<Self>;
}

impl OfColumns for RealTable {
    fn of(names: Option<Vec<String>>, columns: Vec<Column>) -> Result<Self> {
        let columns = reals(&names, columns)?;
        Ok(Self::new(Table::new(names, columns)?))
    }
}

impl OfColumns for IntegerTable {
    fn of(names: Option<Vec<String>>, columns: Vec<Column>) -> Result<Self> {
        let columns = whole(&names, columns)?;
        Ok(Self::new(Table::new(names, columns)?))
    }
}

/// Columns of doubles.
fn reals(names: &Option<Vec<String>>, columns: Vec<Column>) -> Result<Vec<Vec<f64>>> {
    let real = |(index, column): (usize, Column)| {
        let values: Vec<f64> = match column {
            Column::Real(values) => values,
            Column::Integer(values) => values.into_iter().map(|x| x as f64).collect(),
        };
        match values.iter().position(|x| !x.is_finite()) {
            Some(row) => Err(Error::NotFinite { name: title(names, index), row }),
            None => Ok(values),
        }
    };
    columns.into_iter().enumerate().map(real).collect()
}

/// Columns of integers.
fn whole(names: &Option<Vec<String>>, columns: Vec<Column>) -> Result<Vec<Vec<i64>>> {
    let whole = |(index, column): (usize, Column)| match column {
        Column::Integer(values) => Ok(values),
        Column::Real(_) => {
            Err(Error::Column { name: title(names, index), takes: "integers (BigInt64Array)" })
        }
    };
    columns.into_iter().enumerate().map(whole).collect()
}
