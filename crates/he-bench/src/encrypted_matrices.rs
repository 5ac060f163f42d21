//! Products with encrypted matrices, and a network of dense layers whose features are ciphertexts
//! and whose slots are images.

use super::keys::rng;
use super::measure::{Id, Lab, Lazy, Place, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::backend::RingOps;
use he_core::ckks::{
    Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Evaluator, MatrixWeights, PlainMatrix,
    SecretEncryptor,
};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_core::wire::{Frame, FrameKind, WireParams};
use rand::{RngExt, rngs::ChaCha20Rng};
use std::ops::RangeInclusive;

const PLAIN: &str = "encrypted-matrices-plain";
const BOTH: &str = "encrypted-matrices";
const NETWORK: &str = "dense-network";

/// The names of the tables.
pub fn names() -> Vec<String> {
    [PLAIN, BOTH, NETWORK].map(str::to_owned).to_vec()
}

/// Parameters by the widths of their primes; those of small sizes are insecure.
fn params(lab: &Lab, log_n: u32, q: &[u32], p: &[u32], scale_log2: f64) -> Result<CkksParams> {
    let spec = CkksSpec::from_bits(log_n, q, p, scale_log2)?;
    Ok(if lab.quick { CkksParams::insecure(spec) } else { CkksParams::try_from(spec) }?)
}

/// Numbers of eight bits within a range.
fn bytes(count: usize, within: RangeInclusive<i8>, rng: &mut ChaCha20Rng) -> Vec<i8> {
    (0..count).map(|_| rng.random_range(within.clone())).collect()
}

/// An encrypted matrix of random numbers below one, a row in the slots of each ciphertext.
struct Rows<B: RingOps> {
    ev: Evaluator<B>,
    secret: SecretKey,
    keys: EvaluationKeys<B>,
    numbers: Vec<Vec<f64>>,
    encrypted: Ciphertext<B>,
}

impl<B: RingOps> Rows<B> {
    fn new(
        backend: &B,
        params: &CkksParams,
        needs: KeyRequirements,
        count: usize,
        rng: &mut ChaCha20Rng,
    ) -> Result<Self> {
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), rng);
        let keys = EvaluationKeys::generate(&secret, &ring, needs, rng)?;
        let ev = Evaluator::new(params, &ring)?;
        let mut row = || (0..params.slots()).map(|_| rng.random_range(0.0..1.0)).collect();
        let numbers: Vec<Vec<f64>> = (0..count).map(|_| row()).collect();
        let complex = |row: &Vec<f64>| row.iter().map(|&x| Complex64::from(x)).collect();
        let vectors: Vec<Vec<Complex64>> = numbers.iter().map(complex).collect();
        let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
        let plain = ev.encoder().encode_batch(&vectors, params.encoding())?;
        let encrypted = SecretEncryptor::new(params, &secret, &ring)?.encrypt(&plain, rng)?.expand()?;
        Ok(Self { ev, secret, keys, numbers, encrypted })
    }
}

/// The side of the plain matrix, which is the number of ciphertexts and their degree.
fn side(lab: &Lab) -> usize {
    if lab.quick { 1 << 6 } else { 1 << 12 }
}

const WAYS: [&str; 2] = ["packed before", "packed with it"];

