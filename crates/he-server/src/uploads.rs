//! Files on their way here: examined as they arrive, staged, and objects once they are complete
//! and valid.
//!
//! The length of the staged file is what was accepted, so that nothing else must be kept to resume
//! an upload, after a restart either. Bytes that a scan holds back are not staged: a client whose
//! server restarts sends them again.

pub use crate::arriving::NAME;
use crate::arriving::{Arriving, Hold, States};
use crate::clock;
use crate::db::{Database, Object, Tenant};
use crate::describe;
use crate::metrics::Metrics;
use crate::problem::{Answer, Problem};
use crate::request;
use crate::settings::Config;
use crate::space::Space;
use crate::store::{Store, blocking};
use crate::turns::{LongRequest, Turns};
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

/// Uploads on their way, and where they go.
pub struct Uploads {
    db: Database,
    store: Store,
    space: Arc<Space>,
    metrics: Arc<Metrics>,
    /// The time in which the next bytes of a body must arrive.
    patience: Duration,
    /// The time after which an upload that is not complete is removed, in milliseconds.
    kept: i64,
    states: States,
    /// Turns for files that are read in a moment, and for others.
    validations: [Arc<Turns>; 2],
    /// Turns for states that are read again from the staged bytes.
    openings: Arc<Turns>,
}

