//! The tables, by versions. A database is brought up to date at the start of the service, one
//! transaction per version; what it is at stands in `schema_version`.
//!
//! Statements are those that SQLite and PostgreSQL both understand. The statements of a version
//! that was released never change: a later one adds to them.

use super::Database;
use crate::clock;
use sqlx::{AnyConnection, Row};

/// The statements of every version, the first of which is 1. Databases made before versions were
/// counted are of version 1, which is why its statements may find their tables there.
const VERSIONS: [&[&str]; 3] = [
    &[
        "CREATE TABLE IF NOT EXISTS tenants (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, guest BIGINT NOT NULL, created BIGINT NOT NULL,
            expires BIGINT, max_bytes BIGINT NOT NULL, max_objects BIGINT NOT NULL,
            max_jobs BIGINT NOT NULL, bytes BIGINT NOT NULL, objects BIGINT NOT NULL,
            jobs BIGINT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS tokens (
            hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL REFERENCES tenants(id),
            created BIGINT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS objects (
            id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id), kind TEXT NOT NULL,
            ready BIGINT NOT NULL, bytes BIGINT NOT NULL, created BIGINT NOT NULL, expires BIGINT,
            info TEXT NOT NULL)",
        "CREATE INDEX IF NOT EXISTS objects_of_tenants ON objects (tenant, kind, id)",
        "CREATE TABLE IF NOT EXISTS jobs (
            id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id), request TEXT NOT NULL,
            state TEXT NOT NULL, done BIGINT NOT NULL, steps BIGINT NOT NULL, starts BIGINT NOT NULL,
            result TEXT, error TEXT, created BIGINT NOT NULL, started BIGINT, finished BIGINT)",
        "CREATE INDEX IF NOT EXISTS jobs_of_tenants ON jobs (tenant, id)",
        "CREATE TABLE IF NOT EXISTS uses (job TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY (job, object))",
        "CREATE TABLE IF NOT EXISTS idempotency_keys (
            tenant TEXT NOT NULL, name TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (tenant, name))",
    ],
    &[
        // A tenant has quotas of its own, or follows the settings of the service.
        "ALTER TABLE tenants ADD COLUMN own_bytes BIGINT",
        "ALTER TABLE tenants ADD COLUMN own_objects BIGINT",
        "ALTER TABLE tenants ADD COLUMN own_jobs BIGINT",
        "CREATE TABLE quotas (
            guest BIGINT PRIMARY KEY, bytes BIGINT NOT NULL, objects BIGINT NOT NULL, jobs BIGINT NOT NULL)",
        "ALTER TABLE tokens ADD COLUMN label TEXT",
        "ALTER TABLE tokens ADD COLUMN expires BIGINT",
        "ALTER TABLE tokens ADD COLUMN used BIGINT",
        // Two commands at once could make two tenants of a name.
        "UPDATE tenants SET name = name || '-' || id WHERE guest = 0 AND EXISTS (
            SELECT 1 FROM tenants o WHERE o.guest = 0 AND o.name = tenants.name AND o.id < tenants.id)",
        "CREATE UNIQUE INDEX tenants_by_name ON tenants (name) WHERE guest = 0",
        "CREATE TABLE actions (
            id TEXT PRIMARY KEY, at BIGINT NOT NULL, operator TEXT NOT NULL, action TEXT NOT NULL,
            subject TEXT NOT NULL)",
        "CREATE INDEX keys_of_jobs ON idempotency_keys (job)",
        "CREATE INDEX uploads_of_tenants ON objects (tenant) WHERE ready = 0",
        "CREATE INDEX ended_jobs_of_tenants ON jobs (tenant, finished)",
        // Requests that are too long for lists; the row of the job has what lists show.
        "CREATE TABLE long_requests (
            job TEXT PRIMARY KEY, tenant TEXT NOT NULL, bytes BIGINT NOT NULL, request TEXT NOT NULL)",
        "CREATE INDEX long_requests_of_tenants ON long_requests (tenant)",
        "CREATE TABLE guests (tenant TEXT PRIMARY KEY, address TEXT NOT NULL)",
        "CREATE INDEX guests_of_addresses ON guests (address)",
        "CREATE TABLE addresses (address TEXT PRIMARY KEY, turn BIGINT NOT NULL)",
    ],
    &[
        // The root of the trace of a job, and the trace in hexadecimal.
        "ALTER TABLE jobs ADD COLUMN root TEXT",
        "CREATE TABLE traces (job TEXT PRIMARY KEY, tenant TEXT NOT NULL, trace TEXT NOT NULL)",
        "CREATE INDEX traces_of_tenants ON traces (tenant)",
    ],
];

/// The version that this program makes and needs.
pub const CURRENT: u64 = VERSIONS.len() as u64;

/// The tables that the program finds in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No tables.
    Nothing,
    /// Tables of this version.
    Version(u64),
}

impl Database {
    /// The version of the tables.
    ///
    /// # Errors
    /// The database fails.
    pub async fn version(&self) -> super::Result<Found> {
        let mut connection = self.pool.acquire().await?;
        let has = async |connection: &mut AnyConnection, table: &str| {
            let query = match self.is_sqlite {
                true => "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1",
                false => {
                    "SELECT COUNT(*) FROM pg_catalog.pg_tables
                          WHERE schemaname = current_schema() AND tablename = $1"
                }
            };
            let row = sqlx::query(query).bind(table).fetch_one(connection).await?;
            super::Result::Ok(row.try_get::<i64, _>(0)? > 0)
        };
        if has(&mut connection, "schema_version").await? {
            let row = sqlx::query("SELECT MAX(version) FROM schema_version").fetch_one(&mut *connection);
            if let Some(version) = row.await?.try_get::<Option<i64>, _>(0)? {
                return Ok(Found::Version(u64::try_from(version).unwrap_or_default()));
            }
        }
        Ok(if has(&mut connection, "tenants").await? { Found::Version(1) } else { Found::Nothing })
    }

