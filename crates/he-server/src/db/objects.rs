//! Objects: encrypted files and key sets, complete or on their way.

use super::room::{self, Bounds, Room};
use super::{Database, Result, count, whole};
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
    /// Segments of encrypted vectors.
    Index,
}

impl Kind {
    const ALL: [Self; 3] = [Self::KeySet, Self::Object, Self::Index];

    /// Its name in answers and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeySet => "key-set",
            Self::Object => "object",
            Self::Index => "index",
        }
    }

    /// Its route.
    pub fn route(self) -> &'static str {
        match self {
            Self::KeySet => "/v1/key-sets",
            Self::Object => "/v1/objects",
            Self::Index => "/v1/indexes",
        }
    }
}

/// A stored file.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub id: String,
    /// The tenant that it belongs to.
    pub tenant: String,
    /// The kind of object.
    pub kind: Kind,
    /// Whether all of it has arrived and was found to be valid.
    pub ready: bool,
    /// Its bytes when complete.
    pub bytes: u64,
    /// When it was made.
    pub created: i64,
    /// When it is removed.
    pub expires: Option<i64>,
    /// The description in its file, if that is known here: reading an object leaves it out, for it
    /// may have a megabyte.
    pub info: Value,
}

impl Object {
    /// The resource.
    pub fn json(&self) -> Value {
        let mut whole = self.summary();
        whole["info"] = self.info.clone();
        whole
    }

    /// The resource with what it says of itself, in JSON, as the database has it.
    pub fn with_info(&self, info: &str) -> String {
        let mut text = self.summary().to_string();
        text.pop();
        text + ",\"info\":" + info + "}"
    }

    /// The resource in lists: without what it says of itself.
    pub fn summary(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind.name(),
            "state": if self.ready { "ready" } else { "uploading" },
            "bytes": self.bytes,
            "created": clock::text(self.created),
            "expires": self.expires.map(clock::text),
        })
    }
}

fn object(row: &AnyRow) -> Result<Object> {
    let kind: String = row.try_get("kind")?;
    Ok(Object {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant")?,
        kind: Kind::ALL.into_iter().find(|known| known.name() == kind).unwrap_or(Kind::Object),
        ready: row.try_get::<i64, _>("ready")? != 0,
        bytes: count(row, "bytes")?,
        created: row.try_get("created")?,
        expires: row.try_get("expires")?,
        info: Value::Null,
    })
}

