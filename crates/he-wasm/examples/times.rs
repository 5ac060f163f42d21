//! Times of keys, encryption and decryption natively, on one thread, as `web/client/bench.mjs`
//! measures them in WebAssembly: milliseconds, the least of five, as JSON.
#![allow(missing_docs)]

use he_files::contents::clear::View;
use he_wasm::options::KeyOptions;
use he_wasm::task::{Step, Task};
use he_wasm::{Result, Session};
use serde_json::{Map, Value, json};
use std::time::Instant;

const ROUNDS: usize = 5;

fn finish<T>(task: &mut Task<T>, file: &[u8]) -> Result<T> {
    let mut given = false;
    loop {
        match task.step()? {
            Step::Done(result) => return Ok(result),
            Step::Working => {}
            Step::Hungry if given => task.feed.end(),
            Step::Hungry => {
                task.feed.push(file);
                given = true;
            }
        }
    }
}

fn time(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(least)
}

fn main() -> Result<()> {
    let pixels: Vec<u8> = (0..512 * 512u32).map(|i| (i * 7 % 251) as u8).collect();
    let mut found = Map::new();
    for (scheme, options) in [
        ("ckks", r#"{"scheme":"ckks","for":"images","depth":1}"#),
        ("bfv", r#"{"scheme":"bfv","for":"tables","depth":1,"bits":16}"#),
        ("bgv", r#"{"scheme":"bgv","for":"tables","depth":1,"bits":16}"#),
    ] {
        let (session, options) = (Session::new(), KeyOptions::parse(options)?);
        let keygen = time(|| finish(&mut session.generate(&options)?.0, &[]).map(drop))?;
        let mut file = Vec::new();
        let encrypt = time(|| {
            let mut making = session.encrypt_image(512, 512, 1, pixels.clone())?;
            finish(&mut making.task, &[])?;
            file = making.written.take();
            Ok(())
        })?;
        let decrypt = time(|| finish(&mut session.decrypt(View::Light)?.0, &file).map(drop))?;
        found.insert(scheme.to_owned(), json!({ "keygen": keygen, "encrypt": encrypt, "decrypt": decrypt }));
    }
    println!("{}", Value::Object(found));
    Ok(())
}
