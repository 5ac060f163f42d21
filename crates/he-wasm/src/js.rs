//! The session in JavaScript. Its arguments and results are numbers, strings, JSON and bytes;
//! `web/client` makes promises and streams of it.

use crate::error::Error;
use crate::lookup::{Lookup, Record};
use crate::options::KeyOptions;
use crate::session::{self, Column, FileSecret, Making, Session};
use crate::table::{self, ReadOptions};
use crate::task::{Step, Task, Tell, Written};
use he_files::contents::clear::{Plain, View};
use he_files::data::picture::Samples;
use he_files::data::table::Cell;
use he_files::io::input::Input;
use js_sys::{
    Array, BigInt64Array, BigUint64Array, Float64Array, Function, JsString, Reflect, Uint8Array, Uint16Array,
};
use num_bigint::BigInt;
use serde_json::Value;
use std::cell::{Cell as Slot, RefCell};
use std::io::{self, Read};
use wasm_bindgen::prelude::*;
use zeroize::Zeroizing;

thread_local! {
    /// Whether a panic has ended this instance, and what it said.
    static DEAD: Slot<bool> = const { Slot::new(false) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    /// Reads a file for `info`: (position, length) to bytes.
    static SOURCE: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Once per instance: notes panics, after which everything is refused.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        DEAD.set(true);
        PANIC.with_borrow_mut(|text| *text = panic.to_string());
    }));
}

/// The message of the panic that ended this instance; empty if it lives.
#[wasm_bindgen(js_name = panicMessage)]
pub fn panic_message() -> String {
    PANIC.with_borrow(Clone::clone)
}

fn thrown(error: &Error) -> JsValue {
    let thrown = js_sys::Error::new(&error.to_string());
    let hint = error.hint().map_or(JsValue::UNDEFINED, |hint| hint.into());
    // An object that was just made takes any property.
    let _ = Reflect::set(&thrown, &"hint".into(), &hint);
    thrown.into()
}

fn alive<T>(work: impl FnOnce() -> crate::Result<T>) -> Result<T, JsValue> {
    let result = if DEAD.get() { Err(Error::Dead) } else { work() };
    result.map_err(|error| thrown(&error))
}

fn view(name: &str) -> View {
    match name {
        "raw" => View::Raw,
        "scaled" => View::Scaled,
        _ => View::Light,
    }
}

/// Columns of a table, one after the other.
#[wasm_bindgen]
#[derive(Default)]
pub struct TableBuilder {
    names: Vec<String>,
    columns: Vec<Column>,
    is_nameless: bool,
}

#[wasm_bindgen]
impl TableBuilder {
    /// No columns.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves the names out of the file.
    #[wasm_bindgen(js_name = keepNames)]
    pub fn keep_names(&mut self) {
        self.is_nameless = true;
    }

    /// A column of doubles.
    #[wasm_bindgen(js_name = addReal)]
    pub fn add_real(&mut self, name: String, values: Vec<f64>) {
        self.names.push(name);
        self.columns.push(Column::Real(values));
    }

    /// A column of integers.
    #[wasm_bindgen(js_name = addInteger)]
    pub fn add_integer(&mut self, name: String, values: Vec<i64>) {
        self.names.push(name);
        self.columns.push(Column::Integer(values));
    }
}

/// The keys of one user.
#[wasm_bindgen(js_name = Session)]
#[derive(Default)]
pub struct JsSession(Session);

#[wasm_bindgen(js_class = Session)]
impl JsSession {
    /// Without keys.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes keys.
    ///
    /// # Errors
    /// As for [`Session::generate`].
    #[wasm_bindgen(js_name = generateKeys)]
    pub fn generate_keys(&self, options: &str) -> Result<JsTask, JsValue> {
        alive(|| {
            let (task, tell) = self.0.generate(&KeyOptions::parse(options)?)?;
            Ok(JsTask::new(Kind::Value(task), Written::default(), tell))
        })
    }

