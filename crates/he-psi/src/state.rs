//! The state that a client keeps between its rounds.

use crate::bytes::{Kind, Reader, Writer};
use crate::client::{Client, Items, Match};
use crate::error::Result;
use crate::messages::{Answer, Query, Request, Response};
use crate::plan::Params;
use he_core::backend::RingOps;
use he_core::rand::{SeedableRng as _, rngs::ChaCha20Rng};
use he_core::ring::Ring;
use he_core::rlwe::SecretKey;
use rand::CryptoRng;
use zeroize::Zeroizing;

const BLINDING: &str = "he-psi 1 blinding of a client";
const SECRET: &str = "he-psi 1 secret key of a client";

/// The items of one run of a client, and the seed of everything that is secret in it; wiped when
/// dropped. A run has one request, one query and one answer; the next one needs a state of its own.
///
/// ```
/// use he_core::{backend::Cpu, ring::Ring};
/// use he_psi::{ClientState, Plan, Server, ServerKey};
/// # fn main() -> he_psi::Result<()> {
/// // Insecure parameters keep the example short: leave that call out.
/// let params = Plan::new(2, 1).insecure_log_n(6).params()?;
/// let ring = Ring::new(Cpu::new(), params.bfv().rlwe().ring().clone())?;
/// let mut rng = he_core::rand::rng();
/// let mut server = Server::new(&params, ServerKey::generate(&mut rng), &ring)?;
/// server.append(&["ann", "bob"], &[[0u8; 0]; 0], &mut rng)?;
///
/// let kept = ClientState::new(&params, &["bob"], &mut rng)?.to_bytes(&params);
/// let state = ClientState::from_bytes(&params, &kept)?;
/// let response = server.respond(&state.request(&params)?)?;
/// let answer = server.answer(state.query(&params, &ring, &response, &mut rng)?)?;
/// assert_eq!(state.read(&params, &ring, &response, &answer)?[0].item, 0);
/// # Ok(())
/// # }
/// ```
pub struct ClientState {
    items: Vec<Zeroizing<Vec<u8>>>,
    seed: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for ClientState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientState").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

impl ClientState {
    /// A run for these items, under a fresh seed.
    ///
    /// # Errors
    /// [`Error::Size`](crate::Error::Size) for none or more than planned;
    /// [`Error::ItemLength`](crate::Error::ItemLength).
    pub fn new(
        params: &Params,
        items: &[impl AsRef<[u8]>],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let items = items.iter().map(|item| Zeroizing::new(item.as_ref().to_vec())).collect();
        let state = Self { items, seed };
        state.blinded(params)?;
        Ok(state)
    }

    /// The items, in the order in which matches number them.
    pub fn items(&self) -> impl Iterator<Item = &[u8]> {
        self.items.iter().map(|item| item.as_slice())
    }

    fn blinded(&self, params: &Params) -> Result<Items> {
        let items: Vec<&[u8]> = self.items().collect();
        Items::new(params, &items, blake3::derive_key(BLINDING, &*self.seed))
    }

    fn secret(&self, params: &Params) -> SecretKey {
        let seed = Zeroizing::new(blake3::derive_key(SECRET, &*self.seed));
        SecretKey::generate(params.bfv().rlwe(), &mut ChaCha20Rng::from_seed(*seed))
    }

    /// The first message.
    ///
    /// # Errors
    /// [`Error::Size`](crate::Error::Size) for more items than planned.
    pub fn request(&self, params: &Params) -> Result<Request> {
        Ok(self.blinded(params)?.request(params))
    }

    /// The second message.
    ///
    /// # Errors
    /// The errors of [`Items::placed`] and [`Client::query`].
    pub fn query<B: RingOps>(
        &self,
        params: &Params,
        ring: &Ring<B>,
        response: &Response,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Query<B>> {
        let (placed, secret) = (self.blinded(params)?.placed(params, response)?, self.secret(params));
        Client::new(params, &secret, ring)?.query(&placed, &secret, rng)
    }

    /// The matches in an answer, given the response of the first round.
    ///
    /// # Errors
    /// The errors of [`Items::placed`] and [`Client::read`].
    pub fn read<B: RingOps>(
        &self,
        params: &Params,
        ring: &Ring<B>,
        response: &Response,
        answer: &Answer<B>,
    ) -> Result<Vec<Match>> {
        let placed = self.blinded(params)?.placed(params, response)?;
        Client::new(params, &self.secret(params), ring)?.read(&placed, answer)
    }

    /// **The secret and the items** as bytes for [`from_bytes`](Self::from_bytes).
    pub fn to_bytes(&self, params: &Params) -> Zeroizing<Vec<u8>> {
        let mut writer = Writer::new(Kind::State, &params.id());
        writer.raw(&*self.seed).count(self.items.len());
        for item in self.items() {
            writer.string(item);
        }
        Zeroizing::new(writer.finish())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), in memory of a small multiple of their size.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes); [`Error::Plan`](crate::Error::Plan); those of
    /// [`new`](Self::new).
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::State, params, bytes)?;
        let (seed, count) = (Zeroizing::new(reader.array("seed")?), reader.count(8, "items")?);
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(Zeroizing::new(reader.string("items")?.to_vec()));
        }
        reader.end()?;
        let state = Self { items, seed };
        state.blinded(params)?;
        Ok(state)
    }
}