/// The seconds of a product of signed bytes with as many ciphertexts of one prime as their degree.
fn plain<B: RingOps>(lab: &Lab, place: &Place<B>, bits: u32, column: &str) -> Result<[Value; WAYS.len()]> {
    let side = side(lab);
    let made = Lazy::new(|| {
        let (mut rng, params) = (rng(), params(lab, side.ilog2(), &[bits], &[bits], 20.0)?);
        let rows = Rows::new(&place.backend, &params, KeyRequirements::new(), side, &mut rng)?;
        let bytes = bytes(side * side, i8::MIN..=i8::MAX, &mut rng);
        let matrix = rows.ev.plain_matrix([side; 2], MatrixWeights::Integers(&bytes), 0)?;
        Ok((rows, bytes, matrix))
    });
    let mut before = || -> Result<()> {
        let (rows, _, matrix) = made.get()?;
        rows.ev.mul_matrix(matrix, &rows.encrypted)?;
        Ok(())
    };
    let mut with_it = || -> Result<()> {
        let (rows, bytes, _) = made.get()?;
        let matrix = rows.ev.plain_matrix([side; 2], MatrixWeights::Integers(bytes), 0)?;
        rows.ev.mul_matrix(&matrix, &rows.encrypted)?;
        Ok(())
    };
    let id = |at: usize| Id::new(PLAIN, column, WAYS[at]);
    lab.times(&place.backend, [(id(0), &mut before), (id(1), &mut with_it)])
}

/// An encrypted matrix that is multiplied by itself: log2 of the degree, ciphertexts, and whether
/// automorphisms are composed of rotations by powers of two and the conjugation.
#[derive(Clone, Copy)]
struct Shape {
    log_n: u32,
    rows: usize,
    composed: bool,
}

impl Shape {
    fn all(lab: &Lab) -> Vec<Self> {
        let with_keys = |(log_n, rows)| [false, true].map(|composed| Self { log_n, rows, composed });
        let shapes: &[(u32, usize)] = if lab.quick { &[(5, 32)] } else { &[(12, 512), (12, 4096)] };
        shapes.iter().copied().flat_map(with_keys).collect()
    }

    fn name(self) -> String {
        let keys = if self.composed { ", log2(N) keys" } else { "" };
        format!("{} x {}{keys}", self.rows, 1 << self.log_n)
    }

    /// The keys for relinearisation and transposition.
    fn needs(self) -> KeyRequirements {
        let needs = KeyRequirements::new().relinearisation();
        match self.composed {
            true => needs.rotations((0..self.log_n - 1).map(|bit| 1 << bit)).conjugation(),
            false => needs.elements((3..2u64 << self.log_n).step_by(2)),
        }
    }

    /// The seconds that it is expected to take: four products modulo each of two primes, and key
    /// switches of N rows, one for the relinearisation and for each of two transpositions one, or
    /// log2(N) / 2.
    fn expected<B>(self, place: &Place<B>) -> f64 {
        let (products, key_switch) = if place.apart { (1e13, 2e-5) } else { (1e10, 3e-3) };
        let n = f64::from(self.log_n).exp2();
        let transpositions = if self.composed { f64::from(self.log_n) } else { 2.0 };
        8.0 * self.rows as f64 * n * n / products + (1.0 + transpositions) * n * key_switch
    }
}

/// The seconds of M^T M for each shape, relinearised and rescaled.
fn both<B: RingOps>(lab: &Lab, place: &Place<B>) -> Result<Vec<Value>> {
    let each = |shape: Shape| {
        let made = Lazy::new(|| {
            let params = params(lab, shape.log_n, &[36, 33], &[36], 33.0)?;
            Rows::new(&place.backend, &params, shape.needs(), shape.rows, &mut rng())
        });
        let (id, expected) = (Id::new(BOTH, &place.name, shape.name()), shape.expected(place));
        if lab.is_long(expected) {
            return Ok(Value::NotRun);
        }
        if lab.wants(BOTH) {
            made.get()?;
        }
        lab.time_if_short(&id, expected, &place.backend, || {
            let Rows { ev, keys, encrypted, .. } = made.get()?;
            Ok::<_, Error>(ev.transposed_product(encrypted, encrypted, keys)?)
        })
    };
    Shape::all(lab).into_iter().map(each).collect()
}

/// The numbers of a network's input, hidden layer and output.
fn widths(lab: &Lab) -> [usize; 3] {
    if lab.quick { [16, 8, 4] } else { [784, 128, 10] }
}