    /// Reads the file of a secret key, which has to suit options of keys if there are any; what the
    /// keys are, as JSON.
    ///
    /// # Errors
    /// As for [`Session::load`].
    #[wasm_bindgen(js_name = loadKeys)]
    pub fn load_keys(
        &self,
        file: Vec<u8>,
        passphrase: Option<Vec<u8>>,
        needs: Option<String>,
    ) -> Result<String, JsValue> {
        let (file, passphrase) = (Zeroizing::new(file), passphrase.map(Zeroizing::new));
        alive(|| {
            let needs = needs.map(|options| KeyOptions::parse(&options)).transpose()?;
            Ok(self.0.load(file, passphrase, needs.as_ref())?.to_string())
        })
    }

    /// Describes the keys, as JSON.
    ///
    /// # Errors
    /// As for [`Session::keys_info`].
    #[wasm_bindgen(js_name = keysInfo)]
    pub fn keys_info(&self) -> Result<String, JsValue> {
        alive(|| Ok(self.0.keys_info()?.to_string()))
    }

    /// The file of the secret key.
    ///
    /// # Errors
    /// As for [`Session::save`].
    #[wasm_bindgen(js_name = saveKeys)]
    pub fn save_keys(&self, passphrase: Option<Vec<u8>>) -> Result<Uint8Array, JsValue> {
        alive(|| Ok(Uint8Array::from(&self.0.save(passphrase.map(Zeroizing::new))?[..])))
    }

    /// Wipes the keys.
    #[wasm_bindgen(js_name = forgetKeys)]
    pub fn forget_keys(&self) {
        self.0.forget();
    }

    /// The file of the public key.
    ///
    /// # Errors
    /// As for [`Session::public_key`].
    #[wasm_bindgen(js_name = publicKey)]
    pub fn public_key(&self) -> Result<Vec<u8>, JsValue> {
        alive(|| self.0.public_key())
    }

    /// Writes the file of the evaluation keys.
    ///
    /// # Errors
    /// As for [`Session::evaluation_key`].
    #[wasm_bindgen(js_name = evaluationKey)]
    pub fn evaluation_key(&self) -> Result<JsTask, JsValue> {
        alive(|| Ok(self.0.evaluation_key()?.into()))
    }

    /// Encrypts an image.
    ///
    /// # Errors
    /// As for [`Session::encrypt_image`].
    #[wasm_bindgen(js_name = encryptImage)]
    pub fn encrypt_image(
        &self,
        width: u32,
        height: u32,
        channels: u32,
        data: Vec<u8>,
        halo: Option<u32>,
    ) -> Result<JsTask, JsValue> {
        let halo = halo.map(|halo| halo as usize);
        alive(|| Ok(self.0.encrypt_image(width, height, channels, data, halo)?.into()))
    }

    /// Encrypts a table.
    ///
    /// # Errors
    /// As for [`Session::encrypt_table`].
    #[wasm_bindgen(js_name = encryptTable)]
    pub fn encrypt_table(&self, table: TableBuilder, width: Option<u32>) -> Result<JsTask, JsValue> {
        let names = (!table.is_nameless).then_some(table.names);
        alive(|| Ok(self.0.encrypt_table(names, table.columns, width)?.into()))
    }

    /// Reads a compiled model; what keys for it need, as JSON.
    ///
    /// # Errors
    /// As for [`Session::load_model`].
    #[wasm_bindgen(js_name = loadModel)]
    pub fn load_model(&self, file: &[u8]) -> Result<String, JsValue> {
        alive(|| Ok(self.0.load_model(file)?.to_string()))
    }

    /// Encrypts examples for the model.
    ///
    /// # Errors
    /// As for [`Session::encrypt_examples`].
    #[wasm_bindgen(js_name = encryptExamples)]
    pub fn encrypt_examples(&self, numbers: &[f64]) -> Result<JsTask, JsValue> {
        alive(|| Ok(self.0.encrypt_examples(numbers)?.into()))
    }

    /// Decrypts a file that is pushed.
    ///
    /// # Errors
    /// As for [`Session::decrypt`].
    pub fn decrypt(&self, shown: &str) -> Result<JsTask, JsValue> {
        alive(|| {
            let (task, tell) = self.0.decrypt(view(shown))?;
            Ok(JsTask::new(Kind::Plain(task), Written::default(), tell))
        })
    }

