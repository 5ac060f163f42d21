//! `serve`: the service, and its tokens.

use crate::args::{LogForm, Serve, ServeCommand, ServeFlags, TokenCommand};
use crate::console;
use crate::error::{CliError, IoContext, Result};
use crate::terminal;
use he::Device;
use he_server::app::{App, StartError};
use he_server::logs::{self, Form};
use he_server::serve::Server;
use he_server::settings::{Config, Settings, SettingsError};
use he_server::tokens;
use serde_json::{Value, json};
use std::future::Future;
use std::io::Write;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal;

/// The time for threads of the runtime once the service has ended.
const LINGER: Duration = Duration::from_secs(1);

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::usage(error.to_string()).hint("docs/service.md lists the settings")
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Model(error) => error.into(),
            error => Self::new(error.to_string()),
        }
    }
}

/// The settings of flags and environment, then those of the file.
fn config(flags: ServeFlags, devices: Vec<Device>) -> Result<Config> {
    let file = flags.config.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
    Ok(Config::new(Settings::from(flags).or(file), devices)?)
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
        None => serve(args),
    }
}

fn serve(args: Serve) -> Result<()> {
    let form = if args.log == LogForm::Json { Form::Json } else { Form::Text };
    logs::start(form, &args.log_level).map_err(CliError::usage)?;
    let devices = args.device.choice.open()?;
    let config = config(args.flags, devices.all().to_vec())?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let server = Server::bind(App::start(config).await?).await?;
        let address = server.address().doing("listen on", "the address")?;
        let url = format!("{scheme}://{address}");
        answer(&json!({ "command": "serve", "url": url }), &format!("listening on {url}\n"))?;
        server.run(ended()?).await;
        Ok(())
    });
    // Threads that do not end, if there are any after that, must not keep the process.
    runtime.shutdown_timeout(LINGER);
    served
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

fn token_command(command: TokenCommand) -> Result<()> {
    let config = |flags| config(flags, vec![Device::cpu()]);
    match command {
        TokenCommand::Add { tenant, flags } => {
            let made = runtime()?.block_on(tokens::create(&config(flags)?, &tenant, None))?;
            let facts = json!({
                "command": "serve token add", "token": made.token, "id": made.id, "tenant": tenant,
            });
            answer(&facts, &format!("{}\n", made.token))
        }
        TokenCommand::List { flags } => {
            let notes = runtime()?.block_on(tokens::list(&config(flags)?))?;
            let lines: String =
                notes.iter().map(|note| format!("{} {}\n", note.id, terminal_name(&note.tenant))).collect();
            let notes: Vec<Value> =
                notes.iter().map(|note| json!({ "id": note.id, "tenant": note.tenant })).collect();
            answer(&json!({ "command": "serve token list", "tokens": notes }), &lines)
        }
        TokenCommand::Revoke { id, flags } => {
            match runtime()?.block_on(tokens::revoke(&config(flags)?, &id))? {
                true => answer(&json!({ "command": "serve token revoke", "id": id }), ""),
                false => {
                    Err(CliError::new(format!("there is no token {id}")).hint("serve token list shows them"))
                }
            }
        }
    }
}

/// The name of a tenant, which somebody chose.
fn terminal_name(name: &str) -> String {
    crate::error::one_line(name)
}
