//! The metadata: tenants, tokens, objects and jobs, in SQLite or PostgreSQL by the same statements.
//!
//! Numbers are 64-bit, texts are text; the statements are those that both databases understand, so
//! that there is one path of code. What a tenant uses is counted in its row, and every change of it
//! is one conditional update: two requests at once cannot exceed a quota.

mod guests;
mod jobs;
mod objects;
mod room;
mod tenants;

pub use jobs::{Added, Ended, Job, JobState, NewJob};
pub use objects::{Kind, Object};
pub use room::{Bounds, Full, Room};
pub use tenants::{Tenant, TokenNote};

use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::{AnyPool, Executor};

/// The result of a query.
pub type Result<T> = sqlx::Result<T>;

/// The tables. Later versions add statements; they never change these.
const SCHEMA: [&str; 16] = [
    "CREATE TABLE IF NOT EXISTS tenants (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, guest BIGINT NOT NULL, created BIGINT NOT NULL,
        expires BIGINT, max_bytes BIGINT NOT NULL, max_objects BIGINT NOT NULL,
        max_jobs BIGINT NOT NULL, bytes BIGINT NOT NULL, objects BIGINT NOT NULL,
        jobs BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tokens (
        hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL REFERENCES tenants(id),
        created BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS objects (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id), kind TEXT NOT NULL,
        ready BIGINT NOT NULL, bytes BIGINT NOT NULL, created BIGINT NOT NULL, expires BIGINT,
        info TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS objects_of_tenants ON objects (tenant, kind, id)",
    "CREATE TABLE IF NOT EXISTS jobs (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id), request TEXT NOT NULL,
        state TEXT NOT NULL, done BIGINT NOT NULL, steps BIGINT NOT NULL, starts BIGINT NOT NULL,
        result TEXT, error TEXT, created BIGINT NOT NULL, started BIGINT, finished BIGINT)",
    "CREATE INDEX IF NOT EXISTS jobs_of_tenants ON jobs (tenant, id)",
    "CREATE TABLE IF NOT EXISTS uses (job TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY (job, object))",
    "CREATE TABLE IF NOT EXISTS idempotency_keys (
        tenant TEXT NOT NULL, name TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (tenant, name))",
    "CREATE INDEX IF NOT EXISTS keys_of_jobs ON idempotency_keys (job)",
    "CREATE INDEX IF NOT EXISTS uploads_of_tenants ON objects (tenant) WHERE ready = 0",
    "CREATE INDEX IF NOT EXISTS ended_jobs_of_tenants ON jobs (tenant, finished)",
    // Requests that are too long for lists; the row of the job has what lists show.
    "CREATE TABLE IF NOT EXISTS long_requests (
        job TEXT PRIMARY KEY, tenant TEXT NOT NULL, bytes BIGINT NOT NULL, request TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS long_requests_of_tenants ON long_requests (tenant)",
    "CREATE TABLE IF NOT EXISTS guests (tenant TEXT PRIMARY KEY, address TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS guests_of_addresses ON guests (address)",
    "CREATE TABLE IF NOT EXISTS addresses (address TEXT PRIMARY KEY, turn BIGINT NOT NULL)",
];

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    /// What writes.
    pool: AnyPool,
    /// What reads only: of SQLite, readers do not wait for writers.
    readers: AnyPool,
    bounds: Bounds,
}

impl Database {
    /// Opens a database, and makes the tables that it lacks.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn open(url: &str) -> Result<Self> {
        install_default_drivers();
        let sqlite = url.starts_with("sqlite:");
        let url = match sqlite && !url.contains('?') {
            true => format!("{url}?mode=rwc"),
            false => url.to_owned(),
        };
        // SQLite has one writer; a connection per request would only wait for locks.
        let pool = connect(&url, sqlite, if sqlite { 1 } else { 8 }).await?;
        for statement in SCHEMA {
            sqlx::query(statement).execute(&pool).await?;
        }
        // A database in memory is that of one connection.
        let readers = match sqlite && !url.contains(":memory:") {
            true => connect(&url, sqlite, READERS).await?,
            false => pool.clone(),
        };
        Ok(Self { pool, readers, bounds: Bounds::NONE })
    }

    /// The same, which lets nobody exceed these bounds.
    #[must_use]
    pub fn bounded(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// Whether it answers, and takes changes.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<()> {
        // Of no row, but a database that may not be written refuses the statement.
        sqlx::query("UPDATE tenants SET id = id WHERE id = ''").execute(&self.pool).await.map(|_| ())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.readers.close().await;
        self.pool.close().await;
    }
}

/// Connections of SQLite that only read.
const READERS: u32 = 4;

async fn connect(url: &str, sqlite: bool, connections: u32) -> Result<AnyPool> {
    let pool = AnyPoolOptions::new().max_connections(connections);
    let pool = pool.after_connect(move |connection, _| {
        Box::pin(async move {
            if sqlite {
                connection.execute("PRAGMA journal_mode = WAL").await?;
                connection.execute("PRAGMA synchronous = FULL").await?;
                connection.execute("PRAGMA busy_timeout = 10000").await?;
            }
            Ok(())
        })
    });
    pool.connect(url).await
}

/// A number of bytes or of things as the database has it.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The same of a column.
fn count(row: &sqlx::any::AnyRow, column: &str) -> Result<u64> {
    use sqlx::Row;
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;
    use crate::settings::Quota;

    #[tokio::test]
    async fn a_database_that_takes_no_changes_is_said_to_be_so() {
        let db = Database::open("sqlite::memory:").await.unwrap();
        let run = async |text| sqlx::query(text).execute(&db.pool).await.unwrap();
        let status = |error: sqlx::Error| Problem::from(error).status.as_u16();
        db.ping().await.unwrap();
        run("PRAGMA query_only = ON").await;
        assert_eq!(status(db.ping().await.unwrap_err()), 503);
        run("PRAGMA query_only = OFF").await;
        // No page more than there are.
        run("PRAGMA max_page_count = 1").await;
        let quota = Quota { bytes: 0, objects: 0, jobs: 0 };
        let tenant = Tenant { id: "a".to_owned(), guest: false, expires: None, quota, address: None };
        let long = "x".repeat(1 << 16);
        assert_eq!(status(db.add_tenant(&long, &tenant).await.unwrap_err()), 507);
    }
}