    /// Encrypts bytes that are pushed, under AES: by the file of a key, and its passphrase if it is
    /// sealed, or by a passphrase alone.
    ///
    /// # Errors
    /// As for [`Session::encrypt_file`].
    #[wasm_bindgen(js_name = encryptFile)]
    pub fn encrypt_file(&self, key: Option<Vec<u8>>, passphrase: Option<Vec<u8>>) -> Result<JsTask, JsValue> {
        alive(|| Ok(self.0.encrypt_file(secret(key, passphrase))?.into()))
    }

    /// Decrypts a file under AES that is pushed.
    ///
    /// # Errors
    /// As for [`Session::decrypt_file`].
    #[wasm_bindgen(js_name = decryptFile)]
    pub fn decrypt_file(&self, key: Option<Vec<u8>>, passphrase: Option<Vec<u8>>) -> Result<JsTask, JsValue> {
        alive(|| Ok(self.0.decrypt_file(secret(key, passphrase))?.into()))
    }
}

fn secret(key: Option<Vec<u8>>, passphrase: Option<Vec<u8>>) -> FileSecret {
    let passphrase = passphrase.map(Zeroizing::new);
    match key {
        Some(key) => FileSecret::Key(Zeroizing::new(key), passphrase),
        None => FileSecret::Passphrase(passphrase.unwrap_or_default()),
    }
}

/// A client of a database for private look-ups.
#[wasm_bindgen(js_name = Lookup)]
pub struct JsLookup(Lookup);

/// A record by its key, or else by its number.
fn record(number: Option<u64>, key: Option<&[u8]>) -> Record<'_> {
    key.map_or(Record::Number(number.unwrap_or_default()), Record::Key)
}

#[wasm_bindgen(js_class = Lookup)]
impl JsLookup {
    /// A client by a public description, with a fresh key.
    ///
    /// # Errors
    /// As for [`Lookup::new`].
    #[wasm_bindgen(constructor)]
    pub fn new(description: &[u8]) -> Result<Self, JsValue> {
        alive(|| Ok(Self(Lookup::new(description)?)))
    }

    /// The contents of the description, as JSON.
    pub fn info(&self) -> String {
        self.0.info().to_string()
    }

    /// A query as bytes.
    ///
    /// # Errors
    /// As for [`Lookup::query`].
    pub fn query(&self, number: Option<u64>, key: Option<Vec<u8>>) -> Result<Vec<u8>, JsValue> {
        let key = key.map(Zeroizing::new);
        alive(|| self.0.query(record(number, key.as_ref().map(|key| &key[..]))))
    }

