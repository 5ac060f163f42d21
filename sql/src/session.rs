//! Sessions: tables with encrypted columns, and queries with the functions of a key set.

use crate::aggregate::aggregate;
use crate::check::check;
use crate::error::{Error, Result};
use crate::function::{AGGREGATES, FUNCTIONS};
use crate::keys::{DEFAULT_ROWS, KeySet};
use crate::params::Params;
use crate::place;
use crate::resolve::resolve;
use crate::scalar::function;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::prelude::{ParquetReadOptions, SessionConfig};

/// Bytes of ciphertexts that go through a query at once, per column and partition.
const BATCH_BYTES: usize = 8 << 20;

/// How queries are executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Partitions, which run beside each other; as many as there are processors if not given.
    pub partitions: Option<usize>,
    /// Rows of a batch; as many as make 8 MiB of ciphertexts if not given.
    pub batch_rows: Option<usize>,
    /// The most rows that a group is assumed to have; those of the largest table if not given.
    pub group_rows: Option<u64>,
}

/// A configuration that keeps the types of encrypted columns.
pub fn carrying(config: SessionConfig) -> SessionConfig {
    let mut config = config;
    let options = config.options_mut();
    options.execution.parquet.skip_metadata = false;
    // Rows that a clear predicate leaves out are not read.
    options.execution.parquet.pushdown_filters = true;
    options.optimizer.repartition_file_min_size = 1 << 20;
    // A UNION of columns of different progress has none while it is planned, and that of its first
    // input when it is executed.
    options.execution.skip_physical_aggregate_schema_check = true;
    config
}

/// The configuration of a session: small batches, since cells are large.
pub fn configured(config: SessionConfig, params: &Params, options: &Options) -> SessionConfig {
    let rows = options.batch_rows.unwrap_or_else(|| BATCH_BYTES / params.ciphertext_bytes().max(1));
    let config = carrying(config).with_batch_size(rows.clamp(1, 8192));
    match options.partitions {
        Some(partitions) => config.with_target_partitions(partitions.max(1)),
        None => config,
    }
}

/// What the planner says of a query. Functions of the engine that take numbers get bytes.
fn planning(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::Plan(text) if text.contains("Binary") => {
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("Internal error: ").unwrap_or(line);
            Error::Unplanned(line.split(", errors:").next().unwrap_or(line).to_owned())
        }
        _ => error.into(),
    }
}

/// A context of queries, and the key set that they compute with.
pub struct Session {
    context: SessionContext,
    set: KeySet,
    options: Options,
    /// The rows of the largest table.
    rows: u64,
}

impl Session {
    /// A session in this process.
    ///
    /// # Errors
    /// None in practice.
    pub fn local(set: &KeySet, options: Options) -> Result<Self> {
        let config = configured(SessionConfig::new(), set.params(), &options);
        let context = SessionContext::new_with_config_rt(config, place::runtime(None)?);
        Ok(Self::over(context, set, options))
    }

    /// A session over a context that was made elsewhere: of a cluster, or of a program.
    pub fn over(context: SessionContext, set: &KeySet, options: Options) -> Self {
        let session = Self { context, set: set.clone(), options, rows: 0 };
        session.register_functions(set);
        session
    }

    /// The context.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The key set.
    pub fn set(&self) -> &KeySet {
        &self.set
    }

    fn register_functions(&self, set: &KeySet) {
        for (name, _) in FUNCTIONS {
            function(name, set, None).into_iter().for_each(|made| self.context.register_udf(made));
        }
        for (name, _) in AGGREGATES {
            aggregate(name, set, None).into_iter().for_each(|made| self.context.register_udaf(made));
        }
    }

    /// Registers a Parquet file, a folder of them or their URL as a table. Only what the file says
    /// of its columns and rows is read.
    ///
    /// # Errors
    /// There is none that can be read.
    pub async fn register(&mut self, name: &str, url: &str) -> Result<()> {
        let url = place::absolute(url)?;
        let options = ParquetReadOptions::default().skip_metadata(false);
        let here = SessionContext::new_with_config_rt(SessionConfig::new(), place::runtime(None)?);
        let registered = async {
            self.context.register_parquet(TableReference::bare(name), &url, options.clone()).await?;
            here.read_parquet(&url, options).await?.count().await
        };
        let counted = registered.await.map_err(|source| Error::Registration {
            name: name.to_owned(),
            url,
            source: Box::new(source.into()),
        })?;
        self.rows = self.rows.max(counted as u64);
        Ok(())
    }

    /// Plans a query. Files that it names, as in `FROM 'sales.parquet'`, become tables, and the
    /// functions predict noise for groups of as many rows as the largest table has.
    ///
    /// # Errors
    /// What the planner finds: each error names its column.
    pub async fn sql(&mut self, query: &str) -> Result<DataFrame> {
        let state = self.context.state();
        let statement = state.sql_to_statement(query, &state.config_options().sql_parser.dialect)?;
        for reference in state.resolve_table_references(&statement)? {
            let name = reference.table();
            if name.ends_with(".parquet") && !self.context.table_exist(reference.clone())? {
                self.register(name, name).await?;
            }
        }
        let rows = self.options.group_rows.unwrap_or(if self.rows > 0 { self.rows } else { DEFAULT_ROWS });
        self.set = self.set.with_rows(rows);
        self.register_functions(&self.set);
        let reading =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame = self.context.sql_with_options(query, reading).await.map_err(planning)?;
        check(frame.logical_plan())?;
        let (state, plan) = frame.into_parts();
        Ok(DataFrame::new(state, resolve(plan)?))
    }
}
