//! Times of keys, encryption and decryption natively, as `web/client/bench/client.mjs` measures
//! them in WebAssembly: milliseconds of the processor (elsewhere than on Linux, of the clock), the
//! least of nine, as JSON. `RAYON_NUM_THREADS=1` leaves one thread.
#![allow(missing_docs)]

use he_files::contents::clear::View;
use he_wasm::options::KeyOptions;
use he_wasm::task::{Step, Task};
use he_wasm::{Result, Session};
use serde_json::{Map, Value, json};
use std::fs::{self, DirEntry};
use std::time::Instant;

const ROUNDS: usize = 9;

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

/// Milliseconds of the processor, of all threads.
fn processor() -> Option<f64> {
    let nanoseconds = |task: std::io::Result<DirEntry>| -> Option<f64> {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    let threads: Option<Vec<f64>> = fs::read_dir("/proc/self/task").ok()?.map(nanoseconds).collect();
    Some(threads?.iter().sum::<f64>() / 1e6)
}

fn time(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (clock, before) = (Instant::now(), processor());
        work()?;
        let used = before.zip(processor()).map(|(before, after)| after - before);
        least = least.min(used.unwrap_or_else(|| clock.elapsed().as_secs_f64() * 1e3));
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
            let mut making = session.encrypt_image(512, 512, 1, pixels.clone(), None)?;
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
