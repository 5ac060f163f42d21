//! Who is a guest: fairness depends on it.

use super::{Database, Result};
use sqlx::Row;

impl Database {
    /// Whether there are tenants that are not guests.
    ///
    /// # Errors
    /// The database fails.
    pub async fn has_tenants(&self) -> Result<bool> {
        let row = sqlx::query("SELECT id FROM tenants WHERE guest = 0 LIMIT 1");
        Ok(row.fetch_optional(&self.pool).await?.is_some())
    }

    /// Whether a tenant is a guest; one that is gone is one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn is_guest(&self, tenant: &str) -> Result<bool> {
        let row = sqlx::query("SELECT guest FROM tenants WHERE id = $1").bind(tenant);
        let guest = row.fetch_optional(&self.pool).await?.map(|row| row.try_get::<i64, _>(0)).transpose()?;
        Ok(guest != Some(0))
    }
}