    /// The record of an answer; undefined for a key that is absent.
    ///
    /// # Errors
    /// As for [`Lookup::read`].
    pub fn read(
        &self,
        answer: &[u8],
        number: Option<u64>,
        key: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, JsValue> {
        let key = key.map(Zeroizing::new);
        alive(|| self.0.read(answer, record(number, key.as_ref().map(|key| &key[..]))))
    }
}

/// Describes a file of `size` bytes, as JSON; `read(position, length)` gives its bytes.
///
/// # Errors
/// As for [`session::info`].
#[wasm_bindgen]
pub fn info(read: Function, size: f64, passphrase: Option<Vec<u8>>) -> Result<String, JsValue> {
    alive(|| {
        SOURCE.set(Some(read));
        let input = Input::from_sized_reader("the file", Source { at: 0.0 }, size as u64);
        let told = session::info(input, passphrase.map(Zeroizing::new));
        SOURCE.set(None);
        Ok(told?.to_string())
    })
}

/// Reads a table; an object of its columns, whether they have names, and warnings as JSON.
///
/// # Errors
/// As for [`table::read`].
#[wasm_bindgen(js_name = readTable)]
pub fn read_table(bytes: &[u8], name: &str, options: &str) -> Result<JsValue, JsValue> {
    alive(|| {
        let table = table::read(bytes, name, &ReadOptions::parse(options)?)?;
        let columns = Array::new();
        for (i, values) in table.columns.iter().enumerate() {
            let values = match values {
                Column::Real(values) => Float64Array::from(&values[..]).into(),
                Column::Integer(values) => BigInt64Array::from(&values[..]).into(),
            };
            columns.push(&column(table.names.as_ref().map(|names| &names[i]), i, values));
        }
        Ok(object(&[
            ("columns", columns.into()),
            ("named", table.names.is_some().into()),
            ("warnings", table.warnings.to_string().into()),
        ]))
    })
}

/// The text of a file that may be a table.
///
/// # Errors
/// As for [`table::text`].
#[wasm_bindgen(js_name = tableText)]
pub fn table_text(bytes: &[u8], name: &str) -> Result<String, JsValue> {
    alive(|| Ok(table::text(bytes, name)?.to_owned()))
}

/// A new AES key as the file of `keygen aes`.
///
/// # Errors
/// There is no random generator, or too little memory for Argon2id.
#[wasm_bindgen(js_name = generateFileKey)]
pub fn generate_file_key(passphrase: Option<Vec<u8>>) -> Result<Uint8Array, JsValue> {
    alive(|| Ok(Uint8Array::from(&session::file_key(passphrase.map(Zeroizing::new))?[..])))
}

/// A file that JavaScript reads.
struct Source {
    /// Positions up to 2^53 are exact.
    at: f64,
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let failed = || io::Error::other("the browser cannot read the file");
        let read = SOURCE.with_borrow(Clone::clone).ok_or_else(failed)?;
        let bytes = read.call2(&JsValue::NULL, &self.at.into(), &(out.len() as f64).into());
        let bytes: Uint8Array = bytes.map_err(|_| failed())?.dyn_into().map_err(|_| failed())?;
        let count = (bytes.length() as usize).min(out.len());
        bytes.subarray(0, count as u32).copy_to(&mut out[..count]);
        self.at += count as f64;
        Ok(count)
    }
}

enum Kind {
    Value(Task<Value>),
    Plain(Task<Plain>),
    Over,
}

enum Outcome {
    Value(Value),
    Plain(Plain),
}

/// Work in steps.
#[wasm_bindgen(js_name = Task)]
pub struct JsTask {
    kind: Kind,
    written: Written,
    tell: Tell,
    result: Option<Outcome>,
}

impl From<Making> for JsTask {
    fn from(making: Making) -> Self {
        Self::new(Kind::Value(making.task), making.written, making.tell)
    }
}

impl JsTask {
    fn new(kind: Kind, written: Written, tell: Tell) -> Self {
        Self { kind, written, tell, result: None }
    }
}

#[wasm_bindgen(js_class = Task)]
impl JsTask {
    /// Goes on: 0 if there is more to do, 1 if it needs more bytes, 2 if it is done.
    ///
    /// # Errors
    /// The errors of the work, which is over then.
    pub fn step(&mut self) -> Result<u32, JsValue> {
        let stepped = alive(|| match &mut self.kind {
            Kind::Value(task) => Ok(match task.step()? {
                Step::Working => (0, None),
                Step::Hungry => (1, None),
                Step::Done(value) => (2, Some(Outcome::Value(value))),
            }),
            Kind::Plain(task) => Ok(match task.step()? {
                Step::Working => (0, None),
                Step::Hungry => (1, None),
                Step::Done(plain) => (2, Some(Outcome::Plain(plain))),
            }),
            Kind::Over => Ok((2, None)),
        });
        match stepped {
            Ok((2, result)) => {
                (self.kind, self.result) = (Kind::Over, result.or(self.result.take()));
                Ok(2)
            }
            Ok((state, _)) => Ok(state),
            Err(error) => {
                self.kind = Kind::Over;
                Err(error)
            }
        }
    }

    /// The next bytes that it reads.
    pub fn push(&self, bytes: &[u8]) {
        match &self.kind {
            Kind::Value(task) => task.feed.push(bytes),
            Kind::Plain(task) => task.feed.push(bytes),
            Kind::Over => {}
        }
    }

