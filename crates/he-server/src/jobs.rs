//! Jobs: they wait in a fair queue, run on all devices, and tell how far they are.

use crate::cause::Cause;
use crate::clock;
use crate::db::{self, Database, Ended, Job, JobState, Kind, Object, Room};
use crate::describe;
use crate::ids;
use crate::indexes::{Index, Segments};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::operations::Task;
use crate::problem::{Answer, Problem};
use crate::queue::{Capacity, Owner, Queue};
use crate::settings::{Config, JobTimes};
use crate::store::Store;
use crate::time_limits;
use he::Device;
use he_files::audit::{InferenceFiles, RecordedEvaluation, RecordedInference};
use he_files::cipher_file::Written;
use he_files::io::cancel::Cancel;
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::operation::Sources;
use he_files::trace::Trace;
use he_files::watch::{Progress, Watch};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// A job that was started so often by services that did not live to see its end is not started
/// again: it may be what ends them.
const MOST_STARTS: u64 = 3;

/// The waits between two attempts to tell the database of a job.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The progress of a job, as of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Queued, running, or how it ended.
    pub state: JobState,
    /// Steps that are done.
    pub done: u64,
    /// All steps, or 0 while they are not known.
    pub of: u64,
}

/// The reason for which a job is to end before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// It is not wanted any more.
    Cancelled,
    /// It has been computed for too long.
    Overdue,
    /// The service ends.
    Left,
}

/// A job that has not ended, or whose computation has not.
struct Active {
    status: watch::Sender<Status>,
    cancel: Cancel,
    stop: OnceLock<Stop>,
}

impl Active {
    /// Ends the computation; the first reason counts.
    fn stop(&self, reason: Stop) {
        self.stop.get_or_init(|| reason);
        self.cancel.cancel();
    }
}

/// All jobs that have not ended, and what they are computed with.
pub struct Jobs {
    db: Database,
    store: Store,
    models: Arc<Models>,
    metrics: Arc<Metrics>,
    devices: Vec<Device>,
    times: JobTimes,
    most_running: usize,
    queue: Mutex<Queue>,
    active: Mutex<HashMap<String, Arc<Active>>>,
    wake: Notify,
    ending: AtomicBool,
    reserved: AtomicBool,
}

