//! Operations on opened files.

use super::row::{BIGCKKS, CKKS, Kind, joined};
use super::{Levels, Operation, table, two};
use crate::bootstrap;
use crate::bootstrap::refresh::Refresh;
use crate::chosen::Chosen;
use crate::cipher_file::{CipherReader, Written};
use crate::contents::images::Filter;
use crate::contents::integers::Aggregate;
use crate::contents::over_rows::OverRows;
use crate::contents::pairwise::Pair;
use crate::contents::tables::Statistic;
use crate::contents::tables::moments::Moments;
use crate::contents::uses::{self, Uses};
use crate::contents::{Contents, digits};
use crate::data::table::column_number;
use crate::error::{ContentError, Error, OperationError, Result};
use crate::file_start::FileFormat;
use crate::io::cancel::Cancel;
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::{AnyKey, Key, KeyFile, KeyFormat};
use crate::note::{Content, ImageNote, IntegersNote, TableNote};
use crate::on_refreshing;
use crate::scheme::{Ckks, OneOf, Scheme, Taken};
use crate::team::Team;
use crate::tfhe;
use crate::watch::Watch;
use he::Device;
use he_any::layout::Op;
use std::sync::Arc;

/// The kind of key that computes.
const NEEDED: &str = "an evaluation key";

/// The files of an evaluation.
pub struct Sources {
    /// The encrypted file.
    pub input: Input,
    /// The other encrypted files, of operations on several.
    pub others: Vec<Input>,
    /// The evaluation key; for `refresh` the bootstrapping key.
    pub key: Input,
    /// The bootstrapping key beside the evaluation key, for files of integers in digits.
    pub bootstrap: Option<Input>,
}

/// The part of an evaluation that devices do.
type Work = Box<dyn FnOnce(&[Device], Arc<dyn Watch>, &Chosen, Output) -> Result<Written>>;

/// An operation that is ready, and the frames that each frame of its result is computed from.
struct Prepared {
    work: Work,
    uses: Uses,
}

impl Prepared {
    fn new(
        uses: Uses,
        work: impl FnOnce(&[Device], Arc<dyn Watch>, &Chosen, Output) -> Result<Written> + 'static,
    ) -> Self {
        Self { work: Box::new(work), uses }
    }
}

/// An operation on files that fit it, and each other.
pub struct Evaluation {
    prepared: Prepared,
    chosen: Chosen,
    cancel: Cancel,
}

impl Evaluation {
    /// Reads the key and the beginnings of the files, and checks that they belong together and
    /// that the operation can be computed on them: before anything is computed or written.
    ///
    /// # Errors
    /// [`OperationError`] if the operation is not for such files, or has other parameters or
    /// another number of files; [`KeyError`](crate::error::KeyError) if the key is another one;
    /// other errors if a file is damaged.
    pub fn new(operation: &Operation, sources: Sources, cancel: &Cancel) -> Result<Self> {
        let found = 1 + sources.others.len();
        match operation {
            operation if found == 1 && operation.inputs() == 2 => {
                let (operation, row) = (operation.name(), operation.row());
                return Err(match row.others.first().and_then(|other| other.or) {
                    Some(or) => OperationError::OneOperand { operation, or }.into(),
                    None => OperationError::Inputs { operation, found, needed: 2 }.into(),
                });
            }
            operation if operation.inputs() != found => {
                let (operation, needed) = (operation.name(), operation.inputs());
                return Err(OperationError::Inputs { operation, found, needed }.into());
            }
            _ => {}
        }
        let sources = Sources {
            input: sources.input.cancelled_by(cancel),
            others: sources.others.into_iter().map(|other| other.cancelled_by(cancel)).collect(),
            key: sources.key.cancelled_by(cancel),
            bootstrap: sources.bootstrap.map(|key| key.cancelled_by(cancel)),
        };
        let prepared = ended_by(cancel, prepared(operation, sources))?;
        Ok(Self { prepared, chosen: Chosen::default(), cancel: cancel.clone() })
    }

    /// The frames of ciphertexts that each frame of the result is computed from, of the files in
    /// the order in which the operation takes them.
    pub fn uses(&self) -> &Uses {
        &self.prepared.uses
    }

    /// Computes these frames of the result alone: each is the same as in the whole.
    #[must_use]
    pub fn choosing(self, chosen: Chosen) -> Self {
        Self { chosen, ..self }
    }

