//! The client: blinds its items, asks, and reads the answer.

use crate::digest::{Digest, Stream};
use crate::error::{Error, Result};
use crate::label;
use crate::messages::{Answer, Query, Request, Response, check_key, check_parts, check_plan};
use crate::oprf::{Blinding, ServerKeyId};
use crate::plan::Params;
use crate::server::check_lengths;
use crate::table::assign;
use he_core::arith::Modulus;
use he_core::backend::{Cpu, RingOps};
use he_core::bfv::{BfvDecryptor, BfvSecretEncryptor};
use he_core::exact::{DECRYPTION_MARGIN, Encoder};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use rand::CryptoRng;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// An item that both parties have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its place in the client's list, from 0.
    pub item: usize,
    /// Its label, empty in a set without labels.
    pub label: Vec<u8>,
}

/// A client's items, each once, with the seed of the scalars that blind them; wiped when dropped.
pub struct Items {
    /// All items in order.
    items: Vec<Zeroizing<Vec<u8>>>,
    /// The places of each in the list.
    at: Vec<Vec<usize>>,
    seed: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for Items {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Items").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

impl Items {
    /// Takes items under a seed, which must be fresh for every request and known to nobody. The
    /// same items under the same seed make the same request: the seed is all that a client has to
    /// keep between the rounds.
    ///
    /// # Errors
    /// [`Error::Size`] for none or more than planned; [`Error::ItemLength`].
    pub fn new(params: &Params, items: &[impl AsRef<[u8]>], seed: [u8; 32]) -> Result<Self> {
        check_lengths(items)?;
        let mut once: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (at, item) in items.iter().enumerate() {
            once.entry(item.as_ref()).or_default().push(at);
        }
        let (found, highest) = (once.len() as u64, params.plan().client_items());
        if !(1..=highest).contains(&found) {
            return Err(Error::Size { what: "items of a client", found, lowest: 1, highest });
        }
        let (items, at) = once.into_iter().map(|(item, at)| (Zeroizing::new(item.to_vec()), at)).unzip();
        Ok(Self { items, at, seed: Zeroizing::new(seed) })
    }

    fn bytes(&self) -> Vec<&[u8]> {
        self.items.iter().map(|item| item.as_slice()).collect()
    }

    /// The request to the server. Constant time but for lengths and duplicates.
    pub fn request(&self, params: &Params) -> Request {
        Request { plan: params.id(), points: Blinding::new(&self.seed).blind(&self.bytes()) }
    }

    /// Looks at a response: places in the table. From here on, addresses and time depend on the
    /// pseudorandom values of the items.
    ///
    /// # Errors
    /// [`Error::Plan`]; [`Error::Shape`] for another number of points; [`Error::Point`];
    /// [`Error::Table`] with the probability of [`Params::table_failure_log2`].
    pub fn placed(&self, params: &Params, response: &Response) -> Result<Placed> {
        check_plan("the response", &response.plan, params)?;
        check_parts("the response", "points", response.points.len(), self.items.len())?;
        let outputs = Blinding::new(&self.seed).finish(&self.bytes(), &response.points)?;
        let digests: Vec<Digest> = outputs.iter().map(Digest::new).collect();
        let (t, bins) = (params.bfv().plain().modulus(), params.shape().bins);
        let places: Vec<_> = digests.iter().map(|digest| digest.place(bins, t)).collect();
        let table = assign(&places.iter().map(|place| place.bins).collect::<Vec<_>>(), bins)?;
        let nodes = Zeroizing::new(places.iter().map(|place| place.node).collect());
        Ok(Placed { key: response.key, digests, nodes, table, at: self.at.clone() })
    }
}

/// A client's items in their bins: what turns an answer into matches.
pub struct Placed {
    key: ServerKeyId,
    digests: Vec<Digest>,
    nodes: Zeroizing<Vec<u64>>,
    table: Vec<Option<usize>>,
    /// The places of each item in the list.
    at: Vec<Vec<usize>>,
}

impl std::fmt::Debug for Placed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placed").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The owner of the secret key: encrypts tables and reads answers.
///
/// A client that tells a server whether an answer could be read helps it to learn the key from
/// answers that it damages: keep errors of [`read`](Self::read) to yourself.
#[derive(Debug)]
pub struct Client<B: RingOps = Cpu> {
    params: Params,
    encoder: Encoder,
    encryptor: BfvSecretEncryptor<B>,
    decryptor: BfvDecryptor<B>,
    ring: Ring<B>,
}

impl<B: RingOps> Client<B> {
    /// Takes a key of these parameters.
    ///
    /// # Errors
    /// [`Error::Core`] for a key or a ring of other parameters; device errors.
    pub fn new(params: &Params, secret: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        Ok(Self {
            params: params.clone(),
            encoder: Encoder::new(params.bfv())?,
            encryptor: BfvSecretEncryptor::new(params.bfv(), secret, ring)?,
            decryptor: BfvDecryptor::new(params.bfv(), secret, ring)?,
            ring: ring.clone(),
        })
    }

    /// Encrypts the powers of a table, whose empty bins hold random residues. Constant time.
    ///
    /// # Errors
    /// [`Error::Core`] for a key of other parameters; device errors.
    pub fn query(
        &self,
        placed: &Placed,
        secret: &SecretKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Query<B>> {
        let t = self.params.bfv().plain().modulus();
        let slots = self.slots(placed, t, rng);
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(secret, &self.ring, needs, rng)?;
        let mut blocks = Vec::with_capacity(self.params.shape().blocks);
        for block in slots.chunks(self.ring.n()) {
            let sources = self.params.shape().powers.sources();
            let power = |&exponent: &u64| block.iter().map(|&x| t.pow(x, exponent)).collect::<Vec<u64>>();
            let powers = Zeroizing::new(sources.iter().map(power).collect::<Vec<_>>());
            let vectors: Vec<&[u64]> = powers.iter().map(Vec::as_slice).collect();
            blocks.push(self.encryptor.encrypt(&self.encoder.encode_batch(&vectors)?, rng)?);
        }
        Ok(Query { plan: self.params.id(), key: placed.key, keys, blocks })
    }

    /// The node of each slot.
    fn slots(
        &self,
        placed: &Placed,
        t: &Modulus,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Zeroizing<Vec<u64>> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut stream = Stream::new(&seed, &[b"empty bins"]);
        let node = |bin: &Option<usize>| bin.map_or_else(|| stream.residue(t), |item| placed.nodes[item]);
        let nodes = Zeroizing::new(placed.table.iter().map(node).collect::<Vec<u64>>());
        let replicas = self.params.shape().replicas;
        Zeroizing::new(nodes.iter().flat_map(|&node| std::iter::repeat_n(node, replicas)).collect())
    }

    /// The items that the server has, in the order of the client's list, which names duplicates as
    /// often as they occur. Comparisons and time depend on the matches.
    ///
    /// # Errors
    /// [`Error::Plan`]; [`Error::ServerKey`]; [`Error::Shape`]; [`Error::Core`] for an answer of
    /// another key set or a damaged one; device errors.
    pub fn read(&self, placed: &Placed, answer: &Answer<B>) -> Result<Vec<Match>> {
        check_plan("the answer", &answer.plan, &self.params)?;
        check_key("the answer", answer.key, placed.key)?;
        let shape = self.params.shape();
        let mut found: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for bundle in &answer.bundles {
            check_parts("the answer", "blocks", bundle.blocks.len(), shape.blocks)?;
            let mut values = Vec::with_capacity(shape.blocks);
            for block in &bundle.blocks {
                check_parts("the answer", "values", block.batch(), shape.parts())?;
                let plain = self.decryptor.decrypt_checked(block, DECRYPTION_MARGIN)?;
                values.push(Zeroizing::new(self.encoder.decode::<u64>(&plain)?));
            }
            for (slot, item) in self.occupied(placed) {
                let (block, at) = (slot / self.ring.n(), slot % self.ring.n());
                let values: Vec<u64> = values[block].iter().map(|part| part[at]).collect();
                if let Some(label) = self.opened(&placed.digests[item], &bundle.salt, slot, &values) {
                    found.insert(item, label);
                }
            }
        }
        let each = |(item, label): (usize, Vec<u8>)| {
            placed.at[item].iter().map(move |&item| Match { item, label: label.clone() })
        };
        let mut matches: Vec<Match> = found.into_iter().flat_map(each).collect();
        matches.sort_by_key(|found| found.item);
        Ok(matches)
    }

    /// The slots with items.
    fn occupied<'a>(&'a self, placed: &'a Placed) -> impl Iterator<Item = (usize, usize)> + 'a {
        let replicas = self.params.shape().replicas;
        let bins = placed.table.iter().enumerate().filter_map(|(bin, item)| Some((bin, (*item)?)));
        bins.flat_map(move |(bin, item)| (0..replicas).map(move |i| (bin * replicas + i, item)))
    }

    /// The label, if the tags are those of the item.
    fn opened(&self, digest: &Digest, salt: &[u8; 16], slot: usize, values: &[u64]) -> Option<Vec<u8>> {
        let (t, tags) = (self.params.bfv().plain().modulus(), self.params.shape().tags);
        let expected = digest.residues(salt, slot, t, values.len());
        if expected[..tags] != values[..tags] {
            return None;
        }
        let part = |(&value, &pad): (&u64, &u64)| t.sub(value, pad);
        let parts: Vec<u64> = values[tags..].iter().zip(&expected[tags..]).map(part).collect();
        Some(label::join(&parts, self.params.width(), self.params.plan().label_bytes() as usize))
    }
}