impl Jobs {
    /// No jobs yet.
    pub fn new(
        config: &Config,
        db: Database,
        store: Store,
        models: Arc<Models>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        Arc::new(Self {
            db,
            store,
            models,
            metrics,
            devices: config.devices.clone(),
            times: config.job_times,
            most_running: config.running_jobs,
            queue: Mutex::default(),
            active: Mutex::default(),
            wake: Notify::new(),
            ending: AtomicBool::new(false),
            reserved: AtomicBool::new(false),
        })
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Active>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job into the queue.
    pub fn add(&self, owner: &Owner, id: &str) {
        let status = watch::Sender::new(Status { state: JobState::Queued, done: 0, of: 0 });
        let active = Active { status, cancel: Cancel::default(), stop: OnceLock::new() };
        self.active().insert(id.to_owned(), Arc::new(active));
        if !owner.is_guest() {
            self.reserve(true);
        }
        self.queue().push(owner, id.to_owned());
        self.wake.notify_one();
    }

    /// Whether a place is kept for tenants that are not guests: if there are any.
    pub fn reserve(&self, there_are_tenants: bool) {
        self.reserved.store(there_are_tenants, Ordering::Relaxed);
    }

    /// The status of a job that has not ended, now and whenever it changes.
    pub fn status(&self, id: &str) -> Option<watch::Receiver<Status>> {
        self.active().get(id).map(|active| active.status.subscribe())
    }

    /// The jobs that wait and those that run.
    pub fn counts(&self) -> (usize, usize) {
        let queue = self.queue();
        (queue.waiting(), queue.running())
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Starts no more jobs, and ends those that run: the next start of the service takes them up.
    pub fn leave(&self) {
        self.ending.store(true, Ordering::Relaxed);
        self.active().values().for_each(|active| active.stop(Stop::Left));
        self.wake.notify_one();
    }

    /// Starts no more jobs.
    pub fn hold(&self) {
        self.ending.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }
}

/// Takes up jobs that have not ended, and starts jobs for ever.
///
/// # Errors
/// The database fails.
pub async fn recover(jobs: &Arc<Jobs>) -> Answer<()> {
    jobs.reserve(jobs.db.has_tenants().await?);
    for job in jobs.db.unfinished_jobs().await? {
        if job.starts < MOST_STARTS {
            jobs.add(&jobs.db.owner_of(&job.tenant).await?, &job.id);
            continue;
        }
        let detail = format!("the service has ended {} times while it computed this job", job.starts);
        let cause = Cause { detail, hint: Some("ask for it with smaller inputs".to_owned()) };
        let of = (&*job.tenant, &*job.id);
        jobs.db.end_job(of, JobState::Failed, (0, 0), None, Some(&cause)).await?;
    }
    tokio::spawn(start_jobs(Arc::clone(jobs)));
    Ok(())
}

async fn start_jobs(jobs: Arc<Jobs>) {
    loop {
        jobs.wake.notified().await;
        loop {
            let reserved = jobs.reserved.load(Ordering::Relaxed);
            let places = Capacity { all: jobs.most_running, of_account: usize::MAX, reserved };
            let next = if jobs.is_ending() { None } else { jobs.queue().next(places) };
            let Some((owner, id)) = next else { break };
            let jobs = Arc::clone(&jobs);
            tokio::spawn(async move {
                if let Err(problem) = run(&jobs, &owner, &id).await {
                    tracing::error!(job = %id, detail = %problem.cause.detail, "a job could not be run");
                }
                jobs.active().remove(&id);
                jobs.queue().ended(&owner.tenant);
                jobs.wake.notify_one();
            });
        }
    }
}

/// Cancels a job, which has then ended in the database: no start of the service takes it up again.
/// If it is computed, that ends soon after, and only then is its place free. Whether it had not
/// ended.
///
/// # Errors
/// The service is ending, and the database fails.
pub async fn cancel(jobs: &Arc<Jobs>, job: &Job) -> Answer<bool> {
    let active = jobs.active().get(&job.id).cloned();
    let Some(active) = active else { return Ok(false) };
    active.stop(Stop::Cancelled);
    let waited = jobs.queue().remove(&job.tenant, &job.id);
    // It ends also if nobody waits for the answer.
    let (jobs, tenant, id) = (Arc::clone(jobs), job.tenant.clone(), job.id.clone());
    let ended = tokio::spawn(async move {
        let ended = end(&jobs, &tenant, &id, &active, JobState::Cancelled, None, None).await;
        if waited {
            jobs.active().remove(&id);
        }
        ended
    });
    Ok(ended.await?? == Ended::Written)
}

/// Repeats what the database must be told of a job until it is: nobody else would tell it before
/// the next start. Once the service ends, that start takes the job up.
async fn persist<T, F: Future<Output = db::Result<T>>>(
    jobs: &Jobs,
    id: &str,
    attempt: impl Fn() -> F,
) -> Answer<T> {
    let mut wait = FIRST_WAIT;
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if jobs.is_ending() => return Err(error.into()),
            Err(error) => tracing::error!(job = %id, %error, "the database is asked again"),
        }
        tokio::time::sleep(wait).await;
        wait = (2 * wait).min(LAST_WAIT);
    }
}

/// Writes how a job ended, and tells it.
async fn end(
    jobs: &Jobs,
    tenant: &str,
    id: &str,
    active: &Active,
    state: JobState,
    result: Option<(&Object, Option<&Trace>)>,
    error: Option<&Cause>,
) -> Answer<Ended> {
    let Status { done, of, .. } = *active.status.borrow();
    let done = if state == JobState::Done { of } else { done };
    let attempt = async || match jobs.db.end_job((tenant, id), state, (done, of), result, error).await? {
        // Perhaps by an attempt whose answer was lost.
        Ended::Already => Ok(match jobs.db.job(tenant, id).await? {
            Some(job)
                if job.state == state && job.result.as_deref() == result.map(|(object, _)| &*object.id) =>
            {
                Ended::Written
            }
            _ => Ended::Already,
        }),
        other => Ok(other),
    };
    let ended = persist(jobs, id, attempt).await?;
    if ended == Ended::Written {
        active.status.send_replace(Status { state, done, of });
        jobs.metrics.job_ended(state);
    }
    Ok(ended)
}

