//! fetch-by-similarity: how many vectors of an encrypted database are near an encrypted query, or
//! their payloads.

mod client;
mod dataset;
mod folders;
mod instance;
mod measure;
mod server;

use crate::error::Error;
use crate::invocation::{Invocation, NO_DAEMON};
use crate::resident;
use he::Device;
use he::ring::Ring;
use he_search::Params;
use instance::Instance;
use server::Server;

/// The stages of the harness in the order in which it starts them, the resident server, and a
/// measurement of a database in memory.
const STAGES: [&str; 11] = [
    "client_preprocess_dataset",
    "client_key_generation",
    "client_encode_encrypt_db",
    "server_preprocess_dataset",
    "client_preprocess_query",
    "client_encode_encrypt_query",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
    SERVE,
    "measure",
];

/// The stage of the resident server, which no harness starts.
const SERVE: &str = "serve";

/// The requests to a server: to have loaded the database, or to answer the query.
const LOAD: &str = "load";
const ANSWER: &str = "answer";

/// Runs a stage.
pub(crate) fn run(invocation: &Invocation) -> Result<(), Error> {
    let instance = || Instance::of(invocation);
    match invocation.stage.as_str() {
        // Vectors are encrypted as they are, and results are decoded in their order.
        "client_preprocess_dataset" | "client_preprocess_query" | "client_postprocess" => Ok(()),
        "client_key_generation" => client::generate_keys(&instance()?),
        "client_encode_encrypt_db" => client::encrypt_database(&instance()?),
        "server_preprocess_dataset" if invocation.has(NO_DAEMON) => Ok(()),
        "server_preprocess_dataset" => ask(&instance()?, LOAD),
        "client_encode_encrypt_query" => client::encrypt_query(&instance()?),
        "server_encrypted_compute" if invocation.has(NO_DAEMON) => {
            let instance = instance()?;
            Server::new(&instance)?.answer(&instance)
        }
        "server_encrypted_compute" => ask(&instance()?, ANSWER),
        "client_decrypt_decode" => client::decrypt(&instance()?),
        SERVE => serve(&instance()?),
        "measure" => measure::measure(&instance()?),
        stage => Err(Error::Stage(stage.into(), STAGES.join(", "))),
    }
}

/// The ring of parameters on a device.
fn ring(params: &Params, device: Device) -> Result<Ring<Device>, Error> {
    Ok(Ring::new(device, params.ckks().rlwe().ring().clone())?)
}

fn ask(instance: &Instance, query: &str) -> Result<(), Error> {
    let arguments = instance.arguments(SERVE);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    resident::ask(&instance.folders.socket(), &arguments, query)
}

fn serve(instance: &Instance) -> Result<(), Error> {
    let load = || Server::new(instance);
    resident::serve(&instance.folders.socket(), load, |server, query| match query {
        LOAD => Ok(()),
        ANSWER => server.answer(instance),
        other => Err(Error::Stage(other.into(), [LOAD, ANSWER].join(", "))),
    })
}
