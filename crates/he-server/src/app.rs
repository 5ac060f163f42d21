//! The state that all requests share.

use crate::clock;
use crate::db::{Bounds, Database, Tenant};
use crate::health::Health;
use crate::hold::{self, Hold};
use crate::jobs::{self, Jobs};
use crate::lookups::Lookups;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::page::Page;
use crate::problem::{Answer, Problem};
use crate::rates::Rates;
use crate::settings::{Config, Quota};
use crate::space::Space;
pub use crate::start_error::StartError;
use crate::store::Store;
#[cfg(feature = "tls")]
use crate::tls::Tls;
use crate::turns::{LongRequest, LongRequests};
use crate::uploads::{self, Uploads};
use std::sync::Arc;
use std::time::Duration;

/// The service.
pub struct App {
    /// The configuration.
    pub config: Config,
    /// The metadata.
    pub db: Database,
    /// The bytes.
    pub store: Store,
    /// Uploads on their way.
    pub uploads: Arc<Uploads>,
    /// Jobs that have not ended.
    pub jobs: Arc<Jobs>,
    /// Models for encrypted examples.
    pub models: Arc<Models>,
    /// Databases for private look-ups.
    pub lookups: Arc<Lookups>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The rates of requests.
    pub rates: Rates,
    /// The long requests at a time, by tenant.
    pub long_requests: Arc<LongRequests>,
    /// The room on the disk.
    pub space: Arc<Space>,
    /// Whether the service is ready, as of a moment ago.
    pub health: Health,
    /// The page.
    pub page: Arc<Page>,
    /// The certificate of HTTPS.
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
    /// The lock of the folder and the lease of the database.
    pub(crate) hold: Arc<Hold>,
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
    /// Opens database, store, models and databases for look-ups, and takes up the unfinished work
    /// of an earlier run.
    ///
    /// # Errors
    /// [`StartError`] if something cannot be opened.
    pub async fn start(config: Config) -> Result<Arc<Self>, StartError> {
        let place = config.store.clone().unwrap_or_else(|| config.data.display().to_string());
        let models = config.models.as_deref().map(Models::read).transpose()?.unwrap_or_default();
        let page = Page::open(config.page.clone())?;
        #[cfg(feature = "tls")]
        let tls = config.tls.as_ref().map(|(certificate, key)| Tls::open(certificate, key)).transpose()?;
        let (hold, db) = Hold::take(&config).await?;
        let db = db.bounded(bounds(&config));
        let store = Store::open(config.store.as_deref(), &config.data).map_err(StartError::io(place))?;
        let space = Arc::new(Space::new(&config.data, config.reserve));
        let (metrics, models) = (Arc::<Metrics>::default(), Arc::new(models));
        let lookups = Lookups::open(&config, &metrics).await?;
        let [db_of_jobs, db_of_uploads] = [&db; 2].map(Database::clone);
        let jobs = Jobs::new(&config, db_of_jobs, store.clone(), Arc::clone(&models), Arc::clone(&metrics));
        let uploads =
            Uploads::new(&config, db_of_uploads, store.clone(), Arc::clone(&space), Arc::clone(&metrics));
        let app = Arc::new(Self {
            #[cfg(feature = "tls")]
            tls,
            hold: Arc::new(hold),
            db,
            store,
            uploads,
            jobs,
            models,
            lookups,
            metrics,
            rates: Rates::new(config.rates.0, config.rates.1, config.address_guests),
            long_requests: LongRequests::new(LONG, (config.connections.1 / 2).max(LONG)),
            space,
            health: Health::default(),
            page: Arc::new(page),
            config,
        });
        let failed = |problem: Problem| StartError::Recovery(problem.cause.detail);
        uploads::recover(&app.uploads).await.map_err(failed)?;
        jobs::recover(&app.jobs).await.map_err(failed)?;
        let jobs = Arc::clone(&app.jobs);
        hold::keep(&app.hold, &app.db, move || jobs.leave());
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

    /// Reads the certificate of HTTPS again, for connections from now on, and the databases for
    /// look-ups that have changed. A failure is logged, and what was there stays.
    pub fn reload(&self) {
        if self.config.lookups.is_some() {
            let lookups = Arc::clone(&self.lookups);
            tokio::task::spawn_blocking(move || match lookups.reload() {
                Ok(()) => {
                    tracing::info!(names = ?lookups.names(), "the databases for look-ups were read again")
                }
                Err(error) => tracing::error!(%error, "the databases for look-ups stay what they were"),
            });
        }
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

    /// Removes what has expired.
    ///
    /// # Errors
    /// The database or the store fails.
    pub async fn sweep(self: &Arc<Self>) -> Answer<()> {
        for job in self.db.jobs_of_the_expired().await? {
            jobs::cancel(&self.jobs, &job).await?;
        }
        for object in self.db.expired_objects().await? {
            // One that is in use goes later.
            if let Err(problem) = uploads::remove(&self.uploads, &object).await
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
