//! Transcripts: what a party has computed again before it shares, and what the others say of the
//! same.

use super::{Agreed, Ledger, Named, Opened, Shared, fresh, hex};
use crate::cipher_file::CipherReader;
use crate::contents::Kind;
use crate::error::{FileError, InFile, PartyError, Result};
use crate::file_start::{AnyStart, FileStart, read_start};
use crate::info::Parameters;
use crate::io::cancel::Cancel;
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::not_a_key;
use crate::note::{KeyId, Note, Payload, bad};
use crate::operation::{Evaluation, Operation, Sources};
use crate::scheme::{Scheme, Start};
use crate::watch::Watch;
use he::Device;
use he_core::mhe::{self, Digest, PartyKey, Session, Statement};
use he_core::wire::{Frame, FrameKind, FrameReader, WireError, WireParams as _};
use serde::{Deserialize, Serialize};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex, PoisonError};

const INPUT: &str = "he-files 2026-11 party: input of a transcript, version 1";
const DESCRIPTION: &str = "he-files 2026-11 party: description of a result, version 1";
const EVALUATION_KEY: &str = "he-files 2026-11 party: evaluation key of a transcript, version 1";

/// The longest file that is computed with, all of which is in memory.
const MAX_FILE: u64 = 1 << 34;

/// A file of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operand {
    /// An input, by its place.
    Input(usize),
    /// The result of a step, by its place.
    Step(usize),
}

/// An operation on files of a computation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The operation.
    pub operation: Operation,
    /// Its files, in order.
    pub of: Vec<Operand>,
}

/// The files of a computation. The last step computes the result; without steps, it is the one
/// input.
pub struct Computation {
    /// The tables, each with the party that encrypted it.
    pub inputs: Vec<(u32, Input)>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The file that is said to be the result.
    pub result: Input,
    /// The evaluation key, as the party combined it.
    pub key: Option<Input>,
}

/// All that the result depends on besides the inputs, and its description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    steps: Vec<Step>,
    /// The digest of the file of the evaluation key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    #[serde(with = "hex")]
    description: Digest,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Key(#[serde(with = "hex")] Digest);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InputNote {
    party: u32,
    #[serde(with = "hex")]
    digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Entry(#[serde(with = "hex")] Digest);

/// A transcript in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// The party that has computed it.
    party: u32,
    inputs: Vec<InputNote>,
    program: Program,
    results: Vec<Entry>,
    /// The tag by which the party knows its own transcripts.
    #[serde(with = "hex")]
    tag: Digest,
}

/// Bytes in memory that several readers read.
#[derive(Clone)]
struct Bytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A file in memory, so that what is hashed is what is computed with.
#[derive(Clone)]
struct Held {
    name: String,
    bytes: Bytes,
}

impl Held {
    fn read(input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        Ok(Self { name, bytes: Bytes(Arc::new(input.read_all(MAX_FILE)?)) })
    }

    fn input(&self) -> Input {
        let length = self.bytes.0.len() as u64;
        Input::from_sized_reader(&self.name, Cursor::new(self.bytes.clone()), length)
    }

    fn digest(&self, context: &str) -> Digest {
        Digest(blake3::derive_key(context, &self.bytes.0))
    }
}

/// An input.
struct Contribution {
    /// Its place among those that were given.
    given: usize,
    party: u32,
    digest: Digest,
    file: Held,
}

impl Contribution {
    /// Whether it is the party's own exactly if the party has encrypted it.
    fn check_party(&self, own: u32, list: &Ledger) -> Result<()> {
        let (name, party) = (self.file.name.clone(), self.party);
        match (party == own, list.holds(&self.digest.0)) {
            (true, false) => Err(PartyError::NotOwn { name, party, list: list.name().to_owned() }.into()),
            (false, true) => Err(PartyError::OfOther { name, party, own }.into()),
            _ => Ok(()),
        }
    }
}

/// A writer into memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn held(self, name: &str) -> Held {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Held { name: name.to_owned(), bytes: Bytes(Arc::new(bytes)) }
    }
}

