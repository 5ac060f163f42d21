//! `demo --deep`: an image is blurred many times over while it stays encrypted, with new levels
//! where they run out.

use super::demo::{Placed, REPORT, save};
use crate::args::Demo;
use crate::console;
use crate::error::{CliError, IoContext, Result, one_line};
use crate::progress::{Progress, Shown};
use crate::terminal;
use he::Device;
use he_core::backend::Backend;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, Bootstrapper, RefreshWith};
use he_core::circuits::Kernel;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_files::bootstrap::Named;
use he_files::contents::clear::Clear;
use he_files::contents::options::TableFlags;
use he_files::data::picture::{Channels, Depth, Picture, PictureBuilder};
use he_files::data::psnr::Psnr;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::scheme::Ckks;
use he_files::scheme::engine::rng;
use he_files::units;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, Instant};

/// The blur: a Gaussian of this standard deviation on 3 x 3 pixels.
const SIGMA: f64 = 0.5;

/// Gray values, row after row, that fill a vector.
struct Plane {
    width: usize,
    height: usize,
    values: Vec<f64>,
}

impl Plane {
    /// The luminance of a picture, scaled to so many pixels, wide or high as the picture is.
    fn of(picture: &Picture, pixels: usize) -> Self {
        let log = pixels.ilog2();
        let (short, long) = (1usize << (log / 2), 1usize << log.div_ceil(2));
        let wide = picture.width() >= picture.height();
        let (width, height) = if wide { (long, short) } else { (short, long) };
        let (from_w, from_h) = (picture.width() as usize, picture.height() as usize);
        let mut gray = vec![0.0; from_w * from_h];
        let weights: &[f64] = match picture.channels().light() {
            1 => &[1.0],
            _ => &[0.299, 0.587, 0.114],
        };
        let mut channel_values = vec![0.0; gray.len()];
        for (channel, weight) in weights.iter().enumerate() {
            picture.read_rows(channel, 0..picture.height(), &mut channel_values);
            gray.iter_mut().zip(&channel_values).for_each(|(sum, value)| *sum += weight * value);
        }
        // The mean of the pixels that a new one covers, of which there is at least one.
        let span = |i: usize, of: usize, from: usize| {
            let start = (i * from / of).min(from - 1);
            start..((i + 1) * from / of).clamp(start + 1, from)
        };
        let values = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| {
            let (columns, rows) = (span(x, width, from_w), span(y, height, from_h));
            let count = (columns.len() * rows.len()) as f64;
            let sum: f64 = rows.flat_map(|y| &gray[y * from_w..][columns.clone()]).sum();
            (sum / count).clamp(0.0, 1.0)
        });
        let values = values.collect();
        Self { width, height, values }
    }

    fn picture(&self) -> Result<Picture> {
        let (width, height) = (self.width as u32, self.height as u32);
        let mut builder = PictureBuilder::new(width, height, Channels::Gray, Depth::Eight)?;
        builder.write_rows(0, 0, &self.values);
        Ok(builder.finish())
    }
}

/// The rotations of the blur with their weights, for rows of this width.
fn terms(width: usize) -> Result<Vec<(i64, f64)>> {
    let kernel = Kernel::gaussian(1, SIGMA)?;
    Ok(kernel.taps().map(|(dy, dx, weight)| (dy * width as i64 + dx, weight)).collect())
}

/// The blur in float64: rotations of the whole vector, as the encrypted one has them.
fn blur_plain(values: &[f64], terms: &[(i64, f64)]) -> Vec<f64> {
    let n = values.len() as i64;
    let at = |i: i64| values[i.rem_euclid(n) as usize];
    (0..n).map(|i| terms.iter().map(|&(step, weight)| weight * at(i + step)).sum()).collect()
}

/// The results of the run.
struct Outcome {
    blurred: Vec<f64>,
    refreshes: u32,
    /// Names and times of the steps.
    steps: Vec<(&'static str, Duration)>,
}

/// A refresher whose refreshes are timed.
struct Timed<'a> {
    inner: RefreshWith<'a, Device>,
    times: RefCell<Vec<Duration>>,
}

impl Refresher<Device> for Timed<'_> {
    fn reserve(&self) -> usize {
        self.inner.reserve()
    }

    fn top(&self) -> Option<usize> {
        self.inner.top()
    }

    fn check(&self, ct: &Ciphertext<Device>) -> he_core::Result<()> {
        self.inner.check(ct)
    }

    fn refresh(&self, ct: &Ciphertext<Device>) -> he_core::Result<Ciphertext<Device>> {
        let begin = Instant::now();
        let fresh = self.inner.refresh(ct)?;
        fresh.pair().ring().backend().synchronize()?;
        self.times.borrow_mut().push(begin.elapsed());
        Ok(fresh)
    }
}

