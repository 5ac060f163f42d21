//! `serve`: the service, its tenants and their tokens.

use crate::args::{DeviceFlag, Quotas, Serve, ServeCommand, ServeFlags, TenantCommand, TokenCommand};
use crate::compute_on;
use crate::console;
use crate::device::Choice;
use crate::error::{CliError, IoContext, Result, one_line};
use crate::terminal;
use he::Device;
use he_files::units;
use he_server::app::{App, StartError};
use he_server::logs;
use he_server::serve::Server;
use he_server::settings::{Config, Settings, SettingsError, timestamp};
use he_server::tenants::{self, Change, Changes, TenantNote};
use he_server::tokens::{self, TokenNote};
use serde_json::{Value, json};
use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal;

/// The time for threads of the runtime once the service has ended.
const LINGER: Duration = Duration::from_secs(1);

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::usage(error.to_string()).hint(error.hint())
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Model(error) => error.into(),
            error => {
                let hint = error.hint();
                let said = match error {
                    StartError::Name { .. } => Self::usage(error.to_string()),
                    error => Self::new(error.to_string()),
                };
                hint.into_iter().fold(said, Self::hint)
            }
        }
    }
}

/// The settings of flags and environment, then those of the file.
fn settings(flags: ServeFlags) -> Result<Settings> {
    let file = flags.config.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
    Ok(Settings::from(flags).or(file))
}

fn runtime() -> Result<Runtime> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| CliError::new(format!("cannot start the service: {error}")))
}

/// Prints an answer: JSON for programs, lines for people.
fn answer(facts: &Value, lines: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let printed = match console::is_json() {
        true => writeln!(out, "{}", terminal::json(facts)),
        false => write!(out, "{lines}"),
    };
    printed.and_then(|()| out.flush()).writing("standard output")
}

pub(super) fn run(args: Serve) -> Result<()> {
    match args.command {
        Some(ServeCommand::Token(token)) => token_command(token.command),
        Some(ServeCommand::Tenant(tenant)) => tenant_command(tenant.command),
        None => serve(args.flags),
    }
}

/// The device of the settings; the variable of all commands counts where they name none.
fn device(settings: &Settings) -> Result<Choice> {
    let choice = settings.device.as_ref().map(|text| {
        text.parse().map_err(|expected: String| {
            CliError::usage(format!("device: {text} is not a device")).hint(format!("give {expected}"))
        })
    });
    DeviceFlag { choice: choice.transpose()? }.choice()
}

fn serve(flags: ServeFlags) -> Result<()> {
    let (file, threads, given) = (flags.config.clone(), flags.threads, flags.log_level);
    let settings = settings(flags)?;
    // An option or a variable has been taken at the start of the program.
    if threads.is_none() && settings.threads.is_some() {
        if !settings.threads.is_some_and(|threads| (1..=1024).contains(&threads)) {
            return Err(CliError::usage("threads: not a number from 1 to 1024")
                .hint("leave it out for all processors"));
        }
        compute_on(settings.threads)?;
    }
    logs::start(settings.log.unwrap_or_default(), settings.log_level.unwrap_or_default());
    let devices = device(&settings)?.open()?;
    let config = Config::new(settings, devices.all().to_vec())?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        // From here on SIGHUP does not end the program.
        let (ended, hangups) = (ended()?, hangups()?);
        let app = App::start(config).await?;
        reload_on_demand(&app, hangups, file, given);
        let server = Server::bind(Arc::clone(&app)).await?;
        let address = server.address().doing("listen on", "the address")?;
        let url = format!("{scheme}://{address}");
        answer(&json!({ "command": "serve", "url": url }), &format!("listening on {url}\n"))?;
        server.run(ended).await;
        match app.is_lost() {
            true => Err(CliError::new("another process has taken the database over")
                .hint("run one service per database; he-cli serve says at its start who uses it")),
            false => Ok(()),
        }
    });
    // Threads that do not end, if there are any after that, must not keep the process.
    runtime.shutdown_timeout(LINGER);
    served
}

/// The signals that ask for a reload.
#[cfg(unix)]
fn hangups() -> Result<signal::unix::Signal> {
    signal::unix::signal(signal::unix::SignalKind::hangup()).doing("watch", "signals")
}

/// Elsewhere there are none.
#[cfg(not(unix))]
fn hangups() -> Result<()> {
    Ok(())
}