    /// Computes on the devices, and writes the result. Devices share the work of operations whose
    /// files have several batches; the progress goes to `watch`.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if it was cancelled; other errors if a file is damaged, keys are
    /// missing, nothing is left to compute with, the output cannot be written or a device fails.
    pub fn evaluate(self, devices: &[Device], watch: Arc<dyn Watch>, output: Output) -> Result<Written> {
        if devices.is_empty() {
            return Err(Error::NoDevice);
        }
        let Self { prepared: Prepared { work, .. }, chosen, cancel } = self;
        let devices: Vec<Device> = devices.iter().map(|device| cancel.oversee(device)).collect();
        ended_by(&cancel, work(&devices, watch, &chosen, output.cancelled_by(&cancel)))
    }
}

/// The error of work that was to end: that it was cancelled counts, whatever else went wrong.
fn ended_by<T>(cancel: &Cancel, result: Result<T>) -> Result<T> {
    result.map_err(|error| if cancel.is_cancelled() { Error::Cancelled } else { error })
}

fn prepared(operation: &Operation, sources: Sources) -> Result<Prepared> {
    let Sources { input, others, key, bootstrap } = sources;
    let needless = |name: &str| -> Result<()> {
        let (name, operation) = (name.to_owned(), operation.name().to_owned());
        match bootstrap {
            None => Ok(()),
            Some(_) => Err(ContentError::NeedlessBootstrapKey { name, operation }.into()),
        }
    };
    if matches!(operation, Operation::Refresh {}) {
        needless(input.name())?;
        return refresh(input, key);
    }
    let key = match AnyKey::read(key, NEEDED, None)? {
        AnyKey::Tfhe(key) => {
            needless(input.name())?;
            return columns(operation, *key, input, others);
        }
        key => key.scheme(NEEDED)?,
    };
    match key {
        OneOf::Ckks(key) => {
            let reader = opened(operation, input, &key)?;
            if let Content::Digits(_) = reader.payload.content {
                return digits(operation, key, reader, others, bootstrap);
            }
            needless(&reader.name)?;
            over_rings(operation, key, reader, others, real)
        }
        OneOf::Bfv(key) => {
            needless(input.name())?;
            let reader = opened(operation, input, &key)?;
            over_rings(operation, key, reader, others, integers)
        }
        OneOf::Bgv(key) => {
            needless(input.name())?;
            let reader = opened(operation, input, &key)?;
            over_rings(operation, key, reader, others, integers)
        }
        OneOf::BigCkks(key) => {
            needless(input.name())?;
            let reader = opened(operation, input, &key)?;
            over_rings(operation, key, reader, others, |operation, _, _, _| Err(has_no(operation, BIGCKKS)))
        }
    }
}

/// An operation number by number on two files of a scheme over rings, none of whose operations
/// takes more, or else one of `rest`.
fn over_rings<S: Contents>(
    operation: &Operation,
    key: KeyFile<S>,
    reader: CipherReader<S>,
    others: Vec<Input>,
    rest: impl FnOnce(&Operation, KeyFile<S>, CipherReader<S>, Option<Input>) -> Result<Prepared>,
) -> Result<Prepared> {
    let (operator, other) = match (operation.pairwise(), others.into_iter().next()) {
        (Some(operator), Some(other)) => (operator, other),
        (_, other) => return rest(operation, key, reader, other),
    };
    let pair = Pair::new(operator, reader, owned(other, &key)?)?;
    let lower = operation.lowers();
    Ok(Prepared::new(pair.uses()?, move |devices, watch, chosen, output| {
        let team = Team::new(&key.params, devices)?.watched(watch).choosing(chosen.clone());
        let keys = team.share(&key.evaluation(&team.lead().ring)?)?;
        let statistic = pair.result_of(&table::statistics()).map(str::to_owned);
        let written = pair.evaluate(&team, &keys, lower, output);
        written.map_err(|error| after_statistic(error, statistic))
    }))
}

/// New levels, or a new noise budget, for a file.
fn refresh(input: Input, key: Input) -> Result<Prepared> {
    let (reader, params, id, name) = bootstrap::keys::KeyFile::open(key)?.into_parts();
    on_refreshing!(params, params => {
        let keys = bootstrap::keys::KeyFile::read_rest(reader, params, id, &name);
        let refresh = Refresh::new(keys, input).map_err(too_late)?;
        let uses = uses::each(refresh.frames()?, 1);
        Ok(Prepared::new(uses, move |devices, watch, chosen, output| {
            refresh.choosing(chosen.clone()).evaluate(devices[0].clone(), &watch, output)
        }))
    })
}

