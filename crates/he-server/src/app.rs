//! What all requests share.

use crate::clock;
use crate::db::{Bounds, Database, Tenant};
use crate::health::Health;
use crate::jobs::{self, Jobs};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::page::Page;
use crate::problem::{Answer, Problem};
use crate::rates::Rates;
use crate::settings::{Config, Quota};
use crate::space::Space;
use crate::store::{Store, private_folder};
use crate::turns::{LongRequest, LongRequests};
use crate::uploads::{self, Uploads};
use std::sync::Arc;
use std::time::Duration;

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A folder or the store cannot be used.
    #[error("cannot use {what}: {source}")]
    Io {
        /// What cannot be used.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// The database cannot be used.
    #[error("cannot use the database: {0}")]
    Database(#[from] sqlx::Error),
    /// A model cannot be read.
    #[error(transparent)]
    Model(#[from] he_files::Error),
    /// Unfinished work of an earlier run cannot be taken up.
    #[error("cannot take up the work of an earlier run: {0}")]
    Recovery(String),
    /// The certificate or the key of HTTPS cannot be used.
    #[error("cannot use {path}: {reason}")]
    Tls {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl StartError {
    pub(crate) fn io(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.to_string();
        move |source| Self::Io { what, source }
    }
}

/// The service.
pub struct App {
    /// The configuration.
    pub config: Config,
    /// The metadata.
    pub db: Database,
    /// The bytes.
    pub store: Store,
    /// Uploads on their way.
    pub uploads: Uploads,
    /// Jobs that have not ended.
    pub jobs: Jobs,
    /// Models for encrypted examples.
    pub models: Models,
    /// What is counted.
    pub metrics: Metrics,
    /// Who may ask how often.
    pub rates: Rates,
    /// Who may have how many long requests at a time.
    pub long_requests: Arc<LongRequests>,
    /// The room on the disk.
    pub space: Space,
    /// Whether the service is ready, as of a moment ago.
    pub health: Health,
    /// The page.
    pub page: Page,
}

/// Uploads, downloads and streams of events of a tenant at the same time.
const LONG: usize = 32;
/// As many sessions of one address as guests may fill its quota.
const SESSIONS_PER_GUEST: u64 = 64;

/// What the guests of one address hold together, and so on.
fn bounds(config: &Config) -> Bounds {
    let share = |of: u64| of.saturating_mul(config.address_guests);
    let Quota { bytes, objects, jobs } = config.guest;
    Bounds {
        uploads: config.uploads,
        address: Quota { bytes: share(bytes), objects: share(objects), jobs: share(jobs) },
        address_uploads: share(config.uploads.1),
        address_sessions: share(SESSIONS_PER_GUEST),
        kept_jobs: config.kept_jobs,
    }
}

impl App {
    /// Opens database, store and models, and takes up the unfinished work of an earlier run.
    ///
    /// # Errors
    /// [`StartError`] if something cannot be opened.
    pub async fn start(config: Config) -> Result<Arc<Self>, StartError> {
        private_folder(&config.data).map_err(StartError::io(config.data.display()))?;
        let store = config.store.clone().unwrap_or_else(|| config.data.display().to_string());
        let app = Arc::new(Self {
            db: Database::open(&config.database).await?.bounded(bounds(&config)),
            store: Store::open(config.store.as_deref(), &config.data).map_err(StartError::io(store))?,
            uploads: Uploads::default(),
            jobs: Jobs::default(),
            models: config.models.as_deref().map(Models::read).transpose()?.unwrap_or_default(),
            metrics: Metrics::default(),
            rates: Rates::new(config.rates.0, config.rates.1, config.address_guests),
            long_requests: LongRequests::new(LONG, (config.connections.1 / 2).max(LONG)),
            space: Space::new(&config.data, config.reserve),
            health: Health::default(),
            page: Page::new(config.page.clone()),
            config,
        });
        let failed = |problem: Problem| StartError::Recovery(problem.cause.detail);
        uploads::recover(&app).await.map_err(failed)?;
        jobs::recover(&app).await.map_err(failed)?;
        let sweeper = Arc::downgrade(&app);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(60)).await;
                let Some(app) = sweeper.upgrade() else { break };
                if let Err(problem) = app.sweep().await {
                    tracing::error!(detail = %problem.cause.detail, "expired objects could not be removed");
                }
            }
        });
        Ok(app)
    }

    /// Counts a request of a tenant that may take long, until what is returned is dropped.
    ///
    /// # Errors
    /// There are too many: 429.
    pub fn begin_long(&self, tenant: &Tenant) -> Answer<LongRequest> {
        self.long_requests.begin(tenant).ok_or_else(|| {
            self.metrics.limited();
            Problem::too_long()
        })
    }

    /// When a new object of a tenant expires.
    ///
    /// # Errors
    /// The database fails.
    pub async fn expiry_of(&self, tenant: &str) -> Answer<Option<i64>> {
        Ok(self.db.expiry_of(tenant).await?)
    }

    /// Removes what has expired.
    ///
    /// # Errors
    /// The database or the store fails.
    pub async fn sweep(&self) -> Answer<()> {
        for object in self.db.expired_objects().await? {
            // One that is in use goes later.
            if let Err(problem) = uploads::remove(self, &object).await
                && problem.status.is_server_error()
            {
                return Err(problem);
            }
        }
        self.db.forget_jobs(clock::now() - clock::hours(self.config.hours.job)).await?;
        self.db.remove_guests().await?;
        self.jobs.reserve(self.db.has_tenants().await?);
        self.rates.forget();
        Ok(())
    }
}
