//! Sessions: tables with encrypted columns, and queries with the functions of a key set.

use crate::aggregate::aggregate;
use crate::cells;
use crate::check::check;
use crate::column::CellType;
use crate::csv_table;
use crate::error::{Error, Result};
use crate::function::{self, AGGREGATES, FUNCTIONS};
use crate::keys::{DEFAULT_ROWS, KeySet};
use crate::params::Predictions;
use crate::place;
use crate::resolve::resolve;
use crate::scalar;
use crate::written;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, DataFusionError, ScalarValue, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::ViewTable;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::functions_aggregate::expr_fn::{count, max, min};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ident, lit};
use datafusion::prelude::{ParquetReadOptions, SessionConfig};
use datafusion::sql::parser::Statement;
use he_any::Params;
use he_files::data::table::decimal::Decimal;
use he_files::io::input::Input;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Bytes of ciphertexts that go through a query at once, per column and partition.
const BATCH_BYTES: usize = 8 << 20;

/// The most fields of a clear table of CSV.
const MOST_CLEAR: usize = 1 << 18;

/// The options with which queries are executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Partitions, which run beside each other; as many as there are processors if not given.
    pub partitions: Option<usize>,
    /// Rows of a batch; as many as make 8 MiB of ciphertexts if not given.
    pub batch_rows: Option<usize>,
    /// The most rows that a group is assumed to have; those of the largest table if not given.
    pub group_rows: Option<u64>,
    /// The greatest magnitude that clear numbers are assumed to have; that of the tables and of the
    /// query if not given.
    pub clear_most: Option<u64>,
    /// The mark before decimals in tables of CSV.
    pub decimal: Decimal,
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
    let rows =
        options.batch_rows.unwrap_or_else(|| BATCH_BYTES / Predictions(params).ciphertext_bytes().max(1));
    let config = carrying(config).with_batch_size(rows.clamp(1, 8192));
    match options.partitions {
        Some(partitions) => config.with_target_partitions(partitions.max(1)),
        None => config,
    }
}

/// The planner's error about a query. Functions and operators of the engine that take numbers get
/// bytes.
fn planning(params: &Params, error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::Plan(text) if text.contains("Binary") || text.starts_with("Unary operator") => {
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("Internal error: ").unwrap_or(line);
            let line = line.split(", errors:").next().unwrap_or(line);
            let line = line.split(". No function matches").next().unwrap_or(line).trim_end_matches('.');
            let instead = instead(params.scheme(), called(line));
            Error::Unplanned { what: line.to_owned(), instead }
        }
        _ => error.into(),
    }
}

/// The function or the operator that the planner speaks of.
fn called(line: &str) -> &str {
    if let Some((_, operands)) = line.split_once("arithmetic expression ") {
        return operands.split(' ').nth(1).unwrap_or_default();
    }
    line.split('\'').nth(1).unwrap_or_default()
}

/// The replacement for a function or an operator of the engine on encrypted columns x and y.
fn instead(scheme: &str, called: &str) -> &'static str {
    match (called, scheme) {
        ("sum", _) => "he_sum(x)",
        ("avg" | "mean", "ckks") => "he_mean(x)",
        ("avg" | "mean", _) => "he_sum(x) and count(x), and divide after decryption",
        ("var" | "var_pop" | "var_samp" | "stddev" | "stddev_pop" | "stddev_samp", "ckks") => {
            "he_variance(x), of the whole population, and take the root after decryption"
        }
        ("var" | "var_pop" | "var_samp" | "stddev" | "stddev_pop" | "stddev_samp", _) => {
            "he_dot(x, x), he_sum(x) and count(x), and divide after decryption"
        }
        ("covar_pop" | "covar_samp" | "corr", _) => {
            "he_dot(x, y), he_sum(x), he_sum(y) and count(*), and divide after decryption"
        }
        ("+", _) => "he_add(x, y), where y may be clear",
        ("-", _) => "he_sub(x, y), where x or y may be clear, or he_neg(x)",
        ("*", _) => "he_mul(x, y), where y may be clear",
        ("/", "ckks") => "he_mul(x, 1.0 / y) for a clear y; ciphertexts are not divisors",
        ("power" | "pow", _) => "he_polynomial(x, 0, 0, 1) for x^2, and so on",
        ("abs" | "exp" | "sqrt" | "ln" | "sin" | "cos", "ckks") => {
            "he_polynomial(x, c0, c1, ...) with the coefficients of an approximation"
        }
        ("median" | "abs" | "sign", "tfhe") => "comparisons and choices (he_lt, he_if)",
        ("coalesce", _) => "coalesce of encrypted columns and NULL alone",
        ("/" | "%", _) => "the dividend alone, and divide after decryption",
        _ => "a function of docs/sql.md, if there is one for it",
    }
}

