//! The state that all requests share.

use crate::clock;
use crate::db::{Bounds, CURRENT, Database, Tenant};
use crate::health::Health;
use crate::hold::{self, Hold};
use crate::jobs::{self, Jobs};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::page::Page;
use crate::problem::{Answer, Problem};
use crate::rates::Rates;
use crate::reach;
use crate::settings::{Config, Quota};
use crate::space::Space;
use crate::store::Store;
#[cfg(feature = "tls")]
use crate::tls::Tls;
use crate::turns::{LongRequest, LongRequests};
use crate::uploads::{self, Uploads};
use std::sync::Arc;
use std::time::Duration;

/// Reasons for which the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A folder or the store cannot be used.
    #[error("cannot use {what}: {source}")]
    Io {
        /// The folder or store.
        what: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The database cannot be used.
    #[error("cannot use the database {place}: {reason}")]
    Database {
        /// The database, without a password.
        place: String,
        /// The reason.
        reason: String,
        /// The advice.
        hint: &'static str,
    },
    /// Another process uses the folder or the database.
    #[error("{what} is in use by {by}")]
    InUse {
        /// The folder or database.
        what: String,
        /// The user of it, and the time since when.
        by: String,
    },
    /// The tables are not those of this program.
    #[error("the database {place} is of version {found}, and this program needs {CURRENT}")]
    Version {
        /// The database, without a password.
        place: String,
        /// The version that was found.
        found: u64,
    },
    /// There is no service here.
    #[error("there is no database of a service at {place}")]
    NoDatabase {
        /// The place where it was looked for, without a password.
        place: String,
    },
    /// There is no tenant of this name.
    #[error("there is no tenant {0:?}")]
    NoTenant(String),
    /// There is a tenant of this name already.
    #[error("there is a tenant {0:?} already")]
    TenantExists(String),
    /// The tenant is not empty.
    #[error("the tenant {name:?} holds {objects} objects of {bytes} bytes")]
    TenantHolds {
        /// Its name.
        name: String,
        /// Its objects and key sets.
        objects: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A name cannot be used.
    #[error("the {what} {reason}")]
    Name {
        /// The name of what.
        what: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// The folder of the page is none.
    #[error("the folder {path} does not hold a page: there is no index.html in it")]
    Page {
        /// The folder.
        path: String,
    },
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
        /// The fault.
        reason: String,
    },
}

impl StartError {
    pub(crate) fn io(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.to_string();
        move |source| Self::Io { what, source }
    }

    /// The words for a failure of the database.
    pub(crate) fn database(config: &Config) -> impl FnOnce(sqlx::Error) -> Self + use<> {
        let config = config.clone();
        move |error| {
            let (reason, hint) = reach::words(&config.database, &error);
            Self::Database { place: config.place(), reason, hint }
        }
    }

    /// The advice on this error, if there is any.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Database { hint, .. } => (*hint).to_owned(),
            Self::InUse { .. } => {
                "stop that process first, or give this one another folder and database: --data, --database"
                    .to_owned()
            }
            Self::Version { found, .. } if *found > CURRENT => {
                "start the program that made it, or a later one".to_owned()
            }
            Self::Version { .. } => {
                "stop the service, and start it once with this program, which brings it up to date".to_owned()
            }
            Self::NoDatabase { .. } => {
                "give --data, --database or --config as for the service; --create makes a new one".to_owned()
            }
            Self::NoTenant(_) => "he-cli serve tenant list shows them".to_owned(),
            Self::TenantExists(_) => {
                "choose another name, or change it with he-cli serve tenant set".to_owned()
            }
            Self::TenantHolds { .. } => "--force removes them as well".to_owned(),
            Self::Name { .. } => "choose one of 1 to 200 visible characters".to_owned(),
            Self::Page { .. } => {
                "give the folder that web/build.sh made, or leave the setting page out".to_owned()
            }
            Self::Tls { .. } => {
                "give a chain and its private key in PEM, which this process may read".to_owned()
            }
            Self::Io { .. } | Self::Model(_) | Self::Recovery(_) => return None,
        })
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
    /// The counters.
    pub metrics: Metrics,
    /// The rates of requests.
    pub rates: Rates,
    /// The long requests at a time, by tenant.
    pub long_requests: Arc<LongRequests>,
    /// The room on the disk.
    pub space: Space,
    /// Whether the service is ready, as of a moment ago.
    pub health: Health,
    /// The page.
    pub page: Page,
    /// The certificate of HTTPS.
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
    /// The lock of the folder and the lease of the database.
    pub(crate) hold: Hold,
}

/// Uploads, downloads and streams of events of a tenant at the same time.
const LONG: usize = 32;
/// As many sessions of one address as guests may fill its quota.
const SESSIONS_PER_GUEST: u64 = 64;

/// The bounds of the guests of one address together, and so on.
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
        let store = config.store.clone().unwrap_or_else(|| config.data.display().to_string());
        let models = config.models.as_deref().map(Models::read).transpose()?.unwrap_or_default();
        let page = Page::open(config.page.clone())?;
        #[cfg(feature = "tls")]
        let tls = config.tls.as_ref().map(|(certificate, key)| Tls::open(certificate, key)).transpose()?;
        let (hold, db) = Hold::take(&config).await?;
        let app = Arc::new(Self {
            #[cfg(feature = "tls")]
            tls,
            hold,
            db: db.bounded(bounds(&config)),
            store: Store::open(config.store.as_deref(), &config.data).map_err(StartError::io(store))?,
            uploads: Uploads::default(),
            jobs: Jobs::default(),
            models,
            metrics: Metrics::default(),
            rates: Rates::new(config.rates.0, config.rates.1, config.address_guests),
            long_requests: LongRequests::new(LONG, (config.connections.1 / 2).max(LONG)),
            space: Space::new(&config.data, config.reserve),
            health: Health::default(),
            page,
            config,
        });
        let failed = |problem: Problem| StartError::Recovery(problem.cause.detail);
        uploads::recover(&app).await.map_err(failed)?;
        jobs::recover(&app).await.map_err(failed)?;
        hold::keep(&app);
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

    /// Reads the certificate of HTTPS again, for connections from now on. A certificate
    /// that cannot be used is logged, and the old one stays.
    pub fn reload(&self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            match tls.reload() {
                Ok(()) => tracing::info!("the certificate was read again"),
                Err(error) => tracing::error!(%error, "the certificate stays what it was"),
            }
        }
    }

    /// Whether another process has taken the database over, so that this one must end.
    pub fn is_lost(&self) -> bool {
        self.hold.is_lost()
    }

    /// Gives folder and database back, at the end.
    pub async fn close(&self) {
        self.hold.release(&self.db).await;
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
    pub async fn sweep(self: &Arc<Self>) -> Answer<()> {
        for job in self.db.jobs_of_the_expired().await? {
            jobs::cancel(self, &job).await?;
        }
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
