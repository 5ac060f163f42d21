//! `demo`: the whole round on an image, with times, sizes and PSNR.

use crate::args::Demo;
use crate::console;
use crate::device::Devices;
use crate::error::{CliError, IoContext, Result, one_line};
use crate::progress::Shown;
use crate::terminal;
use he_core::circuits::Kernel;
use he_core::ckks::CkksParams;
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::{Clear, View};
use he_files::contents::images::rotations;
use he_files::contents::images::{Filter, decrypt_picture};
use he_files::contents::options::TableFlags;
use he_files::contents::tables::RealTable;
use he_files::contents::{Contents, encrypt};
use he_files::data::picture::{Channels, Depth, Format, Picture, PictureBuilder};
use he_files::data::psnr::Psnr;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_set::{KEY_NAMES, KeyFiles, KeySet};
use he_files::note::{Content, ImageNote, Payload};
use he_files::scheme::engine::rng;
use he_files::scheme::{Ckks, Scheme};
use he_files::units;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The report for programs; if it exists, the files beside it are from an earlier demo and may be
/// replaced.
pub(super) const REPORT: &str = "demo.json";

/// One line of the report.
struct Step {
    name: &'static str,
    time: Duration,
    file: &'static str,
    bytes: u64,
    psnr: Option<f64>,
}

/// PSNR of decrypted rows against expected planes of values.
fn compare<'a>(
    psnr: &'a mut Psnr,
    planes: &'a [Vec<f64>],
    width: usize,
) -> impl FnMut(usize, u32, &[f64]) + 'a {
    move |channel, y, row| psnr.push(&planes[channel][y as usize * width..][..width], row)
}

/// The first bytes of the encrypted file as an image of the same size: what a server sees.
fn ciphertext_picture(path: &Path, like: &Picture) -> Result<Picture> {
    let mut builder = PictureBuilder::new(like.width(), like.height(), Channels::Gray, Depth::Eight)?;
    let mut file = BufReader::new(File::open(path).at(path)?);
    // Behind parameters and descriptions.
    let mut row = vec![0u8; like.width() as usize];
    io::copy(&mut (&mut file).take(4096), &mut io::sink()).at(path)?;
    for y in 0..like.height() {
        if file.read_exact(&mut row).is_err() {
            break;
        }
        let values: Vec<f64> = row.iter().map(|&byte| f64::from(byte) / 255.0).collect();
        builder.write_rows(0, y, &values);
    }
    Ok(builder.finish())
}

/// Files of the demo that were not there before; unless kept, they go again.
pub(super) struct Placed(pub(super) Vec<PathBuf>);

impl Placed {
    /// The file is about to get its name.
    pub(super) fn add(&mut self, path: PathBuf) {
        if !path.exists() {
            self.0.push(path);
        }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        for path in &self.0 {
            // Best effort: the error that led here is the one to report.
            let _ = fs::remove_file(path);
        }
    }
}

