//! The server: prepares its set, and answers.

use crate::answering;
use crate::bundle::{Bundle, Item};
use crate::bytes::{Kind, Reader, Writer};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::messages::{Answer, Query, Request, Response, check_plan};
use crate::oprf::{MAX_ITEM_BYTES, ServerKey, ServerKeyId};
use crate::plan::Params;
use crate::polynomials::Polynomials;
use crate::prepared;
use he_core::backend::{Cpu, RingOps};
use he_core::bfv::BfvEvaluator;
use he_core::ring::Ring;
use rand::CryptoRng;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use zeroize::Zeroizing;

/// A set with its key, prepared for queries.
///
/// # What the server learns
/// The number of a client's different items, the size of its plan, and when it asks. Blinded points
/// are uniform and independent of the items; powers are encrypted.
///
/// # What a client can learn
/// Whether the items that it asked for are in the set, their labels, and the number of bundles. All
/// nodes, tags and pads of other items are pseudorandom without the key, and all slots hold the
/// same number of points, so that even the polynomials themselves would tell no more: answers need
/// no flooding. A client may ask for any items: limit how many requests it gets.
pub struct Server<B: RingOps = Cpu> {
    params: Params,
    key: ServerKey,
    ev: BfvEvaluator<B>,
    items: Vec<Option<Item>>,
    places: HashMap<Digest, usize>,
    bundles: Vec<Bundle<B>>,
}

impl<B: RingOps> std::fmt::Debug for Server<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("key", &self.key.id()).field("items", &self.len()).finish()
    }
}

impl<B: RingOps> Server<B> {
    /// An empty set.
    ///
    /// # Errors
    /// [`Error::Core`] for a ring of other parameters; device errors.
    pub fn new(params: &Params, key: ServerKey, ring: &Ring<B>) -> Result<Self> {
        let ev = BfvEvaluator::new(params.bfv(), ring)?;
        let (items, places, bundles) = (Vec::new(), HashMap::new(), Vec::new());
        Ok(Self { params: params.clone(), key, ev, items, places, bundles })
    }

    /// The items in the set.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bundles of polynomials: answers grow with them.
    pub fn bundles(&self) -> usize {
        self.bundles.len()
    }

    /// The identity of the key.
    pub fn key(&self) -> ServerKeyId {
        self.key.id()
    }

    /// The digests of items, in parallel.
    fn digests(&self, items: &[impl AsRef<[u8]> + Sync]) -> Result<Vec<Digest>> {
        check_lengths(items)?;
        Ok(items.par_iter().map(|item| Digest::new(&self.key.value(item.as_ref()))).collect())
    }

    /// Adds items with their labels (none for a set without labels). An item that is in the set
    /// with the same label stays once. The function is evaluated once per item, and bundles that
    /// get items are prepared again: all their slots are interpolated.
    ///
    /// # Errors
    /// [`Error::Size`] for more items than planned; [`Error::ItemLength`]; [`Error::Labels`],
    /// [`Error::LabelLength`], [`Error::LabelConflict`], all before anything changes; device
    /// errors, after which the set must be made anew.
    pub fn append(
        &mut self,
        items: &[impl AsRef<[u8]> + Sync],
        labels: &[impl AsRef<[u8]>],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        self.check_labels(items.len(), labels)?;
        let digests = self.digests(items)?;
        let fresh = self.fresh(digests, labels)?;
        let (found, highest) = ((self.len() + fresh.len()) as u64, self.params.plan().server_items());
        if found > highest {
            return Err(Error::Size { what: "items of the server", found, lowest: 1, highest });
        }
        let mut changed = BTreeSet::new();
        for item in fresh {
            self.place(item, &mut changed);
        }
        self.complete(changed, rng)
    }