/// Runs a job from its start to its end.
///
/// # Errors
/// The service is ending, and the database fails.
async fn run(jobs: &Arc<Jobs>, owner: &Owner, id: &str) -> Answer<()> {
    let tenant = &*owner.tenant;
    let Some(active) = jobs.active().get(id).cloned() else { return Ok(()) };
    let Some(job) = persist(jobs, id, || jobs.db.job(tenant, id)).await? else { return Ok(()) };
    if !persist(jobs, id, || jobs.db.start_job(id)).await? {
        return Ok(());
    }
    active.status.send_if_modified(|status| {
        let goes_on = !status.state.has_ended();
        if goes_on {
            status.state = JobState::Running;
        }
        goes_on
    });
    let begin = std::time::Instant::now();
    let limit = time_limits::of(owner, jobs.times);
    let mut computing = pin!(stored(jobs, &job, &active));
    let computed = match tokio::time::timeout(limit, &mut computing).await {
        Ok(computed) => computed,
        Err(_) => {
            active.stop(Stop::Overdue);
            computing.await
        }
    };
    let seconds = begin.elapsed().as_secs_f64();
    let failed = async |cause: &Cause| {
        let ended = end(jobs, tenant, id, &active, JobState::Failed, None, Some(cause)).await?;
        Answer::Ok(if ended == Ended::Already { "cancelled" } else { "failed" })
    };
    let outcome = match (computed, active.stop.get()) {
        (Ok((object, trace)), _) => {
            match end(jobs, tenant, id, &active, JobState::Done, Some((&object, trace.as_ref())), None)
                .await?
            {
                Ended::Written => "done",
                Ended::Full => {
                    let problem = match jobs.db.room_for(&object).await? {
                        Room::Full(full) => Problem::quota(&full),
                        Room::Taken => {
                            Problem::conflict("there was no room for the result").hint("try again")
                        }
                    };
                    let outcome = failed(&problem.cause).await?;
                    discard(jobs, &object.id).await;
                    outcome
                }
                Ended::Already => {
                    discard(jobs, &object.id).await;
                    "cancelled"
                }
            }
        }
        (Err(_), Some(Stop::Cancelled)) => "cancelled",
        (Err(_), Some(Stop::Overdue)) => failed(&time_limits::exceeded(limit, owner)).await?,
        (Err(_), Some(Stop::Left)) => {
            jobs.db.leave_job(id).await?;
            "left"
        }
        (Err(problem), None) => failed(&problem.cause).await?,
    };
    let operation = job.request["operation"]["name"].as_str().unwrap_or_default();
    tracing::info!(job = %id, %tenant, operation, seconds, outcome, "a job has ended");
    Ok(())
}

/// Computes a job into the store; nothing is left of what fails.
async fn stored(jobs: &Arc<Jobs>, job: &Job, active: &Arc<Active>) -> Answer<(Object, Option<Trace>)> {
    let result = ids::id()?;
    let computed = compute(jobs, job, active, &result).await;
    let adopted = match computed {
        Ok(computed) => jobs.store.adopt(&result).await.map(|()| computed).map_err(Problem::from),
        Err(problem) => Err(problem),
    };
    if adopted.is_err() {
        discard(jobs, &result).await;
    }
    adopted
}

/// Removes a result that nobody knows of.
async fn discard(jobs: &Jobs, result: &str) {
    if let Err(error) = jobs.store.remove(result).await {
        tracing::error!(%error, "what is left of a job could not be removed");
    }
}

/// The trace of a computation that has one.
fn recorded(done: he_files::Result<(Written, Trace)>) -> he_files::Result<(Written, Option<Trace>)> {
    done.map(|(written, trace)| (written, Some(trace)))
}

