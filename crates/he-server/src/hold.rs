//! A service alone on its folder and its database.

use crate::db::{BEAT, CURRENT, Database, Found, Lease};
use crate::folder::{Folder, Holder};
use crate::settings::Config;
use crate::start_error::StartError;
use std::sync::Arc;
use tokio::sync::watch;

/// The lock of the folder and the lease of the database, until they are released.
#[derive(Debug)]
pub struct Hold {
    folder: Folder,
    lease: Lease,
    lost: watch::Sender<bool>,
}

impl Hold {
    /// Locks the folder, opens the database, takes its lease and brings it up to date.
    ///
    /// # Errors
    /// [`StartError`] if another process holds one of them, the database is of a later program, or
    /// something cannot be used.
    pub async fn take(config: &Config) -> Result<(Self, Database), StartError> {
        let holder = Holder::this();
        let locked = Folder::lock(&config.data, &holder);
        let locked = locked.map_err(StartError::io(config.data.display()))?;
        let used = |what: String, by: Option<Holder>| StartError::InUse {
            what,
            by: by.map_or_else(|| "another process".to_owned(), |by| by.to_string()),
        };
        let folder = locked.map_err(|by| used(format!("the folder {}", config.data.display()), by))?;
        let failed = || StartError::database(config);
        let db = Database::connect(&config.database).await.map_err(failed())?;
        let lease = db.lease(&holder, &folder).await.map_err(failed())?;
        let lease = lease.map_err(|by| used(format!("the database {}", config.place()), Some(by)))?;
        let hold = Self { folder, lease, lost: watch::Sender::new(false) };
        let ready = hold.prepare(config, &db).await;
        if ready.is_err() {
            hold.release(&db).await;
        }
        ready.map(|()| (hold, db))
    }

    async fn prepare(&self, config: &Config, db: &Database) -> Result<(), StartError> {
        let found = db.version().await.map_err(StartError::database(config))?;
        if let Found::Version(version) = found
            && version > CURRENT
        {
            return Err(StartError::Version { place: config.place(), found: version });
        }
        db.migrate(found).await.map_err(StartError::database(config))?;
        db.set_quotas(config.tenant, config.guest).await.map_err(StartError::database(config))
    }

    /// Waits until another process has taken the database over.
    pub async fn lost(&self) {
        // The sender is in `self`.
        drop(self.lost.subscribe().wait_for(|lost| *lost).await);
    }

    /// Whether another process has taken the database over.
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    /// Gives both back.
    pub async fn release(&self, db: &Database) {
        if let Err(error) = db.give_up(&self.lease).await {
            tracing::warn!(%error, "the lease of the database could not be given back");
        }
        db.close().await;
        self.folder.release();
    }
}

/// Keeps the lease while the service runs, and logs what operators do beside it. Calls `end` once
/// if another process has taken the database over.
pub fn keep(hold: &Arc<Hold>, db: &Database, end: impl FnOnce() + Send + 'static) {
    let (hold, db) = (Arc::downgrade(hold), db.clone());
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(BEAT).await;
            let Some(hold) = hold.upgrade().filter(|_| !db.is_closed()) else { break };
            match db.beat(&hold.lease).await {
                Ok(true) => {}
                Ok(false) => {
                    tracing::error!("another process has taken the database over: this one ends");
                    end();
                    hold.lost.send_replace(true);
                    break;
                }
                Err(_) if db.is_closed() => break,
                Err(error) => {
                    tracing::warn!(%error, "the lease of the database could not be renewed");
                    continue;
                }
            }
            match db.take_actions().await {
                Ok(actions) => actions.iter().for_each(|done| {
                    let (at, operator) = (crate::clock::text(done.at), &*done.operator);
                    tracing::info!(audit = done.action, subject = done.subject, operator, at, "audit");
                }),
                Err(error) => tracing::warn!(%error, "what operators did could not be read"),
            }
        }
    });
}