/// The digest of an encrypted table in a list of those that a party has encrypted.
///
/// # Errors
/// It cannot be read.
pub fn input_digest(input: Input) -> Result<[u8; 32]> {
    Ok(Held::read(input)?.digest(INPUT).0)
}

/// The digest of what a file says of its ciphertexts, on which decoding and floods depend.
pub(super) fn description(payload: &Payload) -> Result<Digest> {
    let bytes = serde_json::to_vec(payload).map_err(|_| bad("value"))?;
    Ok(Digest(blake3::derive_key(DESCRIPTION, &bytes)))
}

impl<S: Shared> Agreed<S> {
    /// The reader of an encrypted table of this session.
    ///
    /// # Errors
    /// It is another file, damaged, or of another session.
    pub fn table(&self, input: Input) -> Result<CipherReader<S>> {
        let reader = CipherReader::<S>::new(input)?;
        if reader.params != self.params || reader.payload.key_id != self.id {
            let (found, expected) = (reader.payload.key_id.short().to_owned(), self.id.short().to_owned());
            return Err(FileError::OtherSession { name: reader.name, found, expected }.into());
        }
        if <S::Table as Kind<S>>::note(&reader.payload.content).is_none() {
            return Err(PartyError::NotATable { name: reader.name }.into());
        }
        Ok(reader)
    }

    /// The digests of a table's ciphertexts, in order, each of which `look` sees.
    fn digests(
        &self,
        reader: &mut CipherReader<S>,
        mut look: impl FnMut(&S::Ciphertext) -> Result<()>,
    ) -> Result<Vec<Digest>> {
        let content = reader.payload.content.clone();
        let mut digests = Vec::new();
        for (_, count) in content.batches(S::slots(&self.params))? {
            let ct = reader.next(&self.ring, count)?;
            look(&ct)?;
            digests.push(Digest::of(&ct)?);
        }
        reader.end()?;
        Ok(digests)
    }

    /// Computes a result again, compares it, and writes down what it is. `own` lists the tables
    /// that the party has encrypted, by their [`input_digest`].
    ///
    /// # Errors
    /// [`PartyError::OtherResult`] if the result is another one; [`PartyError`] for inputs that are
    /// not fresh encryptions and programs that do not fit; those of the operations; files that are
    /// damaged, or of another session.
    pub fn transcript(
        &self,
        (key, own): (&PartyKey, &Ledger),
        computation: Computation,
        watch: &Arc<dyn Watch>,
    ) -> Result<(mhe::Transcript, Frame)> {
        let Computation { inputs, steps, result, key: evaluation } = computation;
        let read = |(given, (party, input))| {
            let file = Held::read(input)?;
            Ok(Contribution { given, party, digest: file.digest(INPUT), file })
        };
        let mut inputs = inputs.into_iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
        // In an order that does not depend on how the inputs were given.
        inputs.sort_by_key(|input| (input.party, input.digest));
        check_apart(&inputs)?;
        inputs.iter().try_for_each(|input| input.check_party(key.party(), own))?;
        let place = |given| inputs.iter().position(|input| input.given == given).map(Operand::Input);
        let mut steps = steps;
        for (at, step) in steps.iter_mut().enumerate() {
            for operand in &mut step.of {
                let known = match *operand {
                    Operand::Input(given) => place(given),
                    Operand::Step(step) => (step < at).then_some(Operand::Step(step)),
                };
                *operand = known.ok_or(PartyError::NoOperand { step: at + 1 })?;
            }
        }
        check_used(&inputs, &steps)?;
        for Contribution { file, .. } in &inputs {
            let mut reader = self.table(file.input())?;
            if let [_, ..] = reader.payload.history.as_slice() {
                let (name, found) = (file.name.clone(), reader.payload.history.join(", "));
                return Err(PartyError::NotFresh { name, found, fresh: "no operation".to_owned() }.into());
            }
            self.digests(&mut reader, |ct| fresh::check(self, &file.name, ct))?;
        }
        let evaluation = match evaluation {
            Some(_) if steps.is_empty() => None,
            key => key.map(Held::read).transpose()?,
        };
        let name = result.name().to_owned();
        let mut reader = self.table(result)?;
        let stated = (description(&reader.payload)?, self.digests(&mut reader, |_| Ok(()))?);

        let computed = self.computed(&inputs, &steps, evaluation.as_ref(), watch)?;
        let mut reader = self.table(computed.input())?;
        let program = Program {
            steps,
            key: evaluation.map(|key| Key(key.digest(EVALUATION_KEY))),
            description: description(&reader.payload)?,
        };
        let bytes = serde_json::to_vec(&program).map_err(|_| bad("program"))?;
        let owned: Vec<_> = inputs.iter().map(|input| (input.party, input.digest)).collect();
        let transcript = mhe::Transcript::recompute(&self.session, &bytes, &owned, || {
            self.digests(&mut reader, |_| Ok(()))
        })?;
        compare(&name, (program.description, transcript.results()), (stated.0, &stated.1))?;
        let record = Record {
            party: key.party(),
            inputs: owned.iter().map(|&(party, digest)| InputNote { party, digest }).collect(),
            program,
            results: transcript.results().iter().copied().map(Entry).collect(),
            tag: Digest(transcript.tag(key)?),
        };
        let body = serde_json::to_vec(&record).map_err(|_| bad("transcript"))?;
        Ok((transcript, Frame::attachment(self.params.fingerprint(), body)?))
    }