/// Computes a job into the staged file of `result`. Answers to searches have no trace.
async fn compute(
    jobs: &Arc<Jobs>,
    job: &Job,
    active: &Arc<Active>,
    result: &str,
) -> Answer<(Object, Option<Trace>)> {
    let task = Task::parse(&job.request["operation"])?;
    let input = async |kind: Kind, id: &Value, name: &str| -> Answer<Input> {
        let id = id.as_str().unwrap_or_default();
        let found = jobs.db.object(&job.tenant, kind, id).await?;
        match found.filter(|object| object.ready) {
            Some(object) => Ok(jobs.store.input(&object.id, name).await?),
            None => Err(Problem::not_found(name)),
        }
    };
    let request = &job.request;
    let key = input(Kind::KeySet, &request["key_set"], "the key set").await?;
    let bootstrap = match &request["bootstrap_key"] {
        Value::Null => None,
        id => Some(input(Kind::KeySet, id, "the bootstrapping key").await?),
    };
    let (mut index, mut files) = (None, Vec::new());
    for (at, name) in (0..task.inputs()).zip(["the input", "the second input", "the third input"]) {
        let id = &request["inputs"][at];
        match task.input_kind(at) {
            Kind::Index => index = Some(segments(jobs, active, &job.tenant, id).await?),
            kind if index.is_some() => files.push(input(kind, id, "the query").await?),
            kind => files.push(input(kind, id, name).await?),
        }
    }
    let mut others = files.into_iter();
    let first = others.next().ok_or_else(|| Problem::not_found("the input"))?;
    let path = jobs.store.staged(result);
    let (jobs, active, staged) = (Arc::clone(jobs), Arc::clone(active), path.clone());
    let expires = jobs.db.expiry_of(&job.tenant).await?;
    let (id, tenant) = (result.to_owned(), job.tenant.clone());
    tokio::task::spawn_blocking(move || {
        let watch: Arc<dyn Watch> = Arc::new(Told(Arc::clone(&active)));
        let work = || match task {
            Task::Operation(operation) => {
                let sources = Sources { input: first, others: others.collect(), key, bootstrap };
                let evaluation = RecordedEvaluation::new(&operation, sources, &active.cancel)?;
                recorded(evaluation.evaluate(&jobs.devices, watch, output(&staged)?))
            }
            Task::Infer { model } => {
                recorded(infer(&jobs, &active, &model, first, key, bootstrap, &watch, &staged))
            }
            Task::Search { want } => {
                let device = jobs.devices.first().ok_or(he_files::Error::NoDevice)?;
                let index = index.ok_or_else(|| he_files::Error::Caller("there is no index".into()))?;
                Ok((index.answer(want, [first, key], device, output(&staged)?, &*watch)?, None))
            }
        };
        // Hostile files end in errors; should one end in a panic after all, it ends its own job.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let (written, trace) = match done {
            Ok(computed) => computed?,
            Err(_) => return Err(Problem::internal("a job has panicked")),
        };
        let info = describe::file(Input::open(&staged)?)?;
        let (kind, created) = (Kind::Object, clock::now());
        let bytes = written.bytes;
        Ok((Object { id, tenant, kind, ready: true, bytes, created, expires, info }, trace))
    })
    .await?
}

/// The index of this name, and where its files are.
async fn segments(jobs: &Jobs, active: &Active, tenant: &str, id: &Value) -> Answer<Segments> {
    let missing = || Problem::not_found(Kind::Index.name());
    let found = jobs.db.object(tenant, Kind::Index, id.as_str().unwrap_or_default()).await?;
    let text = jobs.db.info(&found.ok_or_else(missing)?.id).await?.ok_or_else(missing)?;
    let (index, store, cancel) = (Index::read(&text)?, jobs.store.clone(), active.cancel.clone());
    Ok(Segments { index, store, cancel })
}

/// The outputs of a model.
fn infer(
    jobs: &Jobs,
    active: &Active,
    model: &str,
    input: Input,
    key: Input,
    bootstrap: Option<Input>,
    watch: &Arc<dyn Watch>,
    staged: &Path,
) -> he_files::Result<(Written, Trace)> {
    let missing = || he_files::Error::Caller(format!("there is no model {model}").into());
    let held = jobs.models.get(model).ok_or_else(missing)?;
    let model = &held.file;
    let cancel = &active.cancel;
    let [examples, key] = [input, key].map(|input| input.cancelled_by(cancel));
    let bootstrap = bootstrap.map(|key| key.cancelled_by(cancel));
    let inference = RecordedInference::new(model, InferenceFiles { examples, key, bootstrap })?;
    let device = cancel.oversee(jobs.devices.first().ok_or(he_files::Error::NoDevice)?);
    inference.evaluate(device, watch, output(staged)?.cancelled_by(cancel))
}

fn output(staged: &Path) -> he_files::Result<Output> {
    let file = crate::store::append_to(staged);
    let file: File = file.map_err(|error| he_files::Error::io(error, "write", "the result"))?;
    Ok(Output::to_writer("the result", BufWriter::with_capacity(1 << 18, file)))
}

/// Tells those who ask for a job how far it is.
struct Told(Arc<Active>);

impl Watch for Told {
    fn progress(&self, progress: Progress) {
        self.0.status.send_modify(|status| match progress {
            Progress::Started { total, .. } => (status.done, status.of) = (0, total),
            Progress::Advanced { by } => status.done = status.of.min(status.done + by),
            Progress::Ended => {}
        });
    }
}
