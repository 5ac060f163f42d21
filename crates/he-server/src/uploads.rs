//! Files on their way here: examined as they arrive, staged, and objects once they are complete
//! and valid.
//!
//! The length of the staged file is what was accepted, so that nothing else must be kept to resume
//! an upload, after a restart either. Bytes that a scan holds back are not staged: a client whose
//! server restarts sends them again.

use crate::app::App;
pub use crate::arriving::NAME;
use crate::arriving::{Arriving, Hold, States};
use crate::clock;
use crate::db::{Object, Tenant};
use crate::describe;
use crate::problem::{Answer, Problem};
use crate::request;
use crate::store::blocking;
use crate::turns::Turns;
use axum::body::Body;
use axum::http::StatusCode;
use futures_util::StreamExt;
use he_files::io::input::Input;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are gathered before they are written.
const GATHERED: usize = 1 << 18;
/// Files that are validated at the same time, of small ones and of large ones.
const VALIDATIONS: usize = 2;
/// The largest file that is validated in a moment.
const SMALL: u64 = 64 << 20;

/// Uploads on their way.
pub struct Uploads {
    states: States,
    /// Turns for files that are read in a moment, and for others.
    validations: [Arc<Turns>; 2],
    /// Turns for states that are read again from the staged bytes.
    openings: Arc<Turns>,
}

impl Default for Uploads {
    fn default() -> Self {
        let turns = || Turns::new(VALIDATIONS);
        Self { states: States::default(), validations: [turns(), turns()], openings: turns() }
    }
}

impl Uploads {
    /// The number of uploads whose state is in memory.
    pub fn count(&self) -> usize {
        self.states.count()
    }

    fn hold(&self, object: &Object, account: &str) -> Answer<Hold<'_>> {
        self.states.take(&object.id, account).ok_or_else(locked)
    }
}

/// The bytes of an upload that were accepted.
///
/// # Errors
/// It is being written to; the disk fails.
pub async fn offset(app: &App, who: &Tenant, object: &Object) -> Answer<u64> {
    if object.ready {
        return Ok(object.bytes);
    }
    let mut hold = app.uploads.hold(object, who.account())?;
    Ok(open(app, object, &mut hold).await?.offset())
}

async fn open<'a>(app: &App, object: &Object, hold: &'a mut Hold<'_>) -> Answer<&'a mut Arriving> {
    if hold.arriving.is_none() {
        let (path, kind) = (app.store.staged(&object.id), object.kind);
        let turn = app.uploads.openings.take(&object.tenant, hold.account(), &object.id).await;
        let opened = tokio::task::spawn_blocking(move || {
            // Until it is done, also if nobody waits for it.
            let _turn = turn;
            Arriving::open(&path, kind)
        });
        hold.arriving = Some(opened.await??);
    }
    hold.arriving.as_mut().ok_or_else(|| Problem::internal("an upload is gone"))
}

/// Takes a part of a file from this offset on. Returns the offset behind it, and the object if it
/// is complete.
///
/// The work goes on if whoever asked for it is gone, until the body ends: what has arrived counts.
///
/// # Errors
/// The offset is another; the body is longer than the rest of the file; the file is not of the
/// kind that may be uploaded, and the upload is removed.
pub async fn append(
    app: &Arc<App>,
    who: &Tenant,
    object: Object,
    offset: u64,
    body: Body,
) -> Answer<(u64, Object)> {
    let account = who.account().to_owned();
    let long = app.begin_long(who)?;
    let app = Arc::clone(app);
    let work = async move {
        let _long = long;
        appended(&app, &account, object, offset, body).await
    };
    tokio::spawn(request::carried(work)).await?
}

async fn appended(
    app: &Arc<App>,
    account: &str,
    object: Object,
    offset: u64,
    body: Body,
) -> Answer<(u64, Object)> {
    if object.ready {
        let at = object.bytes;
        return if offset == at { Ok((at, object)) } else { Err(another_offset(at)) };
    }
    let mut hold = app.uploads.hold(&object, account)?;
    let arriving = open(app, &object, &mut hold).await?;
    if arriving.offset() != offset {
        return Err(another_offset(arriving.offset()));
    }
    match receive(app, &object, &mut hold, body).await {
        Err(Failed::File(problem)) => {
            hold.arriving = None;
            discard(app, &object).await?;
            app.metrics.refused();
            Err(problem)
        }
        Err(Failed::Body(problem)) => Err(problem),
        Ok(at) if at == object.bytes => {
            let end = hold.arriving.take().map(|mut arriving| arriving.scan.end());
            match end {
                Some(Err(error)) => {
                    discard(app, &object).await?;
                    app.metrics.refused();
                    Err(error.into())
                }
                _ => complete(app, account, object).await.map(|object| (at, object)),
            }
        }
        Ok(at) => Ok((at, object)),
    }
}

