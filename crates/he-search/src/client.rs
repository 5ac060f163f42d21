//! The owner of the secret key: encrypts records and queries, and reads answers.

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::index::Position;
use crate::payload;
use crate::peeling::{Arrangements, Matches, apart, decided};
use crate::plan::Params;
use crate::public::columns;
use crate::segment::{Occupancy, PAYLOAD_LEVEL, SealedSegment};
use he_core::backend::{Cpu, RingOps};
use he_core::ckks::{Ciphertext, Complex64, Decryptor, Encoder, SecretEncryptor, SeededCiphertext};
use he_core::ring::Ring;
use he_core::rlwe::SecretKey;
use rand::CryptoRng;

/// The number of matches of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The matches.
    pub matches: u64,
    /// The slots with a record whose score is between the bands.
    pub undecided: usize,
}

/// A record of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Its place.
    pub position: Position,
    /// Its value of the metric.
    pub value: f64,
}

/// The nearest records, the nearest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The records.
    pub nearest: Vec<Ranked>,
    /// The bound of errors of scores: a record that is left out has a score of at most this twice
    /// more than that of the last record here, except with probability 10^-15 per record.
    pub error: f64,
}

/// Encrypts by the secret key, and reads answers.
///
/// Answers hold the noise of ciphertexts: keep decrypted values to yourself, as those of
/// [`Decryptor::decrypt`]. Besides what was asked for, the owner of the key learns the slots in
/// which matches lie.
#[derive(Debug)]
pub struct Client<B: RingOps = Cpu> {
    params: Params,
    encoder: Encoder<B>,
    encryptor: SecretEncryptor<B>,
    decryptor: Decryptor<B>,
}

impl<B: RingOps> Client<B> {
    /// Takes a key of these parameters.
    ///
    /// # Errors
    /// [`Error::Core`] for a key or a ring of other parameters; device errors.
    pub fn new(params: &Params, secret: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        Ok(Self {
            params: params.clone(),
            encoder: Encoder::new(params.ckks(), ring)?,
            encryptor: SecretEncryptor::new(params.ckks(), secret, ring)?,
            decryptor: Decryptor::new(params.ckks(), secret, ring)?,
        })
    }

