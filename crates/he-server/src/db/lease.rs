//! The lease of a database: one service uses it at a time, also of several machines.
//!
//! The holder counts its beats in a row. Another service that finds the row watches it, by its own
//! clock alone: a row that counts on is held; one that stands still for [`DEAD`] is taken over. A
//! service that is started again on the folder that the holder had locked need not watch: it has
//! the lock now, so the holder has ended.

use super::{Database, Result};
use crate::folder::{Folder, Holder};
use crate::ids;
use sqlx::Row;
use std::time::{Duration, Instant};

/// The time between two beats.
pub const BEAT: Duration = Duration::from_secs(4);
/// A holder without a beat for so long is taken for dead.
const DEAD: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 15_000 });
/// The time between two looks at the row.
const LOOK: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });

/// The database is ours as long as its row names this.
#[derive(Clone, Debug)]
pub struct Lease(String);

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    holder: String,
    beat: i64,
    lock: Option<String>,
    by: Holder,
}

impl Database {
    /// Takes the lease for `holder`, who has locked `folder`.
    ///
    /// # Errors
    /// The holder of it; or the database fails.
    pub async fn lease(
        &self,
        holder: &Holder,
        folder: &Folder,
    ) -> Result<std::result::Result<Lease, Holder>> {
        sqlx::query(
            "CREATE TABLE IF NOT EXISTS lease (
                one BIGINT PRIMARY KEY, holder TEXT NOT NULL, beat BIGINT NOT NULL, lock TEXT,
                pid BIGINT NOT NULL, host TEXT NOT NULL, since BIGINT NOT NULL)",
        )
        .execute(&self.pool)
        .await?;
        let lock = folder.identity();
        let mut watched: Option<(Held, Instant)> = None;
        loop {
            match self.held().await? {
                None => {}
                Some(held) if lock.is_some() && held.lock == lock => {
                    self.vacate(&held).await?;
                }
                Some(held) => match &watched {
                    Some((before, _)) if *before != held => return Ok(Err(held.by)),
                    Some((_, since)) if since.elapsed() >= DEAD => {
                        tracing::warn!(by = %held.by, "the holder of the database has not beaten for {DEAD:?}");
                        self.vacate(&held).await?;
                    }
                    _ => {
                        watched.get_or_insert((held, Instant::now()));
                        tokio::time::sleep(LOOK).await;
                        continue;
                    }
                },
            }
            let lease = Lease(ids::id().map_err(sqlx::Error::Io)?);
            let taken =
                sqlx::query("INSERT INTO lease VALUES (1, $1, 0, $2, $3, $4, $5) ON CONFLICT DO NOTHING")
                    .bind(&lease.0)
                    .bind(lock.clone())
                    .bind(i64::from(holder.pid))
                    .bind(&holder.host)
                    .bind(holder.since)
                    .execute(&self.pool)
                    .await?;
            if taken.rows_affected() == 1 {
                return Ok(Ok(lease));
            }
            // Another service was faster.
            watched = None;
        }
    }

    async fn held(&self) -> Result<Option<Held>> {
        let row = sqlx::query("SELECT holder, beat, lock, pid, host, since FROM lease");
        let held = |row: sqlx::any::AnyRow| {
            let pid: i64 = row.try_get("pid")?;
            Ok(Held {
                holder: row.try_get("holder")?,
                beat: row.try_get("beat")?,
                lock: row.try_get("lock")?,
                by: Holder {
                    pid: u32::try_from(pid).unwrap_or_default(),
                    host: row.try_get("host")?,
                    since: row.try_get("since")?,
                },
            })
        };
        row.fetch_optional(&self.pool).await?.map(held).transpose()
    }

    /// Removes the row of a holder that has ended, if it has not changed.
    async fn vacate(&self, held: &Held) -> Result<()> {
        let gone = sqlx::query("DELETE FROM lease WHERE holder = $1 AND beat = $2");
        gone.bind(&held.holder).bind(held.beat).execute(&self.pool).await.map(|_| ())
    }

    /// Counts a beat. Whether the lease is still ours.
    ///
    /// # Errors
    /// The database fails, and says nothing of the lease.
    pub async fn beat(&self, lease: &Lease) -> Result<bool> {
        let beat = sqlx::query("UPDATE lease SET beat = beat + 1 WHERE holder = $1");
        Ok(beat.bind(&lease.0).execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Gives the lease back.
    ///
    /// # Errors
    /// The database fails; the next start waits for the lease to expire then.
    pub async fn give_up(&self, lease: &Lease) -> Result<()> {
        let gone = sqlx::query("DELETE FROM lease WHERE holder = $1");
        gone.bind(&lease.0).execute(&self.pool).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two folders stand for two machines.
    #[tokio::test]
    async fn a_database_has_one_holder_at_a_time() {
        let db = Database::connect("sqlite::memory:").await.unwrap();
        let data = tempfile::tempdir().unwrap();
        let folder = |name: &str| Folder::lock(&data.path().join(name), &Holder::this()).unwrap().unwrap();
        let (here, there) = (folder("here"), folder("there"));
        let holder = |pid| Holder { pid, host: "h".to_owned(), since: 1 };
        let first = db.lease(&holder(1), &here).await.unwrap().unwrap();
        assert!(db.beat(&first).await.unwrap());
        // Started again where the folder was locked: the holder must have ended.
        let again = db.lease(&holder(2), &here).await.unwrap().unwrap();
        assert!(!db.beat(&first).await.unwrap());
        assert!(db.beat(&again).await.unwrap());
        // Elsewhere, while the holder beats.
        let beats = async {
            tokio::time::sleep(LOOK).await;
            db.beat(&again).await.unwrap();
            std::future::pending::<()>().await
        };
        let third = holder(3);
        let refused = tokio::select! {
            refused = db.lease(&third, &there) => refused.unwrap().unwrap_err(),
            () = beats => unreachable!(),
        };
        assert_eq!(refused, holder(2));
        // A lease that was given back is free.
        db.give_up(&again).await.unwrap();
        assert!(db.beat(&db.lease(&holder(4), &there).await.unwrap().unwrap()).await.unwrap());
    }

    #[tokio::test]
    async fn a_holder_that_is_silent_is_taken_over() {
        let db = Database::connect("sqlite::memory:").await.unwrap();
        let data = tempfile::tempdir().unwrap();
        let folder = |name: &str| Folder::lock(&data.path().join(name), &Holder::this()).unwrap().unwrap();
        let (here, there) = (folder("here"), folder("there"));
        let dead = db.lease(&Holder::this(), &here).await.unwrap().unwrap();
        let taken = db.lease(&Holder::this(), &there).await.unwrap().unwrap();
        assert!(db.beat(&taken).await.unwrap() && !db.beat(&dead).await.unwrap());
    }
}