/// The reason for which a part was not taken.
enum Failed {
    /// The file is not what may be uploaded.
    File(Problem),
    /// The body ended too early or is too long; what arrived before counts.
    Body(Problem),
}

async fn receive(app: &App, object: &Object, hold: &mut Hold<'_>, body: Body) -> Result<u64, Failed> {
    let mut pieces = body.into_data_stream();
    let patience = Duration::from_secs(app.config.seconds.body);
    let gone = || Failed::Body(Problem::internal("an upload is gone"));
    let mut gathered = Vec::new();
    let mut stopped = Ok(());
    let mut at = hold.arriving.as_ref().ok_or_else(gone)?.offset();
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
        let arriving = hold.arriving.as_mut().ok_or_else(gone)?;
        let pushed = arriving.scan.push(&piece, |known| gathered.extend_from_slice(known));
        if let Err(error) = pushed {
            return Err(Failed::File(error.into()));
        }
        if gathered.len() >= GATHERED {
            gathered = write(app, object, hold, gathered).await.map_err(Failed::Body)?;
        }
    }
    write(app, object, hold, gathered).await.map_err(Failed::Body)?;
    stopped.map(|()| at)
}

/// Writes what was gathered, and returns the emptied memory. If that fails, the upload is opened
/// again from what is staged.
async fn write(app: &App, object: &Object, hold: &mut Hold<'_>, mut gathered: Vec<u8>) -> Answer<Vec<u8>> {
    let Some(mut arriving) = hold.arriving.take() else { return Ok(gathered) };
    if !gathered.is_empty() {
        app.space.check(gathered.len() as u64)?;
    }
    let path = app.store.staged(&object.id);
    let (arriving, gathered) = blocking(move || {
        arriving.write(&path, &gathered)?;
        gathered.clear();
        Ok((arriving, gathered))
    })
    .await?;
    hold.arriving = Some(arriving);
    Ok(gathered)
}

/// Reads a complete file, and makes an object of it if it is valid.
///
/// The upload is held meanwhile: whoever asks for it is told to wait. Small files and large ones
/// wait for their turn apart, and an account has one turn at a time.
async fn complete(app: &Arc<App>, account: &str, object: Object) -> Answer<Object> {
    let turns = &app.uploads.validations[usize::from(object.bytes > SMALL)];
    let turn = turns.take(&object.tenant, account, &object.id).await;
    let (id, staged) = (object.id.clone(), app.store.staged(&object.id));
    let adopted = !staged.exists() && app.store.holds(&id).await;
    let input = match adopted {
        true => app.store.input(&id, NAME).await?,
        false => Input::from_reader(NAME, tokio::fs::File::open(&staged).await?.into_std().await),
    };
    let described = tokio::task::spawn_blocking(move || describe::file(input)).await?;
    drop(turn);
    let info = match described {
        Ok(info) => info,
        // The disk or the system has failed, and not the file.
        Err(error @ he_files::Error::Io { .. }) => return Err(error.into()),
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
    app.metrics.completed();
    tracing::info!(object = %id, tenant = %object.tenant, bytes = object.bytes, "an upload is complete");
    Ok(Object { ready: true, expires, info, ..object })
}

/// Removes an upload.
async fn discard(app: &App, object: &Object) -> Answer<()> {
    app.store.remove(&object.id).await?;
    app.db.remove_object(object).await?;
    Ok(())
}

/// Removes an object, or an upload on its way.
///
/// # Errors
/// It is being written to, or a job uses it.
pub async fn remove(app: &App, object: &Object) -> Answer<()> {
    let mut hold = app.uploads.hold(object, &object.tenant)?;
    let removed = app.db.remove_object(object).await?;
    hold.arriving = None;
    drop(hold);
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
                let account = app.db.address_of(&upload.tenant).await.ok().flatten();
                let account = account.unwrap_or_else(|| upload.tenant.clone());
                // Somebody else who writes to it completes it.
                let Ok(_hold) = app.uploads.hold(&upload, &account) else { return };
                if let Err(problem) = complete(&app, &account, upload).await {
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