/// Adds an object and counts it, if the quotas have room for it.
pub(super) async fn insert(tx: &mut AnyConnection, bounds: &Bounds, object: &Object) -> Result<Room> {
    let room = room::take_object(tx, bounds, object).await?;
    if room != Room::Taken {
        return Ok(room);
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
    Ok(room)
}

/// Notes that a job or an index uses an object.
pub(super) async fn add_use(tx: &mut AnyConnection, user: &str, object: &str) -> Result<()> {
    let statement = "INSERT INTO uses VALUES ($1, $2) ON CONFLICT DO NOTHING";
    sqlx::query(statement).bind(user).bind(object).execute(tx).await.map(|_| ())
}

/// The columns of an object but the last.
const COLUMNS: &str = "id, tenant, kind, ready, bytes, created, expires";

impl Database {
    /// Adds an object, if the quotas have room for it.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_object(&self, object: &Object) -> Result<Room> {
        let mut tx = self.pool.begin().await?;
        let room = insert(&mut tx, &self.bounds, object).await?;
        if room == Room::Taken {
            tx.commit().await?;
        }
        Ok(room)
    }

    /// The object of this name and kind, if it is the tenant's.
    ///
    /// # Errors
    /// The database fails.
    pub async fn object(&self, tenant: &str, kind: Kind, id: &str) -> Result<Option<Object>> {
        let text = format!("SELECT {COLUMNS} FROM objects WHERE id = $1 AND tenant = $2 AND kind = $3");
        let row = sqlx::query(&text).bind(id).bind(tenant).bind(kind.name());
        row.fetch_optional(&self.readers).await?.map(|row| object(&row)).transpose()
    }

    /// The description in an object's file, in JSON.
    ///
    /// # Errors
    /// The database fails.
    pub async fn info(&self, id: &str) -> Result<Option<String>> {
        let row = sqlx::query("SELECT info FROM objects WHERE id = $1").bind(id);
        row.fetch_optional(&self.readers).await?.map(|row| row.try_get("info")).transpose()
    }

    /// So many objects of a kind behind this one, in the order of their names, which are random:
    /// all, or those that are ready or are not.
    ///
    /// # Errors
    /// The database fails.
    pub async fn objects(
        &self,
        tenant: &str,
        kind: Kind,
        (after, most): (&str, u32),
        ready: Option<bool>,
    ) -> Result<Vec<Object>> {
        let which = match ready {
            None => "",
            Some(true) => "AND ready = 1",
            Some(false) => "AND ready = 0",
        };
        let text = format!(
            "SELECT {COLUMNS} FROM objects WHERE tenant = $1 AND kind = $2 AND id > $3 {which}
             ORDER BY id LIMIT $4"
        );
        let rows = sqlx::query(&text).bind(tenant).bind(kind.name()).bind(after).bind(i64::from(most));
        rows.fetch_all(&self.readers).await?.iter().map(object).collect()
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

    /// Adds an index, which uses these objects, if the quotas have room for it.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_index(&self, index: &Object, uses: &[&str]) -> Result<Room> {
        let mut tx = self.pool.begin().await?;
        let room = insert(&mut tx, &self.bounds, index).await?;
        if room == Room::Taken {
            for object in uses {
                add_use(&mut tx, &index.id, object).await?;
            }
            tx.commit().await?;
        }
        Ok(room)
    }

    /// Changes the description of an index from what it was, if that is what it still is and the
    /// quotas have room for the new one. It uses this object, too, from then on. `None` if it was
    /// another description.
    ///
    /// # Errors
    /// The database fails.
    pub async fn change_index(&self, was: &str, now: &Object, uses: Option<&str>) -> Result<Option<Room>> {
        let mut tx = self.pool.begin().await?;
        let old = sqlx::query("SELECT bytes FROM objects WHERE id = $1").bind(&now.id);
        let Some(old) = old.fetch_optional(&mut *tx).await? else { return Ok(None) };
        let done = sqlx::query("UPDATE objects SET info = $1, bytes = $2 WHERE id = $3 AND info = $4");
        let done = done.bind(now.info.to_string()).bind(whole(now.bytes)).bind(&now.id).bind(was);
        if done.execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(None);
        }
        room::give_object_back(&mut tx, &now.tenant, count(&old, "bytes")?).await?;
        let room = room::take_object(&mut tx, &self.bounds, now).await?;
        if room == Room::Taken {
            if let Some(object) = uses {
                add_use(&mut tx, &now.id, object).await?;
            }
            tx.commit().await?;
        }
        Ok(Some(room))
    }

    /// Removes an object, unless an index or a job that has not ended uses it. Whether it is gone.
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
        if object.kind == Kind::Index {
            sqlx::query("DELETE FROM uses WHERE job = $1").bind(&object.id).execute(&mut *tx).await?;
        }
        room::give_object_back(&mut tx, &object.tenant, object.bytes).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Objects whose time has come, and which nothing uses: segments go after their index.
    ///
    /// # Errors
    /// The database fails.
    pub async fn expired_objects(&self) -> Result<Vec<Object>> {
        let text = format!(
            "SELECT {COLUMNS} FROM objects WHERE expires <= $1
             AND NOT EXISTS (SELECT 1 FROM uses u WHERE u.object = objects.id) LIMIT 100"
        );
        sqlx::query(&text).bind(clock::now()).fetch_all(&self.readers).await?.iter().map(object).collect()
    }

    /// Uploads that are not complete.
    ///
    /// # Errors
    /// The database fails.
    pub async fn uploads(&self) -> Result<Vec<Object>> {
        let text = format!("SELECT {COLUMNS} FROM objects WHERE ready = 0");
        sqlx::query(&text).fetch_all(&self.readers).await?.iter().map(object).collect()
    }
}
