//! Tokens, by their hashes: whose they are, until when, and when they were used last.

use super::{Database, Result, Tenant, actions, tenants};
use crate::clock;
use sqlx::Row;
use sqlx::any::AnyRow;

/// The last use of a token is written down at most once in so many milliseconds.
const COARSE: i64 = 60_000;

/// A token to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewToken<'a> {
    /// The hash of the token.
    pub hash: &'a str,
    /// Its name, by which it is revoked.
    pub id: &'a str,
    /// The tenant that it belongs to.
    pub tenant: &'a str,
    /// The purpose, in the operator's words.
    pub label: Option<&'a str>,
    /// When it ends.
    pub expires: Option<i64>,
}

/// A token, without the token.
#[derive(Clone, Debug)]
pub struct TokenNote {
    /// Its name, by which it is revoked.
    pub id: String,
    /// The name of its tenant, for people.
    pub tenant: String,
    /// The purpose.
    pub label: Option<String>,
    /// When it was made.
    pub created: i64,
    /// When it ends, or has ended.
    pub expires: Option<i64>,
    /// When it was used last, to the minute.
    pub used: Option<i64>,
}

/// The tenant of a token, and the token that showed it.
#[derive(Clone, Debug)]
pub struct Known {
    /// The tenant.
    pub tenant: Tenant,
    /// Its name, for people.
    pub name: String,
    /// The name of the token.
    pub token: String,
}

impl Database {
    /// Adds a token. `by_operator` is noted for the log.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_token(&self, new: NewToken<'_>, by_operator: Option<&str>) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        sqlx::query(
            "INSERT INTO tokens (hash, id, tenant, created, label, expires) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(new.hash)
        .bind(new.id)
        .bind(new.tenant)
        .bind(clock::now())
        .bind(new.label)
        .bind(new.expires)
        .execute(&mut *tx)
        .await?;
        if let Some(subject) = by_operator {
            actions::note(&mut tx, "token add", subject).await?;
        }
        tx.commit().await
    }

    /// The tokens of all tenants but guests.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tokens(&self) -> Result<Vec<TokenNote>> {
        let rows = sqlx::query(
            "SELECT k.id, t.name, k.label, k.created, k.expires, k.used
             FROM tokens k JOIN tenants t ON t.id = k.tenant
             WHERE t.guest = 0 ORDER BY t.name, k.created, k.id",
        );
        let note = |row: &AnyRow| {
            Ok(TokenNote {
                id: row.try_get(0)?,
                tenant: row.try_get(1)?,
                label: row.try_get(2)?,
                created: row.try_get(3)?,
                expires: row.try_get(4)?,
                used: row.try_get(5)?,
            })
        };
        rows.fetch_all(&self.pool).await?.iter().map(note).collect()
    }

    /// Removes a token. Whether there was one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn revoke(&self, id: &str) -> Result<bool> {
        let mut tx = self.pool.begin().await?;
        let done = sqlx::query("DELETE FROM tokens WHERE id = $1").bind(id).execute(&mut *tx).await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        actions::note(&mut tx, "token revoke", id).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The tenant of a token, by its hash, if neither has expired.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tenant_of(&self, hash: &str) -> Result<Option<Known>> {
        let now = clock::now();
        let row = sqlx::query(
            "SELECT t.*, g.address, k.id AS token, k.used
             FROM tokens k JOIN tenants t ON t.id = k.tenant LEFT JOIN guests g ON g.tenant = t.id
             WHERE k.hash = $1 AND (t.expires IS NULL OR t.expires > $2)
             AND (k.expires IS NULL OR k.expires > $3)",
        );
        let row = row.bind(hash).bind(now).bind(now).fetch_optional(&self.readers).await?;
        let Some(row) = row else { return Ok(None) };
        let known = Known {
            tenant: tenants::tenant(&row)?,
            name: row.try_get("name")?,
            token: row.try_get("token")?,
        };
        let used: Option<i64> = row.try_get("used")?;
        if !known.tenant.guest && used.is_none_or(|used| now - used >= COARSE) {
            let noted = sqlx::query("UPDATE tokens SET used = $1 WHERE hash = $2");
            // The request is answered even if this cannot be written.
            if let Err(error) = noted.bind(now).bind(hash).execute(&self.pool).await {
                tracing::warn!(%error, "the use of a token could not be written down");
            }
        }
        Ok(Some(known))
    }
}
