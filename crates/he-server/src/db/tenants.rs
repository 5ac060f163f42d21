//! Tenants, their quotas, and what they use.

use super::{Database, Result, actions, count, whole};
use crate::clock;
use crate::queue::Owner;
use crate::settings::Quota;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

/// Somebody whose objects nobody else sees.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name.
    pub id: String,
    /// Whether it is removed with its objects in the end.
    pub guest: bool,
    /// When that is.
    pub expires: Option<i64>,
    /// The quota.
    pub quota: Quota,
    /// The address whose guest it is.
    pub address: Option<String>,
}

impl Tenant {
    /// With whom it takes turns and shares what is bounded: the guests of one address are one.
    pub fn account(&self) -> &str {
        self.address.as_deref().unwrap_or(&self.id)
    }

    /// The owner of its jobs.
    pub fn owner(&self) -> Owner {
        match self.guest {
            true => Owner::guest(&self.id, self.address.as_deref()),
            false => Owner::tenant(&self.id),
        }
    }
}

/// The quotas that a tenant has of its own; what is `None` follows the settings of the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnQuota {
    /// Bytes.
    pub bytes: Option<u64>,
    /// Objects and key sets.
    pub objects: Option<u64>,
    /// Jobs that are queued or running.
    pub jobs: Option<u64>,
}

/// A tenant as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantNote {
    /// The identity that the log has.
    pub id: String,
    /// The name.
    pub name: String,
    /// When it was made.
    pub created: i64,
    /// The quota.
    pub quota: Quota,
    /// The parts of the quota that are its own.
    pub own: OwnQuota,
    /// The amounts in use.
    pub used: Quota,
    /// Its tokens that have not expired.
    pub tokens: u64,
}

/// Puts the quotas in force into the rows of tenants, whose conditional updates need them there.
async fn apply(tx: &mut AnyConnection) -> Result<()> {
    let of = |column: &str| {
        format!(
            "max_{column} = COALESCE(own_{column},
                (SELECT q.{column} FROM quotas q WHERE q.guest = tenants.guest), max_{column})"
        )
    };
    let all = ["bytes", "objects", "jobs"].map(of).join(", ");
    sqlx::query(&format!("UPDATE tenants SET {all}")).execute(tx).await?;
    Ok(())
}

