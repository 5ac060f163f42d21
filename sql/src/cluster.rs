//! Queries on a Ballista cluster: sessions whose plans are executed elsewhere, and the two
//! processes of a cluster, which know the functions.
//!
//! A plan that travels carries the key set's description in each of its functions, and no key:
//! executors load the evaluation keys from their URL, once per process, and check that they are
//! those of the plan. Neither scheduler nor executors have a way to read a secret key.

use crate::aggregate::{HeAggregate, aggregate};
use crate::error::{Error, Result};
use crate::keys::KeySet;
use crate::resolve::from_bytes;
use crate::scalar::{HeFunction, function};
use crate::session::{Options, Session, carrying, configured};
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use ballista_core::utils::{default_config_producer, default_session_builder};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result as EngineResult, TableReference, plan_datafusion_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{AggregateUDF, Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The most bytes of a message between the processes of a cluster.
const MESSAGE_BYTES: u32 = 256 << 20;
/// An executor reports so often.
const HEARTBEAT_SECONDS: u64 = 1;
/// An executor that did not report for so long is given up, and its tasks go to others.
const TIMEOUT_SECONDS: u64 = 4;

/// Logical plans with functions of cells.
#[derive(Debug, Default)]
struct Logical(BallistaLogicalExtensionCodec);

/// Physical plans with functions of cells.
#[derive(Debug, Default)]
struct Physical(BallistaPhysicalExtensionCodec);

/// Functions travel as the description of their key set. All else is Ballista's.
macro_rules! functions {
    () => {
        fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> EngineResult<()> {
            match node.inner().downcast_ref::<HeFunction>() {
                Some(own) => Ok(buf.extend(own.to_bytes()?)),
                None => self.0.try_encode_udf(node, buf),
            }
        }

        fn try_decode_udf(&self, name: &str, buf: &[u8]) -> EngineResult<Arc<ScalarUDF>> {
            if !name.starts_with("he_") {
                return self.0.try_decode_udf(name, buf);
            }
            let (set, resolved) = from_bytes(buf)?;
            let own = function(name, &set, resolved);
            own.map(Arc::new).ok_or_else(|| plan_datafusion_err!("no function {name}; update this executor"))
        }

        fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> EngineResult<()> {
            match node.inner().downcast_ref::<HeAggregate>() {
                Some(own) => Ok(buf.extend(own.to_bytes()?)),
                None => self.0.try_encode_udaf(node, buf),
            }
        }

        fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> EngineResult<Arc<AggregateUDF>> {
            if !name.starts_with("he_") {
                return self.0.try_decode_udaf(name, buf);
            }
            let (set, resolved) = from_bytes(buf)?;
            let own = aggregate(name, &set, resolved);
            own.map(Arc::new).ok_or_else(|| plan_datafusion_err!("no aggregate {name}; update this executor"))
        }
    };
}

impl LogicalExtensionCodec for Logical {
    functions!();

    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], ctx: &TaskContext) -> EngineResult<Extension> {
        self.0.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> EngineResult<()> {
        self.0.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> EngineResult<Arc<dyn TableProvider>> {
        self.0.try_decode_table_provider(buf, table, schema, ctx)
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> EngineResult<()> {
        self.0.try_encode_table_provider(table, node, buf)
    }

    fn try_decode_file_format(
        &self,
        buf: &[u8],
        ctx: &TaskContext,
    ) -> EngineResult<Arc<dyn FileFormatFactory>> {
        self.0.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(
        &self,
        buf: &mut Vec<u8>,
        node: Arc<dyn FileFormatFactory>,
    ) -> EngineResult<()> {
        self.0.try_encode_file_format(buf, node)
    }
}

impl PhysicalExtensionCodec for Physical {
    functions!();

    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        self.0.try_decode(buf, inputs, ctx, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> EngineResult<()> {
        self.0.try_encode(node, buf, converter)
    }
}

fn producer() -> Arc<dyn Fn() -> SessionConfig + Send + Sync> {
    Arc::new(|| carrying(default_config_producer()))
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Table(format!("{what}: {error}"))
}

/// A session whose queries run on the cluster of a scheduler, such as `df://localhost:50050`.
///
/// # Errors
/// The scheduler cannot be reached.
pub async fn remote(url: &str, set: &KeySet, options: Options) -> Result<Session> {
    let config = configured(default_config_producer(), set.params(), &options)
        .with_ballista_logical_extension_codec(Arc::new(Logical::default()))
        .with_ballista_physical_extension_codec(Arc::new(Physical::default()));
    let context = SessionContext::remote_with_state(url, default_session_builder(config)?).await?;
    Ok(Session::over(context, set, options))
}

/// Runs a scheduler until it is ended.
///
/// # Errors
/// It cannot be bound to its address.
pub async fn scheduler(bind: SocketAddr) -> Result<()> {
    let config = SchedulerConfig {
        bind_host: bind.ip().to_string(),
        bind_port: bind.port(),
        override_logical_codec: Some(Arc::new(Logical::default())),
        override_physical_codec: Some(Arc::new(Physical::default())),
        override_config_producer: Some(producer()),
        executor_timeout_seconds: TIMEOUT_SECONDS,
        expire_dead_executor_interval_seconds: HEARTBEAT_SECONDS,
        executor_termination_grace_period: 0,
        grpc_server_max_decoding_message_size: MESSAGE_BYTES,
        grpc_server_max_encoding_message_size: MESSAGE_BYTES,
        grpc_client_max_message_size: MESSAGE_BYTES,
        ..SchedulerConfig::default()
    };
    let cluster =
        BallistaCluster::new_from_config(&config).await.map_err(|error| failed("scheduler", error))?;
    start_server(cluster, bind, Arc::new(config)).await.map_err(|error| failed("scheduler", error))
}

/// How an executor runs.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The address of its data; that of its commands has the next port.
    pub bind: SocketAddr,
    /// The scheduler's host.
    pub scheduler_host: String,
    /// The scheduler's port.
    pub scheduler_port: u16,
    /// The tasks that it runs beside each other.
    pub cores: usize,
    /// The folder of what tasks hand to other tasks: ciphertexts, and clear columns beside them.
    pub work_dir: Option<PathBuf>,
}

/// Runs an executor until it is ended, on the device of this process.
///
/// # Errors
/// It cannot be bound to its address, or the scheduler cannot be reached.
pub async fn executor(how: Executor) -> Result<()> {
    let config = ExecutorProcessConfig {
        bind_host: how.bind.ip().to_string(),
        external_host: Some(how.bind.ip().to_string()).filter(|_| !how.bind.ip().is_unspecified()),
        port: how.bind.port(),
        grpc_port: how.bind.port() + 1,
        scheduler_host: how.scheduler_host,
        scheduler_port: how.scheduler_port,
        scheduler_connect_timeout_seconds: 30,
        vcores: how.cores.max(1),
        work_dir: how.work_dir.map(|folder| folder.to_string_lossy().into_owned()),
        executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
        grpc_max_decoding_message_size: MESSAGE_BYTES,
        grpc_max_encoding_message_size: MESSAGE_BYTES,
        override_logical_codec: Some(Arc::new(Logical::default())),
        override_physical_codec: Some(Arc::new(Physical::default())),
        override_config_producer: Some(producer()),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(config)).await.map_err(|error| failed("executor", error))
}
