//! A prepared set: the polynomials of a server without its items and its key.

use crate::answering;
use crate::bytes::{Kind, Reader, Writer};
use crate::error::Result;
use crate::messages::{Answer, Query};
use crate::oprf::ServerKeyId;
use crate::plan::Params;
use crate::polynomials::Polynomials;
use he_core::backend::{Cpu, RingOps};
use he_core::bfv::BfvEvaluator;
use he_core::ring::Ring;

/// The polynomials of a set, ready for queries: read from bytes, they are transformed, but not
/// interpolated again, which takes most of the time of [`Server::from_bytes`].
///
/// [`Server::from_bytes`]: crate::Server::from_bytes
///
/// ```
/// use he_core::{backend::Cpu, ring::Ring};
/// use he_psi::{ClientState, Plan, PreparedSet, Server, ServerKey};
/// # fn main() -> he_psi::Result<()> {
/// // Insecure parameters keep the example short: leave that call out.
/// let params = Plan::new(3, 1).insecure_log_n(6).params()?;
/// let ring = Ring::new(Cpu::new(), params.bfv().rlwe().ring().clone())?;
/// let mut rng = he_core::rand::rng();
/// let mut server = Server::new(&params, ServerKey::generate(&mut rng), &ring)?;
/// server.append(&["ann", "bob"], &[[0u8; 0]; 0], &mut rng)?;
/// let kept = server.prepared_bytes();
///
/// let state = ClientState::new(&params, &["bob"], &mut rng)?;
/// let response = server.respond(&state.request(&params)?)?;
/// let query = state.query(&params, &ring, &response, &mut rng)?;
/// let answer = PreparedSet::from_bytes(&params, &ring, &kept)?.answer(query)?;
/// assert_eq!(state.read(&params, &ring, &response, &answer)?.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct PreparedSet<B: RingOps = Cpu> {
    params: Params,
    key: ServerKeyId,
    ev: BfvEvaluator<B>,
    polynomials: Vec<Polynomials<B>>,
}

impl<B: RingOps> std::fmt::Debug for PreparedSet<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedSet")
            .field("key", &self.key)
            .field("bundles", &self.polynomials.len())
            .finish()
    }
}

/// The polynomials of a set as bytes.
pub(crate) fn bytes<'a, B: RingOps>(
    params: &Params,
    key: ServerKeyId,
    polynomials: impl ExactSizeIterator<Item = &'a Polynomials<B>>,
) -> Vec<u8> {
    let mut writer = Writer::new(Kind::Prepared, &params.id());
    writer.raw(&key.0).count(polynomials.len());
    polynomials.for_each(|polynomials| polynomials.write(&mut writer));
    writer.finish()
}

impl<B: RingOps> PreparedSet<B> {
    /// From the bytes of [`Server::prepared_bytes`](crate::Server::prepared_bytes), which are one
    /// version of a set: they are made anew when it changes.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes); [`Error::Plan`](crate::Error::Plan);
    /// [`Error::Core`](crate::Error::Core) for a ring of other parameters; device errors.
    pub fn from_bytes(params: &Params, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Prepared, params, bytes)?;
        let key = ServerKeyId(reader.array("key")?);
        let ev = BfvEvaluator::new(params.bfv(), ring)?;
        let count = reader.count(Polynomials::<B>::bytes(params), "bundles")?;
        let polynomials =
            (0..count).map(|_| Polynomials::read(params, &mut reader, &ev)).collect::<Result<_>>()?;
        reader.end()?;
        Ok(Self { params: params.clone(), key, ev, polynomials })
    }

    /// Answers a query as [`Server::answer`](crate::Server::answer) does.
    ///
    /// # Errors
    /// The errors of that.
    pub fn answer(&self, query: Query<B>) -> Result<Answer<B>> {
        answering::answer(&self.params, self.key, &self.ev, self.polynomials.iter(), query)
    }
}