pub(super) fn run(args: &Demo) -> Result<()> {
    let start = Instant::now();
    let flags = TableFlags::default();
    let clear = Clear::read::<Ckks>(Input::open(args.image())?, flags, None, &Shown::default())?;
    let Clear::Picture(picture) = &clear else {
        return Err(CliError::new(format!("{} is a table, not an image", args.image().display()))
            .hint("the demo takes an image"));
    };
    let params = args.needs.params()?;
    if params.max_level() == 0 {
        return Err(CliError::usage("a blur needs one level").hint("choose --depth 1 or more"));
    }
    let folder = create_dir(&args.output)?;
    let path = |name: &str| folder.path().join(name);
    let key_folder = create_dir(path("keys"))?;
    // Everything is begun before the work, so that it does not end with a file that cannot be
    // written.
    let force = args.force || path(REPORT).exists();
    let mut placed = Placed(Vec::new());
    let mut create = |name: &str| {
        let output =
            Output::create(path(name), OutputOptions { force, ..OutputOptions::default() }, &[args.image()])?;
        placed.add(path(name));
        Ok::<_, CliError>(output)
    };
    let encrypted = [create("photo.he")?, create("blurred.he")?];
    let pictures = [create("decrypted.png")?, create("blurred.png")?];
    let (seen, mut json_report) = (create("encrypted.png")?, create(REPORT)?);
    let key_files = KeyFiles::create(key_folder.path(), force)?;
    for name in KEY_NAMES {
        placed.add(key_folder.path().join(name));
    }
    let outputs = Outputs { keys: key_files, encrypted, pictures };
    let devices = args.device.open()?;
    let name = devices.name();
    let steps = steps(&devices, &params, &clear, picture, folder.path(), outputs)?;
    save(&ciphertext_picture(&path("photo.he"), picture)?, seen)?;
    let total = start.elapsed();
    let report = json_of(args, &name, &params, picture, &steps, total);
    writeln!(json_report, "{}", terminal::json(&report)).writing(path(REPORT))?;
    json_report.commit()?;
    placed.0.clear();
    key_folder.keep();
    let mut out = io::stdout().lock();
    let printed = if console::is_json() {
        writeln!(out, "{}", terminal::json(&report))
    } else {
        print_report(&mut out, args, &name, &params, picture, &steps, total)
    };
    folder.keep();
    printed.writing("standard output")
}

/// The files that the steps write, begun but not yet named.
struct Outputs {
    keys: KeyFiles,
    encrypted: [Output; 2],
    pictures: [Output; 2],
}

/// The steps, one after the other. Each ends with its results in files, so that its time includes
/// the device's.
fn steps(
    devices: &Devices,
    params: &CkksParams,
    clear: &Clear<RealTable>,
    picture: &Picture,
    folder: &Path,
    outputs: Outputs,
) -> Result<Vec<Step>> {
    let path = |name: &str| folder.join(name);
    let [fresh, blurred] = outputs.encrypted;
    let mut steps = Vec::new();

    let clock = Instant::now();
    let team = devices.team::<Ckks>(params)?;
    let mut rng = rng()?;
    let keys = KeySet::<Ckks>::generate_watched(team.lead(), &rotations(params, 1)?, &mut rng, team.watch())?;
    let bytes = outputs.keys.write(&keys, params, None)?.iter().sum();
    steps.push(Step { name: "keygen", time: clock.elapsed(), file: "keys/", bytes, psnr: None });

    let clock = Instant::now();
    let content = Ckks::describe(clear, params, Some(1), team.watch())?;
    let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
    let bytes = encrypt::by_public_key(&team, &keys.public, clear, &payload, fresh, &mut rng)?.bytes;
    steps.push(Step { name: "encrypt", time: clock.elapsed(), file: "photo.he", bytes, psnr: None });

    let clock = Instant::now();
    let reader = CipherReader::open(&path("photo.he"))?;
    let kernel = Kernel::box_blur(1)?;
    let filter = Filter::Kernel(kernel.clone());
    let evaluation = team.share(&keys.evaluation)?;
    let result = filter.describe(image_note(&reader)?, None, params)?;
    let payload = reader.payload.after("blur", Content::Image(result));
    let bytes = filter.evaluate(&team, &evaluation, reader, None, &payload, blurred)?.bytes;
    steps.push(Step { name: "blur", time: clock.elapsed(), file: "blurred.he", bytes, psnr: None });

    let decryptors = team.each(|engine| Ckks::decryptor(engine, &keys.secret))?;
    let names = [
        ("decrypt", "photo.he", "decrypted.png", None),
        ("decrypt blurred", "blurred.he", "blurred.png", Some(&kernel)),
    ];
    for ((name, source, target, filter), output) in names.into_iter().zip(outputs.pictures) {
        let planes = planes(picture, filter)?;
        let mut psnr = Psnr::new();
        let clock = Instant::now();
        let mut reader = CipherReader::open(&path(source))?;
        let note = image_note(&reader)?.clone();
        let watch = compare(&mut psnr, &planes, picture.width() as usize);
        let result = decrypt_picture(&team, &mut reader, &note, &decryptors, View::Light, watch)?;
        let time = clock.elapsed();
        save(&result, output)?;
        let bytes = fs::metadata(path(target)).at(path(target))?.len();
        steps.push(Step { name, time, file: target, bytes, psnr: Some(psnr.db()) });
    }
    Ok(steps)
}

