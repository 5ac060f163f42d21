//! Objects: encrypted files and key sets, complete or on their way.

use super::{Database, Result, count, tenants, whole};
use crate::clock;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

/// The kinds of objects, which have routes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Keys that compute.
    KeySet,
    /// An encrypted file.
    Object,
}

impl Kind {
    /// Its name in answers and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeySet => "key-set",
            Self::Object => "object",
        }
    }

    /// Its route.
    pub fn route(self) -> &'static str {
        match self {
            Self::KeySet => "/v1/key-sets",
            Self::Object => "/v1/objects",
        }
    }
}

/// A stored file.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// What it is.
    pub kind: Kind,
    /// Whether all of it has arrived and was found to be valid.
    pub ready: bool,
    /// Its bytes when complete.
    pub bytes: u64,
    /// When it was made.
    pub created: i64,
    /// When it is removed.
    pub expires: Option<i64>,
    /// What it says of itself.
    pub info: Value,
}

impl Object {
    /// The resource.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind.name(),
            "state": if self.ready { "ready" } else { "uploading" },
            "bytes": self.bytes,
            "created": clock::text(self.created),
            "expires": self.expires.map(clock::text),
            "info": self.info,
        })
    }
}

fn object(row: &AnyRow) -> Result<Object> {
    let kind: String = row.try_get("kind")?;
    let info: String = row.try_get("info")?;
    Ok(Object {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant")?,
        kind: if kind == Kind::KeySet.name() { Kind::KeySet } else { Kind::Object },
        ready: row.try_get::<i64, _>("ready")? != 0,
        bytes: count(row, "bytes")?,
        created: row.try_get("created")?,
        expires: row.try_get("expires")?,
        info: serde_json::from_str(&info).unwrap_or_default(),
    })
}

/// Adds an object and counts it, if the quota of its tenant has room for it.
pub(super) async fn insert(tx: &mut AnyConnection, object: &Object) -> Result<bool> {
    if !tenants::take(tx, &object.tenant, whole(object.bytes)).await? {
        return Ok(false);
    }
    sqlx::query("INSERT INTO objects VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
        .bind(&object.id)
        .bind(&object.tenant)
        .bind(object.kind.name())
        .bind(i64::from(object.ready))
        .bind(whole(object.bytes))
        .bind(object.created)
        .bind(object.expires)
        .bind(object.info.to_string())
        .execute(tx)
        .await?;
    Ok(true)
}

impl Database {
    /// Adds an object, if the quota of its tenant has room for it.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_object(&self, object: &Object) -> Result<bool> {
        let mut tx = self.pool.begin().await?;
        if !insert(&mut tx, object).await? {
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    }

    /// The object of this name and kind, if it is the tenant's.
    ///
    /// # Errors
    /// The database fails.
    pub async fn object(&self, tenant: &str, kind: Kind, id: &str) -> Result<Option<Object>> {
        let row = sqlx::query("SELECT * FROM objects WHERE id = $1 AND tenant = $2 AND kind = $3");
        let row = row.bind(id).bind(tenant).bind(kind.name()).fetch_optional(&self.pool).await?;
        row.map(|row| object(&row)).transpose()
    }

    /// So many objects of a kind behind this one, in the order of their names, which are random.
    ///
    /// # Errors
    /// The database fails.
    pub async fn objects(&self, tenant: &str, kind: Kind, after: &str, most: u32) -> Result<Vec<Object>> {
        let rows = sqlx::query(
            "SELECT * FROM objects WHERE tenant = $1 AND kind = $2 AND id > $3 ORDER BY id LIMIT $4",
        );
        let rows = rows.bind(tenant).bind(kind.name()).bind(after).bind(i64::from(most));
        rows.fetch_all(&self.pool).await?.iter().map(object).collect()
    }

    /// An upload has become an object.
    ///
    /// # Errors
    /// The database fails.
    pub async fn set_ready(&self, id: &str, expires: Option<i64>, info: &Value) -> Result<()> {
        sqlx::query("UPDATE objects SET ready = 1, expires = $1, info = $2 WHERE id = $3")
            .bind(expires)
            .bind(info.to_string())
            .bind(id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Removes an object, unless a job that has not ended uses it. Whether it is gone.
    ///
    /// # Errors
    /// The database fails.
    pub async fn remove_object(&self, object: &Object) -> Result<bool> {
        let mut tx = self.pool.begin().await?;
        let done = sqlx::query(
            "DELETE FROM objects WHERE id = $1
             AND NOT EXISTS (SELECT 1 FROM uses u WHERE u.object = $2)",
        );
        if done.bind(&object.id).bind(&object.id).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        tenants::give_back(&mut tx, &object.tenant, whole(object.bytes)).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Objects whose time has come.
    ///
    /// # Errors
    /// The database fails.
    pub async fn expired_objects(&self) -> Result<Vec<Object>> {
        let rows = sqlx::query("SELECT * FROM objects WHERE expires <= $1 LIMIT 100");
        rows.bind(clock::now()).fetch_all(&self.pool).await?.iter().map(object).collect()
    }

    /// Uploads that are not complete.
    ///
    /// # Errors
    /// The database fails.
    pub async fn uploads(&self) -> Result<Vec<Object>> {
        let rows = sqlx::query("SELECT * FROM objects WHERE ready = 0");
        rows.fetch_all(&self.pool).await?.iter().map(object).collect()
    }
}