/// The error with the levels or the budget that a refresh takes, where too little is left.
fn too_late(error: Error) -> Error {
    let needed = match &error {
        Error::Core(he_core::Error::LevelExhausted { needed, .. }) => format!("{needed} levels"),
        Error::Core(he_core::Error::BudgetTooLow { needed_bits, .. }) => {
            format!("{needed_bits:.1} bits of noise budget")
        }
        _ => return error,
    };
    OperationError::TooLate { needed, source: Box::new(error) }.into()
}

/// The computations under CKKS on an image, or on a table.
enum Job {
    /// A filter, with the second image if there is one.
    Filter(Filter, Option<Box<CipherReader<Ckks>>>),
    Statistic(Statistic),
    Moments(Moments),
}

/// Filters of images, and statistics of tables of real numbers.
fn real(
    operation: &Operation,
    key: KeyFile<Ckks>,
    reader: CipherReader<Ckks>,
    other: Option<Input>,
) -> Result<Prepared> {
    let job = job(operation, &key, &reader, other)?;
    let payload = reader.payload.after(operation.name(), described(&job, operation, &reader)?);
    let lower = operation.lowers();
    let uses = match &job {
        Job::Filter(filter, _) => filter.uses(&image_note(&reader, operation)?, &reader.params)?,
        Job::Statistic(statistic) => statistic.uses(&table_note(&reader, operation)?),
        Job::Moments(moments) => moments.uses(&table_note(&reader, operation)?),
    };
    Ok(Prepared::new(uses, move |devices, watch, chosen, output| {
        let team = Team::new(&key.params, devices)?.watched(watch).choosing(chosen.clone());
        match job {
            Job::Filter(filter, other) => {
                let keys = team.share(&key.evaluation(&team.lead().ring)?)?;
                filter.evaluate(&team, &keys, reader, other.map(|other| *other), &payload, output)
            }
            Job::Statistic(statistic) => {
                let keys = key.evaluation(&team.lead().ring)?;
                statistic.evaluate(&team, &keys, reader, &payload, lower, output)
            }
            Job::Moments(moments) => {
                let keys = key.evaluation(&team.lead().ring)?;
                moments.evaluate(&team, &keys, reader, &payload, lower, output)
            }
        }
    }))
}

/// The job of an operation under CKKS.
fn job(
    operation: &Operation,
    key: &KeyFile<Ckks>,
    reader: &CipherReader<Ckks>,
    other: Option<Input>,
) -> Result<Job> {
    if let Some(kernel) = operation.kernel()? {
        return Ok(Job::Filter(Filter::Kernel(kernel), None));
    }
    if let Some(map) = operation.affine()? {
        return Ok(Job::Filter(Filter::Affine(map), None));
    }
    Ok(match (operation, other) {
        (Operation::Grayscale {}, _) => Job::Filter(Filter::Grayscale, None),
        (Operation::Blend { alpha }, Some(other)) => {
            Job::Filter(Filter::Blend(*alpha), Some(Box::new(owned(other, key)?)))
        }
        (Operation::Sum { .. }, _) => Job::Statistic(Statistic::Sum),
        (Operation::Mean { .. }, _) => Job::Statistic(Statistic::Mean),
        (Operation::Variance { .. }, _) => Job::Statistic(Statistic::Variance),
        (Operation::Covariance { .. }, _) => Job::Moments(Moments::covariances()),
        (Operation::Regression { target, .. }, _) => {
            let note = table_note(reader, operation)?;
            let (last, name) = (note.columns.len() - 1, |i: usize| note.columns[i].name.as_deref());
            let number = |target| column_number(last + 1, name, target);
            Job::Moments(Moments::regression(target.as_deref().map_or(Ok(last), number)?))
        }
        (Operation::Dot { .. }, Some(other)) => {
            Job::Statistic(Statistic::DotTables(Box::new(owned(other, key)?)))
        }
        (Operation::Dot { columns: Some(columns), .. }, None) => {
            let note = table_note(reader, operation)?;
            let (a, b) = two_columns(columns, note.columns.len(), |i| note.columns[i].name.as_deref())?;
            Job::Statistic(Statistic::DotColumns(a, b))
        }
        _ => return Err(has_no(operation, CKKS)),
    })
}