/// Parameters with three levels for eight bits of precision.
fn network_params(lab: &Lab) -> Result<CkksParams> {
    let log_n = if lab.quick { 7 } else { 12 };
    params(lab, log_n, &[24, 19, 19, 19], &[24], 19.0)
}

/// A dense layer: weights of few bits and their unit, a bias in the last column.
struct Layer {
    shape: [usize; 2],
    bytes: Vec<i8>,
}

impl Layer {
    const UNIT: f64 = 1.0 / 256.0;

    fn new(rows: usize, columns: usize, rng: &mut ChaCha20Rng) -> Self {
        Self { shape: [rows, columns], bytes: bytes(rows * columns, -15..=15, rng) }
    }

    fn real(&self) -> Vec<f64> {
        self.bytes.iter().map(|&byte| f64::from(byte) * Self::UNIT).collect()
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum();
        self.real().chunks(self.shape[1]).map(row).collect()
    }

    fn quantized<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PlainMatrix<B>> {
        let weights = MatrixWeights::Quantized { bytes: &self.bytes, unit: Self::UNIT };
        Ok(ev.plain_matrix(self.shape, weights, level)?)
    }

    fn prepared<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PlainMatrix<B>> {
        Ok(ev.plain_matrix(self.shape, MatrixWeights::Real(&self.real()), level)?)
    }
}

/// Two dense layers with squares between them, on as many images as there are slots.
struct Network<B: RingOps> {
    images: Rows<B>,
    layers: [Layer; 2],
    bytes: [PlainMatrix<B>; 2],
    real: [PlainMatrix<B>; 2],
    hidden: Ciphertext<B>,
    squares: Ciphertext<B>,
}

impl<B: RingOps> Network<B> {
    fn new(backend: &B, lab: &Lab) -> Result<Self> {
        let (mut rng, params) = (rng(), network_params(lab)?);
        let [inputs, hidden, outputs] = widths(lab);
        let needs = KeyRequirements::new().relinearisation();
        let images = Rows::new(backend, &params, needs, inputs + 1, &mut rng)?;
        let layers = [Layer::new(hidden, inputs + 1, &mut rng), Layer::new(outputs, hidden, &mut rng)];
        let ev = &images.ev;
        let bytes = [layers[0].quantized(ev, 3)?, layers[1].quantized(ev, 1)?];
        let real = [layers[0].prepared(ev, 3)?, layers[1].prepared(ev, 1)?];
        let hidden = ev.mul_matrix(&bytes[0], &images.encrypted)?;
        let squares = ev.square(&hidden, &images.keys)?;
        Ok(Self { images, layers, bytes, real, hidden, squares })
    }

    fn scores(&self, [first, second]: &[PlainMatrix<B>; 2]) -> Result<Ciphertext<B>> {
        let Rows { ev, keys, encrypted, .. } = &self.images;
        let hidden = ev.mul_matrix(first, encrypted)?;
        Ok(ev.mul_matrix(second, &ev.square(&hidden, keys)?)?)
    }

    /// Compares the scores of an image with those in the clear.
    fn check(&self, scores: &Ciphertext<B>) -> Result<()> {
        let Rows { ev, secret, numbers, .. } = &self.images;
        let found = Decryptor::new(ev.params(), secret, ev.ring())?.decrypt_real(scores)?;
        let image: Vec<f64> = numbers.iter().map(|feature| feature[0]).collect();
        let squares: Vec<f64> = self.layers[0].apply(&image).iter().map(|x| x * x).collect();
        let expected = self.layers[1].apply(&squares);
        let found = found.chunks(ev.params().slots()).map(|of_class| of_class[0]);
        let error = found.zip(&expected).map(|(found, score)| (found - score).abs()).fold(0.0, f64::max);
        match error < 0.1 {
            true => Ok(()),
            false => Err(Error::WrongResult { what: format!("scores of a network differ by {error:.3}") }),
        }
    }
}