/// Elsewhere nothing asks for it.
#[cfg(not(unix))]
fn reload_on_demand(_: &Arc<App>, (): (), _: Option<PathBuf>, _: Option<logs::Level>) {}

/// Reads the certificate and the log level of the file again at every SIGHUP.
#[cfg(unix)]
fn reload_on_demand(
    app: &Arc<App>,
    mut hangups: signal::unix::Signal,
    file: Option<PathBuf>,
    given: Option<logs::Level>,
) {
    let app = Arc::downgrade(app);
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            let Some(app) = app.upgrade() else { break };
            match file.as_deref().map(Settings::read).transpose() {
                // An option or a variable counts more than the file.
                Ok(settings) => {
                    let read = settings.and_then(|settings| settings.log_level);
                    logs::set_level(given.or(read).unwrap_or_default());
                }
                Err(error) => logs::error(&format!("the log level stays what it was: {error}")),
            }
            app.reload();
        }
    });
}

/// Waits for a signal that ends the service gracefully; another one ends it at once.
fn ended() -> Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use signal::unix::{SignalKind, signal};
        let watched = |kind| signal(kind).doing("watch", "signals");
        let mut interrupt = watched(SignalKind::interrupt())?;
        let mut terminate = watched(SignalKind::terminate())?;
        Ok(async move {
            next(&mut interrupt, &mut terminate).await;
            tokio::spawn(async move {
                let second = next(&mut interrupt, &mut terminate).await;
                crate::interrupt::end(second.as_raw_value());
            });
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        drop(signal::ctrl_c().await);
    })
}

/// The next of the signals that end the service.
#[cfg(unix)]
async fn next(
    interrupt: &mut signal::unix::Signal,
    terminate: &mut signal::unix::Signal,
) -> signal::unix::SignalKind {
    tokio::select! {
        _ = interrupt.recv() => signal::unix::SignalKind::interrupt(),
        _ = terminate.recv() => signal::unix::SignalKind::terminate(),
    }
}

/// The configuration of a command beside the service.
fn beside(flags: ServeFlags) -> Result<Config> {
    let config = Config::new(settings(flags)?, vec![Device::cpu()])?;
    console::note(&format!("database {}", config.place()));
    Ok(config)
}