/// The description of the result of an operation, which fits its file.
fn described(job: &Job, operation: &Operation, reader: &CipherReader<Ckks>) -> Result<Content> {
    match job {
        Job::Statistic(statistic) => {
            Ok(Content::Table(statistic.describe(reader, &table_note(reader, operation)?)?))
        }
        Job::Moments(moments) => {
            Ok(Content::Table(moments.describe(reader, &table_note(reader, operation)?)?))
        }
        Job::Filter(filter, other) => {
            let note = image_note(reader, operation)?;
            let fits = filter.describe(&note, other.as_deref(), &reader.params).map(Content::Image);
            match (operation, filter) {
                (Operation::Blur { radius: None, sigma: Some(sigma) }, Filter::Kernel(kernel)) => fits
                    .map_err(|error| {
                        let (radius, source) = (kernel.radius(), Box::new(error));
                        OperationError::Gaussian { sigma: *sigma, radius, source }.into()
                    }),
                _ => fits,
            }
        }
    }
}

/// Sums, counts and inner products of integers.
fn integers<E: Taken>(
    operation: &Operation,
    key: KeyFile<E>,
    reader: CipherReader<E>,
    other: Option<Input>,
) -> Result<Prepared> {
    let aggregate = match (operation, other) {
        (Operation::Sum { .. }, _) => Aggregate::Sum,
        (Operation::Count { .. }, _) => Aggregate::Count,
        (Operation::Dot { .. }, Some(other)) => Aggregate::DotTables(Box::new(owned(other, &key)?)),
        (Operation::Dot { columns: Some(columns), .. }, None) => {
            let note = integers_note(&reader, operation)?;
            let (a, b) = two_columns(columns, note.columns.len(), |i| note.columns[i].name.as_deref())?;
            Aggregate::DotColumns(a, b)
        }
        _ => return Err(has_no(operation, <E as Scheme>::NAME)),
    };
    let note = integers_note(&reader, operation)?;
    let result = aggregate.describe(&reader, &note)?;
    let uses = aggregate.uses(&note, <E as Scheme>::slots(&reader.params))?;
    let payload = reader.payload.after(operation.name(), Content::Integers(result));
    let lower = operation.lowers();
    Ok(Prepared::new(uses, move |devices, watch, chosen, output| {
        let team = Team::new(&key.params, devices)?.watched(watch).choosing(chosen.clone());
        let keys = key.evaluation(&team.lead().ring)?;
        aggregate.evaluate(&team, &keys, reader, &payload, lower, output)
    }))
}

/// Computations on columns of integers under TFHE.
fn columns(
    operation: &Operation,
    key: tfhe::keys::KeyFile,
    input: Input,
    others: Vec<Input>,
) -> Result<Prepared> {
    use tfhe::eval::{Job, Operator};
    if operation.levels() == Some(Levels::Drop) {
        return Err(operation.no_levels());
    }
    key.evaluation()?;
    let left: tfhe::file::Reader = owned(input, &key)?;
    let (kind, what) = match left.payload.content.picture {
        Some(_) => (Kind::Image, "an encrypted image"),
        None => (Kind::Table, "an encrypted table"),
    };
    check_kind(operation, tfhe::NAME, Some(kind), &left.name, what)?;
    let others: Vec<tfhe::file::Reader> =
        others.into_iter().map(|other| owned(other, &key)).collect::<Result<_>>()?;
    if operation.number().is_some() {
        let (operation, scheme) = (operation.name(), tfhe::NAME);
        return Err(ContentError::PlainOperand { operation, scheme }.into());
    }
    let operator = match operation {
        Operation::Add { .. } => Operator::Of(Op::Add),
        Operation::Sub { .. } => Operator::Of(Op::Sub),
        Operation::Mul { .. } => Operator::Of(Op::Mul),
        Operation::Min { .. } => Operator::Min,
        Operation::Max { .. } => Operator::Max,
        Operation::Sort {} => return on_columns(operation, Job::Sort, left, key),
        Operation::Sum { .. } => return on_columns(operation, Job::Sum, left, key),
        Operation::Select {} => {
            let choices = <[_; 2]>::try_from(others).map_err(|others| missing(operation, others.len()))?;
            return on_columns(operation, Job::Select(Box::new(choices)), left, key);
        }
        operation => match (operation.entries()?, operation.comparison()) {
            (Some(entries), _) => return on_columns(operation, Job::Lookup(entries), left, key),
            (None, Some(comparison)) => Operator::Compare(comparison),
            (None, None) => return Err(has_no(operation, tfhe::NAME)),
        },
    };
    let [right] = <[_; 1]>::try_from(others).map_err(|others| missing(operation, others.len()))?;
    on_columns(operation, Job::Pair(operator, Box::new(right)), left, key)
}