/// A context of queries, and the key set that they compute with.
pub struct Session {
    context: SessionContext,
    set: KeySet,
    options: Options,
    /// The rows of the tables.
    rows: BTreeMap<String, u64>,
    /// The greatest magnitudes of the clear columns of numbers of all tables.
    clear: BTreeMap<String, u64>,
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
        let session =
            Self { context, set: set.clone(), options, rows: BTreeMap::new(), clear: BTreeMap::new() };
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
            scalar::function(name, set, None).into_iter().for_each(|made| self.context.register_udf(made));
        }
        for (name, _) in AGGREGATES {
            aggregate(name, set, None).into_iter().for_each(|made| self.context.register_udaf(made));
        }
    }

    /// Registers a Parquet file, a folder of them or their URL as a table, or a clear table of CSV
    /// (a file named .csv). A Parquet file is read only for the description of its columns and
    /// rows, and for clear columns of numbers if it does not state their least and greatest ones.
    ///
    /// # Errors
    /// There is none that can be read.
    pub async fn register(&mut self, name: &str, url: &str) -> Result<()> {
        if is_csv(url) {
            let path = url.strip_prefix("file://").unwrap_or(url);
            if path.contains("://") {
                let why = "clear tables of CSV are files of the client; give a path, or a table of Parquet";
                return Err(Error::Place { url: url.to_owned(), why: why.to_owned() });
            }
            let file = Input::open(Path::new(path))?;
            let file_name = file.name().to_owned();
            let table = csv_table::read_clear(file, &file_name, self.options.decimal)?;
            if table.num_rows().saturating_mul(table.num_columns()) > MOST_CLEAR {
                return Err(Error::Table(format!(
                    "{file_name}: {} rows of {} columns, where clear tables of CSV travel with the plan and have at \
                     most {MOST_CLEAR} fields; give a table of Parquet",
                    table.num_rows(),
                    table.num_columns()
                )));
            }
            return self.register_clear(name, &table).await;
        }
        let url = place::absolute(url)?;
        let options = ParquetReadOptions::default().skip_metadata(false);
        let here = SessionContext::new_with_config_rt(SessionConfig::new(), place::runtime(None)?);
        let registered = async {
            self.context.register_parquet(TableReference::bare(name), &url, options.clone()).await?;
            here.read_parquet(&url, options).await
        };
        let registered: Result<DataFrame> = registered.await.map_err(Error::from);
        let described = match registered {
            Ok(table) => self.describe(name, table).await,
            Err(error) => Err(error),
        };
        described.map_err(|source| Error::Registration {
            name: name.to_owned(),
            url,
            source: Box::new(source),
        })
    }

    /// Registers clear columns as a table, which travels with the plan.
    async fn register_clear(&mut self, name: &str, table: &RecordBatch) -> Result<()> {
        let here = SessionContext::new();
        self.describe(name, here.read_batch(table.clone())?).await?;
        let rows = (0..table.num_rows()).map(|row| {
            let fields = table.columns().iter();
            fields
                .map(|column| Ok(lit(ScalarValue::try_from_array(column, row)?)))
                .collect::<Result<Vec<_>>>()
        });
        let schema = Arc::new(DFSchema::try_from(table.schema().as_ref().clone())?);
        let values = LogicalPlanBuilder::values_with_schema(rows.collect::<Result<_>>()?, &schema)?;
        let columns = values.schema().columns().into_iter().zip(schema.fields());
        let columns: Vec<Expr> =
            columns.map(|(value, field)| Expr::from(value).alias(field.name())).collect();
        let values = values.project(columns)?.build()?;
        self.context.register_table(TableReference::bare(name), Arc::new(ViewTable::new(values, None)))?;
        Ok(())
    }

    /// Notes the rows of a table, and the greatest magnitudes of its clear columns of numbers.
    async fn describe(&mut self, name: &str, table: DataFrame) -> Result<()> {
        let fields = table.schema().fields().iter();
        let numeric = |field: &&FieldRef| field.data_type().is_integer() || field.data_type().is_floating();
        let names: Vec<String> = fields.filter(numeric).map(|field| field.name().clone()).collect();
        let mut of = vec![count(lit(1i64))];
        of.extend(names.iter().flat_map(|name| [min(ident(name)), max(ident(name))]));
        let found = table.aggregate(Vec::new(), of)?.collect().await?;
        let [found] = found.as_slice() else { return Ok(()) };
        let numbers = found.columns().iter().map(|column| {
            let number = cells::numbers(column, true)?.first().copied().flatten();
            Ok(number.map(|number| number.real()))
        });
        let numbers = numbers.collect::<Result<Vec<Option<f64>>>>()?;
        let Some((rows, bounds)) = numbers.split_first() else { return Ok(()) };
        self.rows.insert(name.to_owned(), rows.unwrap_or_default() as u64);
        for (name, bounds) in names.into_iter().zip(bounds.chunks(2)) {
            // The cast saturates.
            let magnitude = |bound: &f64| if bound.is_nan() { u64::MAX } else { bound.abs().ceil() as u64 };
            let most = bounds.iter().flatten().map(magnitude).max().unwrap_or_default();
            let known = self.clear.entry(name).or_default();
            *known = most.max(*known);
        }
        Ok(())
    }

    /// Plans a query. Files that it names, as in `FROM 'sales.parquet'`, become tables, columns of
    /// the answer are called as the query writes them, and the functions predict noise and bounds
    /// for groups of as many rows as the largest table has.
    ///
    /// # Errors
    /// The errors of the planner: each names its column.
    pub async fn sql(&mut self, query: &str) -> Result<DataFrame> {
        let state = self.context.state();
        let mut statement = state.sql_to_statement(query, &state.config_options().sql_parser.dialect)?;
        for reference in state.resolve_table_references(&statement)? {
            let name = reference.table();
            let is_file = name.ends_with(".parquet") || is_csv(name);
            if is_file && !self.context.table_exist(reference.clone())? {
                self.register(name, name).await?;
            }
        }
        written::name_columns(&mut statement);
        self.set = match self.options.clear_most {
            Some(most) => self.set.with_clear(&BTreeMap::new(), most),
            None => {
                let most = self.clear.values().copied().chain(written::numbers(&statement)).max();
                self.set.with_clear(&self.clear, most.unwrap_or_default())
            }
        };
        let rows = self.options.group_rows.or(self.rows.values().copied().max()).unwrap_or(DEFAULT_ROWS);
        self.set = self.set.with_rows(rows);
        let mut plan = self.plan(statement.clone()).await?;
        // A union has more rows than each of its tables, and a query may have smaller ones.
        let rows = self.options.group_rows.map_or_else(|| self.most_rows(&plan), Ok)?;
        if rows != self.set.rows() {
            self.set = self.set.with_rows(rows);
            plan = self.plan(statement).await?;
        }
        check(&plan)?;
        let plan = resolve(&self.set, plan)?;
        check(&plan)?;
        self.check_ranges(&plan)?;
        // Files that became tables are known to the state of now.
        Ok(DataFrame::new(self.context.state(), plan))
    }

    /// The engine's plan of a query, with the functions of the key set.
    async fn plan(&self, statement: Statement) -> Result<LogicalPlan> {
        self.register_functions(&self.set);
        let plan = self.context.state().statement_to_plan(statement).await;
        let plan = plan.map_err(|error| planning(self.set.params(), error))?;
        let reading =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        reading.verify_plan(&plan)?;
        Ok(plan)
    }

    /// The rows of the largest node of a plan and its subqueries.
    fn most_rows(&self, plan: &LogicalPlan) -> Result<u64> {
        let mut most = 1;
        plan.apply_with_subqueries(|node| {
            most = most.max(self.rows_of(node));
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(most)
    }

    /// The most rows of a node, if joins give each row of the larger side one at most.
    fn rows_of(&self, plan: &LogicalPlan) -> u64 {
        let inputs = || plan.inputs().into_iter().map(|input| self.rows_of(input));
        match plan {
            LogicalPlan::TableScan(scan) => {
                // Tables of programs are not described.
                self.rows.get(scan.table_name.table()).copied().unwrap_or(DEFAULT_ROWS)
            }
            LogicalPlan::Values(of) => of.values.len() as u64,
            LogicalPlan::Union(_) => inputs().fold(0, u64::saturating_add),
            _ => inputs().max().unwrap_or(1),
        }
    }

    /// Refuses encrypted columns of an answer that may leave the numbers that the parameters hold.
    fn check_ranges(&self, plan: &LogicalPlan) -> Result<()> {
        for (name, cell) in answered(plan)? {
            if function::check(&self.set, &name, &cell).is_ok() {
                self.set.check_range(&name, cell.bounds(), &self.set.predictions().of(&cell))?;
            }
        }
        Ok(())
    }

    /// The encrypted columns of an answer of whose values no bounds are known: numbers beyond those
    /// that the parameters hold are not found.
    ///
    /// # Errors
    /// Damaged metadata.
    pub fn unbounded(&self, plan: &LogicalPlan) -> Result<Vec<String>> {
        let unknown = |(_, cell): &(String, CellType)| cell.layout.is_some() && cell.bounds().is_none();
        Ok(answered(plan)?.into_iter().filter(unknown).map(|(name, _)| name).collect())
    }
}

/// The encrypted columns of the answer of a query, or of the one that is explained.
fn answered(plan: &LogicalPlan) -> Result<Vec<(String, CellType)>> {
    let plan = match plan {
        LogicalPlan::Explain(of) => &of.plan,
        LogicalPlan::Analyze(of) => &of.input,
        plan => plan,
    };
    let columns = plan.schema().fields().iter();
    let columns = columns.map(|field| Ok(CellType::of(field)?.map(|cell| (field.name().clone(), cell))));
    Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Whether a place is that of a clear table of CSV.
fn is_csv(url: &str) -> bool {
    Path::new(url).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}
