//! The side that asks: it encrypts queries and reads answers.

use crate::answer::Answer;
use crate::constant::equal;
use crate::description::Description;
use crate::error::{Error, Result};
use crate::frame::{self, Kind, Reader};
use crate::identity::hash;
use crate::places::Place;
use crate::plan::{FINGERPRINT, LOG_UNIT, Params};
use crate::public;
use crate::query::Query;
use crate::rounding::to_fraction;
use crate::switches;
use he_core::backend::RingOps;
use he_core::rand::CryptoRng;
use he_core::ring::{Coeff, Eval, Poly, Ring, SecretPoly, Seed};
use zeroize::{Zeroize, Zeroizing};

const OF_SECRET: u32 = 0;
const OF_QUERY: u32 = 1;
const OF_KEYS: u32 = 2;

/// The key of a client, 32 bytes: the secret of each query follows from it. It serves any number
/// of queries to any databases, is wiped on drop and never printed.
#[derive(Debug)]
pub struct ClientKey(Seed);

impl ClientKey {
    /// A fresh key.
    pub fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        Self(Seed::random(rng))
    }

    /// The key as bytes, with a checksum: they are as secret as the key.
    pub fn expose_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = frame::begin(Kind::Key, 32);
        bytes.extend(self.0.0);
        Zeroizing::new(frame::finish(bytes))
    }

    /// Reads [`expose_bytes`](Self::expose_bytes).
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Key, bytes)?;
        let seed = Seed(reader.array()?);
        reader.end()?;
        Ok(Self(seed))
    }

    /// 32 bytes that follow from the key and from these parts.
    fn derive(&self, purpose: &[u8], database: &[u8; 16], nonce: &[u8; 16], place: &Place) -> Seed {
        let mut parts = Zeroizing::new(Vec::new());
        parts.extend(purpose);
        parts.extend(database);
        parts.extend(nonce);
        parts.extend((place.shelf as u64).to_le_bytes());
        place.columns.iter().for_each(|&column| parts.extend((column as u64).to_le_bytes()));
        parts.extend(place.fingerprint);
        Seed(hash("he-lookup 2026 client", &[&self.0.0, &parts]))
    }
}

/// A client of one version of a database.
pub struct Client<B: RingOps> {
    description: Description,
    ring: Ring<B>,
    key: ClientKey,
    /// The uniform parts of queries and of keys.
    uniform: [Poly<Eval, B>; 2],
}

impl<B: RingOps> std::fmt::Debug for Client<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client {{ {:?} }}", self.description)
    }
}

impl<B: RingOps> Client<B> {
    /// A client of the described database, with constants on the device of a ring.
    ///
    /// # Errors
    /// The ring is not that of the parameters; device errors.
    pub fn new(description: &Description, key: ClientKey, ring: &Ring<B>) -> Result<Self> {
        let uniform = [public::of_queries(description, ring)?, public::of_keys(description, ring)?];
        Ok(Self { description: description.clone(), ring: ring.clone(), key, uniform })
    }

    fn params(&self) -> &Params {
        self.description.params()
    }

    fn record(&self, record: u64) -> Result<Place> {
        let (plan, records) = (self.params().plan(), self.description.records());
        if plan.by_key {
            return Err(Error::Way { found: plan.way(), needed: "a number" });
        }
        if record >= records {
            return Err(Error::NoRecord { found: record, records });
        }
        Ok(Place::of_record(self.params(), record))
    }

    fn key(&self, key: &[u8]) -> Result<Place> {
        let plan = self.params().plan();
        if !plan.by_key {
            return Err(Error::Way { found: plan.way(), needed: "a key" });
        }
        Ok(Place::of_key(self.params(), self.description.seed(), self.description.attempt(), key))
    }

