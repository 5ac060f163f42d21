//! The calls that `python/bench.py overhead` makes, without Python.
//!
//! The program reads lines of a call's name and a number, makes the call that many times, and
//! answers with an empty line: bench.py measures it from outside, in turns with its own calls.
#![allow(missing_docs)]

use he::Device;
use he::ckks::{Ciphertext, CkksParams, Evaluator, SecretEncryptor};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};

/// A ciphertext, and what computes on it.
struct Setup {
    ev: Evaluator<Device>,
    keys: EvaluationKeys<Device>,
    x: Ciphertext<Device>,
}

impl Setup {
    fn new(params: &CkksParams, values: &[f64]) -> Result<Self, Box<dyn Error>> {
        let mut rng = he::rand::rng();
        let ring = Ring::new(Device::cpu(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng)?;
        let ev = Evaluator::new(params, &ring)?;
        let plain = ev.encoder().encode_real(values, params.encoding())?;
        let x = SecretEncryptor::new(params, &secret, &ring)?.encrypt(&plain, &mut rng)?.expand()?;
        Ok(Self { ev, keys, x })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let small = Setup::new(&CkksParams::for_depth(0).precision_bits(10).build()?, &[1.0])?;
    let large = Setup::new(&CkksParams::for_depth(7).log_n(14).build()?, &[0.5; 8192])?;
    for line in stdin().lock().lines() {
        let line = line?;
        let (call, count) = line.split_once(' ').ok_or("a call and a number are expected")?;
        let count: usize = count.parse()?;
        for _ in 0..count {
            match call {
                "negate" => drop(black_box(small.ev.neg(&small.x)?)),
                "multiply" => drop(black_box(large.ev.mul(&large.x, &large.x, &large.keys)?)),
                "add" => drop(black_box(large.ev.add(&large.x, &large.x)?)),
                call => return Err(format!("{call} is not one of negate, add and multiply").into()),
            }
        }
        println!();
        stdout().flush()?;
    }
    Ok(())
}