/// Ciphertexts of images that are computed one after the other.
const MANY: usize = 5;

/// The rows of the network's table.
fn parts(lab: &Lab) -> Result<Vec<String>> {
    let (one, [inputs, hidden, outputs]) = (network_params(lab)?.slots(), widths(lab));
    Ok(vec![
        format!("{hidden} x {inputs}, bytes"),
        "squares".to_owned(),
        format!("{outputs} x {hidden}, bytes"),
        format!("{one} images, bytes"),
        format!("{one} images, real weights"),
        format!("{} images, bytes", MANY * one),
    ])
}

/// The seconds of a network and its parts, from ciphertexts to ciphertexts on the device.
fn network<B: RingOps>(lab: &Lab, place: &Place<B>) -> Result<Vec<Value>> {
    let (made, parts) = (Lazy::new(|| Network::new(&place.backend, lab)), parts(lab)?);
    let id = |at: usize| Id::new(NETWORK, &place.name, &parts[at]);
    let time = |at: usize, part: &dyn Fn(&Network<B>) -> he_core::Result<Ciphertext<B>>| {
        lab.time(&id(at), &place.backend, || Ok::<_, Error>(part(made.get()?)?))
    };
    let whole = |at: usize, times: usize, weights: fn(&Network<B>) -> &[PlainMatrix<B>; 2]| {
        let all = || (0..times).map(|_| made.get()?.scores(weights(made.get()?))).collect();
        let check = |scores: Vec<Ciphertext<B>>| scores.iter().try_for_each(|one| made.get()?.check(one));
        lab.time_checked::<_, Vec<Ciphertext<B>>, Error>(&id(at), place, all, check)
    };
    Ok(vec![
        time(0, &|made| made.images.ev.mul_matrix(&made.bytes[0], &made.images.encrypted))?,
        time(1, &|made| made.images.ev.square(&made.hidden, &made.images.keys))?,
        time(2, &|made| made.images.ev.mul_matrix(&made.bytes[1], &made.squares))?,
        whole(3, 1, |made| &made.bytes)?,
        whole(4, 1, |made| &made.real)?,
        whole(5, MANY, |made| &made.bytes)?,
    ])
}

/// Products with plain and with encrypted matrices, and a network on a batch of images.
///
/// # Errors
/// A device fails; a network's scores are wrong; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    lab.announce("products with encrypted matrices");
    let side = side(lab);
    let title = format!("Signed bytes, {side} x {side}, by an encrypted matrix as large, one prime");
    let mut table = Table::new(PLAIN, title, "bytes", Unit::Milliseconds).categories(WAYS);
    for bits in [31, 50] {
        on_places!(lab, place => {
            let column = format!("{bits} bits, {}", place.name);
            table.measured(&column, place.on(|| plain(lab, place, bits, &column))?);
        });
    }
    show(table)?;
    let title = "M^T M of an encrypted matrix, relinearised and rescaled";
    let rows = Shape::all(lab).into_iter().map(Shape::name);
    let mut table = Table::new(BOTH, title, "rows and columns", Unit::Milliseconds).categories(rows);
    on_places!(lab, place => table.measured(&place.name, place.on(|| both(lab, place))?));
    show(table)?;
    let (params, [inputs, hidden, outputs]) = (network_params(lab)?, widths(lab));
    let title = format!("A network of {inputs}-{hidden}-{outputs} with squares, features in ciphertexts");
    let mut table = Table::new(NETWORK, title, "part", Unit::Milliseconds).categories(parts(lab)?);
    on_places!(lab, place => table.measured(&place.name, place.on(|| network(lab, place))?));
    let key = Frame::size(params.key_frame_limit(FrameKind::RelinKey));
    table.note(format!(
        "inputs are on the device; N = 2^{}; the key has {key} bytes",
        params.rlwe().ring().log_n()
    ));
    show(table)
}