    /// There are no more bytes.
    pub fn end(&self) {
        match &self.kind {
            Kind::Value(task) => task.feed.end(),
            Kind::Plain(task) => task.feed.end(),
            Kind::Over => {}
        }
    }

    /// Takes the bytes that were made.
    pub fn take(&self) -> Vec<u8> {
        self.written.take()
    }

    /// The steps that are done.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> f64 {
        self.tell.done_of().0 as f64
    }

    /// All steps, as far as they are known.
    #[wasm_bindgen(getter)]
    pub fn of(&self) -> f64 {
        self.tell.done_of().1 as f64
    }

    /// Warnings, as JSON.
    pub fn warnings(&self) -> String {
        self.tell.warnings().to_string()
    }

    /// The result: an object in which bytes and numbers are typed arrays.
    pub fn result(&mut self) -> JsValue {
        match self.result.take() {
            None => JsValue::UNDEFINED,
            Some(Outcome::Value(value)) => value.to_string().into(),
            Some(Outcome::Plain(plain)) => shown(&plain),
        }
    }
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in fields {
        // An object that was just made takes any property.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}

fn column(name: Option<&String>, index: usize, values: JsValue) -> JsValue {
    let name = name.cloned().unwrap_or_else(|| (index + 1).to_string());
    object(&[("name", name.into()), ("values", values)])
}

fn shown(plain: &Plain) -> JsValue {
    match plain {
        Plain::Picture(picture) => {
            let data: JsValue = match picture.samples() {
                Samples::Eight(samples) => Uint8Array::from(&samples[..]).into(),
                Samples::Sixteen(samples) => Uint16Array::from(&samples[..]).into(),
            };
            object(&[
                ("kind", "image".into()),
                ("width", picture.width().into()),
                ("height", picture.height().into()),
                ("channels", (picture.channels().count() as u32).into()),
                ("depth", picture.depth().bits().into()),
                ("data", data),
            ])
        }
        Plain::Table(table) => {
            let columns = Array::new();
            for (i, values) in table.columns().iter().enumerate() {
                let name = table.header().map(|names| &names[i]);
                columns.push(&column(name, i, Float64Array::from(&values[..]).into()));
            }
            object(&[("kind", "table".into()), ("columns", columns.into())])
        }
        Plain::Cells(table) => {
            let columns = Array::new();
            for (i, values) in table.columns().iter().enumerate() {
                let name = table.header().map(|names| &names[i]);
                columns.push(&column(name, i, cells(values)));
            }
            object(&[("kind", "table".into()), ("columns", columns.into())])
        }
        Plain::Integers(table) => {
            let columns = Array::new();
            for (i, values) in table.columns().iter().enumerate() {
                let name = table.header().map(|names| &names[i]);
                columns.push(&column(name, i, integers(values)));
            }
            object(&[("kind", "table".into()), ("columns", columns.into())])
        }
        // No view of the client asks for them.
        Plain::Numbers(_) => JsValue::UNDEFINED,
    }
}

/// Machine integers as a typed array: of those without a sign if one needs all 64 bits.
fn integers(values: &[BigInt]) -> JsValue {
    let signed: Option<Vec<i64>> = values.iter().map(|value| i64::try_from(value).ok()).collect();
    match signed {
        Some(values) => BigInt64Array::from(&values[..]).into(),
        None => {
            let values: Vec<u64> = values.iter().map(|value| u64::try_from(value).unwrap_or(0)).collect();
            BigUint64Array::from(&values[..]).into()
        }
    }
}

/// Numbers as a typed array, words as an array of strings.
fn cells(values: &[Cell]) -> JsValue {
    let numbers: Option<Vec<i64>> = values
        .iter()
        .map(|cell| match cell {
            Cell::Number(number) => Some(*number),
            Cell::Word(_) => None,
        })
        .collect();
    if let Some(numbers) = numbers {
        return BigInt64Array::from(&numbers[..]).into();
    }
    let text = |cell: &Cell| -> JsValue {
        match cell {
            Cell::Number(number) => JsString::from(number.to_string()).into(),
            Cell::Word(word) => JsString::from(&**word).into(),
        }
    };
    values.iter().map(text).collect::<Array>().into()
}