/// The description of an encrypted image.
fn image_note(reader: &CipherReader<Ckks>) -> Result<&ImageNote> {
    match &reader.payload.content {
        Content::Image(note) => Ok(note),
        _ => Err(CliError::new(format!("{} is not an image", reader.name))),
    }
}

pub(super) fn save(picture: &Picture, mut output: Output) -> Result<()> {
    picture.encode(Format::Png, &mut output)?;
    Ok(output.commit()?)
}

/// The values that the channels should hold, in float64.
fn planes(picture: &Picture, filter: Option<&Kernel>) -> Result<Vec<Vec<f64>>> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let plane = |channel: usize| {
        let mut plane = vec![0.0; width * height];
        picture.read_rows(channel, 0..picture.height(), &mut plane);
        match filter {
            Some(kernel) if channel < picture.channels().light() => {
                Ok(kernel.apply_plain(&plane, width, height)?)
            }
            _ => Ok(plane),
        }
    };
    std::thread::scope(|scope| {
        let plane = &plane;
        let channels: Vec<_> =
            (0..picture.channels().count()).map(|channel| scope.spawn(move || plane(channel))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<f64>>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        channels.into_iter().map(join).collect()
    })
}

fn json_of(
    args: &Demo,
    device: &str,
    params: &CkksParams,
    picture: &Picture,
    steps: &[Step],
    total: Duration,
) -> Value {
    let step = |step: &Step| {
        json!({
            "step": step.name, "seconds": step.time.as_secs_f64(), "file": step.file, "bytes": step.bytes,
            "psnr_db": step.psnr.filter(|db| db.is_finite()),
        })
    };
    json!({
        "image": args.image().display().to_string(), "width": picture.width(), "height": picture.height(),
        "channels": picture.channels().name(), "device": device,
        "parameters": Ckks::params_json(params), "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "seconds": total.as_secs_f64(),
    })
}

fn print_report(
    out: &mut impl Write,
    args: &Demo,
    device: &str,
    params: &CkksParams,
    picture: &Picture,
    steps: &[Step],
    total: Duration,
) -> io::Result<()> {
    writeln!(
        out,
        "{}: {} x {}, {}, {} bits\n{}, {}: degree {}, log QP {:.0}, scale 2^{}\n",
        one_line(&args.image().display().to_string()),
        picture.width(),
        picture.height(),
        picture.channels().name(),
        picture.depth().bits(),
        one_line(device),
        params.rlwe().security(),
        params.rlwe().ring().n(),
        params.rlwe().ring().log_qp(),
        params.scale_log2(),
    )?;
    writeln!(out, "{:<16} {:>10}  {:<14} {:>10}  {:>11}", "step", "time", "file", "size", "PSNR")?;
    for step in steps {
        let psnr = step.psnr.map_or(String::new(), |db| format!("{db:.1} dB"));
        let (time, size) = (units::duration(step.time), units::bytes(step.bytes));
        let line = format!("{:<16} {time:>10}  {:<14} {size:>10}  {psnr:>11}", step.name, step.file);
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "{:<16} {:>10}", "all", units::duration(total))?;
    writeln!(
        out,
        "\nPSNR of the decrypted real values: against the original, and against the blur in float64.\n\
         In {}: decrypted.png, blurred.png, and encrypted.png, which is what the server sees.",
        args.output.display()
    )
}
