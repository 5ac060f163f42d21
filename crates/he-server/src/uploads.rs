//! Files on their way here: examined as they arrive, staged, and objects once they are complete
//! and valid.
//!
//! The length of the staged file is what was accepted, so that nothing else must be kept to resume
//! an upload, after a restart either. What a scan holds back is not staged: a client whose server
//! restarts sends it again.

use crate::app::App;
use crate::clock;
use crate::db::{Kind, Object};
use crate::describe;
use crate::problem::{Answer, Problem};
use crate::store::{append_to, blocking};
use axum::body::Body;
use axum::http::StatusCode;
use futures_util::StreamExt;
use he_files::io::input::Input;
use he_files::scan::{Scan, Scanned};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes that are gathered before they are written.
const GATHERED: usize = 1 << 20;
/// Files that are validated at the same time.
const VALIDATIONS: usize = 2;
/// What errors call an upload.
pub const NAME: &str = "the upload";

/// An upload that was begun in this run of the service.
struct Arriving {
    scan: Scan,
    file: File,
    stored: u64,
}

impl Arriving {
    /// From what is staged.
    fn open(path: &Path, kind: Kind) -> he_files::Result<Self> {
        let mut scan = Scan::new(NAME, scanned(kind));
        let at = |error| he_files::Error::io(error, "read", NAME);
        let mut file = append_to(path).map_err(at)?;
        let stored = file.metadata().map_err(at)?.len();
        file.seek(SeekFrom::Start(0)).map_err(at)?;
        let (mut buffer, mut position) = (vec![0; 1 << 16], 0);
        while position < stored {
            let over = scan.indifferent().min(stored - position);
            if over > 0 {
                scan.pass_over(over);
                position = file.seek(SeekFrom::Start(position + over)).map_err(at)?;
                continue;
            }
            let count = file.read(&mut buffer).map_err(at)?;
            scan.push(&buffer[..count], |_| {})?;
            position += count as u64;
            if count == 0 {
                break;
            }
        }
        // Of a header that was cut off, what is staged is not held.
        let held = scan.held();
        if held > 0 {
            file.set_len(stored - held).map_err(at)?;
            return Self::open(path, kind);
        }
        Ok(Self { scan, file, stored })
    }

    fn offset(&self) -> u64 {
        self.stored + self.scan.held()
    }
}

fn scanned(kind: Kind) -> Scanned {
    match kind {
        Kind::KeySet => Scanned::EvaluationKeys,
        Kind::Object => Scanned::Encrypted,
    }
}

type Slot = Arc<tokio::sync::Mutex<Option<Arriving>>>;

/// Uploads on their way.
pub struct Uploads {
    slots: Mutex<HashMap<String, Slot>>,
    validations: Semaphore,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { slots: Mutex::default(), validations: Semaphore::new(VALIDATIONS) }
    }
}

impl Uploads {
    fn slot(&self, id: &str) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(id.to_owned()).or_default())
    }

    fn forget(&self, id: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// The number of uploads on their way.
    pub fn count(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The bytes of an upload that were accepted.
///
/// # Errors
/// It is being written to; the disk fails.
pub async fn offset(app: &App, object: &Object) -> Answer<u64> {
    if object.ready {
        return Ok(object.bytes);
    }
    let slot = app.uploads.slot(&object.id);
    let mut arriving = slot.try_lock().map_err(|_| locked())?;
    Ok(open(app, object, &mut arriving).await?.offset())
}

async fn open<'a>(
    app: &App,
    object: &Object,
    arriving: &'a mut Option<Arriving>,
) -> Answer<&'a mut Arriving> {
    if arriving.is_none() {
        let (path, kind) = (app.store.staged(&object.id), object.kind);
        *arriving = Some(tokio::task::spawn_blocking(move || Arriving::open(&path, kind)).await??);
    }
    arriving.as_mut().ok_or_else(|| Problem::internal("an upload is gone"))
}

