//! `devices`: lists the CUDA devices.

use crate::console;
use crate::error::{CliError, IoContext, Result, one_line};
use he_cuda::Cuda;
use he_cuda::gpu::{self, DeviceInfo, Gpu};
use he_files::units;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A device, with its properties, as far as known, and the obstacle to its use.
struct Found {
    ordinal: usize,
    info: Option<DeviceInfo>,
    trouble: Option<CliError>,
}

impl Found {
    /// Opens a device as the computing commands do.
    fn look(ordinal: usize) -> Self {
        match Gpu::open(ordinal) {
            Ok(gpu) => {
                let trouble = Cuda::on(&gpu).err().map(CliError::from);
                Self { ordinal, info: Some(gpu.info().clone()), trouble }
            }
            Err(error) => Self { ordinal, info: None, trouble: Some(error.into()) },
        }
    }

    fn json(&self) -> Value {
        let info = self.info.as_ref();
        json!({
            "device": format!("cuda:{}", self.ordinal),
            "name": info.map(|info| &info.name),
            "memory_bytes": info.map(|info| info.memory),
            "compute_capability": info.map(|info| version(info.compute_capability)),
            "driver_cuda": info.map(|info| version(info.driver)),
            "fp64": info.map(rate),
            "transforms": info.map(transforms),
            "usable": self.trouble.is_none(),
            "error": self.trouble.as_ref().map(CliError::message),
        })
    }
}

fn version((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

/// The rate of float64.
fn rate(info: &DeviceInfo) -> &'static str {
    if info.full_rate_fp64() { "full" } else { "reduced" }
}

/// The arithmetic of transforms with primes below 2^50; the resulting words are the same.
fn transforms(info: &DeviceInfo) -> &'static str {
    if info.full_rate_fp64() { "float64" } else { "integers" }
}

/// For people: a line each, then what is in the way.
fn print(out: &mut impl Write, found: &[Found]) -> io::Result<()> {
    let titles = ["device", "name", "memory", "capability", "driver", "FP64", "transforms"];
    let row = |found: &Found| {
        found.info.as_ref().map(|info| {
            [
                format!("cuda:{}", found.ordinal),
                one_line(&info.name),
                units::bytes(info.memory as u64),
                version(info.compute_capability),
                format!("CUDA {}", version(info.driver)),
                rate(info).to_owned(),
                transforms(info).to_owned(),
            ]
        })
    };
    let rows: Vec<_> = found.iter().filter_map(row).collect();
    if !rows.is_empty() {
        for row in std::iter::once(&titles.map(str::to_owned)).chain(&rows) {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
                format!("{cell:<0$}", width.max(titles[column].len()))
            });
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
    }
    for (found, trouble) in found.iter().filter_map(|found| found.trouble.as_ref().map(|why| (found, why))) {
        let hint = trouble.hint_text().map_or(String::new(), |hint| format!("; {hint}"));
        let line = format!("cuda:{} cannot be used: {}{hint}", found.ordinal, trouble.message());
        writeln!(out, "{}", one_line(&line))?;
    }
    Ok(())
}

pub(super) fn run() -> Result<()> {
    // No device is a valid answer; a driver that fails to start is an error.
    let (count, none) = match Gpu::count() {
        Ok(count) => (
            count,
            "the CUDA driver finds no device; look whether nvidia-smi does, or use the CPU".to_owned(),
        ),
        Err(error @ gpu::Error::NoDriver) => (0, error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let found: Vec<Found> = (0..count).map(Found::look).collect();
    let mut out = io::stdout().lock();
    let printed = if console::is_json() {
        writeln!(out, "{:#}", Value::Array(found.iter().map(Found::json).collect()))
    } else if found.is_empty() {
        writeln!(out, "{none}")
    } else {
        print(&mut out, &found)
    };
    printed.writing("standard output")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ordinal: usize, name: &str, compute_capability: (u32, u32)) -> Found {
        let info = DeviceInfo {
            ordinal,
            name: name.to_owned(),
            memory: 24 << 30,
            compute_capability,
            driver: (12, 4),
            multiprocessors: 100,
            shared_memory: 100 << 10,
        };
        Found { ordinal, info: Some(info), trouble: None }
    }

    #[test]
    fn devices_are_a_table() {
        let lost = gpu::Error::Driver { call: "cuInit", reason: "no luck".to_owned() };
        let old = gpu::Error::UnsupportedPtx { driver: (12, 0), needed: (12, 1) };
        let devices = [
            found(0, "NVIDIA H200", (9, 0)),
            found(1, "NVIDIA RTX 4090", (8, 9)),
            Found { trouble: Some(old.into()), ..found(2, "x\u{1b}", (8, 9)) },
            Found { ordinal: 3, info: None, trouble: Some(lost.into()) },
        ];
        let mut text = Vec::new();
        print(&mut text, &devices).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "device  name             memory    capability  driver     FP64     transforms\n\
             cuda:0  NVIDIA H200      24.0 GiB  9.0         CUDA 12.4  full     float64\n\
             cuda:1  NVIDIA RTX 4090  24.0 GiB  8.9         CUDA 12.4  reduced  integers\n\
             cuda:2  x\\u{1b}          24.0 GiB  8.9         CUDA 12.4  reduced  integers\n\
             cuda:2 cannot be used: the CUDA driver 12.0 is too old for these kernels, which need 12.1; \
             update NVIDIA's driver\n\
             cuda:3 cannot be used: cuInit failed: no luck; use the CPU: --device cpu\n"
        );
    }

    #[test]
    fn devices_are_json() {
        let told = found(1, "NVIDIA A100", (8, 0)).json();
        assert_eq!((&told["device"], &told["name"]), (&"cuda:1".into(), &"NVIDIA A100".into()));
        assert_eq!((&told["memory_bytes"], &told["driver_cuda"]), (&(24u64 << 30).into(), &"12.4".into()));
        assert_eq!((&told["fp64"], &told["transforms"]), (&"full".into(), &"float64".into()));
        assert_eq!((&told["usable"], &told["error"]), (&true.into(), &Value::Null));
        let lost = Found { ordinal: 0, info: None, trouble: Some(gpu::Error::NoDriver.into()) };
        assert_eq!(lost.json()["name"], Value::Null);
        assert_eq!(lost.json()["error"], "no CUDA driver is installed");
    }
}
