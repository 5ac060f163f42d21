//! The metadata: tenants, tokens, objects and jobs, in SQLite or PostgreSQL by the same statements.
//!
//! Numbers are 64-bit, texts are text; the statements are those that both databases understand, so
//! that there is one path of code. The usage of a tenant is counted in its row, and every change of
//! it is one conditional update: two requests at once cannot exceed a quota.

mod actions;
mod guests;
mod jobs;
mod lease;
mod objects;
mod room;
mod schema;
mod tenants;
mod tokens;

pub use jobs::{Added, Ended, Job, JobState, NewJob};
pub use lease::{BEAT, Lease};
pub use objects::{Kind, Object};
pub use room::{Bounds, Full, Room};
pub use schema::{CURRENT, Found};
pub use tenants::{OwnQuota, Tenant, TenantNote};
pub use tokens::{Known, NewToken, TokenNote};

use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AnyPool, Connection, Executor};
use std::time::Duration;

/// A server of databases that has not answered after so long is taken for unreachable.
const PATIENCE: Duration = Duration::from_secs(5);

/// The result of a query.
pub type Result<T> = sqlx::Result<T>;

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    /// Connections that write.
    pool: AnyPool,
    /// Connections that only read: with SQLite, readers do not wait for writers.
    readers: AnyPool,
    bounds: Bounds,
    is_sqlite: bool,
}

impl Database {
    /// Opens a database, and makes the tables that it lacks.
    ///
    /// # Errors
    /// It cannot be opened.
    #[cfg(test)]
    pub async fn open(url: &str) -> Result<Self> {
        let db = Self::connect(url).await?;
        db.migrate(db.version().await?).await?;
        Ok(db)
    }

    /// Connects to a database, whatever is in it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn connect(url: &str) -> Result<Self> {
        install_default_drivers();
        let is_sqlite = url.starts_with("sqlite:");
        let url = match is_sqlite && !url.contains('?') {
            true => format!("{url}?mode=rwc"),
            false => url.to_owned(),
        };
        if !is_sqlite {
            // A pool would go on to try, and keep the reason to itself.
            let connected = tokio::time::timeout(PATIENCE, AnyConnection::connect(&url)).await;
            connected.map_err(|_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))??.close().await?;
        }
        // SQLite has one writer; a connection per request would only wait for locks.
        let pool = connect(&url, is_sqlite, if is_sqlite { 1 } else { 8 }).await?;
        // A database in memory is that of one connection.
        let readers = match is_sqlite && !url.contains(":memory:") {
            true => connect(&url, is_sqlite, READERS).await?,
            false => pool.clone(),
        };
        Ok(Self { pool, readers, bounds: Bounds::NONE, is_sqlite })
    }

    /// The same database, which lets nobody exceed these bounds.
    #[must_use]
    pub fn bounded(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// Whether it answers, and takes changes.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<()> {
        // The update concerns no row, but a database that may not be written refuses the statement.
        sqlx::query("UPDATE tenants SET id = id WHERE id = ''").execute(&self.pool).await.map(|_| ())
    }

    /// Whether its connections were closed.
    pub fn is_closed(&self) -> bool {
        self.pool.is_closed()
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
            } else {
                // Otherwise it tells of every table that is there already.
                connection.execute("SET client_min_messages = warning").await?;
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

/// The number of bytes or of things in a column.
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