/// Takes a part of a file from this offset on. Returns the offset behind it, and the object if it
/// is complete.
///
/// The work goes on if whoever asked for it is gone, until the body ends: what has arrived counts.
///
/// # Errors
/// The offset is another; the body is longer than the rest of the file; the file is not of the
/// kind that may be uploaded, and the upload is removed.
pub async fn append(app: &Arc<App>, object: Object, offset: u64, body: Body) -> Answer<(u64, Object)> {
    let app = Arc::clone(app);
    tokio::spawn(async move { appended(&app, object, offset, body).await }).await?
}

async fn appended(app: &Arc<App>, object: Object, offset: u64, body: Body) -> Answer<(u64, Object)> {
    if object.ready {
        let at = object.bytes;
        return if offset == at { Ok((at, object)) } else { Err(another_offset(at)) };
    }
    let slot = app.uploads.slot(&object.id);
    let mut guard = slot.try_lock().map_err(|_| locked())?;
    let arriving = open(app, &object, &mut guard).await?;
    if arriving.offset() != offset {
        return Err(another_offset(arriving.offset()));
    }
    let received = receive(app, &object, &mut guard, body).await;
    match received {
        Err(Failed::File(problem)) => {
            *guard = None;
            discard(app, &object).await?;
            app.metrics.refused();
            Err(problem)
        }
        Err(Failed::Body(problem)) => Err(problem),
        Ok(at) if at == object.bytes => {
            let mut arriving = guard.take();
            let end = arriving.as_mut().map(|arriving| arriving.scan.end());
            drop(arriving);
            match end {
                Some(Err(error)) => {
                    discard(app, &object).await?;
                    app.metrics.refused();
                    Err(error.into())
                }
                _ => complete(app, object).await.map(|object| (at, object)),
            }
        }
        Ok(at) => Ok((at, object)),
    }
}

/// Why a part was not taken.
enum Failed {
    /// The file is not what may be uploaded.
    File(Problem),
    /// The body ended too early or is too long; what arrived before counts.
    Body(Problem),
}

async fn receive(app: &App, object: &Object, slot: &mut Option<Arriving>, body: Body) -> Result<u64, Failed> {
    let mut pieces = body.into_data_stream();
    let patience = Duration::from_secs(app.config.seconds.body);
    let gone = || Failed::Body(Problem::internal("an upload is gone"));
    let mut gathered = Vec::new();
    let mut stopped = Ok(());
    let mut at = slot.as_ref().ok_or_else(gone)?.offset();
    loop {
        let piece = match tokio::time::timeout(patience, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let what = format!("the body has ended too early: {error}");
                stopped = Err(Failed::Body(Problem::request(what)));
                break;
            }
            Err(_) => {
                let (status, what) = (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
                let problem = Problem::new(status, "timeout", what).hint("resume the upload");
                stopped = Err(Failed::Body(problem));
                break;
            }
        };
        if piece.len() as u64 > object.bytes - at {
            let what = format!("the body is longer than the rest of the file of {} bytes", object.bytes);
            let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "length", what);
            stopped = Err(Failed::Body(problem.hint("send as many bytes as Upload-Length says")));
            break;
        }
        app.metrics.received(piece.len() as u64);
        at += piece.len() as u64;
        let arriving = slot.as_mut().ok_or_else(gone)?;
        let pushed = arriving.scan.push(&piece, |known| gathered.extend_from_slice(known));
        if let Err(error) = pushed {
            return Err(Failed::File(error.into()));
        }
        if gathered.len() >= GATHERED {
            gathered = write(slot, gathered).await.map_err(|error| Failed::Body(error.into()))?;
        }
    }
    write(slot, gathered).await.map_err(|error| Failed::Body(error.into()))?;
    stopped.map(|()| at)
}

/// Writes what was gathered, and returns the emptied memory. If that fails, the upload is opened
/// again from what is staged.
async fn write(slot: &mut Option<Arriving>, mut gathered: Vec<u8>) -> io::Result<Vec<u8>> {
    let Some(mut arriving) = slot.take() else { return Ok(gathered) };
    let (arriving, gathered) = blocking(move || {
        arriving.file.write_all(&gathered)?;
        arriving.stored += gathered.len() as u64;
        gathered.clear();
        Ok((arriving, gathered))
    })
    .await?;
    *slot = Some(arriving);
    Ok(gathered)
}

