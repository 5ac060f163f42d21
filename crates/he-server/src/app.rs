//! What all requests share.

use crate::clock;
use crate::db::Database;
use crate::jobs::{self, Jobs};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::page::Page;
use crate::problem::Answer;
use crate::rates::Rates;
use crate::settings::Config;
use crate::store::{Store, private_folder};
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
    /// The page.
    pub page: Page,
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
            db: Database::open(&config.database).await?,
            store: Store::open(config.store.as_deref(), &config.data).map_err(StartError::io(store))?,
            uploads: Uploads::default(),
            jobs: Jobs::default(),
            models: config.models.as_deref().map(Models::read).transpose()?.unwrap_or_default(),
            metrics: Metrics::default(),
            rates: Rates::new(config.rates.0, config.rates.1),
            page: Page::new(config.page.clone()),
            config,
        });
        let failed = |problem: crate::problem::Problem| StartError::Recovery(problem.cause.detail);
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
