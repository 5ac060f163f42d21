//! The operator's work with tokens, beside the service or while it runs.

use crate::clock;
use crate::db::{self, Tenant};
use crate::ids;
use crate::operator::{check_name, database};
use crate::settings::Config;
use crate::start_error::StartError;

pub use crate::db::TokenNote;

/// Options for making a token.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The purpose of the token.
    pub label: Option<String>,
    /// It ends after so many days.
    pub days: Option<u32>,
    /// Makes the database if there is none.
    pub create: bool,
}

/// A token that was made.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The token, which is not kept.
    pub token: String,
    /// Its name, by which it is revoked.
    pub id: String,
    /// The tenant.
    pub tenant: String,
    /// When it ends, in milliseconds.
    pub expires: Option<i64>,
}

/// Makes a token of the tenant of this name, and the tenant if there is none.
///
/// # Errors
/// [`StartError`] if a name or the database cannot be used.
pub async fn create(config: &Config, name: &str, options: &Options) -> Result<NewToken, StartError> {
    check_name("name of a tenant", name)?;
    if let Some(label) = &options.label {
        check_name("label", label)?;
    }
    let random = |error| StartError::io("the random bytes of the operating system")(error);
    let db = database(config, options.create).await?;
    let failed = || StartError::database(config);
    let tenant = match db.tenant_named(name).await.map_err(failed())? {
        Some(tenant) => tenant.id,
        None => {
            let id = ids::id().map_err(random)?;
            let tenant = Tenant { id, guest: false, expires: None, quota: config.tenant, address: None };
            db.add_tenant(name, &tenant).await.map_err(failed())?;
            tenant.id
        }
    };
    let expires = options.days.map(|days| clock::now().saturating_add(clock::hours(24 * u64::from(days))));
    let (token, id) = (ids::token().map_err(random)?, ids::id().map_err(random)?);
    let (hash, label) = (ids::token_hash(&token), options.label.as_deref());
    let new = db::NewToken { hash: &hash, id: &id, tenant: &tenant, label, expires };
    db.add_token(new, Some(&format!("{id} of {name}"))).await.map_err(failed())?;
    db.close().await;
    Ok(NewToken { token, id, tenant, expires })
}

/// All tokens but those of guests.
///
/// # Errors
/// [`StartError`] if the database cannot be used.
pub async fn list(config: &Config) -> Result<Vec<TokenNote>, StartError> {
    database(config, false).await?.tokens().await.map_err(StartError::database(config))
}

/// Removes a token. Whether there was one.
///
/// # Errors
/// [`StartError`] if the database cannot be used.
pub async fn revoke(config: &Config, id: &str) -> Result<bool, StartError> {
    database(config, false).await?.revoke(id).await.map_err(StartError::database(config))
}
