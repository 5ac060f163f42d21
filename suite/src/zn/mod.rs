//! Zn-multiplication: products of pairs of 64-bit integers modulo 2^64.

mod client;
mod files;
mod folders;
mod measure;
mod numbers;
mod server;

use crate::error::Error;
use crate::invocation::{Invocation, NO_DAEMON};
use crate::resident;
use folders::Folders;
use he::Device;
use he::ring::Ring;
use he::words::WordParams;
use server::Server;

/// The stages of the harness in the order in which it starts them, the resident server, and a
/// measurement of products alone.
const STAGES: [&str; 8] = [
    "client_preprocess_input",
    "client_key_generation",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
    SERVE,
    "measure",
];

/// The stage of the resident server, which no harness starts.
const SERVE: &str = "serve";

const SIZE: &str = "the name of the size, such as small";
const COUNT: &str = "the number of pairs";

/// Runs a stage.
pub(crate) fn run(invocation: &Invocation) -> Result<(), Error> {
    let folders = || Folders::new(invocation.argument(0, SIZE)?);
    let count = || invocation.count(1, COUNT);
    match invocation.stage.as_str() {
        // Words are encrypted as they are, and come out as they are.
        "client_preprocess_input" | "client_postprocess" => Ok(()),
        "client_key_generation" => client::generate_keys(&folders()?),
        "client_encode_encrypt_input" => client::encrypt(&folders()?),
        "server_encrypted_compute" => compute(invocation, &folders()?, count()?),
        "client_decrypt_decode" => client::decrypt(&folders()?, count()?),
        SERVE => serve(&folders()?),
        "measure" => measure::measure(invocation.count(0, COUNT)?),
        stage => Err(Error::Stage(stage.into(), STAGES.join(", "))),
    }
}

/// The parameters of the entry, which are public.
fn params() -> Result<WordParams, Error> {
    Ok(WordParams::new(64).map_err(he::Error::from)?)
}

/// The parameters' ring on a device.
fn ring(params: &WordParams, device: Device) -> Result<Ring<Device>, Error> {
    Ok(Ring::new(device, params.ckks().rlwe().ring().clone())?)
}

fn compute(invocation: &Invocation, folders: &Folders, count: u64) -> Result<(), Error> {
    if invocation.has(NO_DAEMON) {
        return Server::new(folders)?.compute(folders, count);
    }
    let arguments = [invocation.workload.name(), SERVE, folders.size()];
    resident::ask(&folders.socket(), &arguments, &count.to_string())
}

fn serve(folders: &Folders) -> Result<(), Error> {
    resident::serve(
        &folders.socket(),
        || Server::new(folders),
        |server, query| {
            let wrong = |_| Error::Arguments { stage: SERVE.into(), needed: COUNT };
            server.compute(folders, query.parse().map_err(wrong)?)
        },
    )
}
