//! Tenants, their tokens, and what they use.

use super::{Database, Result, count, whole};
use crate::clock;
use crate::queue::Owner;
use crate::settings::Quota;
use sqlx::Row;

/// Somebody whose objects nobody else sees.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name.
    pub id: String,
    /// Whether it is removed with its objects in the end.
    pub guest: bool,
    /// When that is.
    pub expires: Option<i64>,
    /// What it may hold.
    pub quota: Quota,
    /// The address whose guest it is.
    pub address: Option<String>,
}

impl Tenant {
    /// With whom it takes turns and shares what is bounded: the guests of one address are one.
    pub fn account(&self) -> &str {
        self.address.as_deref().unwrap_or(&self.id)
    }

    /// Whose its jobs are.
    pub fn owner(&self) -> Owner {
        match self.guest {
            true => Owner::guest(&self.id, self.address.as_deref()),
            false => Owner::tenant(&self.id),
        }
    }
}

/// A token, without the token.
#[derive(Clone, Debug)]
pub struct TokenNote {
    /// Its name, by which it is revoked.
    pub id: String,
    /// The name of its tenant, for people.
    pub tenant: String,
    /// When it was made.
    pub created: i64,
}

impl Database {
    /// Adds a tenant.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_tenant(&self, name: &str, tenant: &Tenant) -> Result<()> {
        let Quota { bytes, objects, jobs } = tenant.quota;
        sqlx::query("INSERT INTO tenants VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0)")
            .bind(&tenant.id)
            .bind(name)
            .bind(i64::from(tenant.guest))
            .bind(clock::now())
            .bind(tenant.expires)
            .bind(whole(bytes))
            .bind(whole(objects))
            .bind(whole(jobs))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The tenant of this name for people, who is not a guest.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>> {
        let row = sqlx::query("SELECT * FROM tenants WHERE name = $1 AND guest = 0");
        row.bind(name).fetch_optional(&self.pool).await?.map(|row| tenant(&row)).transpose()
    }

    /// Adds a token of a tenant, by its hash.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_token(&self, hash: &str, id: &str, tenant: &str) -> Result<()> {
        sqlx::query("INSERT INTO tokens VALUES ($1, $2, $3, $4)")
            .bind(hash)
            .bind(id)
            .bind(tenant)
            .bind(clock::now())
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The tokens of all tenants but guests.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tokens(&self) -> Result<Vec<TokenNote>> {
        let rows = sqlx::query(
            "SELECT k.id, t.name, k.created FROM tokens k JOIN tenants t ON t.id = k.tenant
             WHERE t.guest = 0 ORDER BY k.created, k.id",
        );
        let note = |row: &sqlx::any::AnyRow| {
            Ok(TokenNote { id: row.try_get(0)?, tenant: row.try_get(1)?, created: row.try_get(2)? })
        };
        rows.fetch_all(&self.pool).await?.iter().map(note).collect()
    }

    /// Removes a token. Whether there was one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn revoke(&self, id: &str) -> Result<bool> {
        let done = sqlx::query("DELETE FROM tokens WHERE id = $1").bind(id).execute(&self.pool).await?;
        Ok(done.rows_affected() > 0)
    }

    /// The tenant of a token, by its hash.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tenant_of(&self, hash: &str) -> Result<Option<Tenant>> {
        let row = sqlx::query(
            "SELECT t.*, g.address FROM tokens k JOIN tenants t ON t.id = k.tenant
             LEFT JOIN guests g ON g.tenant = t.id
             WHERE k.hash = $1 AND (t.expires IS NULL OR t.expires > $2)",
        );
        let row = row.bind(hash).bind(clock::now()).fetch_optional(&self.readers).await?;
        row.map(|row| tenant(&row)).transpose()
    }

    /// When a tenant and its objects are removed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn expiry_of(&self, tenant: &str) -> Result<Option<i64>> {
        let row = sqlx::query("SELECT expires FROM tenants WHERE id = $1").bind(tenant);
        Ok(row.fetch_optional(&self.readers).await?.map(|row| row.try_get(0)).transpose()?.flatten())
    }

    /// The bytes, objects and unfinished jobs of a tenant.
    ///
    /// # Errors
    /// The database fails.
    pub async fn usage(&self, tenant: &str) -> Result<(u64, u64, u64)> {
        let row = sqlx::query("SELECT bytes, objects, jobs FROM tenants WHERE id = $1").bind(tenant);
        let row = row.fetch_one(&self.readers).await?;
        Ok((count(&row, "bytes")?, count(&row, "objects")?, count(&row, "jobs")?))
    }
}

fn tenant(row: &sqlx::any::AnyRow) -> Result<Tenant> {
    Ok(Tenant {
        id: row.try_get("id")?,
        guest: row.try_get::<i64, _>("guest")? != 0,
        expires: row.try_get("expires")?,
        quota: Quota {
            bytes: count(row, "max_bytes")?,
            objects: count(row, "max_objects")?,
            jobs: count(row, "max_jobs")?,
        },
        // Not in every query.
        address: row.try_get("address").unwrap_or_default(),
    })
}
