//! Jobs: what is to be computed, and what came of it.

use super::room::{self, Full, Room};
use super::{Database, Object, Result, count, objects, whole};
use crate::cause::Cause;
use crate::clock;
use he_files::trace::{self, Trace};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for its turn.
    Queued,
    /// It is computed.
    Running,
    /// There is a result.
    Done,
    /// There is none.
    Failed,
    /// It was not wanted any more.
    Cancelled,
}

impl JobState {
    const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Done, Self::Failed, Self::Cancelled];

    /// Its name in answers and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it has come to an end.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name.
    pub id: String,
    /// The tenant that it belongs to.
    pub tenant: String,
    /// The request: `operation`, `inputs`, `key_set`.
    pub request: Value,
    /// The state.
    pub state: JobState,
    /// Steps that are done.
    pub done: u64,
    /// All steps.
    pub of: u64,
    /// The number of times that it was started.
    pub starts: u64,
    /// The object that it made.
    pub result: Option<String>,
    /// The root of the trace of its computation, in hexadecimal.
    pub root: Option<String>,
    /// The cause of its failure.
    pub error: Option<Cause>,
    /// When it was asked for, started last, and ended.
    pub times: (i64, Option<i64>, Option<i64>),
}

/// The outcome of adding a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It waits for its turn.
    Queued,
    /// The quotas have no room for it.
    Full(Full),
    /// There is a job of this idempotency key already.
    Repeated,
}

/// The outcome of writing the end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is written.
    Written,
    /// The quota of its tenant has no room for the result; nothing has changed.
    Full,
    /// It had ended before; nothing has changed.
    Already,
}

/// A job to be added, with the objects that it needs.
pub struct NewJob<'a> {
    /// Its name.
    pub id: &'a str,
    /// The tenant that it belongs to.
    pub tenant: &'a str,
    /// The request.
    pub request: &'a Value,
    /// The idempotency key that its tenant chose.
    pub key: Option<&'a str>,
    /// The objects that it uses.
    pub uses: Vec<&'a str>,
}

/// The longest request that a list shows whole, in bytes.
const SHORT: usize = 1024;
/// The longest text in the cause of a failure, in bytes.
const CAUSE: usize = 2048;
/// Bytes of long requests that are kept per ended job that may be kept.
const LONG_PER_JOB: u64 = 4096;

/// The form of a request in lists: long ones without the parameters of their operation, and with
/// `abbreviated`.
fn abbreviated(request: &Value) -> String {
    let text = request.to_string();
    if text.len() <= SHORT {
        return text;
    }
    let cut = |text: &str| text.chars().take(64).collect::<String>();
    let name = |value: &Value| value.as_str().map(cut);
    let mut short = json!({
        "operation": { "name": name(&request["operation"]["name"]), "abbreviated": true },
        "inputs": request["inputs"].as_array().into_iter().flatten().take(3).map(name).collect::<Vec<_>>(),
        "key_set": name(&request["key_set"]),
    });
    if let Some(key) = name(&request["bootstrap_key"]) {
        short["bootstrap_key"] = key.into();
    }
    short.to_string()
}

/// A cause whose texts are not too long for a row and a list.
fn bounded(cause: &Cause) -> Cause {
    let cut = |text: &str| match text.len() <= CAUSE {
        true => text.to_owned(),
        false => text
            .char_indices()
            .take_while(|(at, _)| *at < CAUSE)
            .map(|(_, c)| c)
            .chain("...".chars())
            .collect(),
    };
    Cause { detail: cut(&cause.detail), hint: cause.hint.as_deref().map(cut) }
}

impl Job {
    /// The resource.
    pub fn json(&self) -> Value {
        let (created, started, finished) = self.times;
        let error = self.error.as_ref().map(|cause| {
            json!({
                "type": "urn:he-server:file",
                "title": "The job failed",
                "status": 422,
                "detail": cause.detail,
                "hint": cause.hint,
            })
        });
        json!({
            "id": self.id,
            "operation": self.request["operation"],
            "inputs": self.request["inputs"],
            "key_set": self.request["key_set"],
            "state": self.state.name(),
            "progress": { "done": self.done, "of": self.of },
            "result": self.result,
            "root": self.root,
            "error": error,
            "created": clock::text(created),
            "started": started.map(clock::text),
            "finished": finished.map(clock::text),
        })
    }
}

