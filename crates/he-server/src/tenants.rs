//! Tenants, managed beside the service or while it runs: quotas are in force at once.

use crate::db::{Database, Tenant};
use crate::ids;
use crate::operator::{check_name, database};
use crate::settings::Config;
use crate::start_error::StartError;

pub use crate::db::{OwnQuota, TenantNote};

/// A change of one quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// It stays as it is.
    #[default]
    Keep,
    /// It follows the settings of the service.
    Follow,
    /// It is this.
    To(u64),
}

impl Change {
    fn of(self, own: Option<u64>) -> Option<u64> {
        match self {
            Self::Keep => own,
            Self::Follow => None,
            Self::To(count) => Some(count),
        }
    }
}

/// Changes of the quotas of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The change of bytes.
    pub bytes: Change,
    /// The change of objects and key sets.
    pub objects: Change,
    /// The change of unfinished jobs.
    pub jobs: Change,
}

impl Changes {
    fn of(self, own: OwnQuota) -> OwnQuota {
        OwnQuota {
            bytes: self.bytes.of(own.bytes),
            objects: self.objects.of(own.objects),
            jobs: self.jobs.of(own.jobs),
        }
    }
}

async fn find(db: &Database, config: &Config, name: &str) -> Result<TenantNote, StartError> {
    let all = db.tenants().await.map_err(StartError::database(config))?;
    let found = all.into_iter().find(|tenant| tenant.name == name);
    found.ok_or_else(|| StartError::NoTenant(name.to_owned()))
}

async fn check_free(db: &Database, config: &Config, name: &str) -> Result<(), StartError> {
    check_name("name of a tenant", name)?;
    match db.tenant_named(name).await.map_err(StartError::database(config))? {
        Some(_) => Err(StartError::TenantExists(name.to_owned())),
        None => Ok(()),
    }
}

/// All tenants but guests, by their names.
///
/// # Errors
/// [`StartError`] if the database cannot be used.
pub async fn list(config: &Config) -> Result<Vec<TenantNote>, StartError> {
    database(config, false).await?.tenants().await.map_err(StartError::database(config))
}

/// The tenant of this name.
///
/// # Errors
/// [`StartError`] if there is none, or the database cannot be used.
pub async fn show(config: &Config, name: &str) -> Result<TenantNote, StartError> {
    find(&database(config, false).await?, config, name).await
}

/// Makes a tenant without a token. The database is made if there is none and `create` says so.
///
/// # Errors
/// [`StartError`] if there is one of this name, or the database cannot be used.
pub async fn add(
    config: &Config,
    name: &str,
    changes: Changes,
    create: bool,
) -> Result<TenantNote, StartError> {
    let db = database(config, create).await?;
    check_free(&db, config, name).await?;
    let id = ids::id().map_err(StartError::io("the random bytes of the operating system"))?;
    let tenant = Tenant { id, guest: false, expires: None, quota: config.tenant, address: None };
    let own = changes.of(OwnQuota::default());
    db.add_tenant_with(name, &tenant, own).await.map_err(StartError::database(config))?;
    find(&db, config, name).await
}

/// Changes the quotas of a tenant, and its name if there is a new one.
///
/// # Errors
/// [`StartError`] if there is no such tenant, another has the new name, or the database cannot be
/// used.
pub async fn set(
    config: &Config,
    name: &str,
    changes: Changes,
    new_name: Option<&str>,
) -> Result<TenantNote, StartError> {
    let db = database(config, false).await?;
    let tenant = find(&db, config, name).await?;
    let own = changes.of(tenant.own);
    if own != tenant.own {
        db.set_own_quota(&tenant.id, name, own).await.map_err(StartError::database(config))?;
    }
    let Some(new) = new_name.filter(|new| *new != name) else { return find(&db, config, name).await };
    check_free(&db, config, new).await?;
    db.rename_tenant(&tenant.id, new).await.map_err(StartError::database(config))?;
    find(&db, config, new).await
}

/// Removes a tenant: its tokens at once, its jobs and objects by the service, within two minutes or
/// at its next start. A tenant that holds objects is removed only if `force` says so.
///
/// # Errors
/// [`StartError`] if there is no such tenant, it holds objects, or the database cannot be used.
pub async fn remove(config: &Config, name: &str, force: bool) -> Result<TenantNote, StartError> {
    let db = database(config, false).await?;
    let tenant = find(&db, config, name).await?;
    if !force && tenant.used.objects > 0 {
        let (name, objects, bytes) = (name.to_owned(), tenant.used.objects, tenant.used.bytes);
        return Err(StartError::TenantHolds { name, objects, bytes });
    }
    db.dismiss_tenant(&tenant.id, name).await.map_err(StartError::database(config))?;
    Ok(tenant)
}