    /// The file that the steps compute.
    fn computed(
        &self,
        inputs: &[Contribution],
        steps: &[Step],
        key: Option<&Held>,
        watch: &Arc<dyn Watch>,
    ) -> Result<Held> {
        let mut results: Vec<Held> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let file = |operand: &Operand| match *operand {
                Operand::Input(at) => inputs.get(at).map(|input| input.file.input()),
                Operand::Step(at) => results.get(at).map(Held::input),
            };
            let mut files = step.of.iter().map(file).collect::<Option<Vec<_>>>().unwrap_or_default();
            if files.is_empty() {
                return Err(PartyError::NoOperand { step: at + 1 }.into());
            }
            let sources = Sources {
                input: files.remove(0),
                others: files,
                key: key.ok_or(PartyError::NoKey)?.input(),
                bootstrap: None,
            };
            let name = format!("the result of step {}", at + 1);
            let evaluation = Evaluation::new(&step.operation, sources, &Cancel::default())?;
            let memory = Memory::default();
            let output = Output::to_writer(&name, memory.clone());
            evaluation.evaluate(&[Device::cpu()], watch.clone(), output)?;
            results.push(memory.held(&name));
        }
        match (results.pop(), inputs) {
            (Some(result), _) => Ok(result),
            (None, [input]) => Ok(input.file.clone()),
            (None, inputs) => Err(PartyError::NoResult { inputs: inputs.len() }.into()),
        }
    }
}

/// No input is there twice, for one party or for two.
fn check_apart(inputs: &[Contribution]) -> Result<()> {
    for (at, right) in inputs.iter().enumerate() {
        if let Some(left) = inputs[..at].iter().find(|left| left.digest == right.digest) {
            let (left, right) = (left.file.name.clone(), right.file.name.clone());
            return Err(PartyError::SameInput { left, right }.into());
        }
    }
    Ok(())
}

/// Every input, and the result of every step but the last, is taken by some step.
fn check_used(inputs: &[Contribution], steps: &[Step]) -> Result<()> {
    if steps.is_empty() && inputs.len() != 1 {
        return Err(PartyError::NoResult { inputs: inputs.len() }.into());
    }
    let used = |operand: Operand| steps.iter().any(|step| step.of.contains(&operand));
    let unused = |what: String| Err(PartyError::Unused { what }.into());
    for (at, input) in inputs.iter().enumerate() {
        if !steps.is_empty() && !used(Operand::Input(at)) {
            return unused(input.file.name.clone());
        }
    }
    for at in 0..steps.len().saturating_sub(1) {
        if !used(Operand::Step(at)) {
            return unused(format!("the result of its step {}", at + 1));
        }
    }
    Ok(())
}

