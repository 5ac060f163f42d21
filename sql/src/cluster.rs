//! Queries on a Ballista cluster: sessions whose plans are executed elsewhere, and the two
//! processes of a cluster, which know the functions.
//!
//! A plan that travels carries the key set's description in each of its functions, and no key:
//! executors load the evaluation keys from their URL, once per process, and check that they are
//! those of the plan. Neither scheduler nor executors have a way to read a secret key.

use crate::aggregate::{HeAggregate, aggregate};
use crate::error::{Error, Result};
use crate::keys::KeySet;
use crate::place;
use crate::resolve::from_bytes;
use crate::scalar::{HeFunction, function};
use crate::session::{Options, Session, carrying, configured};
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_core::config::BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS;
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
use datafusion::execution::context::SessionContext;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{AggregateUDF, Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use he_files::io::output::create_dir;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// The most bytes of a message between the processes of a cluster.
const MESSAGE_BYTES: u32 = 256 << 20;
/// An executor reports so often.
const HEARTBEAT_SECONDS: u64 = 1;
/// An executor that did not report for so long is given up, and its tasks go to others.
const TIMEOUT_SECONDS: u64 = 4;

/// Milliseconds until a task asks once more for the results of another executor. Ballista asks
/// three times more, 3 s apart by default, before it has the other's tasks repeated: longer than it
/// takes to give up an executor that was killed.
const FETCH_AGAIN_MS: u64 = 250;

/// The time that an address may take to answer.
const CONNECT: Duration = Duration::from_secs(5);
/// An executor looks for its scheduler so often.
const AGAIN: Duration = Duration::from_millis(500);

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
    Arc::new(|| carrying(of_cluster()))
}

/// Ballista's configuration, for sessions and for all processes of a cluster.
fn of_cluster() -> SessionConfig {
    default_config_producer().set_u64(BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS, FETCH_AGAIN_MS)
}

fn failed(what: impl Into<String>, why: impl std::fmt::Display) -> Error {
    Error::Cluster { what: what.into(), why: why.to_string() }
}

/// An address as the host of a URL.
fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// An address as the host of a URL, if others can reach it, which `0.0.0.0` is not.
fn own(address: IpAddr) -> Option<String> {
    (!address.is_unspecified()).then(|| host(address))
}

/// Checks that an address can be listened on.
fn free(what: &str, address: SocketAddr) -> Result<()> {
    let taken = |error| {
        failed(
            format!("{what} at {address}"),
            format!("{error}; take another --bind, or end what listens there"),
        )
    };
    std::net::TcpListener::bind(address).map(drop).map_err(taken)
}

/// Waits until a scheduler listens at `HOST:PORT`.
async fn reach(scheduler: &str, wait: Duration) -> Result<()> {
    let started = Instant::now();
    loop {
        let connected = tokio::time::timeout(CONNECT, TcpStream::connect(scheduler)).await;
        let why = match connected {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        if started.elapsed() >= wait {
            return Err(failed(
                format!("scheduler at {scheduler}"),
                format!("{why}; check the address, and start it: he-sql scheduler --bind HOST:PORT"),
            ));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Sessions whose tables may be at any URL.
fn state(config: SessionConfig) -> EngineResult<SessionState> {
    let state = default_session_builder(config)?;
    Ok(SessionStateBuilder::new_from_existing(state).with_runtime_env(place::runtime(None)?).build())
}

/// A session whose queries run on the cluster of a scheduler, such as `df://localhost:50050`.
///
/// # Errors
/// The scheduler cannot be reached.
pub async fn remote(url: &str, set: &KeySet, options: Options) -> Result<Session> {
    let config = configured(of_cluster(), set.params(), &options)
        .with_ballista_logical_extension_codec(Arc::new(Logical::default()))
        .with_ballista_physical_extension_codec(Arc::new(Physical::default()));
    let parsed = url::Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|url| url.host_str().zip(url.port()));
    let Some((host, port)) = host else {
        return Err(failed(format!("scheduler at {url}"), "not df://HOST:PORT"));
    };
    reach(&format!("{host}:{port}"), Duration::ZERO).await?;
    let context = SessionContext::remote_with_state(url, state(config)?).await?;
    Ok(Session::over(context, set, options))
}

/// Runs a scheduler until it is ended. Executors report to it under `name`, or at its address.
///
/// # Errors
/// It cannot be bound to its address, or has neither a name nor an address of its own.
pub async fn scheduler(bind: SocketAddr, name: Option<String>) -> Result<()> {
    let name = name.or_else(|| own(bind.ip())).ok_or_else(|| {
        failed(
            format!("scheduler at {bind}"),
            "executors cannot report to this address; give --name HOST as well",
        )
    })?;
    free("scheduler", bind)?;
    let config = SchedulerConfig {
        bind_host: host(bind.ip()),
        external_host: name,
        bind_port: bind.port(),
        override_logical_codec: Some(Arc::new(Logical::default())),
        override_physical_codec: Some(Arc::new(Physical::default())),
        override_config_producer: Some(producer()),
        override_session_builder: Some(Arc::new(state)),
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

/// The settings of an executor.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The address of its data; that of its commands has the next port.
    pub bind: SocketAddr,
    /// The scheduler's host, in brackets if it is an address of IPv6.
    pub scheduler_host: String,
    /// The scheduler's port.
    pub scheduler_port: u16,
    /// The time to wait for the scheduler.
    pub wait: Duration,
    /// The tasks that it runs beside each other.
    pub cores: usize,
    /// The folder of the files that tasks hand to others: ciphertexts, and clear columns beside
    /// them.
    pub work_dir: Option<PathBuf>,
}

/// Runs an executor until it is ended, on the device of this process.
///
/// # Errors
/// It cannot be bound to its address, or the scheduler cannot be reached.
pub async fn executor(how: Executor) -> Result<()> {
    let wrong = || failed(format!("executor at {}", how.bind), "no next port; take a lower one as --bind");
    let commands = SocketAddr::new(how.bind.ip(), how.bind.port().checked_add(1).ok_or_else(wrong)?);
    free("executor", how.bind)?;
    free("executor", commands)?;
    if let Some(folder) = &how.work_dir {
        create_dir(folder)?.keep();
    }
    reach(&format!("{}:{}", how.scheduler_host, how.scheduler_port), how.wait).await?;
    let spill = how.work_dir.clone();
    let config = ExecutorProcessConfig {
        bind_host: host(how.bind.ip()),
        external_host: own(how.bind.ip()),
        port: how.bind.port(),
        grpc_port: commands.port(),
        scheduler_host: how.scheduler_host,
        scheduler_port: how.scheduler_port,
        // Ballista's own wait has no end; `reach` was the wait.
        scheduler_connect_timeout_seconds: 0,
        vcores: how.cores.max(1),
        work_dir: how.work_dir.map(|folder| folder.to_string_lossy().into_owned()),
        executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
        grpc_max_decoding_message_size: MESSAGE_BYTES,
        grpc_max_encoding_message_size: MESSAGE_BYTES,
        override_logical_codec: Some(Arc::new(Logical::default())),
        override_physical_codec: Some(Arc::new(Physical::default())),
        override_config_producer: Some(producer()),
        override_runtime_producer: Some(Arc::new(move |_| place::runtime(spill.as_deref()))),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(config)).await.map_err(|error| failed("executor", error))
}