/// Bytes of a column of text, which every database has.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

fn job(row: &AnyRow) -> Result<Job> {
    let (request, state): (String, String) = (row.try_get("request")?, row.try_get("state")?);
    // Lists do not ask for it.
    let long: Option<String> = row.try_get("long_request").unwrap_or_default();
    let request = long.unwrap_or(request);
    let error: Option<String> = row.try_get("error")?;
    Ok(Job {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant")?,
        request: serde_json::from_str(&request).unwrap_or_default(),
        state: JobState::ALL.into_iter().find(|known| known.name() == state).unwrap_or(JobState::Failed),
        done: count(row, "done")?,
        of: count(row, "steps")?,
        starts: count(row, "starts")?,
        result: row.try_get("result")?,
        root: row.try_get("root")?,
        error: error.and_then(|error| serde_json::from_str(&error).ok()),
        times: (row.try_get("created")?, row.try_get("started")?, row.try_get("finished")?),
    })
}

impl Database {
    /// Adds a job, if the quota of its tenant has room for it and its key is new. If two come at
    /// once with one key, one is added.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_job(&self, new: NewJob<'_>) -> Result<Added> {
        let mut tx = self.pool.begin().await?;
        if let Some(key) = new.key {
            let named =
                sqlx::query("INSERT INTO idempotency_keys VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
            let named = named.bind(new.tenant).bind(key).bind(new.id).execute(&mut *tx).await?;
            if named.rows_affected() == 0 {
                return Ok(Added::Repeated);
            }
        }
        if let Room::Full(full) = room::take_job(&mut tx, &self.bounds, new.tenant).await? {
            return Ok(Added::Full(full));
        }
        let (text, short) = (new.request.to_string(), abbreviated(new.request));
        if text != short {
            sqlx::query("INSERT INTO long_requests VALUES ($1, $2, $3, $4)")
                .bind(new.id)
                .bind(new.tenant)
                .bind(whole(text.len() as u64))
                .bind(text)
                .execute(&mut *tx)
                .await?;
        }
        sqlx::query("INSERT INTO jobs VALUES ($1, $2, $3, $4, 0, 0, 0, NULL, NULL, $5, NULL, NULL, NULL)")
            .bind(new.id)
            .bind(new.tenant)
            .bind(short)
            .bind(JobState::Queued.name())
            .bind(clock::now())
            .execute(&mut *tx)
            .await?;
        for object in new.uses {
            objects::add_use(&mut tx, new.id, object).await?;
        }
        self.forget_oldest(&mut tx, new.tenant).await?;
        tx.commit().await?;
        Ok(Added::Queued)
    }

