//! The metadata: tenants, tokens, objects and jobs, in SQLite or PostgreSQL by the same statements.
//!
//! Numbers are 64-bit, texts are text; the statements are those that both databases understand, so
//! that there is one path of code. What a tenant uses is counted in its row, and every change of it
//! is one conditional update: two requests at once cannot exceed a quota.

mod guests;
mod jobs;
mod objects;
mod tenants;

pub use jobs::{Added, Ended, Job, JobState, NewJob};
pub use objects::{Kind, Object};
pub use tenants::{Tenant, TokenNote};

use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::{AnyPool, Executor};

/// The result of a query.
pub type Result<T> = sqlx::Result<T>;

/// The tables. Later versions add statements; they never change these.
const SCHEMA: [&str; 8] = [
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
];

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    pool: AnyPool,
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
        let pool = AnyPoolOptions::new().max_connections(if sqlite { 1 } else { 8 });
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
        let pool = pool.connect(&url).await?;
        for statement in SCHEMA {
            sqlx::query(statement).execute(&pool).await?;
        }
        Ok(Self { pool })
    }

    /// Whether it answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("SELECT 1").execute(&self.pool).await.map(|_| ())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
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
