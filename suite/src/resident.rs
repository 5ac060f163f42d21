//! A server that stays up between stages: the first stage starts it, later ones ask it through a
//! socket, and it ends when its folder is gone or nobody has asked for a while.

use crate::error::{At as _, Error};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time that a server waits for the next query.
const IDLE: Duration = Duration::from_secs(600);
/// The time after which a server looks at its folder again, and a stage for a server.
const LOOK: Duration = Duration::from_millis(2);
/// The longest time that a server takes to start.
const START: Duration = Duration::from_secs(60);
/// The longest query and the longest answer.
const LINE: u64 = 1 << 12;
/// The answer to a query that succeeded.
const DONE: &str = "done";

/// Loads the state of a server, then answers queries of one line each until nobody asks any more.
/// Stages that ask meanwhile wait. A server without a state says why, once, and ends.
pub(crate) fn serve<S>(
    socket: &Path,
    load: impl FnOnce() -> Result<S, Error>,
    mut answer: impl FnMut(&S, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let listener = UnixListener::bind(socket).at(socket)?;
    let state = load();
    listener.set_nonblocking(true).at(socket)?;
    let mut asked = Instant::now();
    while asked.elapsed() < IDLE && socket.exists() {
        match (listener.accept(), &state) {
            // A stage that went away concerns nobody else.
            (Ok((stream, _)), Ok(state)) => {
                drop(one(stream, |query| answer(state, query).map_err(|error| error.to_string())));
            }
            (Ok((stream, _)), Err(error)) => {
                drop(std::fs::remove_file(socket));
                return one(stream, |_| Err(error.to_string())).at(socket);
            }
            (Err(error), _) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(LOOK);
                continue;
            }
            (Err(source), _) => return Err(Error::File { path: socket.into(), source }),
        }
        asked = Instant::now();
    }
    Ok(())
}

fn one(stream: UnixStream, answer: impl FnOnce(&str) -> Result<(), String>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let query = read_line(&stream)?;
    let text = answer(&query).map_or_else(|error| error.replace('\n', " "), |()| DONE.into());
    (&stream).write_all(format!("{text}\n").as_bytes())
}

fn read_line(stream: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE)).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Asks the server of a socket, which this program starts with these arguments if it is not there.
pub(crate) fn ask(socket: &Path, arguments: &[&str], query: &str) -> Result<(), Error> {
    let stream = connect(socket, arguments)?;
    (&stream).write_all(format!("{query}\n").as_bytes()).at(socket)?;
    match read_line(&stream).at(socket)? {
        text if text == DONE => Ok(()),
        text if text.is_empty() => Err(Error::Server("it ended without an answer".into())),
        text => Err(Error::Server(text)),
    }
}

fn connect(socket: &Path, arguments: &[&str]) -> Result<UnixStream, Error> {
    if let Ok(stream) = UnixStream::connect(socket) {
        return Ok(stream);
    }
    // A socket that nobody listens to is left of a server that was killed.
    drop(std::fs::remove_file(socket));
    let program = std::env::current_exe().at(socket)?;
    let mut command = Command::new(&program);
    // It must not hold on to the streams of the stage, whose end whoever started that waits for.
    let log = socket.with_extension("log");
    let log = std::fs::File::create(&log).at(&log)?;
    command.arg0("he-suite").args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut server = command.process_group(0).spawn().at(&program)?;
    let start = Instant::now();
    while start.elapsed() < START {
        if let Ok(stream) = UnixStream::connect(socket) {
            return Ok(stream);
        }
        if let Some(status) = server.try_wait().at(&program)? {
            return Err(Error::Server(format!("it ended with {status} before it answered")));
        }
        std::thread::sleep(LOOK);
    }
    Err(Error::Server(format!("it did not start within {} s", START.as_secs())))
}
