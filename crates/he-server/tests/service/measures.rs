//! Memory, measured and printed; too long, and too dependent on the machine, for every run:
//! `cargo test --release -p he-server -- --ignored --nocapture --test-threads 1`.

use crate::client::{PIECE, TUS, read_answer};
use crate::fixtures::{Service, files};
use he_core::wire::{FrameReader, FrameWriter};
use he_server::settings::Settings;
use std::io::{BufReader, BufWriter, Write};

/// The memory of this process in MiB, now and at most.
fn memory() -> [f64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    })
}

/// Writes the file as it would be if its ciphertexts were repeated so often.
fn repeated(out: impl Write, times: u64) {
    let mut reader = FrameReader::new(&files().image[..]);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_sealed(|_, _| u64::MAX).unwrap() {
        frames.push(frame);
    }
    let mut writer = FrameWriter::new(out);
    writer.write_sealed(&frames[0]).unwrap();
    writer.write_sealed(&frames[1]).unwrap();
    for _ in 0..times {
        writer.write_sealed(&frames[2]).unwrap();
    }
    writer.finish(frames[0].unverified().fingerprint).unwrap();
}

struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
#[ignore = "takes minutes and gigabytes of disk"]
fn large_uploads_take_little_memory() {
    let gib: u64 = std::env::var("HE_UPLOAD_GIB").map_or(2, |gib| gib.parse().unwrap());
    let service = Service::with(Settings { guest_mib: Some(1 << 16), ..Settings::default() });
    let guest = service.guest();
    let (mut one, mut two) = (Count(0), Count(0));
    repeated(&mut one, 1);
    repeated(&mut two, 2);
    let times = (gib << 30).div_ceil(two.0 - one.0);
    let mut count = Count(0);
    repeated(&mut count, times);
    let url = guest.begin("/v1/objects", usize::try_from(count.0).unwrap()).expect(201);
    let url = url.header("location").unwrap().to_owned();
    let before = memory();
    let begin = std::time::Instant::now();
    let mut stream = guest.connect();
    let headers = [TUS, PIECE, ("Upload-Offset", "0")];
    stream.write_all(guest.head("PATCH", &url, &headers, Some(count.0 as usize)).as_bytes()).unwrap();
    repeated(BufWriter::with_capacity(1 << 20, &stream), times);
    let sent = begin.elapsed().as_secs_f64();
    let answer = read_answer(&mut BufReader::new(stream), false).unwrap();
    let (after, seconds) = (memory(), begin.elapsed().as_secs_f64());
    println!(
        "{:.2} GiB: answered {} after {seconds:.1} s, of which {sent:.1} s for the bytes; memory {:.0} MiB before, {:.0} after, {:.0} at most",
        count.0 as f64 / f64::from(1 << 30),
        answer.status,
        before[0],
        after[0],
        after[1],
    );
}

#[test]
#[ignore = "needs 2100 open files"]
fn idle_connections_take_little_memory() {
    let service = Service::with(Settings { address_connections: Some(2000), ..Settings::default() });
    let guest = service.guest();
    guest.get("/v1/objects").expect(200);
    let before = memory()[0];
    let connections: Vec<_> = (0..1000)
        .map(|_| {
            let mut stream = guest.connect();
            // One request each, as of browsers that keep their connections.
            let request = guest.head("GET", "/healthz", &[], None).replace("Connection: close\r\n", "");
            stream.write_all(request.as_bytes()).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            read_answer(&mut reader, false).unwrap().expect(200);
            stream
        })
        .collect();
    let after = memory()[0];
    println!("1000 idle connections: {:.1} MiB, both ends", after - before);
    let metrics = String::from_utf8(service.nobody().get("/metrics").body).unwrap();
    assert!(metrics.contains("\nhe_server_connections 1001\n"), "{metrics}");
    drop(connections);
}