fn levels(params: &BootstrapParams) -> u32 {
    (params.output_level() - params.input_level()) as u32
}

fn compute(device: &Device, params: &BootstrapParams, plane: &Plane, times: u32) -> Result<Outcome> {
    let (program, ring, rng) = (params.params(), params.ring(device.clone())?, &mut rng()?);
    let terms = terms(plane.width)?;
    let mut steps = Vec::new();
    let mut clock = Instant::now();
    let mut step = |name| -> Result<()> {
        device.synchronize()?;
        steps.push((name, clock.elapsed()));
        clock = Instant::now();
        Ok(())
    };

    let secret = SecretKey::generate(program.rlwe(), rng);
    let rotations = KeyRequirements::new().rotations(terms.iter().map(|&(step, _)| step));
    let keys = EvaluationKeys::generate(&secret, &ring, rotations, rng)?;
    let boot_keys = BootstrapKeys::generate(&secret, params, &ring, rng)?;
    step("keys")?;
    let (ev, bootstrapper) = (Evaluator::new(program, &ring)?, Bootstrapper::new(params, &ring)?);
    step("matrices")?;
    let values: Vec<Complex64> = plane.values.iter().map(|&value| value.into()).collect();
    let plain = ev.encoder().encode(&values, program.encoding().slots(params.slots()))?;
    let x = SecretEncryptor::new(program, &secret, &ring)?.encrypt(&plain, rng)?.expand()?;
    step("encrypt")?;
    let progress = Progress::new("blurring", u64::from(times));
    let refresher = Timed { inner: bootstrapper.with_keys(&boot_keys), times: RefCell::default() };
    let x = refresher.repeat(&x, times as usize, 1, |_, x| {
        let blurred = ev.sum_of_rotations(x, &terms, &keys)?;
        progress.inc(1);
        Ok(blurred)
    })?;
    drop(progress);
    let times = refresher.times.into_inner();
    let (refreshes, refreshing) = (times.len() as u32, times.iter().sum());
    step("blur")?;
    let blurred = Decryptor::new(program, &secret, &ring)?.decrypt_real(&x)?;
    step("decrypt")?;
    if let Some((_, time)) = steps.iter_mut().find(|(name, _)| *name == "blur") {
        *time = time.saturating_sub(refreshing);
    }
    steps.insert(3, ("refresh", refreshing));
    Ok(Outcome { blurred, refreshes, steps })
}

/// About how long it takes on the CPU: by the size of the keys, a refresh of the toy being the
/// measure.
fn expected(params: &BootstrapParams, refreshes: u32) -> Result<Duration> {
    let toy = Named::InsecureToy.params()?;
    let (ring, rng) = (toy.ring(Device::cpu())?, &mut rng()?);
    let secret = SecretKey::generate(toy.params().rlwe(), rng);
    let keys = BootstrapKeys::generate(&secret, &toy, &ring, rng)?;
    let bootstrapper = Bootstrapper::new(&toy, &ring)?;
    let encryptor = SecretEncryptor::new(toy.params(), &secret, &ring)?;
    let x = encryptor.encrypt_real(&vec![0.5; toy.slots()], rng)?.expand()?;
    let begin = Instant::now();
    bootstrapper.refresh(&x, &keys)?;
    let ratio = params.key_bytes()? as f64 / toy.key_bytes()? as f64;
    // Keys and matrices take as long as some refreshes more.
    Ok(begin.elapsed().mul_f64(ratio * f64::from(refreshes + KEYS_AS_REFRESHES) * LARGER))
}

/// Keys and matrices take about as long as so many refreshes.
const KEYS_AS_REFRESHES: u32 = 4;
/// A byte of large keys takes longer than one of the toy's, which fit caches.
const LARGER: f64 = 1.5;

