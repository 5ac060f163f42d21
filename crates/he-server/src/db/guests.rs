//! Guests: whose address they came from, and how many of one address there are.

use super::{Database, Result, Tenant, count, room};
use crate::clock;
use crate::queue::Owner;
use sqlx::{AnyConnection, Row};

/// A guest that holds nothing makes room for others after this time.
const UNUSED: i64 = 30 * 60_000;

/// Removes a tenant and what belongs to it, but objects.
pub(super) async fn remove(tx: &mut AnyConnection, tenant: &str) -> Result<()> {
    for table in ["tokens", "idempotency_keys", "long_requests", "traces", "jobs", "guests"] {
        let of = format!("DELETE FROM {table} WHERE tenant = $1");
        sqlx::query(&of).bind(tenant).execute(&mut *tx).await?;
    }
    sqlx::query("DELETE FROM tenants WHERE id = $1").bind(tenant).execute(&mut *tx).await?;
    Ok(())
}

impl Database {
    /// Adds a guest of an address, if there are not too many of it: then the oldest gives way that
    /// holds nothing. Whether it was added.
    ///
    /// # Errors
    /// The database fails.
    pub async fn add_guest(&self, tenant: &Tenant, address: &str) -> Result<bool> {
        self.add_tenant("guest", tenant).await?;
        let mut tx = self.pool.begin().await?;
        room::lock(&mut tx, address).await?;
        let guests = sqlx::query("SELECT COUNT(*) AS n FROM guests WHERE address = $1").bind(address);
        let mut added = count(&guests.fetch_one(&mut *tx).await?, "n")? < self.bounds.address_sessions;
        if !added {
            let unused = sqlx::query(
                "SELECT t.id FROM guests g JOIN tenants t ON t.id = g.tenant
                 WHERE g.address = $1 AND t.objects = 0 AND t.jobs = 0 AND t.created < $2
                 ORDER BY t.created LIMIT 1",
            );
            let unused = unused.bind(address).bind(clock::now() - UNUSED).fetch_optional(&mut *tx).await?;
            if let Some(row) = unused {
                remove(&mut tx, row.try_get("id")?).await?;
                added = true;
            }
        }
        match added {
            true => {
                let guest = sqlx::query("INSERT INTO guests VALUES ($1, $2)");
                guest.bind(&tenant.id).bind(address).execute(&mut *tx).await?;
            }
            false => remove(&mut tx, &tenant.id).await?,
        }
        tx.commit().await?;
        Ok(added)
    }

    /// The address whose guest a tenant is.
    ///
    /// # Errors
    /// The database fails.
    pub async fn address_of(&self, tenant: &str) -> Result<Option<String>> {
        room::address_of(&mut *self.readers.acquire().await?, tenant).await
    }

    /// The owner of a tenant's jobs: those of one that is gone are a guest's.
    ///
    /// # Errors
    /// The database fails.
    pub async fn owner_of(&self, tenant: &str) -> Result<Owner> {
        let found = sqlx::query(
            "SELECT tenants.guest, guests.address FROM tenants
             LEFT JOIN guests ON guests.tenant = tenants.id WHERE tenants.id = $1",
        );
        let Some(row) = found.bind(tenant).fetch_optional(&self.readers).await? else {
            return Ok(Owner::guest(tenant, None));
        };
        match row.try_get::<i64, _>("guest")? {
            0 => Ok(Owner::tenant(tenant)),
            _ => Ok(Owner::guest(tenant, row.try_get::<Option<String>, _>("address")?.as_deref())),
        }
    }

    /// Whether there are tenants that are not guests.
    ///
    /// # Errors
    /// The database fails.
    pub async fn has_tenants(&self) -> Result<bool> {
        let row = sqlx::query("SELECT id FROM tenants WHERE guest = 0 LIMIT 1");
        Ok(row.fetch_optional(&self.readers).await?.is_some())
    }