/// Whether a result is what was computed.
fn compare(name: &str, computed: (Digest, &[Digest]), stated: (Digest, &[Digest])) -> Result<()> {
    let other = |what: String, found: String, expected: String| {
        Err(PartyError::OtherResult { name: name.to_owned(), what, found, expected }.into())
    };
    if computed.0 != stated.0 {
        return other("description".to_owned(), stated.0.to_string(), computed.0.to_string());
    }
    if computed.1.len() != stated.1.len() {
        let count = |digests: &[Digest]| digests.len().to_string();
        return other("number of ciphertexts".to_owned(), count(stated.1), count(computed.1));
    }
    match computed.1.iter().zip(stated.1).enumerate().find(|(_, (computed, stated))| computed != stated) {
        None => Ok(()),
        Some((at, (computed, stated))) => {
            other(format!("ciphertext {}", at + 1), stated.to_string(), computed.to_string())
        }
    }
}

/// The facts about a table that is decrypted: its transcript, and what the parties state.
pub struct Known {
    pub(super) transcript: mhe::Transcript,
    pub(super) statements: Vec<Statement>,
    description: Digest,
}

impl Known {
    /// From the transcripts of parties, that of this party among them.
    ///
    /// # Errors
    /// [`PartyError`]: there is none of this party, or two are of one party, or they differ; it is
    /// another file. [`MheError::WrongTag`](he_core::mhe::MheError::WrongTag) if this party did not
    /// make its own.
    pub fn own<S: Shared>(agreed: &Agreed<S>, key: &PartyKey, files: &[Named]) -> Result<Self> {
        let records = records(files)?;
        let party = key.party();
        let Some((name, own)) = records.iter().find(|(_, record)| record.party == party) else {
            return Err(PartyError::NoOwn { party }.into());
        };
        let transcript = own.parts(|program, inputs, results| {
            mhe::Transcript::kept(&agreed.session, program, inputs, results, (key, &own.tag.0))
        });
        Self::of(&agreed.session, transcript.in_file(name)?, own, &records)
    }

    /// From the transcripts of parties, for adding up their shares.
    ///
    /// # Errors
    /// The same as for [`own`](Self::own), but for the party's own.
    pub fn others<S: Shared>(agreed: &Agreed<S>, files: &[Named]) -> Result<Self> {
        let records = records(files)?;
        let Some((name, first)) = records.first() else {
            return Err(PartyError::NoTranscript.into());
        };
        let transcript = first.parts(|program, inputs, results| {
            mhe::Transcript::received(&agreed.session, program, inputs, results)
        });
        Self::of(&agreed.session, transcript.in_file(name)?, first, &records)
    }

    fn of(
        session: &Session,
        transcript: mhe::Transcript,
        chosen: &Record,
        records: &[(&str, Record)],
    ) -> Result<Self> {
        for (name, record) in records {
            if let Some(what) = chosen.difference(record) {
                let (name, party, other) = ((*name).to_owned(), record.party, chosen.party);
                return Err(PartyError::Disagree { name, party, what, other }.into());
            }
        }
        let (session, id) = (session.id(), transcript.id());
        let statements = records.iter().filter(|(_, record)| record.party != chosen.party);
        let statements = statements
            .map(|(_, record)| Statement { session, party: record.party, transcript: id })
            .collect();
        Ok(Self { transcript, statements, description: chosen.program.description })
    }

    /// The transcript's identity.
    pub fn id(&self) -> Digest {
        self.transcript.id()
    }

    /// The reader of a table, after checking that it is the result of the transcript: its
    /// description and all its ciphertexts, in their order.
    ///
    /// # Errors
    /// [`PartyError::OtherResult`] if it is another one; it is damaged, or of another session.
    pub fn table<S: Shared>(&self, agreed: &Agreed<S>, input: Input) -> Result<CipherReader<S>> {
        let held = Held::read(input)?;
        let mut reader = agreed.table(held.input())?;
        let found = (description(&reader.payload)?, agreed.digests(&mut reader, |_| Ok(()))?);
        compare(&held.name, (self.description, self.transcript.results()), (found.0, &found.1))?;
        agreed.table(held.input())
    }
}

