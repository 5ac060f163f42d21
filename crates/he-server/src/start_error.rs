//! The reasons for which the service cannot start.

use crate::db::CURRENT;
use crate::reach;
use crate::settings::Config;

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
    /// A model, or a database for look-ups, cannot be read.
    #[error(transparent)]
    Model(#[from] he_files::Error),
    /// The databases for look-ups are too large.
    #[error("the databases for look-ups take {needed} bytes of memory, and {most} are allowed")]
    Lookups {
        /// The bytes that all of them need.
        needed: u64,
        /// The bytes of the setting.
        most: u64,
    },
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
            Self::Lookups { .. } => "serve fewer of them, or raise the setting lookup-mib".to_owned(),
            Self::Tls { .. } => {
                "give a chain and its private key in PEM, which this process may read".to_owned()
            }
            Self::Io { .. } | Self::Model(_) | Self::Recovery(_) => return None,
        })
    }
}
