//! What an operator does with tokens, beside the service or while it runs.

use crate::app::StartError;
use crate::db::{Database, Tenant, TokenNote};
use crate::ids;
use crate::settings::{Config, Quota};
use crate::store::private_folder;

async fn database(config: &Config) -> Result<Database, StartError> {
    private_folder(&config.data).map_err(StartError::io(config.data.display()))?;
    Ok(Database::open(&config.database).await?)
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
}

/// Makes a token of the tenant of this name, and the tenant if there is none. `bytes` is what a
/// new tenant may store; otherwise it is what the configuration says.
///
/// # Errors
/// [`StartError`] if the database cannot be used.
pub async fn create(config: &Config, name: &str, bytes: Option<u64>) -> Result<NewToken, StartError> {
    let random = |error| StartError::io("the random bytes of the operating system")(error);
    let db = database(config).await?;
    let tenant = match db.tenant_named(name).await? {
        Some(tenant) => tenant.id,
        None => {
            let quota = Quota { bytes: bytes.unwrap_or(config.tenant.bytes), ..config.tenant };
            let tenant =
                Tenant { id: ids::id().map_err(random)?, guest: false, expires: None, quota, address: None };
            db.add_tenant(name, &tenant).await?;
            tenant.id
        }
    };
    let (token, id) = (ids::token().map_err(random)?, ids::id().map_err(random)?);
    db.add_token(&ids::token_hash(&token), &id, &tenant).await?;
    db.close().await;
    Ok(NewToken { token, id, tenant })
}

/// All tokens but those of guests.
///
/// # Errors
/// [`StartError`] if the database cannot be used.
pub async fn list(config: &Config) -> Result<Vec<TokenNote>, StartError> {
    Ok(database(config).await?.tokens().await?)
}

/// Removes a token. Whether there was one.
///
/// # Errors
/// [`StartError`] if the database cannot be used.
pub async fn revoke(config: &Config, id: &str) -> Result<bool, StartError> {
    Ok(database(config).await?.revoke(id).await?)
}
