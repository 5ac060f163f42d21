//! Whether the service is ready: the database takes changes, the store answers, the disk has room.

use crate::db::Database;
use crate::space::Space;
use crate::store::Store;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Nobody makes the service look more often.
const FRESH: Duration = Duration::from_secs(1);
/// The time after which a part that has not answered is down.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last result of the check.
#[derive(Debug, Default)]
pub struct Health(Mutex<Option<(Instant, Result<(), &'static str>)>>);

impl Health {
    /// Whether the service is ready, or what is wrong.
    ///
    /// # Errors
    /// The fault.
    pub async fn check(&self, db: &Database, store: &Store, space: &Space) -> Result<(), &'static str> {
        let mut last = self.0.lock().await;
        if let Some((at, found)) = *last
            && at.elapsed() < FRESH
        {
            return found;
        }
        let found = look(db, store, space).await;
        *last = Some((Instant::now(), found));
        found
    }
}

async fn look(db: &Database, store: &Store, space: &Space) -> Result<(), &'static str> {
    let silent = "the database does not answer";
    match tokio::time::timeout(PATIENCE, db.ping()).await {
        Err(_) => return Err(silent),
        Ok(Err(sqlx::Error::Database(error))) => {
            tracing::error!(%error, "the database takes no changes");
            return Err("the database takes no changes");
        }
        Ok(Err(_)) => return Err(silent),
        Ok(Ok(())) => {}
    }
    match tokio::time::timeout(PATIENCE, store.ping()).await {
        Ok(Ok(())) => {}
        _ => return Err("the store does not answer"),
    }
    if !space.has_reserve() {
        return Err("the disk is full");
    }
    Ok(())
}