pub(super) fn run(args: &Demo) -> Result<()> {
    let start = Instant::now();
    let clear =
        Clear::read::<Ckks>(Input::open(args.image())?, TableFlags::default(), None, &Shown::default())?;
    let Clear::Picture(picture) = &clear else {
        return Err(CliError::new(format!("{} is a table, not an image", args.image().display()))
            .hint("the demo takes an image"));
    };
    let params = args.preset.params()?;
    let plane = Plane::of(picture, params.slots());
    let folder = create_dir(&args.output)?;
    let path = |name: &str| folder.path().join(name);
    let force = args.force || path(REPORT).exists();
    let mut placed = Placed(Vec::new());
    let mut create = |name: &str| {
        let options = OutputOptions { force, ..OutputOptions::default() };
        let output = Output::create(path(name), options, &[args.image()])?;
        placed.add(path(name));
        Ok::<_, CliError>(output)
    };
    let (original, blurred, mut report) = (create("original.png")?, create("blurred.png")?, create(REPORT)?);
    let devices = args.device.open()?;
    let device = devices.lead();

    let refreshes = args.times.saturating_sub(1) / levels(&params);
    let (width, height) = (plane.width, plane.height);
    let about = match device.is_cpu() {
        true => format!("; about {} in all", units::duration(expected(&params, refreshes)?)),
        false => String::new(),
    };
    console::note(&format!(
        "blurring {width} x {height} pixels {} times under encryption, with {refreshes} refreshes and keys of {} in memory{about}",
        args.times,
        units::bytes(params.key_bytes()? as u64)
    ));
    let outcome = compute(device, &params, &plane, args.times)?;
    let terms = terms(width)?;
    let expected = (0..args.times).fold(plane.values.clone(), |values, _| blur_plain(&values, &terms));
    let mut psnr = Psnr::new();
    psnr.push(&expected, &outcome.blurred);
    save(&plane.picture()?, original)?;
    save(&Plane { values: outcome.blurred, ..plane }.picture()?, blurred)?;
    let psnr = Some(psnr.db()).filter(|db| db.is_finite());
    let facts = json!({
        "image": args.image().display().to_string(), "width": width, "height": height,
        "device": devices.name(), "preset": args.preset.name(), "secure": params.is_secure(),
        "times": args.times, "refreshes": outcome.refreshes, "psnr_db": psnr,
        "steps": outcome.steps.iter().map(step_json).collect::<Vec<_>>(),
        "seconds": start.elapsed().as_secs_f64(),
    });
    writeln!(report, "{}", terminal::json(&facts)).writing(path(REPORT))?;
    report.commit()?;
    placed.0.clear();
    let mut out = std::io::stdout().lock();
    let printed = if console::is_json() {
        writeln!(out, "{}", terminal::json(&facts))
    } else {
        let security = if params.is_secure() { "128 bits of security" } else { "INSECURE" };
        let head = format!(
            "{}: {width} x {height}, gray\n{}, {}: {security}\n",
            one_line(&args.image().display().to_string()),
            one_line(&devices.name()),
            args.preset
        );
        let all = ("all", start.elapsed());
        let steps = outcome.steps.iter().chain([&all]);
        let lines: String =
            steps.map(|(name, time)| format!("{name:<16} {:>10}\n", units::duration(*time))).collect();
        let db = psnr.map_or("exact".to_owned(), |db| format!("{db:.1} dB"));
        writeln!(
            out,
            "{head}\n{lines}\n{} blurs, {} refreshes, PSNR against float64: {db}\nIn {}: original.png, blurred.png",
            args.times,
            outcome.refreshes,
            args.output.display()
        )
    };
    folder.keep();
    printed.writing("standard output")
}

fn step_json((name, time): &(&'static str, Duration)) -> Value {
    json!({ "step": name, "seconds": time.as_secs_f64() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_scaled_to_a_vector() {
        let mut builder = PictureBuilder::new(6, 3, Channels::Gray, Depth::Eight).unwrap();
        builder.write_rows(0, 0, &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0].repeat(3));
        let picture = builder.finish();
        let plane = Plane::of(&picture, 8);
        assert_eq!((plane.width, plane.height), (4, 2));
        assert_eq!(plane.values, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
        // More pixels than there are.
        let plane = Plane::of(&picture, 512);
        assert_eq!((plane.width, plane.height, plane.values.len()), (32, 16, 512));
        assert_eq!((plane.values[0], plane.values[511]), (0.0, 1.0));
        let single = PictureBuilder::new(1, 2, Channels::Rgb, Depth::Eight).unwrap().finish();
        assert_eq!(Plane::of(&single, 2).height, 2);
    }

    #[test]
    fn the_blur_keeps_the_mean_and_flattens() {
        let terms = terms(4).unwrap();
        assert_eq!(terms.len(), 9);
        let values: Vec<f64> = (0..16).map(|i| f64::from(i % 5) / 4.0).collect();
        let blurred = (0..200).fold(values.clone(), |values, _| blur_plain(&values, &terms));
        let mean = values.iter().sum::<f64>() / 16.0;
        assert!(blurred.iter().all(|x| (x - mean).abs() < 1e-6), "{blurred:?}");
    }
}