    /// Prepares changed bundles, and one at least: a set without items answers like any other.
    fn complete(&mut self, mut changed: BTreeSet<usize>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<()> {
        if self.bundles.is_empty() {
            self.bundles.push(Bundle::empty(&self.params));
            changed.insert(0);
        }
        self.rebuild(changed, rng)
    }

    fn check_labels(&self, items: usize, labels: &[impl AsRef<[u8]>]) -> Result<()> {
        let expected = self.params.plan().label_bytes() as usize;
        let wanted = if expected == 0 { 0 } else { items };
        if labels.len() != wanted {
            return Err(Error::Labels { found: labels.len(), expected: wanted });
        }
        let lengths = labels.iter().map(|label| label.as_ref().len()).enumerate();
        match lengths.into_iter().find(|(_, found)| *found != expected) {
            Some((item, found)) => Err(Error::LabelLength { item, found, expected }),
            None => Ok(()),
        }
    }

    /// The items that are not in the set, each once.
    fn fresh(&self, digests: Vec<Digest>, labels: &[impl AsRef<[u8]>]) -> Result<Vec<Item>> {
        let mut fresh: Vec<Item> = Vec::with_capacity(digests.len());
        let mut seen: HashMap<Digest, usize> = HashMap::new();
        for (item, digest) in digests.into_iter().enumerate() {
            let label = labels.get(item).map_or(&[][..], AsRef::as_ref);
            let here = self.places.get(&digest).and_then(|&at| self.items[at].as_ref());
            match here.or_else(|| seen.get(&digest).map(|&at| &fresh[at])) {
                Some(known) if known.label != label => return Err(Error::LabelConflict { item }),
                Some(_) => {}
                None => {
                    seen.insert(digest.clone(), fresh.len());
                    fresh.push(Item { digest, label: label.to_vec() });
                }
            }
        }
        Ok(fresh)
    }

    /// Puts an item into the first slot with room of each of its bins.
    fn place(&mut self, item: Item, changed: &mut BTreeSet<usize>) {
        let (shape, t) = (*self.params.shape(), *self.params.bfv().plain().modulus());
        let place = item.digest.place(shape.bins, &t);
        let index = self.items.len();
        for bin in place.bins {
            let slots = |bin: usize| (0..shape.replicas).map(move |replica| bin * shape.replicas + replica);
            let room = self.bundles.iter().enumerate().find_map(|(at, bundle)| {
                let slot = slots(bin).find(|&slot| bundle.slots[slot].accepts(place.node, shape.degree));
                slot.map(|slot| (at, slot))
            });
            let (at, slot) = room.unwrap_or_else(|| {
                self.bundles.push(Bundle::empty(&self.params));
                (self.bundles.len() - 1, bin * shape.replicas)
            });
            self.bundles[at].slots[slot].items.push((index as u32, place.node));
            changed.insert(at);
        }
        self.places.insert(item.digest.clone(), index);
        self.items.push(Some(item));
    }

    fn rebuild(&mut self, changed: BTreeSet<usize>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<()> {
        let Self { params, ev, items, bundles, .. } = self;
        changed.into_iter().try_for_each(|at| bundles[at].rebuild(params, items, ev, rng))
    }

    /// Removes items; the bundles that had them are prepared again.
    ///
    /// # Errors
    /// [`Error::NoItem`], [`Error::ItemLength`], before anything changes; device errors, after
    /// which the set must be made anew.
    pub fn remove(
        &mut self,
        items: &[impl AsRef<[u8]> + Sync],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        let digests = self.digests(items)?;
        if let Some(item) = digests.iter().position(|digest| !self.places.contains_key(digest)) {
            return Err(Error::NoItem { item });
        }
        let removed: BTreeSet<u32> =
            digests.iter().filter_map(|digest| self.places.remove(digest)).map(|at| at as u32).collect();
        removed.iter().for_each(|&at| self.items[at as usize] = None);
        let mut changed = BTreeSet::new();
        for (at, bundle) in self.bundles.iter_mut().enumerate() {
            for slot in &mut bundle.slots {
                let before = slot.items.len();
                slot.items.retain(|(item, _)| !removed.contains(item));
                if slot.items.len() < before {
                    changed.insert(at);
                }
            }
        }
        self.rebuild(changed, rng)
    }

    /// **The set and its key** as bytes for [`from_bytes`](Self::from_bytes), wiped when dropped:
    /// the values of the function, so that it need not be evaluated again, and the labels.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut writer = Writer::new(Kind::Set, &self.params.id());
        writer.raw(&*self.key.to_bytes()).count(self.len());
        for item in self.items.iter().flatten() {
            writer.raw(item.digest.bytes()).raw(&item.label);
        }
        Zeroizing::new(writer.finish())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes): places and interpolates all items, under
    /// fresh salts.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Plan`]; [`Error::Core`] for a ring of other parameters; device
    /// errors.
    pub fn from_bytes(
        params: &Params,
        ring: &Ring<B>,
        bytes: &[u8],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let mut reader = Reader::new(Kind::Set, params, bytes)?;
        let key = ServerKey::from_bytes(&Zeroizing::new(reader.array("key")?))?;
        let mut server = Self::new(params, key, ring)?;
        let length = params.plan().label_bytes() as usize;
        let mut changed = BTreeSet::new();
        for _ in 0..reader.count(32 + length, "items")? {
            let digest = Digest::from_bytes(reader.array("digest")?);
            let label = reader.take(length, "label")?.to_vec();
            if server.places.contains_key(&digest) || server.len() as u64 == params.plan().server_items() {
                return Err(reader.error("items"));
            }
            server.place(Item { digest, label }, &mut changed);
        }
        reader.end()?;
        server.complete(changed, rng)?;
        Ok(server)
    }

    /// Evaluates the function on a client's blinded items, as [`ServerKey::respond`] does.
    ///
    /// # Errors
    /// The errors of [`ServerKey::respond`].
    pub fn respond(&self, request: &Request) -> Result<Response> {
        self.key.respond(&self.params, request)
    }

    /// Answers a query: powers, and one sum of products per bundle.
    ///
    /// # Errors
    /// [`Error::Plan`]; [`Error::ServerKey`]; [`Error::Shape`] for other ciphertexts than planned;
    /// [`Error::Core`] for those of other parameters; device errors.
    pub fn answer(&self, query: Query<B>) -> Result<Answer<B>> {
        answering::answer(&self.params, self.key.id(), &self.ev, self.polynomials(), query)
    }

    fn polynomials(&self) -> impl ExactSizeIterator<Item = &Polynomials<B>> {
        self.bundles.iter().map(|bundle| &bundle.polynomials)
    }

    /// The polynomials as bytes for [`PreparedSet`](crate::PreparedSet): whoever has them answers
    /// queries, and learns neither items nor labels without the key.
    pub fn prepared_bytes(&self) -> Vec<u8> {
        prepared::bytes(&self.params, self.key.id(), self.polynomials())
    }
}

impl ServerKey {
    /// The key in the bytes of [`Server::to_bytes`], without preparing the set.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Plan`].
    pub fn of_set(params: &Params, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Set, params, bytes)?;
        Self::from_bytes(&Zeroizing::new(reader.array("key")?))
    }

    /// Evaluates the function on a client's blinded items. Constant time.
    ///
    /// # Errors
    /// [`Error::Plan`]; [`Error::Size`] for more points than planned; [`Error::Point`].
    pub fn respond(&self, params: &Params, request: &Request) -> Result<Response> {
        check_plan("the request", &request.plan, params)?;
        let (found, highest) = (request.points.len() as u64, params.plan().client_items());
        if !(1..=highest).contains(&found) {
            return Err(Error::Size { what: "items of a client", found, lowest: 1, highest });
        }
        let points = self.evaluate(&request.points)?;
        Ok(Response { plan: request.plan, key: self.id(), points })
    }
}

/// Checks that items are short enough.
pub(crate) fn check_lengths(items: &[impl AsRef<[u8]>]) -> Result<()> {
    let limit = MAX_ITEM_BYTES;
    let lengths = items.iter().map(|item| item.as_ref().len()).enumerate();
    match lengths.into_iter().find(|(_, found)| *found > limit) {
        Some((item, found)) => Err(Error::ItemLength { item, found, limit }),
        None => Ok(()),
    }
}
