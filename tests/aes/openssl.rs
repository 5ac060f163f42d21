//! The system's `openssl enc`, as a process.

use super::{made, seed};
use he::aes::{BulkCipher, Cpu, Direction, Key, KeySize};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The output of `openssl enc`; `None` if there is no such program.
fn openssl(arguments: &[&str], data: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.arg("enc").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Not `eprintln`, which the test harness hides.
            std::io::stderr().write_all(b"SKIPPED: there is no openssl\n").unwrap();
            return None;
        }
        process => process.unwrap(),
    };
    let mut input = process.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(data).unwrap());
        process.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{arguments:?}");
    Some(output.stdout)
}

#[test]
fn ctr_and_ecb() {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    for size in KeySize::ALL {
        let key = Key::generate(size, &mut rng);
        let key_text = hex(key.expose_bytes());
        for len in [1, 16, 1000, rng.random_range(1 << 17..1 << 20)] {
            let mut data = vec![0; len];
            rng.fill_bytes(&mut data);

            // A counter that soon carries over 64 bits.
            let mut counter: [u8; 16] = rng.random();
            counter[8..15].fill(0xff);
            let mode = format!("-aes-{}-ctr", size.bits());
            let Some(expected) = openssl(&[&mode, "-K", &key_text, "-iv", &hex(&counter)], &data) else {
                return;
            };
            let (found, ()) = made(&data, |data| Cpu::new().hazmat_ctr(&key, &counter, data));
            assert!(found == expected, "{mode}, {len} bytes");

            data.truncate(len / 16 * 16);
            let mode = format!("-aes-{}-ecb", size.bits());
            for (option, direction) in [("-e", Direction::Encrypt), ("-d", Direction::Decrypt)] {
                let Some(expected) = openssl(&[&mode, option, "-nopad", "-K", &key_text], &data) else {
                    return;
                };
                let (found, ()) = made(&data, |data| Cpu::new().hazmat_ecb(&key, direction, data));
                assert!(found == expected, "{mode} {option}, {len} bytes");
            }
        }
    }
}
