//! transciphering: numbers under AES become numbers under TFHE, then their maximum or an inner
//! product.

mod client;
mod folders;
mod instance;
mod message;
mod server;
mod task;

use crate::error::Error;
use crate::invocation::{Invocation, NO_DAEMON};
use crate::resident;
use instance::Instance;
use server::Server;
use task::Task;

/// The stages of the harness in the order in which it starts them, and the resident server.
const STAGES: [&str; 11] = [
    "client_preprocess",
    "client_key_generation",
    "client_encode_encrypt",
    "server_preprocess_dataset",
    "server_encrypted_aes_decryption",
    "server_encrypted_compute",
    "client_decrypt_decode_aes_decryption",
    "client_postprocess_aes_decryption",
    "client_decrypt_decode",
    "client_postprocess",
    SERVE,
];

/// The stage of the resident server, which no harness starts.
const SERVE: &str = "serve";

/// The requests to a server besides tasks: to have loaded the keys, or to decrypt the message.
const LOAD: &str = "load";
const DECRYPT: &str = "decrypt";

/// Runs a stage.
pub(crate) fn run(invocation: &Invocation) -> Result<(), Error> {
    let instance = || Instance::of(invocation);
    let ask = |request| match invocation.has(NO_DAEMON) {
        true if request == LOAD => Ok(()),
        true => answer(&Server::new(&instance()?)?, request),
        false => ask(&instance()?, request),
    };
    match invocation.stage.as_str() {
        // Round keys are expanded when they are encrypted, and numbers come out as they are.
        "client_preprocess" | "client_postprocess_aes_decryption" | "client_postprocess" => Ok(()),
        "client_key_generation" => client::generate_keys(&instance()?),
        "client_encode_encrypt" => client::encrypt_key(&instance()?),
        "server_preprocess_dataset" => ask(LOAD),
        "server_encrypted_aes_decryption" => ask(DECRYPT),
        "server_encrypted_compute" => ask(Task::from_environment()?.name()),
        "client_decrypt_decode_aes_decryption" => client::decrypt_numbers(&instance()?),
        "client_decrypt_decode" => client::decrypt_result(&instance()?),
        SERVE => serve(&instance()?),
        stage => Err(Error::Stage(stage.into(), STAGES.join(", "))),
    }
}

fn ask(instance: &Instance, request: &str) -> Result<(), Error> {
    let arguments = instance.arguments(SERVE);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    resident::ask(&instance.folders.socket(), &arguments, request)
}

fn serve(instance: &Instance) -> Result<(), Error> {
    resident::serve(
        &instance.folders.socket(),
        || Server::new(instance),
        |server, query| answer(server, query),
    )
}

fn answer(server: &Server<'_>, request: &str) -> Result<(), Error> {
    match request {
        LOAD => Ok(()),
        DECRYPT => server.decrypt(),
        task => server.compute(Task::named(task)?),
    }
}