    /// A query for a record by its number. All queries to a database have the same size, and each
    /// has a secret of its own. Constant time in the number, but for its division by the columns.
    ///
    /// # Errors
    /// [`Error::NoRecord`]; [`Error::Way`] if records are looked up by keys; device errors.
    pub fn query(&self, record: u64, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Query> {
        self.encrypt(&self.record(record)?, rng)
    }

    /// A query for the value of a key, whether there is one or not.
    ///
    /// # Errors
    /// [`Error::Way`] if records are looked up by numbers; device errors.
    pub fn query_key(&self, key: &[u8], rng: &mut (impl CryptoRng + ?Sized)) -> Result<Query> {
        self.encrypt(&self.key(key)?, rng)
    }

    /// Reads the answer to [`query`](Self::query) for this record.
    ///
    /// # Errors
    /// [`Error::OtherDatabase`]; [`Error::ForeignAnswer`]; the errors of `query`.
    pub fn read(&self, answer: &Answer, record: u64) -> Result<Vec<u8>> {
        Ok(self.decrypt(answer, &self.record(record)?)?.to_vec())
    }

    /// Reads the answer to [`query_key`](Self::query_key) for this key: its value, or `None` if
    /// there is none. A key that is absent passes for present with a probability of 2^-64.
    ///
    /// # Errors
    /// [`Error::OtherDatabase`]; [`Error::ForeignAnswer`]; the errors of `query_key`.
    pub fn read_key(&self, answer: &Answer, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let place = self.key(key)?;
        let cell = self.decrypt(answer, &place)?;
        let (fingerprint, value) = cell.split_at(FINGERPRINT);
        let off = fingerprint.iter().zip(place.fingerprint).fold(0, |off, (a, b)| off | (a ^ b));
        Ok((off == 0).then(|| value.to_vec()))
    }

    fn derive(&self, purpose: &[u8], nonce: &[u8; 16], place: &Place) -> Seed {
        self.key.derive(purpose, &self.description.identity().0, nonce, place)
    }

    fn tag(&self, nonce: &[u8; 16], place: &Place) -> [u8; 16] {
        let mut tag = [0; 16];
        tag.copy_from_slice(&self.derive(b"tag", nonce, place).0[..16]);
        tag
    }

    /// The secret of a query. It follows from the record as well: a nonce that occurs twice does
    /// not encrypt two records alike.
    fn secret(&self, seed: &Seed) -> Result<SecretPoly<Eval, B>> {
        let span = self.params().span();
        Ok(SecretPoly::new(Poly::ternary(&self.ring, span, 1, seed, OF_SECRET)?.into_eval()?))
    }

    fn error(&self, batch: usize, seed: &Seed, index: u32) -> Result<Poly<Coeff, B>> {
        Ok(Poly::error(&self.ring, self.params().span(), batch, seed, index)?)
    }

    /// q / 256, rounded, in the columns of the place; 0 in all others. Constant time.
    fn selection(&self, place: &Place) -> Result<SecretPoly<Coeff, B>> {
        let q = self.params().modulus();
        let step = (q.value() + 128) >> 8;
        let mut words = vec![0u64; self.params().columns()];
        for (at, word) in (0u64..).zip(&mut words) {
            for &column in &place.columns[..place.count] {
                *word += step & equal(at, column as u64);
            }
        }
        let poly = Poly::from_words(&self.ring, self.params().span(), self.params().blocks(), &words);
        words.zeroize();
        Ok(SecretPoly::new(poly?))
    }

    fn encrypt(&self, place: &Place, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Query> {
        let params = self.params();
        let mut nonce = [0; 16];
        rng.fill_bytes(&mut nonce);
        let seed = self.derive(b"secret", &nonce, place);
        let secret = self.secret(&seed)?;
        let mut masked = self.uniform[0].duplicate()?;
        masked.mul_assign(secret.get())?;
        let mut query = masked.into_coeff()?;
        query.add_assign(SecretPoly::new(self.error(params.blocks(), &seed, OF_QUERY)?).get())?;
        query.add_assign(self.selection(place)?.get())?;
        let (q, width) = (params.modulus(), params.query_bits());
        let words = query.to_words()?.into_iter().map(|x| to_fraction(x, width, q)).collect();
        let (database, tag) = (self.description.identity(), self.tag(&nonce, place));
        Ok(Query { database, nonce, tag, words, keys: self.packing_keys(&seed, &secret)?.to_words()? })
    }

    /// a s + e + 2^26 s(X^g) for both automorphisms of the packing.
    fn packing_keys(&self, seed: &Seed, secret: &SecretPoly<Eval, B>) -> Result<Poly<Eval, B>> {
        let [rotation, conjugation] = switches::keys(self.params().log_n());
        let turned = |g| secret.get().automorphism(g).map(SecretPoly::new);
        let (rotated, conjugate) = (turned(rotation)?, turned(conjugation)?);
        let payload = SecretPoly::new(Poly::concat(&[rotated.get(), conjugate.get()])?);
        let error = SecretPoly::new(self.error(2, seed, OF_KEYS)?.into_eval()?);
        let mut keys = self.uniform[1].duplicate()?;
        keys.mul_assign(secret.get())?;
        keys.add_assign(error.get())?;
        keys.scale_add_assign(payload.get(), &[1 << LOG_UNIT])?;
        Ok(keys)
    }

    /// The phases of all rows, as fractions of 2^k, and k.
    pub(crate) fn phases(&self, answer: &Answer, place: &Place) -> Result<(Zeroizing<Vec<u64>>, u32)> {
        let params = self.params();
        self.description.check("the answer", answer.database)?;
        if answer.tag != self.tag(&answer.nonce, place) {
            return Err(Error::ForeignAnswer);
        }
        let secret = self.secret(&self.derive(b"secret", &answer.nonce, place))?;
        let [mask_bits, body_bits] = params.answer_bits();
        let width = mask_bits.max(body_bits);
        let masks: Poly<Coeff, B> =
            Poly::from_words(&self.ring, params.span(), params.packs(), &answer.masks)?;
        let mut products = masks.into_eval()?;
        products.mul_assign(secret.get())?;
        let products = SecretPoly::new(products.into_coeff()?);
        let products = Zeroizing::new(products.get().to_words()?);
        let q = params.modulus();
        let phases = answer.body.iter().zip(products.iter()).map(|(&body, &product)| {
            // A product of numbers below 2^mask_bits with a ternary secret is far below q / 2.
            let product = (q.center(product) << (width - mask_bits)) as u64;
            (body << (width - body_bits)).wrapping_sub(product) & ((1 << width) - 1)
        });
        Ok((Zeroizing::new(phases.collect()), width))
    }

    /// The bytes of a cell. Constant time.
    fn decrypt(&self, answer: &Answer, place: &Place) -> Result<Zeroizing<Vec<u8>>> {
        let (phases, width) = self.phases(answer, place)?;
        let cell = self.params().cell_bytes();
        let first = (place.shelf * cell) as u64;
        let mut bytes = Zeroizing::new(vec![0u8; cell]);
        for (shelf, phases) in phases.chunks_exact(cell).enumerate() {
            let kept = equal((shelf * cell) as u64, first) as u8;
            for (byte, &phase) in bytes.iter_mut().zip(phases) {
                *byte |= kept & ((phase + (1 << (width - 9))) >> (width - 8)) as u8;
            }
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::plan::Plan;
    use crate::server::Server;
    use he_core::backend::Cpu;
    use he_core::rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// The noise of the rows of 12 queries to a database of the worst bytes has the predicted
    /// variance. There are thousands of rows; those of one answer share a secret.
    #[test]
    fn the_noise_has_the_predicted_variance() {
        let seed: u64 = he_core::rand::random();
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let plan = Plan::index(2000, 64).insecure_log_n(7);
        let params = plan.params().unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let worst = |rng: &mut ChaCha20Rng| if rng.random() { 127u8 } else { 128 };
        let records: Vec<Vec<u8>> = (0..2000).map(|_| (0..64).map(|_| worst(&mut rng)).collect()).collect();
        let database = Database::of_records(&plan, rng.random(), &records, &ring).unwrap();
        let server = Server::new(database.description(), &ring, database.packs(), 1).unwrap();
        let client = Client::new(database.description(), ClientKey::generate(&mut rng), &ring).unwrap();
        let (mut squares, mut count) = (0.0, 0.0);
        for _ in 0..12 {
            let number = rng.random_range(0..2000);
            let place = client.record(number).unwrap();
            let query = client.query(number, &mut rng).unwrap();
            let answer = server.answer(&[query]).unwrap().remove(0);
            let (phases, width) = client.phases(&answer, &place).unwrap();
            let column = place.columns[0];
            for (shelf, phases) in phases.chunks_exact(64).enumerate() {
                let Some(record) = records.get(shelf * params.columns() + column) else { continue };
                for (&phase, &byte) in phases.iter().zip(record) {
                    let off = phase as f64 / (1u64 << width) as f64 - f64::from(byte) / 256.0;
                    let off = (off + 0.5).rem_euclid(1.0) - 0.5;
                    (squares, count) = (squares + off * off, count + 1.0);
                }
            }
        }
        let ratio = squares / count / params.noise_variance();
        println!("{count} rows, {ratio} of the predicted variance");
        assert!((0.8..1.2).contains(&ratio), "{ratio}");
    }
}