    /// Makes the tables, or brings them up to date, from the version that was [found](Self::version).
    ///
    /// # Errors
    /// The database fails; what it was at before stays.
    pub async fn migrate(&self, found: Found) -> super::Result<()> {
        let at = match found {
            Found::Nothing => 0,
            Found::Version(version) => version,
        };
        for (version, statements) in (1..).zip(VERSIONS).filter(|(version, _)| *version > at) {
            let mut tx = self.pool.begin().await?;
            let counted = "CREATE TABLE IF NOT EXISTS schema_version (
                version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)";
            for statement in [counted].iter().chain(statements) {
                sqlx::query(statement).execute(&mut *tx).await?;
            }
            sqlx::query("INSERT INTO schema_version VALUES ($1, $2)")
                .bind(super::whole(version))
                .bind(clock::now())
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
            if found != Found::Nothing {
                tracing::info!(version, "the database was brought up to date");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Quota;
    use sqlx::Executor;

    /// The statements of the program before versions were counted, as they were then.
    const UNVERSIONED: &str = "
        CREATE TABLE tenants (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, guest BIGINT NOT NULL, created BIGINT NOT NULL,
            expires BIGINT, max_bytes BIGINT NOT NULL, max_objects BIGINT NOT NULL,
            max_jobs BIGINT NOT NULL, bytes BIGINT NOT NULL, objects BIGINT NOT NULL,
            jobs BIGINT NOT NULL);
        CREATE TABLE tokens (
            hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL REFERENCES tenants(id),
            created BIGINT NOT NULL);
        CREATE TABLE objects (
            id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id), kind TEXT NOT NULL,
            ready BIGINT NOT NULL, bytes BIGINT NOT NULL, created BIGINT NOT NULL, expires BIGINT,
            info TEXT NOT NULL);
        CREATE INDEX objects_of_tenants ON objects (tenant, kind, id);
        CREATE TABLE jobs (
            id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id), request TEXT NOT NULL,
            state TEXT NOT NULL, done BIGINT NOT NULL, steps BIGINT NOT NULL, starts BIGINT NOT NULL,
            result TEXT, error TEXT, created BIGINT NOT NULL, started BIGINT, finished BIGINT);
        CREATE INDEX jobs_of_tenants ON jobs (tenant, id);
        CREATE TABLE uses (job TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY (job, object));
        CREATE TABLE idempotency_keys (
            tenant TEXT NOT NULL, name TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (tenant, name));
        INSERT INTO tenants VALUES ('a', 'alice', 0, 1, NULL, 10, 10, 10, 7, 1, 0);
        INSERT INTO tenants VALUES ('b', 'alice', 0, 2, NULL, 10, 10, 10, 0, 0, 0);
        INSERT INTO tenants VALUES ('g', 'guest', 1, 3, 4, 10, 10, 10, 0, 0, 0);
        INSERT INTO tenants VALUES ('h', 'guest', 1, 3, 4, 10, 10, 10, 0, 0, 0);
        INSERT INTO tokens VALUES ('hash', 't', 'a', 5);
        INSERT INTO objects VALUES ('o', 'a', 'object', 1, 7, 6, NULL, '{}');";

    #[tokio::test]
    async fn databases_without_a_version_are_brought_up_to_date() {
        let db = Database::connect("sqlite::memory:").await.unwrap();
        assert_eq!(db.version().await.unwrap(), Found::Nothing);
        db.pool.execute(UNVERSIONED).await.unwrap();
        assert_eq!(db.version().await.unwrap(), Found::Version(1));
        db.migrate(Found::Version(1)).await.unwrap();
        assert_eq!(db.version().await.unwrap(), Found::Version(CURRENT));
        // Tenants, tokens and usage are what they were; quotas are those of the settings from now
        // on.
        let quota = Quota { bytes: 70, objects: 71, jobs: 72 };
        db.set_quotas(quota, quota).await.unwrap();
        let known = db.tenant_of("hash").await.unwrap().unwrap();
        assert_eq!((&*known.tenant.id, &*known.name, known.tenant.quota), ("a", "alice", quota));
        assert_eq!(db.usage("a").await.unwrap(), (7, 1, 0));
        let names: Vec<String> = db.tenants().await.unwrap().into_iter().map(|tenant| tenant.name).collect();
        assert_eq!(names, ["alice", "alice-b"]);
        // Another start has nothing to do.
        db.migrate(Found::Version(CURRENT)).await.unwrap();
    }

    /// A version that fails leaves the database at the one before it.
    #[tokio::test]
    async fn a_version_is_made_whole_or_not_at_all() {
        let db = Database::connect("sqlite::memory:").await.unwrap();
        db.pool.execute(UNVERSIONED).await.unwrap();
        db.pool.execute("CREATE TABLE actions (x BIGINT)").await.unwrap();
        db.migrate(Found::Version(1)).await.unwrap_err();
        assert_eq!(db.version().await.unwrap(), Found::Version(1));
        db.pool.execute("DROP TABLE actions").await.unwrap();
        db.migrate(Found::Version(1)).await.unwrap();
        assert_eq!(db.version().await.unwrap(), Found::Version(CURRENT));
    }
}