impl Uploads {
    /// None yet.
    pub fn new(
        config: &Config,
        db: Database,
        store: Store,
        space: Arc<Space>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let turns = || Turns::new(VALIDATIONS);
        Arc::new(Self {
            db,
            store,
            space,
            metrics,
            patience: Duration::from_secs(config.seconds.body),
            kept: clock::hours(config.hours.upload),
            states: States::default(),
            validations: [turns(), turns()],
            openings: turns(),
        })
    }

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
pub async fn offset(uploads: &Uploads, who: &Tenant, object: &Object) -> Answer<u64> {
    if object.ready {
        return Ok(object.bytes);
    }
    let mut hold = uploads.hold(object, who.account())?;
    Ok(open(uploads, object, &mut hold).await?.offset())
}

async fn open<'a>(uploads: &Uploads, object: &Object, hold: &'a mut Hold<'_>) -> Answer<&'a mut Arriving> {
    if hold.arriving.is_none() {
        let (path, kind) = (uploads.store.staged(&object.id), object.kind);
        let turn = uploads.openings.take(&object.tenant, hold.account(), &object.id).await;
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
    uploads: &Arc<Uploads>,
    who: &Tenant,
    long: LongRequest,
    object: Object,
    offset: u64,
    body: Body,
) -> Answer<(u64, Object)> {
    let account = who.account().to_owned();
    let uploads = Arc::clone(uploads);
    let work = async move {
        let _long = long;
        appended(&uploads, &account, object, offset, body).await
    };
    tokio::spawn(request::carried(work)).await?
}

async fn appended(
    uploads: &Uploads,
    account: &str,
    object: Object,
    offset: u64,
    body: Body,
) -> Answer<(u64, Object)> {
    if object.ready {
        let at = object.bytes;
        return if offset == at { Ok((at, object)) } else { Err(another_offset(at)) };
    }
    let mut hold = uploads.hold(&object, account)?;
    let arriving = open(uploads, &object, &mut hold).await?;
    if arriving.offset() != offset {
        return Err(another_offset(arriving.offset()));
    }
    match receive(uploads, &object, &mut hold, body).await {
        Err(Failed::File(problem)) => {
            hold.arriving = None;
            discard(uploads, &object).await?;
            uploads.metrics.refused();
            Err(problem)
        }
        Err(Failed::Body(problem)) => Err(problem),
        Ok(at) if at == object.bytes => {
            let end = hold.arriving.take().map(|mut arriving| arriving.scan.end());
            match end {
                Some(Err(error)) => {
                    discard(uploads, &object).await?;
                    uploads.metrics.refused();
                    Err(error.into())
                }
                _ => complete(uploads, account, object).await.map(|object| (at, object)),
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

async fn receive(uploads: &Uploads, object: &Object, hold: &mut Hold<'_>, body: Body) -> Result<u64, Failed> {
    let mut pieces = body.into_data_stream();
    let patience = uploads.patience;
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
        uploads.metrics.received(piece.len() as u64);
        at += piece.len() as u64;
        let arriving = hold.arriving.as_mut().ok_or_else(gone)?;
        let pushed = arriving.scan.push(&piece, |known| gathered.extend_from_slice(known));
        if let Err(error) = pushed {
            return Err(Failed::File(error.into()));
        }
        if gathered.len() >= GATHERED {
            gathered = write(uploads, object, hold, gathered).await.map_err(Failed::Body)?;
        }
    }
    write(uploads, object, hold, gathered).await.map_err(Failed::Body)?;
    stopped.map(|()| at)
}

/// Writes what was gathered, and returns the emptied memory. If that fails, the upload is opened
/// again from what is staged.
async fn write(
    uploads: &Uploads,
    object: &Object,
    hold: &mut Hold<'_>,
    mut gathered: Vec<u8>,
) -> Answer<Vec<u8>> {
    let Some(mut arriving) = hold.arriving.take() else { return Ok(gathered) };
    if !gathered.is_empty() {
        uploads.space.check(gathered.len() as u64)?;
    }
    let path = uploads.store.staged(&object.id);
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
async fn complete(uploads: &Uploads, account: &str, object: Object) -> Answer<Object> {
    let turns = &uploads.validations[usize::from(object.bytes > SMALL)];
    let turn = turns.take(&object.tenant, account, &object.id).await;
    let (id, staged) = (object.id.clone(), uploads.store.staged(&object.id));
    let adopted = !staged.exists() && uploads.store.holds(&id).await;
    let input = match adopted {
        true => uploads.store.input(&id, NAME).await?,
        false => Input::from_reader(NAME, tokio::fs::File::open(&staged).await?.into_std().await),
    };
    let described = tokio::task::spawn_blocking(move || describe::file(input)).await?;
    drop(turn);
    let info = match described {
        Ok(info) => info,
        // The disk or the system has failed, and not the file.
        Err(error @ he_files::Error::Io { .. }) => return Err(error.into()),
        Err(error) => {
            discard(uploads, &object).await?;
            uploads.metrics.refused();
            return Err(error.into());
        }
    };
    if !adopted {
        uploads.store.adopt(&id).await?;
    }
    let expires = uploads.db.expiry_of(&object.tenant).await?;
    uploads.db.set_ready(&id, expires, &info).await?;
    uploads.metrics.completed();
    tracing::info!(object = %id, tenant = %object.tenant, bytes = object.bytes, "an upload is complete");
    Ok(Object { ready: true, expires, info, ..object })
}

/// Removes an upload.
async fn discard(uploads: &Uploads, object: &Object) -> Answer<()> {
    uploads.store.remove(&object.id).await?;
    uploads.db.remove_object(object).await?;
    Ok(())
}

/// Removes an object, or an upload on its way.
///
/// # Errors
/// It is being written to, or a job or an index uses it.
pub async fn remove(uploads: &Uploads, object: &Object) -> Answer<()> {
    let mut hold = uploads.hold(object, &object.tenant)?;
    let removed = uploads.db.remove_object(object).await?;
    hold.arriving = None;
    drop(hold);
    if !removed {
        let problem = Problem::conflict("a job that has not ended, or an index, uses this object");
        return Err(problem.hint("cancel the job or wait for it; delete the index first"));
    }
    Ok(uploads.store.remove(&object.id).await?)
}

/// After a start: completes uploads whose last byte had arrived, and removes staged files that
/// belong to none.
///
/// # Errors
/// The database or the disk fails.
pub async fn recover(uploads: &Arc<Uploads>) -> Answer<()> {
    let unfinished = uploads.db.uploads().await?;
    for name in uploads.store.all_staged()? {
        if !unfinished.iter().any(|upload| upload.id == name) {
            std::fs::remove_file(uploads.store.staged(&name))?;
        }
    }
    for upload in unfinished {
        let staged = std::fs::metadata(uploads.store.staged(&upload.id)).map(|file| file.len());
        let whole = match staged {
            Ok(length) => length == upload.bytes,
            Err(_) => uploads.store.holds(&upload.id).await,
        };
        if whole {
            let uploads = Arc::clone(uploads);
            tokio::spawn(async move {
                let id = upload.id.clone();
                let account = uploads.db.address_of(&upload.tenant).await.ok().flatten();
                let account = account.unwrap_or_else(|| upload.tenant.clone());
                // Somebody else who writes to it completes it.
                let Ok(_hold) = uploads.hold(&upload, &account) else { return };
                if let Err(problem) = complete(&uploads, &account, upload).await {
                    tracing::warn!(object = %id, detail = %problem.cause.detail, "an upload is not valid");
                }
            });
        }
    }
    Ok(())
}

/// When an upload that begins now is removed unless it is complete.
pub fn expiry(uploads: &Uploads) -> i64 {
    clock::now().saturating_add(uploads.kept)
}

fn locked() -> Problem {
    Problem::new(StatusCode::LOCKED, "locked", "another request writes to this upload")
        .hint("wait until it has ended")
}

fn another_offset(at: u64) -> Problem {
    Problem::conflict(format!("the upload is at offset {at}")).hint("ask with HEAD, and go on from there")
}