/// Whether a file holds integers in digits, whose computations take a bootstrapping key as well.
pub fn takes_bootstrapping(input: Input) -> bool {
    let reader = CipherReader::<Ckks>::new(input);
    reader.is_ok_and(|reader| matches!(reader.payload.content, Content::Digits(_)))
}

/// Computations on integers in digits, under CKKS.
fn digits(
    operation: &Operation,
    key: KeyFile<Ckks>,
    reader: CipherReader<Ckks>,
    others: Vec<Input>,
    bootstrap: Option<Input>,
) -> Result<Prepared> {
    if operation.levels() == Some(Levels::Drop) {
        return Err(operation.no_levels());
    }
    let job = digits_job(operation)?;
    let others = others.into_iter().map(|other| owned(other, &key)).collect::<Result<Vec<_>>>()?;
    let files: Vec<_> = std::iter::once(reader).chain(others).collect();
    let bootstrap = bootstrap.map(bootstrap::keys::KeyFile::open).transpose()?;
    let evaluation = digits::Evaluation::new(job, operation.name(), files, key, bootstrap)?;
    Ok(Prepared::new(evaluation.uses(), move |devices, watch, chosen, output| {
        evaluation.evaluate(devices[0].clone(), &watch, chosen, output)
    }))
}

/// The job of an operation on integers in digits.
fn digits_job(operation: &Operation) -> Result<digits::Job> {
    use digits::{Job, Operator, Shift};
    let number = operation.plain_number()?;
    if let Some(comparison) = operation.comparison() {
        return Ok(Job::Pair(Operator::Compare(comparison), number));
    }
    Ok(match operation {
        Operation::Add { .. } => Job::Pair(Operator::Of(Op::Add), None),
        Operation::Sub { .. } => Job::Pair(Operator::Of(Op::Sub), None),
        Operation::Mul { .. } => Job::Pair(Operator::Of(Op::Mul), None),
        Operation::Min { .. } => Job::Pair(Operator::Min, number),
        Operation::Max { .. } => Job::Pair(Operator::Max, number),
        Operation::And { .. } => Job::Pair(Operator::And, number),
        Operation::Or { .. } => Job::Pair(Operator::Or, number),
        Operation::Xor { .. } => Job::Pair(Operator::Xor, number),
        Operation::Not {} => Job::Not,
        Operation::Neg {} => Job::Neg,
        Operation::Abs {} => Job::Abs,
        Operation::Div { by } => Job::Quotient(*by),
        Operation::Rem { by } => Job::Remainder(*by),
        Operation::Shl { by } => Job::Shift(Shift::Left, *by),
        Operation::Shr { by } => Job::Shift(Shift::Right, *by),
        Operation::Rotl { by } => Job::Shift(Shift::RotateLeft, *by),
        Operation::Rotr { by } => Job::Shift(Shift::RotateRight, *by),
        Operation::Sort {} => Job::Sort,
        Operation::Top { count } => Job::Top(*count),
        Operation::Select {} => Job::Select,
        operation => Job::Lookup(operation.entries()?.ok_or_else(|| has_no(operation, CKKS))?),
    })
}

/// Not all files are there, beside the first.
fn missing(operation: &Operation, others: usize) -> Error {
    let (found, needed) = (1 + others, operation.inputs());
    OperationError::Inputs { operation: operation.name(), found, needed }.into()
}

/// A job on columns under TFHE.
fn on_columns(
    operation: &Operation,
    job: tfhe::eval::Job,
    left: tfhe::file::Reader,
    key: tfhe::keys::KeyFile,
) -> Result<Prepared> {
    let name = operation.name();
    let payload = left.payload.after(name, job.describe(&left, name)?);
    let uses = uses::each(left.payload.content.columns.len(), job.files());
    Ok(Prepared::new(uses, move |devices, watch, chosen, output| {
        let writer = tfhe::file::Writer::new(output, &key.params, &payload)?;
        job.apply(&devices[0], key.evaluation()?, left, writer, (&watch, chosen))
    }))
}