impl Record {
    fn parts<T>(
        &self,
        make: impl FnOnce(&[u8], &[(u32, Digest)], &[Digest]) -> he_core::Result<T>,
    ) -> he_core::Result<T> {
        // A record that was read is written to the same bytes.
        let program = serde_json::to_vec(&self.program).unwrap_or_default();
        let inputs: Vec<_> = self.inputs.iter().map(|input| (input.party, input.digest)).collect();
        let results: Vec<_> = self.results.iter().map(|entry| entry.0).collect();
        make(&program, &inputs, &results)
    }

    /// In what another transcript differs.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        [
            (self.inputs != other.inputs, "the inputs or their parties"),
            (self.program.steps != other.program.steps, "the program"),
            (self.program.key != other.program.key, "the evaluation key"),
            (
                self.program.description != other.program.description || self.results != other.results,
                "the result",
            ),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}

/// Bytes that hold the parameters and the key set of a file, and the head of the frame behind them.
const HEAD: usize = 1 << 14;

/// The content of a transcript, for people. Only the parties of its session can check it.
pub struct Outline {
    /// The parameters of the session.
    pub params: Parameters,
    /// The key set of the session.
    pub id: KeyId,
    /// The party that has computed it.
    pub party: u32,
    /// The parties of the inputs, in increasing order.
    pub inputs: Vec<u32>,
    /// The program.
    pub steps: Vec<Step>,
    /// The ciphertexts of the result.
    pub results: usize,
}

impl Outline {
    /// Whether a file begins like a transcript, by its first bytes, which remain to be read.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn is_of(input: &mut Input) -> Result<bool> {
        let mut reader = FrameReader::new(input.peek(HEAD)?);
        let start = match read_start(&mut reader, "") {
            Ok(AnyStart::Scheme(start @ (Start::Ckks(_) | Start::Bfv(_) | Start::Bgv(_)))) => start,
            _ => return Ok(false),
        };
        if !matches!(start.note(), Note::Key(_)) {
            return Ok(false);
        }
        let next = reader.next_frame(|_, _| 0);
        Ok(matches!(next, Err(WireError::Length { kind: FrameKind::Attachment, .. })))
    }

    /// Reads all of a transcript.
    ///
    /// # Errors
    /// It is another file, or damaged.
    pub fn read(input: Input) -> Result<Self> {
        fn outlined<S: Shared>(opened: Opened, (params, note): FileStart<S>) -> Result<Outline> {
            let id = opened.id(&note)?;
            let files = [opened.frames(&params)?];
            let params = (<S as Scheme>::params_json(&params), S::params_text(&params));
            Outline::of(params, id, &files)
        }
        let (opened, start) = Opened::new(input)?;
        on_shared!(start, Err(not_a_key(&opened.name)), S, start => outlined::<S>(opened, start))
    }

    fn of(params: Parameters, id: KeyId, files: &[Named]) -> Result<Self> {
        let Some((_, Record { party, inputs, program, results, .. })) = records(files)?.pop() else {
            return Err(PartyError::NoTranscript.into());
        };
        let inputs = inputs.iter().map(|input| input.party).collect();
        Ok(Self { params, id, party, inputs, steps: program.steps, results: results.len() })
    }
}

/// The transcripts in files, one of each party.
fn records(files: &[Named]) -> Result<Vec<(&str, Record)>> {
    let mut records: Vec<(&str, Record)> = Vec::new();
    for Named { name, frames } in files {
        let other = |why| PartyError::NotATranscript { name: name.clone(), why };
        let record: Record = match frames.as_slice() {
            [frame] if frame.kind == FrameKind::Attachment => {
                serde_json::from_slice(&frame.body).map_err(|_| other("it cannot be understood"))?
            }
            _ => return Err(other("it holds something else").into()),
        };
        if records.iter().any(|(_, known)| known.party == record.party) {
            return Err(PartyError::Twice { party: record.party }.into());
        }
        records.push((name, record));
    }
    Ok(records)
}
