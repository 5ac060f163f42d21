//! ml-inference: the digit on each of many encrypted images, by a network that the server has in
//! the clear.

mod client;
mod folders;
mod images;
mod instance;
mod measure;
mod server;

use crate::error::Error;
use crate::invocation::{Invocation, NO_DAEMON};
use crate::resident;
use he::Device;
use he::ring::Ring;
use he_nn::CompiledModel;
use instance::Instance;
use server::Server;

/// The stages of the harness in the order in which it starts them, the resident server, and a
/// measurement of images in memory.
const STAGES: [&str; 9] = [
    "client_key_generation",
    "server_preprocess_model",
    "client_preprocess_input",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
    SERVE,
    "measure",
];

/// The stage of the resident server, which no harness starts.
const SERVE: &str = "serve";

const COUNT: &str = "the number of images";

/// The requests to a server: to have prepared the network, or to compute on the images.
const LOAD: &str = "load";
const ANSWER: &str = "answer";

/// Runs a stage.
pub(crate) fn run(invocation: &Invocation) -> Result<(), Error> {
    let instance = || Instance::of(invocation);
    match invocation.stage.as_str() {
        // Pixels are encrypted as they are, and labels are written as they are decoded.
        "client_preprocess_input" | "client_postprocess" => Ok(()),
        "client_key_generation" => client::generate_keys(&instance()?),
        "server_preprocess_model" if invocation.has(NO_DAEMON) => Ok(()),
        // The harness does not say which size it runs.
        "server_preprocess_model" => {
            Instance::started(invocation)?.iter().try_for_each(|instance| ask(instance, LOAD))
        }
        "client_encode_encrypt_input" => client::encrypt(&instance()?),
        "server_encrypted_compute" if invocation.has(NO_DAEMON) => {
            let instance = instance()?;
            Server::new(&instance, &instance.model()?)?.answer(&instance)
        }
        "server_encrypted_compute" => ask(&instance()?, ANSWER),
        "client_decrypt_decode" => client::decrypt(&instance()?),
        SERVE => serve(&instance()?),
        "measure" => measure::measure(&Instance::of_stacks(invocation)?, invocation.count(0, COUNT)?),
        stage => Err(Error::Stage(stage.into(), STAGES.join(", "))),
    }
}

/// The ring of the model's parameters on a device.
fn ring(model: &CompiledModel, device: Device) -> Result<Ring<Device>, Error> {
    Ok(Ring::new(device, model.parameters().params().rlwe().ring().clone())?)
}

fn ask(instance: &Instance, query: &str) -> Result<(), Error> {
    let arguments = instance.arguments(SERVE);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    resident::ask(&instance.folders.socket(), &arguments, query)
}

fn serve(instance: &Instance) -> Result<(), Error> {
    let model = instance.model()?;
    let load = || Server::new(instance, &model);
    resident::serve(&instance.folders.socket(), load, |server, query| match query {
        LOAD => Ok(()),
        ANSWER => server.answer(instance),
        other => Err(Error::Stage(other.into(), [LOAD, ANSWER].join(", "))),
    })
}