/// Columns of text under their titles.
fn table<const N: usize>(titles: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let rows = rows.iter().map(|row| row[column].chars().count());
        rows.chain([titles[column].len()]).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: [&str; N]| {
        let cells: Vec<String> =
            cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let rows = rows.iter().map(|row| line(std::array::from_fn(|at| &*row[at])));
    std::iter::once(line(titles)).chain(rows).collect()
}

fn token_command(command: TokenCommand) -> Result<()> {
    match command {
        TokenCommand::Add { tenant, label, expires, create, flags } => {
            let config = beside(flags)?;
            let options = tokens::Options { label, days: expires, create };
            let made = runtime()?.block_on(tokens::create(&config, &tenant, &options))?;
            let facts = json!({
                "command": "serve token add", "token": made.token, "id": made.id, "tenant": tenant,
                "label": options.label, "expires": made.expires.map(timestamp), "database": config.place(),
            });
            answer(&facts, &format!("{}\n", made.token))
        }
        TokenCommand::List { flags } => {
            let config = beside(flags)?;
            let notes = runtime()?.block_on(tokens::list(&config))?;
            let row = |note: &TokenNote| {
                let day = |time: Option<i64>, none: &str| time.map_or(none.to_owned(), short);
                [
                    note.id.clone(),
                    one_line(&note.tenant),
                    note.label.as_deref().map(one_line).unwrap_or_default(),
                    short(note.created),
                    day(note.used, "never"),
                    day(note.expires, "never"),
                ]
            };
            let rows: Vec<_> = notes.iter().map(row).collect();
            let lines = table(["ID", "TENANT", "LABEL", "MADE", "USED LAST", "ENDS"], &rows);
            let notes: Vec<Value> = notes
                .iter()
                .map(|note| {
                    json!({
                        "id": note.id, "tenant": note.tenant, "label": note.label,
                        "created": timestamp(note.created), "used": note.used.map(timestamp),
                        "expires": note.expires.map(timestamp),
                    })
                })
                .collect();
            let facts = json!({ "command": "serve token list", "database": config.place(), "tokens": notes });
            answer(&facts, &lines)
        }
        TokenCommand::Revoke { id, flags } => {
            match runtime()?.block_on(tokens::revoke(&beside(flags)?, &id))? {
                true => answer(&json!({ "command": "serve token revoke", "id": id }), ""),
                false => {
                    Err(CliError::new(format!("there is no token {id}")).hint("serve token list shows them"))
                }
            }
        }
    }
}

/// A time to the minute, as people read it.
fn short(millis: i64) -> String {
    timestamp(millis).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

fn changes(quotas: Quotas) -> Result<Changes> {
    let bytes = match quotas.mib.unwrap_or_default() {
        Change::To(mib) => Change::To(
            mib.checked_mul(1 << 20)
                .filter(|&bytes| bytes <= i64::MAX as u64)
                .ok_or_else(|| CliError::usage(format!("{mib} MiB are more than can be counted")))?,
        ),
        other => other,
    };
    Ok(Changes { bytes, objects: quotas.objects.unwrap_or_default(), jobs: quotas.jobs.unwrap_or_default() })
}

/// A tenant for programs.
fn facts_of(tenant: &TenantNote) -> Value {
    let (used, quota, own) = (tenant.used, tenant.quota, tenant.own);
    json!({
        "name": tenant.name,
        "id": tenant.id,
        "created": timestamp(tenant.created),
        "tokens": tenant.tokens,
        "used": { "bytes": used.bytes, "objects": used.objects, "jobs": used.jobs },
        "quota": { "bytes": quota.bytes, "objects": quota.objects, "jobs": quota.jobs },
        "own_quota": { "bytes": own.bytes, "objects": own.objects, "jobs": own.jobs },
    })
}

/// Tenants for people. A star is behind quotas that are the tenant's own.
fn lines_of(tenants: &[TenantNote]) -> String {
    let of = |used: String, quota: String, own: Option<u64>| {
        format!("{used} of {quota}{}", if own.is_some() { "*" } else { "" })
    };
    let row = |tenant: &TenantNote| {
        let (used, quota, own) = (tenant.used, tenant.quota, tenant.own);
        [
            one_line(&tenant.name),
            tenant.id.clone(),
            short(tenant.created),
            of(units::bytes(used.bytes), units::bytes(quota.bytes), own.bytes),
            of(used.objects.to_string(), quota.objects.to_string(), own.objects),
            of(used.jobs.to_string(), quota.jobs.to_string(), own.jobs),
            tenant.tokens.to_string(),
        ]
    };
    let rows: Vec<_> = tenants.iter().map(row).collect();
    table(["NAME", "ID", "MADE", "BYTES", "OBJECTS", "JOBS", "TOKENS"], &rows)
}

fn tenant_command(command: TenantCommand) -> Result<()> {
    let told = |name: &str, config: &Config, tenant: &TenantNote| {
        let facts = json!({
            "command": format!("serve tenant {name}"), "database": config.place(), "tenant": facts_of(tenant),
        });
        answer(&facts, &lines_of(std::slice::from_ref(tenant)))
    };
    match command {
        TenantCommand::List { flags } => {
            let config = beside(flags)?;
            let tenants = runtime()?.block_on(tenants::list(&config))?;
            let all: Vec<Value> = tenants.iter().map(facts_of).collect();
            let facts = json!({ "command": "serve tenant list", "database": config.place(), "tenants": all });
            answer(&facts, &lines_of(&tenants))
        }
        TenantCommand::Show { name, flags } => {
            let config = beside(flags)?;
            told("show", &config, &runtime()?.block_on(tenants::show(&config, &name))?)
        }
        TenantCommand::Add { name, quotas, create, flags } => {
            let (config, changes) = (beside(flags)?, changes(quotas)?);
            told("add", &config, &runtime()?.block_on(tenants::add(&config, &name, changes, create))?)
        }
        TenantCommand::Set { name, quotas, rename, flags } => {
            let (config, changes) = (beside(flags)?, changes(quotas)?);
            if changes == Changes::default() && rename.is_none() {
                return Err(CliError::usage("nothing is to be changed")
                    .hint("give --mib, --objects, --jobs or --rename"));
            }
            let set = tenants::set(&config, &name, changes, rename.as_deref());
            told("set", &config, &runtime()?.block_on(set)?)
        }
        TenantCommand::Remove { name, force, flags } => {
            let config = beside(flags)?;
            let tenant = runtime()?.block_on(tenants::remove(&config, &name, force))?;
            let facts = json!({
                "command": "serve tenant remove", "database": config.place(), "tenant": facts_of(&tenant),
            });
            answer(&facts, "")
        }
    }
}
