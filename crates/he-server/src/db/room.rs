//! The room that is left: the quotas of a tenant, and what the guests of one address hold together.

use super::{Database, Object, Result, count, whole};
use crate::settings::Quota;
use sqlx::{AnyConnection, Row};

/// Bounds beside those that the row of a tenant has.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Uploads that are not complete, of a tenant and of a guest.
    pub uploads: (u64, u64),
    /// The quota of the guests of one address together.
    pub address: Quota,
    /// Their uploads that are not complete.
    pub address_uploads: u64,
    /// The guests of one address.
    pub address_sessions: u64,
    /// Jobs that have ended and are kept, of a tenant or of the guests of one address.
    pub kept_jobs: u64,
}

impl Bounds {
    /// None.
    pub const NONE: Self = Self {
        uploads: (u64::MAX, u64::MAX),
        address: Quota { bytes: u64::MAX, objects: u64::MAX, jobs: u64::MAX },
        address_uploads: u64::MAX,
        address_sessions: u64::MAX,
        kept_jobs: u64::MAX,
    };
}

/// A quota that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full {
    /// The name of the quota: `bytes`, `objects`, `jobs` or `uploads`.
    pub what: &'static str,
    /// The amount in use, with the amount that is asked for.
    pub needed: u64,
    /// The amount that is allowed.
    pub of: u64,
    /// Whether the guests of one address hold it together.
    pub shared: bool,
}

/// Whether there was room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// There was, and it is taken.
    Taken,
    /// There was not.
    Full(Full),
}

/// The bytes, objects and jobs of a tenant.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    objects: u64,
    jobs: u64,
}

fn held(row: &sqlx::any::AnyRow) -> Result<Held> {
    Ok(Held { bytes: count(row, "bytes")?, objects: count(row, "objects")?, jobs: count(row, "jobs")? })
}

impl Held {
    fn beyond(self, quota: Quota, shared: bool) -> Room {
        let all = [
            ("bytes", self.bytes, quota.bytes),
            ("objects", self.objects, quota.objects),
            ("jobs", self.jobs, quota.jobs),
        ];
        let full = all.into_iter().find(|(_, needed, of)| needed > of);
        full.map_or(Room::Taken, |(what, needed, of)| Room::Full(Full { what, needed, of, shared }))
    }
}

/// The address whose guest a tenant is.
pub(super) async fn address_of(tx: &mut AnyConnection, tenant: &str) -> Result<Option<String>> {
    let row = sqlx::query("SELECT address FROM guests WHERE tenant = $1").bind(tenant);
    row.fetch_optional(tx).await?.map(|row| row.try_get("address")).transpose()
}

/// Makes others wait who change what the guests of an address hold, until the transaction ends.
pub(super) async fn lock(tx: &mut AnyConnection, address: &str) -> Result<()> {
    let statement = "INSERT INTO addresses VALUES ($1, 1)
         ON CONFLICT (address) DO UPDATE SET turn = addresses.turn + 1";
    sqlx::query(statement).bind(address).execute(tx).await.map(|_| ())
}

/// The amounts that the guests of an address hold, with those that a transaction has taken so far.
async fn shared(tx: &mut AnyConnection, bounds: &Bounds, tenant: &str) -> Result<(Room, Option<String>)> {
    let Some(address) = address_of(tx, tenant).await? else { return Ok((Room::Taken, None)) };
    lock(tx, &address).await?;
    let row = sqlx::query(
        "SELECT CAST(COALESCE(SUM(t.bytes), 0) AS BIGINT) AS bytes,
            CAST(COALESCE(SUM(t.objects), 0) AS BIGINT) AS objects,
            CAST(COALESCE(SUM(t.jobs), 0) AS BIGINT) AS jobs
         FROM guests g JOIN tenants t ON t.id = g.tenant WHERE g.address = $1",
    );
    let row = row.bind(&address).fetch_one(&mut *tx).await?;
    Ok((held(&row)?.beyond(bounds.address, true), Some(address)))
}