/// The file to compute on, if it belongs to the key, that is an evaluation key, and the operation
/// is for such files.
fn opened<S: Scheme>(operation: &Operation, input: Input, key: &KeyFile<S>) -> Result<CipherReader<S>> {
    if !matches!(key.key, Key::Evaluation(_)) {
        return Err(key.wrong_kind(NEEDED));
    }
    let reader = owned(input, key)?;
    let content: &Content = &reader.payload.content;
    check_kind(operation, S::NAME, Kind::of(content), &reader.name, content.name())?;
    Ok(reader)
}

/// Checks by the table that a scheme has an operation, and for files of this kind.
fn check_kind(
    operation: &Operation,
    scheme: &'static str,
    kind: Option<Kind>,
    name: &str,
    what: &'static str,
) -> Result<()> {
    let row = operation.row();
    if !row.is_of(scheme) {
        return Err(has_no(operation, scheme));
    }
    match kind {
        Some(kind) if !row.on(kind).contains(&scheme) => {
            Err(for_others(operation, scheme, name, (kind, what)))
        }
        _ => Ok(()),
    }
}

/// An operation is for files of another kind.
fn for_others(operation: &Operation, scheme: &str, name: &str, (kind, what): (Kind, &'static str)) -> Error {
    let (name, row) = (name.to_owned(), operation.row());
    let kinds: Vec<&str> =
        Kind::ALL.into_iter().filter(|&kind| row.on(kind).contains(&scheme)).map(Kind::plural).collect();
    let (operation, kinds) = (row.name, joined(&kinds, "or").into_boxed_str());
    let own = table::on(kind, scheme).into_boxed_str();
    OperationError::ForOthers { name, what, operation, kinds, kind: kind.plural(), own }.into()
}

/// A file that belongs to the key.
fn owned<F: FileFormat + KeyFormat>(input: Input, key: &KeyFile<F>) -> Result<CipherReader<F>> {
    let reader = CipherReader::new(input)?;
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    Ok(reader)
}

/// The error that a file has another content than the operation is for.
fn unlike<S: Scheme>(reader: &CipherReader<S>, operation: &Operation) -> Error {
    let content = &reader.payload.content;
    // Contents that models and searches alone compute on have none.
    let kind = Kind::of(content).unwrap_or(Kind::Table);
    for_others(operation, S::NAME, &reader.name, (kind, content.name()))
}

/// The description of an encrypted image.
fn image_note(reader: &CipherReader<Ckks>, operation: &Operation) -> Result<ImageNote> {
    match &reader.payload.content {
        Content::Image(note) => Ok(note.clone()),
        _ => Err(unlike(reader, operation)),
    }
}

/// The description of an encrypted table.
fn table_note(reader: &CipherReader<Ckks>, operation: &Operation) -> Result<TableNote> {
    match &reader.payload.content {
        Content::Table(note) => Ok(note.clone()),
        _ => Err(unlike(reader, operation)),
    }
}

/// The description of an encrypted table of integers.
fn integers_note<E: Taken>(reader: &CipherReader<E>, operation: &Operation) -> Result<IntegersNote> {
    match &reader.payload.content {
        Content::Integers(note) => Ok(note.clone()),
        _ => Err(unlike(reader, operation)),
    }
}

/// Two columns by their names or numbers.
fn two_columns<'a>(
    columns: &[String],
    count: usize,
    name: impl Fn(usize) -> Option<&'a str> + Copy,
) -> Result<(usize, usize)> {
    let (a, b) = two(columns)?;
    Ok((column_number(count, name, a)?, column_number(count, name, b)?))
}

/// The error that a scheme does not have an operation.
fn has_no(operation: &Operation, scheme: &'static str) -> Error {
    let operations = table::of(scheme);
    OperationError::OfScheme { scheme, operation: operation.name(), operations }.into()
}

/// The remedy if no levels are left in a file whose levels were dropped by a statistic.
fn after_statistic(error: Error, statistic: Option<String>) -> Error {
    use he_core::Error::{BudgetSpent, LevelExhausted, ModulusExhausted};
    let spent = matches!(
        &error,
        Error::Core(LevelExhausted { .. } | BudgetSpent { .. } | ModulusExhausted { .. })
            | Error::Content(ContentError::Capacity { .. })
    );
    match statistic.filter(|_| spent) {
        Some(statistic) => OperationError::AfterStatistic { statistic, source: Box::new(error) }.into(),
        None => error,
    }
}