impl Database {
    /// Sets the quotas of tenants and of guests that have none of their own.
    ///
    /// # Errors
    /// The database fails.
    pub async fn set_quotas(&self, tenant: Quota, guest: Quota) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        sqlx::query("DELETE FROM quotas").execute(&mut *tx).await?;
        for (guest, quota) in [(0_i64, tenant), (1, guest)] {
            sqlx::query("INSERT INTO quotas VALUES ($1, $2, $3, $4)")
                .bind(guest)
                .bind(whole(quota.bytes))
                .bind(whole(quota.objects))
                .bind(whole(quota.jobs))
                .execute(&mut *tx)
                .await?;
        }
        apply(&mut tx).await?;
        tx.commit().await
    }

    /// Adds a tenant. Its quotas follow the settings of the service that ran last; those of
    /// `tenant` count for guests, and before a service has ever run.
    ///
    /// # Errors
    /// The database fails, or there is a tenant of this name.
    pub async fn add_tenant(&self, name: &str, tenant: &Tenant) -> Result<()> {
        self.add_tenant_with(name, tenant, OwnQuota::default()).await
    }

    /// Adds a tenant with quotas of its own.
    ///
    /// # Errors
    /// The database fails, or there is a tenant of this name.
    pub async fn add_tenant_with(&self, name: &str, tenant: &Tenant, own: OwnQuota) -> Result<()> {
        let Quota { bytes, objects, jobs } = tenant.quota;
        let mut tx = self.pool.begin().await?;
        sqlx::query(
            "INSERT INTO tenants (id, name, guest, created, expires, max_bytes, max_objects, max_jobs,
             own_bytes, own_objects, own_jobs, bytes, objects, jobs)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, 0, 0)",
        )
        .bind(&tenant.id)
        .bind(name)
        .bind(i64::from(tenant.guest))
        .bind(clock::now())
        .bind(tenant.expires)
        .bind(whole(bytes))
        .bind(whole(objects))
        .bind(whole(jobs))
        .bind(own.bytes.map(whole))
        .bind(own.objects.map(whole))
        .bind(own.jobs.map(whole))
        .execute(&mut *tx)
        .await?;
        // A guest has the quotas that its session told.
        if !tenant.guest {
            apply(&mut tx).await?;
            actions::note(&mut tx, "tenant add", name).await?;
        }
        tx.commit().await
    }

    /// The tenant of this name for people, who is not a guest.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>> {
        let row = sqlx::query("SELECT * FROM tenants WHERE name = $1 AND guest = 0");
        row.bind(name).fetch_optional(&self.pool).await?.map(|row| tenant(&row)).transpose()
    }

    /// All tenants but guests, by their names.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tenants(&self) -> Result<Vec<TenantNote>> {
        let rows = sqlx::query(
            "SELECT t.*, (SELECT COUNT(*) FROM tokens k WHERE k.tenant = t.id
                AND (k.expires IS NULL OR k.expires > $1)) AS tokens
             FROM tenants t WHERE t.guest = 0 ORDER BY t.name",
        );
        rows.bind(clock::now()).fetch_all(&self.pool).await?.iter().map(note).collect()
    }

    /// Gives a tenant these quotas of its own, in force at once.
    ///
    /// # Errors
    /// The database fails.
    pub async fn set_own_quota(&self, id: &str, name: &str, own: OwnQuota) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        sqlx::query("UPDATE tenants SET own_bytes = $1, own_objects = $2, own_jobs = $3 WHERE id = $4")
            .bind(own.bytes.map(whole))
            .bind(own.objects.map(whole))
            .bind(own.jobs.map(whole))
            .bind(id)
            .execute(&mut *tx)
            .await?;
        apply(&mut tx).await?;
        actions::note(&mut tx, "tenant set", name).await?;
        tx.commit().await
    }

    /// Gives a tenant another name.
    ///
    /// # Errors
    /// The database fails, or there is a tenant of this name.
    pub async fn rename_tenant(&self, id: &str, name: &str) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        let done = sqlx::query("UPDATE tenants SET name = $1 WHERE id = $2").bind(name).bind(id);
        done.execute(&mut *tx).await?;
        actions::note(&mut tx, "tenant set", name).await?;
        tx.commit().await
    }

    /// Takes the tokens from a tenant, and makes it a guest whose time has come: the service
    /// removes its jobs and objects, and then its row.
    ///
    /// # Errors
    /// The database fails.
    pub async fn dismiss_tenant(&self, id: &str, name: &str) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        let now = clock::now();
        sqlx::query("DELETE FROM tokens WHERE tenant = $1").bind(id).execute(&mut *tx).await?;
        for statement in [
            "UPDATE tenants SET guest = 1, expires = $1 WHERE id = $2",
            "UPDATE objects SET expires = $1 WHERE tenant = $2",
        ] {
            sqlx::query(statement).bind(now).bind(id).execute(&mut *tx).await?;
        }
        actions::note(&mut tx, "tenant remove", name).await?;
        tx.commit().await
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

pub(super) fn tenant(row: &AnyRow) -> Result<Tenant> {
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

fn note(row: &AnyRow) -> Result<TenantNote> {
    let own = |column: &str| {
        let own: Option<i64> = row.try_get(column)?;
        Result::Ok(own.map(|own| u64::try_from(own).unwrap_or_default()))
    };
    let Tenant { id, quota, .. } = tenant(row)?;
    Ok(TenantNote {
        id,
        name: row.try_get("name")?,
        created: row.try_get("created")?,
        quota,
        own: OwnQuota { bytes: own("own_bytes")?, objects: own("own_objects")?, jobs: own("own_jobs")? },
        used: Quota {
            bytes: count(row, "bytes")?,
            objects: count(row, "objects")?,
            jobs: count(row, "jobs")?,
        },
        tokens: count(row, "tokens")?,
    })
}