    /// Forgets the oldest of the ended jobs of a tenant, or of the guests of its address, if there
    /// are too many: of them a tenth more, so that this is rare.
    async fn forget_oldest(&self, tx: &mut sqlx::AnyConnection, tenant: &str) -> Result<()> {
        const OF: &str = "(tenant = $1 OR tenant IN (SELECT tenant FROM guests WHERE address = $2))";
        let address = room::address_of(tx, tenant).await?.unwrap_or_default();
        let most = self.bounds.kept_jobs;
        let most_bytes = most.saturating_mul(LONG_PER_JOB);
        let jobs = format!("SELECT COUNT(*) AS n FROM jobs WHERE {OF} AND finished IS NOT NULL");
        let jobs = sqlx::query(&jobs).bind(tenant).bind(&address).fetch_one(&mut *tx).await?;
        let bytes =
            format!("SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS n FROM long_requests WHERE {OF}");
        let bytes = sqlx::query(&bytes).bind(tenant).bind(&address).fetch_one(&mut *tx).await?;
        if count(&jobs, "n")? <= most && count(&bytes, "n")? <= most_bytes {
            return Ok(());
        }
        let oldest = format!(
            "SELECT id FROM (
                SELECT j.id, ROW_NUMBER() OVER (ORDER BY j.finished DESC, j.id) AS place,
                    SUM(COALESCE(l.bytes, 0)) OVER (ORDER BY j.finished DESC, j.id) AS total
                FROM (SELECT id, finished FROM jobs WHERE {OF} AND finished IS NOT NULL) j
                LEFT JOIN long_requests l ON l.job = j.id) AS ranked
             WHERE place > $3 OR total > $4"
        );
        let oldest = sqlx::query(&oldest)
            .bind(tenant)
            .bind(&address)
            .bind(whole(most - most.div_ceil(10)))
            .bind(whole(most_bytes - most_bytes / 10));
        for row in oldest.fetch_all(&mut *tx).await? {
            let id: String = row.try_get("id")?;
            for statement in [
                "DELETE FROM idempotency_keys WHERE job = $1",
                "DELETE FROM long_requests WHERE job = $1",
                "DELETE FROM traces WHERE job = $1",
                "DELETE FROM jobs WHERE id = $1",
            ] {
                sqlx::query(statement).bind(&id).execute(&mut *tx).await?;
            }
        }
        Ok(())
    }

    /// The job that a tenant asked for by this idempotency key.
    ///
    /// # Errors
    /// The database fails.
    pub async fn job_of_key(&self, tenant: &str, key: &str) -> Result<Option<Job>> {
        let row = sqlx::query(
            "SELECT j.*, l.request AS long_request FROM jobs j LEFT JOIN long_requests l ON l.job = j.id
             WHERE j.id IN (SELECT job FROM idempotency_keys WHERE tenant = $1 AND name = $2)",
        );
        row.bind(tenant).bind(key).fetch_optional(&self.readers).await?.map(|row| job(&row)).transpose()
    }

    /// The job of this name, if it is the tenant's.
    ///
    /// # Errors
    /// The database fails.
    pub async fn job(&self, tenant: &str, id: &str) -> Result<Option<Job>> {
        let row = sqlx::query(
            "SELECT j.*, l.request AS long_request FROM jobs j LEFT JOIN long_requests l ON l.job = j.id
             WHERE j.id = $1 AND j.tenant = $2",
        );
        row.bind(id).bind(tenant).fetch_optional(&self.readers).await?.map(|row| job(&row)).transpose()
    }

    /// So many jobs behind this one, in the order of their names, with long requests abbreviated.
    ///
    /// # Errors
    /// The database fails.
    pub async fn jobs(&self, tenant: &str, after: &str, most: u32) -> Result<Vec<Job>> {
        let rows = sqlx::query("SELECT * FROM jobs WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3");
        let rows = rows.bind(tenant).bind(after).bind(i64::from(most));
        rows.fetch_all(&self.readers).await?.iter().map(job).collect()
    }

    /// Jobs that have not ended, the oldest first: at the start of the service.
    ///
    /// # Errors
    /// The database fails.
    pub async fn unfinished_jobs(&self) -> Result<Vec<Job>> {
        let rows = sqlx::query("SELECT * FROM jobs WHERE finished IS NULL ORDER BY created, id");
        rows.fetch_all(&self.pool).await?.iter().map(job).collect()
    }

    /// Jobs that have not ended, of tenants whose time has come.
    ///
    /// # Errors
    /// The database fails.
    pub async fn jobs_of_the_expired(&self) -> Result<Vec<Job>> {
        let rows = sqlx::query(
            "SELECT * FROM jobs WHERE finished IS NULL
             AND tenant IN (SELECT id FROM tenants WHERE expires <= $1) LIMIT 1000",
        );
        rows.bind(clock::now()).fetch_all(&self.pool).await?.iter().map(job).collect()
    }

    /// A job is computed from now on, unless it has ended. Whether it has not.
    ///
    /// # Errors
    /// The database fails.
    pub async fn start_job(&self, id: &str) -> Result<bool> {
        let started = sqlx::query(
            "UPDATE jobs SET state = $1, started = $2, starts = starts + 1
             WHERE id = $3 AND finished IS NULL",
        );
        let started = started.bind(JobState::Running.name()).bind(clock::now()).bind(id);
        Ok(started.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// A job that was started waits for the next start of the service, which ends gracefully: this
    /// start does not count.
    ///
    /// # Errors
    /// The database fails.
    pub async fn leave_job(&self, id: &str) -> Result<()> {
        let left = sqlx::query(
            "UPDATE jobs SET state = $1, started = NULL, starts = starts - 1
             WHERE id = $2 AND finished IS NULL AND state = $3",
        );
        let left = left.bind(JobState::Queued.name()).bind(id).bind(JobState::Running.name());
        left.execute(&self.pool).await.map(|_| ())
    }

    /// A job has ended, with its result if it is done, which is added with it.
    ///
    /// # Errors
    /// The database fails.
    pub async fn end_job(
        &self,
        (tenant, id): (&str, &str),
        state: JobState,
        (done, of): (u64, u64),
        result: Option<(&Object, Option<&Trace>)>,
        error: Option<&Cause>,
    ) -> Result<Ended> {
        let mut tx = self.pool.begin().await?;
        if let Some((object, _)) = result
            && objects::insert(&mut tx, &self.bounds, object).await? != Room::Taken
        {
            return Ok(Ended::Full);
        }
        let ended = sqlx::query(
            "UPDATE jobs SET state = $1, done = $2, steps = $3, result = $4, error = $5, finished = $6,
             root = $7 WHERE id = $8 AND finished IS NULL",
        );
        let ended = ended
            .bind(state.name())
            .bind(whole(done))
            .bind(whole(of))
            .bind(result.map(|(object, _)| object.id.clone()))
            .bind(error.and_then(|error| serde_json::to_string(&bounded(error)).ok()))
            .bind(clock::now())
            .bind(result.and_then(|(_, trace)| trace).map(|trace| trace::hex(&trace.root())))
            .bind(id)
            .execute(&mut *tx)
            .await?;
        if ended.rows_affected() == 0 {
            // The result is not wanted any more.
            tx.rollback().await?;
            return Ok(Ended::Already);
        }
        if let Some(trace) = result.and_then(|(_, trace)| trace?.to_bytes().ok()) {
            let kept = sqlx::query("INSERT INTO traces VALUES ($1, $2, $3)").bind(id).bind(tenant);
            kept.bind(trace::hex(&trace)).execute(&mut *tx).await?;
        }
        let given = sqlx::query("UPDATE tenants SET jobs = jobs - 1 WHERE id = $1");
        given.bind(tenant).execute(&mut *tx).await?;
        sqlx::query("DELETE FROM uses WHERE job = $1").bind(id).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Ended::Written)
    }

    /// The bytes of the trace of a tenant's job, if it has one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn trace_of(&self, tenant: &str, id: &str) -> Result<Option<Vec<u8>>> {
        let row = sqlx::query("SELECT trace FROM traces WHERE job = $1 AND tenant = $2");
        let row = row.bind(id).bind(tenant).fetch_optional(&self.readers).await?;
        let text: Option<String> = row.map(|row| row.try_get("trace")).transpose()?;
        Ok(text.and_then(|text| from_hex(&text)))
    }

    /// Forgets jobs that ended before this time, and their idempotency keys.
    ///
    /// # Errors
    /// The database fails.
    pub async fn forget_jobs(&self, before: i64) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        for statement in [
            "DELETE FROM idempotency_keys WHERE job IN (SELECT id FROM jobs WHERE finished < $1)",
            "DELETE FROM long_requests WHERE job IN (SELECT id FROM jobs WHERE finished < $1)",
            "DELETE FROM traces WHERE job IN (SELECT id FROM jobs WHERE finished < $1)",
            "DELETE FROM jobs WHERE finished < $1",
        ] {
            sqlx::query(statement).bind(before).execute(&mut *tx).await?;
        }
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Bounds, Tenant};
    use crate::settings::Quota;
    use he_files::trace::{Parts, Program};

    async fn add(db: &Database, tenant: &str, id: &str, key: Option<&str>) -> Added {
        db.add_job(NewJob { id, tenant, request: &Value::Null, key, uses: vec!["object"] }).await.unwrap()
    }

    /// A job that has ended neither starts nor ends again, and a result that comes late is not
    /// added.
    #[tokio::test]
    async fn jobs_end_once() {
        let db = Database::open("sqlite::memory:").await.unwrap();
        let quota = Quota { bytes: 10, objects: 10, jobs: 1 };
        let tenant = Tenant { id: "t".to_owned(), guest: true, expires: Some(0), quota, address: None };
        db.add_tenant("t", &tenant).await.unwrap();
        assert_eq!(add(&db, "t", "1", None).await, Added::Queued);
        assert!(db.start_job("1").await.unwrap());
        // A start that was left does not count.
        db.leave_job("1").await.unwrap();
        let job = db.job("t", "1").await.unwrap().unwrap();
        assert_eq!((job.state, job.starts, job.times.1), (JobState::Queued, 0, None));
        assert!(db.start_job("1").await.unwrap());
        let end = async |state, result| db.end_job(("t", "1"), state, (1, 1), result, None).await.unwrap();
        assert_eq!(end(JobState::Cancelled, None).await, Ended::Written);
        let object = Object {
            id: "o".to_owned(),
            tenant: "t".to_owned(),
            kind: crate::db::Kind::Object,
            ready: true,
            bytes: 5,
            created: 0,
            expires: None,
            info: Value::Null,
        };
        let (program, head) = (Program::Model([1; 32]), [[2; 32]; 2]);
        let parts = Parts { program, files: vec![], operations: vec![], head, result: vec![] };
        let trace = Trace::new(parts).unwrap();
        assert_eq!(end(JobState::Done, Some((&object, Some(&trace)))).await, Ended::Already);
        assert_eq!(db.trace_of("t", "1").await.unwrap(), None);
        assert_eq!(db.usage("t").await.unwrap(), (0, 0, 0));
        db.leave_job("1").await.unwrap();
        assert!(!db.start_job("1").await.unwrap() && db.unfinished_jobs().await.unwrap().is_empty());
        assert_eq!(db.job("t", "1").await.unwrap().unwrap().state, JobState::Cancelled);
    }

    /// A key stays with its job, is its tenant's, and is free again when the job is forgotten.
    #[tokio::test]
    async fn keys_live_as_long_as_their_jobs() {
        let db = Database::open("sqlite::memory:").await.unwrap();
        let quota = Quota { bytes: 10, objects: 10, jobs: 2 };
        for id in ["a", "b"] {
            let tenant = Tenant { id: id.to_owned(), guest: true, expires: Some(0), quota, address: None };
            db.add_tenant(id, &tenant).await.unwrap();
        }
        let of_key = async |tenant, key| db.job_of_key(tenant, key).await.unwrap().map(|job| job.id);
        assert_eq!(add(&db, "a", "1", Some("key")).await, Added::Queued);
        assert_eq!(add(&db, "a", "2", Some("key")).await, Added::Repeated);
        assert_eq!(add(&db, "a", "3", None).await, Added::Queued);
        // A job that the quota refuses takes no key.
        let full = Full { what: "jobs", needed: 3, of: 2, shared: false };
        assert_eq!(add(&db, "a", "4", Some("other")).await, Added::Full(full));
        assert_eq!(of_key("a", "other").await, None);
        assert_eq!(add(&db, "b", "5", Some("key")).await, Added::Queued);
        assert_eq!(of_key("a", "key").await.as_deref(), Some("1"));
        assert_eq!(of_key("b", "key").await.as_deref(), Some("5"));

        let end = async |of, state| db.end_job(of, state, (1, 1), None, None).await.unwrap();
        assert_eq!(end(("a", "1"), JobState::Done).await, Ended::Written);
        db.forget_jobs(clock::now() - clock::hours(1)).await.unwrap();
        assert_eq!(of_key("a", "key").await.as_deref(), Some("1"));
        db.forget_jobs(clock::now() + 1).await.unwrap();
        assert_eq!(of_key("a", "key").await, None);
        assert_eq!(of_key("b", "key").await.as_deref(), Some("5"));
        assert_eq!(add(&db, "a", "6", Some("key")).await, Added::Queued);

        // A guest goes with its keys.
        assert_eq!(end(("b", "5"), JobState::Failed).await, Ended::Written);
        db.remove_guests().await.unwrap();
        assert_eq!(of_key("b", "key").await, None);
        assert_eq!(of_key("a", "key").await.as_deref(), Some("6"));
    }

    /// Rows of ended jobs and the bytes of their requests are bounded, for a tenant and for the
    /// guests of one address; lists show requests abbreviated, and one job shows its own whole.
    #[tokio::test]
    async fn the_oldest_ended_jobs_are_forgotten() {
        const KEPT: u64 = 10;
        let bounds = Bounds { kept_jobs: KEPT, ..Bounds::NONE };
        let db = Database::open("sqlite::memory:").await.unwrap().bounded(bounds);
        let quota = Quota { bytes: 10, objects: 10, jobs: 2 };
        let tenant =
            |id: &str| Tenant { id: id.to_owned(), guest: true, expires: Some(0), quota, address: None };
        assert!(db.add_guest(&tenant("a"), "1").await.unwrap());
        assert!(db.add_guest(&tenant("b"), "1").await.unwrap());
        db.add_tenant("c", &tenant("c")).await.unwrap();
        let run = async |tenant: &str, id: String, request: Value| {
            let new = NewJob { id: &id, tenant, request: &request, key: Some(&id), uses: vec![] };
            assert_eq!(db.add_job(new).await.unwrap(), Added::Queued);
            let ended = db.end_job((tenant, &id), JobState::Failed, (0, 1), None, None).await.unwrap();
            assert_eq!(ended, Ended::Written);
        };
        let rows = async |tenant: &str| db.jobs(tenant, "", 200).await.unwrap().len();
        for i in 0..30 {
            run(["a", "b"][i % 2], format!("{i:03}"), Value::Null).await;
            run("c", format!("c{i:03}"), Value::Null).await;
        }
        let kept = rows("a").await + rows("b").await;
        assert!((1..=KEPT as usize + 1).contains(&kept), "{kept}");
        assert!((1..=KEPT as usize + 1).contains(&rows("c").await));
        assert!(db.job("b", "029").await.unwrap().is_some() && db.job("a", "000").await.unwrap().is_none());
        assert!(db.job_of_key("a", "000").await.unwrap().is_none());

        let lookup = json!({ "name": "lookup", "entries": vec!["7"; 5000] });
        let long = json!({ "operation": lookup, "inputs": ["i"], "key_set": "k" });
        for i in 0..8 {
            run("c", format!("d{i}"), long.clone()).await;
        }
        let row = sqlx::query("SELECT CAST(SUM(bytes) AS BIGINT) AS n FROM long_requests");
        let bytes = count(&row.fetch_one(&db.pool).await.unwrap(), "n").unwrap();
        assert!(bytes <= KEPT * LONG_PER_JOB + long.to_string().len() as u64, "{bytes}");
        assert_eq!(db.job("c", "d7").await.unwrap().unwrap().request, long);
        let listed = db.jobs("c", "", 200).await.unwrap();
        assert!(listed.iter().all(|job| job.request.to_string().len() <= SHORT));
        let last = listed.iter().find(|job| job.id == "d7").unwrap();
        assert_eq!(last.request["operation"], json!({ "name": "lookup", "abbreviated": true }));
        assert_eq!((&last.request["inputs"], &last.request["key_set"]), (&json!(["i"]), &json!("k")));
        db.forget_jobs(clock::now() + 1).await.unwrap();
        let row = sqlx::query("SELECT COUNT(*) AS n FROM long_requests").fetch_one(&db.pool).await.unwrap();
        assert_eq!(count(&row, "n").unwrap(), 0);
    }
}