    /// Encrypts records from a slot on: vectors, and their payloads if there are any. With
    /// [`Index::next_slot`](crate::Index::next_slot) they join the last segment of an index.
    ///
    /// # Errors
    /// [`Error::SegmentFull`] for more records than slots; [`Error::Dimension`],
    /// [`Error::Coordinate`], [`Error::Norm`] for a vector that is not of the index;
    /// [`Error::Payloads`], [`Error::PayloadLength`]; device errors.
    pub fn segment<V: AsRef<[f64]>, P: AsRef<[u8]>>(
        &self,
        start: usize,
        vectors: &[V],
        payloads: &[P],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<SealedSegment<B>> {
        let occupancy = Occupancy::new(&self.params, start, vectors.len())?;
        let payloads = self.packed(start, vectors.len(), payloads)?;
        let mut sealed = Vec::with_capacity(self.params.columns());
        for column in columns(&self.params, start, vectors)? {
            sealed.push(self.encryptor.encrypt_real(&column, rng)?);
        }
        let mut payload = Vec::with_capacity(payloads.len());
        for values in payloads {
            let to = self.params.ckks().encoding().at_level(self.params.ckks(), PAYLOAD_LEVEL)?;
            payload.push(self.encryptor.encrypt(&self.encoder.encode(&values, to)?, rng)?);
        }
        Ok(SealedSegment { occupancy, columns: sealed, payload })
    }

    /// The slots of each ciphertext of payloads.
    fn packed<P: AsRef<[u8]>>(
        &self,
        start: usize,
        records: usize,
        payloads: &[P],
    ) -> Result<Vec<Vec<Complex64>>> {
        let expected = self.params.payload();
        if expected > 0 && payloads.len() != records {
            return Err(Error::Payloads { found: payloads.len(), expected: records });
        }
        let mut packed = vec![vec![Complex64::default(); start + records]; self.params.payload_ciphertexts()];
        for record in 0..records {
            let bytes = payloads.get(record).map_or(&[][..], AsRef::as_ref);
            if bytes.len() != expected {
                return Err(Error::PayloadLength { record, found: bytes.len(), expected });
            }
            packed.iter_mut().zip(payload::pack(bytes)).for_each(|(column, z)| column[start + record] = z);
        }
        Ok(packed)
    }

    /// Encrypts a query: one ciphertext with a coordinate in each of its first coefficients.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Coordinate`], [`Error::Norm`], of vector 0; device errors.
    pub fn query(&self, vector: &[f64], rng: &mut (impl CryptoRng + ?Sized)) -> Result<SeededCiphertext<B>> {
        let plan = self.params.plan();
        let (factor, _) = self.params.map();
        let coefficients: Vec<f64> =
            plan.metric.query(vector, plan.dimension)?.into_iter().map(|x| x * factor).collect();
        let plain = self.encoder.encode_coefficients(&coefficients, self.params.ckks().encoding())?;
        Ok(self.encryptor.encrypt(&plain, rng)?)
    }

    /// Reads a count.
    ///
    /// # Errors
    /// [`Error::Task`] for another answer; [`Error::Core`] for an answer of another key set or a
    /// damaged one; device errors.
    pub fn count(&self, answer: &Answer<B>) -> Result<Count> {
        let Answer::Count { hits, .. } = answer else {
            return Err(Error::Task { found: answer.name(), needed: "a count" });
        };
        let slots = self.decrypted(hits)?;
        let decided: Vec<Option<u64>> = slots.iter().map(|z| decided(z.re)).collect();
        let undecided = decided.iter().filter(|count| count.is_none()).count();
        Ok(Count { matches: decided.into_iter().flatten().sum(), undecided })
    }

    /// Reads positions and payloads of matches.
    ///
    /// # Errors
    /// [`Error::Task`] for another answer; [`Error::Shape`]; [`Error::Tangled`] for matches of many
    /// segments that cannot be told apart, with the probability of [`Facts`](crate::Facts);
    /// [`Error::Core`] for an answer of another key set or a damaged one; device errors.
    pub fn matches(&self, answer: &Answer<B>) -> Result<Matches> {
        let (bytes, expected) = (self.params.payload(), self.params.payload_ciphertexts());
        match answer {
            Answer::Apart { segments } => {
                let mut matches = Matches::default();
                for (segment, payloads) in segments.iter().enumerate() {
                    let sums = self.all_decrypted(payloads, expected)?;
                    apart(segment, &sums, bytes, &mut matches);
                }
                Ok(matches)
            }
            Answer::Arranged { segments, plain, turned } => {
                let sums =
                    [self.all_decrypted(plain, expected + 1)?, self.all_decrypted(turned, expected + 1)?];
                Arrangements { segments: *segments, bytes, sums }.peel()
            }
            other => Err(Error::Task { found: other.name(), needed: "payloads of matches" }),
        }
    }

    /// The k nearest records by their scores, or all if there are fewer.
    ///
    /// # Errors
    /// [`Error::Task`] for another answer; [`Error::Core`] for an answer of another key set or a
    /// damaged one; device errors.
    pub fn ranking(&self, answer: &Answer<B>, k: usize) -> Result<Ranking> {
        let Answer::Scores { scores, occupancies } = answer else {
            return Err(Error::Task { found: answer.name(), needed: "scores" });
        };
        let (factor, summand) = self.params.map();
        let mut all = Vec::new();
        for (segment, (ct, occupancy)) in scores.iter().zip(occupancies).enumerate() {
            let slots = self.decrypted(ct)?;
            let live = slots.iter().enumerate().filter(|(slot, _)| occupancy.is_live(*slot));
            all.extend(live.map(|(slot, z)| (Position { segment, slot }, (z.re - summand) / factor)));
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        let metric = self.params.plan().metric;
        let ranked = |(position, score)| Ranked { position, value: metric.value(score) };
        Ok(Ranking { nearest: all.into_iter().map(ranked).collect(), error: self.params.score_error() })
    }

    fn decrypted(&self, ct: &Ciphertext<B>) -> Result<Vec<Complex64>> {
        let found = ct.batch();
        let mut vectors = self.encoder.decode(&self.decryptor.decrypt(ct)?)?;
        match (vectors.pop(), vectors.is_empty()) {
            (Some(slots), true) => Ok(slots),
            _ => Err(Error::Shape { object: "the answer", part: "entries", found, expected: 1 }),
        }
    }

    fn all_decrypted(&self, parts: &[Ciphertext<B>], expected: usize) -> Result<Vec<Vec<Complex64>>> {
        if parts.len() != expected {
            let (object, part) = ("the answer", "ciphertexts of payloads");
            return Err(Error::Shape { object, part, found: parts.len(), expected });
        }
        parts.iter().map(|ct| self.decrypted(ct)).collect()
    }
}