/// The amounts that a tenant would hold with more, against its quotas.
async fn own(tx: &mut AnyConnection, tenant: &str, more: Held) -> Result<Room> {
    let row = sqlx::query("SELECT * FROM tenants WHERE id = $1").bind(tenant).fetch_one(tx).await?;
    let now = held(&row)?;
    let then = Held {
        bytes: now.bytes.saturating_add(more.bytes),
        objects: now.objects + more.objects,
        jobs: now.jobs + more.jobs,
    };
    let quota = Quota {
        bytes: count(&row, "max_bytes")?,
        objects: count(&row, "max_objects")?,
        jobs: count(&row, "max_jobs")?,
    };
    Ok(then.beyond(quota, false))
}

/// Counts an object more, unless that exceeds a quota; what was changed must be rolled back then.
pub(super) async fn take_object(tx: &mut AnyConnection, bounds: &Bounds, object: &Object) -> Result<Room> {
    let (tenant, bytes) = (&*object.tenant, whole(object.bytes));
    let done = sqlx::query(
        "UPDATE tenants SET bytes = bytes + $1, objects = objects + 1
         WHERE id = $2 AND bytes + $3 <= max_bytes AND objects < max_objects",
    );
    let done = done.bind(bytes).bind(tenant).bind(bytes).execute(&mut *tx).await?;
    if done.rows_affected() == 0 {
        let full = own(tx, tenant, Held { bytes: object.bytes, objects: 1, jobs: 0 }).await?;
        let none = Full { what: "objects", needed: 1, of: 0, shared: false };
        return Ok(if full == Room::Taken { Room::Full(none) } else { full });
    }
    let (room, address) = shared(tx, bounds, tenant).await?;
    if room != Room::Taken || object.ready {
        return Ok(room);
    }
    let most = if address.is_some() { bounds.uploads.1 } else { bounds.uploads.0 };
    let unfinished = sqlx::query("SELECT COUNT(*) AS n FROM objects WHERE tenant = $1 AND ready = 0");
    let needed = count(&unfinished.bind(tenant).fetch_one(&mut *tx).await?, "n")? + 1;
    if needed > most {
        return Ok(Room::Full(Full { what: "uploads", needed, of: most, shared: false }));
    }
    let Some(address) = address else { return Ok(room) };
    let unfinished = sqlx::query(
        "SELECT COUNT(*) AS n FROM guests g JOIN objects o ON o.tenant = g.tenant AND o.ready = 0
         WHERE g.address = $1",
    );
    let needed = count(&unfinished.bind(&address).fetch_one(&mut *tx).await?, "n")? + 1;
    let of = bounds.address_uploads;
    Ok(match needed > of {
        true => Room::Full(Full { what: "uploads", needed, of, shared: true }),
        false => Room::Taken,
    })
}

/// Counts an object less.
pub(super) async fn give_object_back(tx: &mut AnyConnection, tenant: &str, bytes: u64) -> Result<()> {
    let done = sqlx::query("UPDATE tenants SET bytes = bytes - $1, objects = objects - 1 WHERE id = $2");
    done.bind(whole(bytes)).bind(tenant).execute(tx).await?;
    Ok(())
}

/// Counts a job more, unless that exceeds a quota; what was changed must be rolled back then.
pub(super) async fn take_job(tx: &mut AnyConnection, bounds: &Bounds, tenant: &str) -> Result<Room> {
    let taken = sqlx::query("UPDATE tenants SET jobs = jobs + 1 WHERE id = $1 AND jobs < max_jobs");
    if taken.bind(tenant).execute(&mut *tx).await?.rows_affected() == 0 {
        let row = sqlx::query("SELECT jobs, max_jobs FROM tenants WHERE id = $1").bind(tenant);
        let row = row.fetch_one(tx).await?;
        let (needed, of) = (count(&row, "jobs")? + 1, count(&row, "max_jobs")?);
        return Ok(Room::Full(Full { what: "jobs", needed, of, shared: false }));
    }
    Ok(shared(tx, bounds, tenant).await?.0)
}

impl Database {
    /// The quota that leaves no room for an object, if there is none.
    ///
    /// # Errors
    /// The database fails.
    pub async fn room_for(&self, object: &Object) -> Result<Room> {
        // Never committed.
        let mut tx = self.pool.begin().await?;
        take_object(&mut tx, &self.bounds, object).await
    }
}
