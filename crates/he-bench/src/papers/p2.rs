//! P2: Jiwandono, *AES-128-ECB on CUDA*, Institut Teknologi Bandung, 2011. CPU: Core 2 Duo E7300
//! with OpenSSL; GPU: GTX 470.

use crate::error::Result;
use crate::measure::{Id, Lab, Lazy, Place};
use crate::report::{Show, Table, Unit, Value};
use aes_gpu::{AesGpu, AesStream, DeviceData};
use he_core::aes::{self, AesError, Bulk, BulkCipher, Direction, Key};
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;
use std::cell::RefCell;

/// Bytes of a chunk; KB/s on the CPU, on the GPU with transfers, on the GPU without.
const FIGURES: [(usize, [f64; 3]); 17] = [
    (16, [156_452.75, 87.77, 347.28]),
    (64, [173_776.77, 352.30, 1_262.52]),
    (256, [179_107.93, 1_463.56, 4_743.47]),
    (1_024, [180_538.71, 5_510.49, 18_859.38]),
    (2_048, [180_288.85, 8_390.39, 36_400.70]),
    (4_096, [180_523.01, 16_290.89, 73_185.01]),
    (8_192, [180_704.60, 32_501.30, 148_809.52]),
    (16_384, [180_666.37, 61_162.08, 291_375.29]),
    (32_768, [181_002.10, 108_896.87, 626_959.25]),
    (65_536, [180_245.85, 176_616.04, 1_591_089.90]),
    (131_072, [180_826.76, 267_201.07, 2_787_456.45]),
    (262_144, [180_267.69, 332_557.37, 3_851_709.20]),
    (524_288, [180_355.07, 396_943.53, 4_363_239.71]),
    (1_048_576, [179_755.89, 393_439.40, 4_467_401.93]),
    (2_097_152, [180_355.07, 399_920.02, 4_732_677.66]),
    (4_194_304, [179_755.89, 405_258.23, 4_820_729.14]),
    (8_388_608, [179_361.68, 411_781.43, 4_869_419.66]),
];

fn key() -> Result<Key, AesError> {
    Key::from_slice(b"sixteen byte key")
}

fn on_cpu(lab: &Lab, place: &Place<Cpu>, bytes: usize) -> Result<Value> {
    let (key, cipher) = (key()?, aes::Cpu::new());
    let mut data = Vec::new();
    let encrypt = || {
        data.resize(bytes, 0x5a);
        cipher.hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(&mut data))
    };
    let id = Id::new(ID, &place.name, bytes);
    place.on(|| lab.time(&id, &place.backend, encrypt))
}

/// The columns of a GPU: with copies from and to pageable memory, then page-locked memory; without,
/// by our kernel and by the paper's.
const ON_GPU: [&str; 4] =
    ["GPU with copies", "GPU with copies, page-locked", "GPU", "GPU, the paper's kernel"];

fn on_gpu(lab: &Lab, cuda: &Cuda, bytes: usize) -> Result<[Value; 4]> {
    let (gpu, key) = (cuda.gpu(), key()?);
    let host = AesGpu::on(std::slice::from_ref(gpu))?;
    let stream = AesStream::from_stream(cuda.stream().clone())?;
    let device_key = stream.key(&key)?;
    let mut data = Vec::new();
    let pinned = || Ok(RefCell::new(gpu.pinned(bytes / 8)?));
    let (from, to) = (Lazy::new(pinned), Lazy::new(pinned));
    let buffer = Lazy::new(|| {
        let mut buffer = cuda.zeros(bytes / 8)?;
        // Look-ups of equal blocks would not wait for each other, unlike those of real data.
        stream.hazmat_ctr(&device_key, &[7; 16], DeviceData::InPlace(&mut buffer), bytes)?;
        Ok(RefCell::new(buffer))
    });
    let encrypt = Direction::Encrypt;
    let [pageable, locked, ours, paper] = ON_GPU.map(|column| Id::new(ID, column, bytes));
    lab.times(
        cuda,
        [
            (pageable, &mut || {
                data.resize(bytes, 0x5a);
                Ok(host.hazmat_ecb(&key, encrypt, Bulk::in_place(&mut data))?)
            }),
            (locked, &mut || {
                let (from, mut to) = (from.get()?.borrow(), to.get()?.borrow_mut());
                Ok(host.hazmat_ecb_pinned(&key, encrypt, &from, &mut to, bytes)?)
            }),
            (ours, &mut || {
                let mut buffer = buffer.get()?.borrow_mut();
                Ok(stream.hazmat_ecb(&device_key, encrypt, DeviceData::InPlace(&mut buffer), bytes)?)
            }),
            (paper, &mut || {
                let mut buffer = buffer.get()?.borrow_mut();
                Ok(stream.hazmat_ecb_by_columns(&device_key, DeviceData::InPlace(&mut buffer), bytes)?)
            }),
        ],
    )
}

/// The name of the table.
pub const ID: &str = "p2";

/// The paper's table.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let figures = if lab.quick { &FIGURES[..10] } else { &FIGURES };
    let sizes: Vec<usize> = figures.iter().map(|(bytes, _)| *bytes).collect();
    let mut table =
        Table::new(ID, "P2, AES-128-ECB by the length of a chunk", "bytes", Unit::KilobytesPerSecond)
            .along(sizes.iter().map(|bytes| (bytes.to_string(), *bytes as f64)));
    for (column, name) in ["paper: CPU", "paper: GPU with copies", "paper: GPU"].into_iter().enumerate() {
        table.paper(name, figures.iter().map(|(_, figures)| figures[column]));
    }
    for place in lab.cpus() {
        let times: Vec<Value> =
            sizes.iter().map(|&bytes| on_cpu(lab, place, bytes)).collect::<Result<_>>()?;
        table.measured_rates(&place.name, times.into_iter().zip(sizes.iter().copied()));
    }
    if let Some(place) = &lab.gpu {
        let times: Vec<[Value; 4]> = sizes
            .iter()
            .map(|&bytes| place.on(|| on_gpu(lab, &place.backend, bytes)))
            .collect::<Result<_>>()?;
        for (way, name) in ON_GPU.into_iter().enumerate() {
            table.measured_rates(name, times.iter().map(|times| times[way]).zip(sizes.iter().copied()));
        }
        table.note("ours without copies counts the launch, from an idle device to an idle device");
    }
    table.compare("paper: CPU", &lab.serial.name);
    table.compare("paper: GPU with copies", "GPU with copies, page-locked");
    table.compare("paper: GPU", "GPU");
    table.note("KB of 1000 bytes; ECB shows which blocks are equal: an experiment, not a way to encrypt");
    table.note("ours on the CPU expands the key in every call, which is what short chunks wait for");
    show(table)
}