/// Reads a complete file, and makes an object of it if it is valid.
///
/// The slot of the upload is held meanwhile: whoever asks for it is told to wait.
async fn complete(app: &Arc<App>, object: Object) -> Answer<Object> {
    let permit = app.uploads.validations.acquire().await.map_err(Problem::internal)?;
    let (id, staged) = (object.id.clone(), app.store.staged(&object.id));
    let adopted = !staged.exists() && app.store.holds(&id).await;
    let input = match adopted {
        true => app.store.input(&id, NAME).await?,
        false => Input::from_reader(NAME, tokio::fs::File::open(&staged).await?.into_std().await),
    };
    let described = tokio::task::spawn_blocking(move || describe::file(input)).await?;
    drop(permit);
    let info = match described {
        Ok(info) => info,
        Err(error) => {
            discard(app, &object).await?;
            app.metrics.refused();
            return Err(error.into());
        }
    };
    if !adopted {
        app.store.adopt(&id).await?;
    }
    let expires = app.expiry_of(&object.tenant).await?;
    app.db.set_ready(&id, expires, &info).await?;
    app.uploads.forget(&id);
    app.metrics.completed();
    tracing::info!(object = %id, tenant = %object.tenant, bytes = object.bytes, "an upload is complete");
    Ok(Object { ready: true, expires, info, ..object })
}

/// Removes an upload.
async fn discard(app: &App, object: &Object) -> Answer<()> {
    app.uploads.forget(&object.id);
    app.store.remove(&object.id).await?;
    app.db.remove_object(object).await?;
    Ok(())
}

/// Removes an object, or an upload on its way.
///
/// # Errors
/// It is being written to, or a job uses it.
pub async fn remove(app: &App, object: &Object) -> Answer<()> {
    let slot = app.uploads.slot(&object.id);
    let guard = slot.try_lock().map_err(|_| locked())?;
    let removed = app.db.remove_object(object).await?;
    app.uploads.forget(&object.id);
    drop(guard);
    if !removed {
        let problem = Problem::conflict("a job that has not ended uses this object");
        return Err(problem.hint("cancel the job, or wait for it"));
    }
    Ok(app.store.remove(&object.id).await?)
}

/// After a start: completes uploads whose last byte had arrived, and removes staged files that
/// belong to none.
///
/// # Errors
/// The database or the disk fails.
pub async fn recover(app: &Arc<App>) -> Answer<()> {
    let uploads = app.db.uploads().await?;
    for name in app.store.all_staged()? {
        if !uploads.iter().any(|upload| upload.id == name) {
            std::fs::remove_file(app.store.staged(&name))?;
        }
    }
    for upload in uploads {
        let staged = std::fs::metadata(app.store.staged(&upload.id)).map(|file| file.len());
        let whole = match staged {
            Ok(length) => length == upload.bytes,
            Err(_) => app.store.holds(&upload.id).await,
        };
        if whole {
            let app = Arc::clone(app);
            tokio::spawn(async move {
                let id = upload.id.clone();
                let slot = app.uploads.slot(&id);
                let _guard = slot.lock().await;
                if let Err(problem) = complete(&app, upload).await {
                    tracing::warn!(object = %id, detail = %problem.cause.detail, "an upload is not valid");
                }
            });
        }
    }
    Ok(())
}

/// When an upload that begins now is removed unless it is complete.
pub fn expiry(app: &App) -> i64 {
    clock::now().saturating_add(clock::hours(app.config.hours.upload))
}

fn locked() -> Problem {
    Problem::new(StatusCode::LOCKED, "locked", "another request writes to this upload")
        .hint("wait until it has ended")
}

fn another_offset(at: u64) -> Problem {
    Problem::conflict(format!("the upload is at offset {at}")).hint("ask with HEAD, and go on from there")
}
