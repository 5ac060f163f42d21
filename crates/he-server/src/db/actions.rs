//! Actions of operators beside the service, until the log of the service has told them.

use super::{Database, Result};
use crate::{clock, ids};
use sqlx::{AnyConnection, Row};

/// Something that an operator did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// When.
    pub at: i64,
    /// The account on its machine.
    pub operator: String,
    /// The command: `token add` and the like.
    pub action: String,
    /// To what.
    pub subject: String,
}

/// The account that runs this process.
fn operator() -> String {
    let account =
        ["SUDO_USER", "USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    format!("{}@{}", account.unwrap_or_else(|| "unknown".to_owned()), crate::folder::Holder::this().host)
}

/// Notes something that is done in the same transaction.
pub(super) async fn note(tx: &mut AnyConnection, action: &str, subject: &str) -> Result<()> {
    sqlx::query("INSERT INTO actions VALUES ($1, $2, $3, $4, $5)")
        .bind(ids::id().map_err(sqlx::Error::Io)?)
        .bind(clock::now())
        .bind(operator())
        .bind(action)
        .bind(subject)
        .execute(tx)
        .await?;
    Ok(())
}

impl Database {
    /// Takes out the actions that were noted, the oldest first.
    ///
    /// # Errors
    /// The database fails.
    pub async fn take_actions(&self) -> Result<Vec<Action>> {
        let rows = sqlx::query("SELECT * FROM actions ORDER BY at, id LIMIT 1000");
        let rows = rows.fetch_all(&self.pool).await?;
        let mut actions = Vec::new();
        for row in rows {
            let id: String = row.try_get("id")?;
            let done = sqlx::query("DELETE FROM actions WHERE id = $1").bind(id).execute(&self.pool).await?;
            if done.rows_affected() == 1 {
                actions.push(Action {
                    at: row.try_get("at")?,
                    operator: row.try_get("operator")?,
                    action: row.try_get("action")?,
                    subject: row.try_get("subject")?,
                });
            }
        }
        Ok(actions)
    }
}