    /// Removes guests whose time has come and who hold nothing any more.
    ///
    /// # Errors
    /// The database fails.
    pub async fn remove_guests(&self) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        // A change first: SQLite then has the right to write before it reads.
        let unused = "DELETE FROM addresses WHERE address NOT IN (SELECT address FROM guests)";
        sqlx::query(unused).execute(&mut *tx).await?;
        let gone = sqlx::query(
            "SELECT id FROM tenants WHERE guest = 1 AND expires <= $1 AND objects = 0 AND jobs = 0",
        );
        for row in gone.bind(clock::now()).fetch_all(&mut *tx).await? {
            remove(&mut tx, row.try_get("id")?).await?;
        }
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Added, Bounds, Full, Kind, NewJob, Object, Room};
    use super::*;
    use crate::settings::Quota;
    use serde_json::Value;

    const BOUNDS: Bounds = Bounds {
        uploads: (3, 2),
        address: Quota { bytes: 100, objects: 4, jobs: 2 },
        address_uploads: 3,
        address_sessions: 3,
        kept_jobs: 1000,
    };

    fn tenant(id: &str, guest: bool) -> Tenant {
        let quota = Quota { bytes: 80, objects: 3, jobs: 9 };
        Tenant { id: id.to_owned(), guest, expires: guest.then_some(i64::MAX), quota, address: None }
    }

    async fn database() -> Database {
        let db = Database::open("sqlite::memory:").await.unwrap().bounded(BOUNDS);
        for (id, address) in [("a", "1"), ("b", "1"), ("c", "2")] {
            assert!(db.add_guest(&tenant(id, true), address).await.unwrap());
        }
        db.add_tenant("t", &tenant("t", false)).await.unwrap();
        db
    }

    fn object(tenant: &str, id: &str, bytes: u64, ready: bool) -> Object {
        let (id, tenant, kind) = (id.to_owned(), tenant.to_owned(), Kind::Object);
        Object { id, tenant, kind, ready, bytes, created: 0, expires: None, info: Value::Null }
    }

    fn full(what: &'static str, needed: u64, of: u64, shared: bool) -> Room {
        Room::Full(Full { what, needed, of, shared })
    }

    #[tokio::test]
    async fn guests_of_one_address_share_a_quota() {
        let db = database().await;
        let add = async |tenant, id, bytes| db.add_object(&object(tenant, id, bytes, true)).await.unwrap();
        assert_eq!(add("a", "1", 60).await, Room::Taken);
        assert_eq!(add("a", "2", 30).await, full("bytes", 90, 80, false));
        assert_eq!(add("b", "3", 50).await, full("bytes", 110, 100, true));
        assert_eq!(add("c", "4", 50).await, Room::Taken);
        assert_eq!(add("t", "5", 80).await, Room::Taken);
        // A refusal takes nothing.
        assert_eq!(add("b", "6", 40).await, Room::Taken);
        assert!(db.remove_object(&object("a", "1", 60, true)).await.unwrap());
        for id in ["7", "8", "9"] {
            assert_eq!(add("a", id, 1).await, Room::Taken);
        }
        assert_eq!(add("a", "10", 1).await, full("objects", 4, 3, false));
        assert_eq!(add("b", "11", 1).await, full("objects", 5, 4, true));
        let job = async |tenant, id| {
            let new = NewJob { id, tenant, request: &Value::Null, key: None, uses: vec![] };
            db.add_job(new).await.unwrap()
        };
        assert_eq!(job("a", "1").await, Added::Queued);
        assert_eq!(job("b", "2").await, Added::Queued);
        let Room::Full(jobs) = full("jobs", 3, 2, true) else { panic!() };
        assert_eq!(job("b", "3").await, Added::Full(jobs));
        assert_eq!(job("c", "4").await, Added::Queued);
        assert_eq!(db.usage("b").await.unwrap(), (40, 1, 1));
    }

    #[tokio::test]
    async fn unfinished_uploads_are_bounded() {
        let db = database().await;
        let add = async |tenant, id| db.add_object(&object(tenant, id, 1, false)).await.unwrap();
        assert_eq!([add("a", "1").await, add("a", "2").await], [Room::Taken, Room::Taken]);
        assert_eq!(add("a", "3").await, full("uploads", 3, 2, false));
        assert_eq!(add("b", "4").await, Room::Taken);
        assert_eq!(add("b", "5").await, full("uploads", 4, 3, true));
        db.set_ready("1", None, &Value::Null).await.unwrap();
        assert_eq!(add("b", "6").await, Room::Taken);
        for id in ["7", "8", "9"] {
            assert_eq!(add("t", id).await, Room::Taken);
        }
    }

    #[tokio::test]
    async fn guests_are_bounded_and_the_oldest_that_holds_nothing_gives_way() {
        let db = database().await;
        assert!(db.add_guest(&tenant("d", true), "1").await.unwrap());
        assert!(!db.add_guest(&tenant("e", true), "1").await.unwrap());
        assert!(db.add_guest(&tenant("f", true), "2").await.unwrap());
        let exists = async |id: &str| {
            let row = sqlx::query("SELECT 1 FROM tenants WHERE id = $1").bind(id);
            row.fetch_optional(&db.pool).await.unwrap().is_some()
        };
        assert!(!exists("e").await);
        db.add_object(&object("a", "1", 1, true)).await.unwrap();
        sqlx::query("UPDATE tenants SET created = 0 WHERE id IN ('a', 'b')").execute(&db.pool).await.unwrap();
        assert!(db.add_guest(&tenant("e", true), "1").await.unwrap());
        assert!(exists("a").await && !exists("b").await && exists("d").await && exists("e").await);
        assert!(!db.add_guest(&tenant("g", true), "1").await.unwrap());
    }
}
