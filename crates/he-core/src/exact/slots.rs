//! Slots to messages and back, on a device.

use super::batching::places;
use super::encoder::fill_residues;
use super::{Message, Params, PlainModulus, PlainValue, Scheme};
use crate::backend::{Cpu, ExactOps, PolyOps, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Ring, RingSpec, Rows, Span};
use crate::secret_words::SecretWords;

/// Encodes and decodes slots as [`Encoder`](super::Encoder) does, with the transforms modulo t on
/// the device: together with [`Encryptor::encrypt_message`](super::Encryptor::encrypt_message) and
/// [`Decryptor::decrypt_message`](super::Decryptor::decrypt_message) values are copied once and are
/// processed nowhere else.
pub struct SlotEncoder<B: RingOps = Cpu> {
    plain: PlainModulus,
    ring: Ring<B>,
    /// The ring of the same degree, modulo t.
    slots: Ring<B>,
    /// The slot of each value in evaluation form.
    slot_of: B::Buf,
    /// The value in evaluation form of each slot.
    place_of: B::Buf,
}

impl<B: RingOps> std::fmt::Debug for SlotEncoder<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SlotEncoder {{ t = {}, {:?} }}", self.plain.value(), self.ring)
    }
}

impl<B: RingOps> SlotEncoder<B> {
    /// Prepares it for these parameters, on the device of their ring.
    ///
    /// # Errors
    /// [`ParamsError::NoSlots`](crate::params::ParamsError::NoSlots) unless t is a prime equal to 1
    /// modulo 2N; [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn new<S: Scheme>(params: &Params<S>, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.rlwe().ring() {
            return Err(Error::RingMismatch);
        }
        let (plain, log_n) = (*params.plain(), ring.spec().log_n());
        let places = places(plain.modulus(), log_n)?;
        let mut slots = vec![0; places.len()];
        places.iter().zip(0..).for_each(|(&place, slot)| slots[place as usize] = slot);
        let places: Vec<u64> = places.iter().map(|&place| place.into()).collect();
        let backend = ring.backend();
        Ok(Self {
            plain,
            ring: ring.clone(),
            slots: Ring::new(backend.clone(), RingSpec::new(log_n, vec![plain.value()], Vec::new())?)?,
            slot_of: backend.upload(&slots)?,
            place_of: backend.upload(&places)?,
        })
    }

    /// Encodes vectors of up to N slots, the first row first; the rest is zero.
    ///
    /// # Errors
    /// [`Error::TooManyValues`]; [`Error::PlainRange`]; [`Error::BatchRange`] for none; device
    /// errors.
    pub fn encode<T: PlainValue>(&self, vectors: &[&[T]]) -> Result<Message<B>> {
        if vectors.is_empty() {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        let (n, batch) = (self.ring.n(), vectors.len());
        let mut residues = SecretWords::zeros(batch * n);
        for (vector, out) in vectors.iter().zip(residues.chunks_exact_mut(n)) {
            fill_residues(&self.plain, vector, out)?;
        }
        let (backend, prepared, rows) =
            (self.slots.backend(), self.slots.prepared(), Rows::new(Span::chain(1), batch));
        let mut given = backend.upload(&residues)?;
        let values = prepared.gather(rows, &self.slot_of, &given);
        backend.wipe(&mut given);
        let mut message = Message { ring: self.ring.clone(), plain: self.plain, batch, buf: values? };
        prepared.intt(rows, &mut message.buf)?;
        Ok(message)
    }

    /// Decodes the slots of every message. Waits for the device.
    ///
    /// # Errors
    /// [`Error::Argument`] for a message of another t, [`Error::RingMismatch`]; device errors.
    pub fn decode<T: PlainValue>(&self, mut message: Message<B>) -> Result<Vec<Vec<T>>> {
        message.check(&self.plain, &self.ring)?;
        let (n, batch) = (self.ring.n(), message.batch);
        let (backend, prepared, rows) =
            (self.slots.backend(), self.slots.prepared(), Rows::new(Span::chain(1), batch));
        prepared.ntt(rows, &mut message.buf)?;
        let slots = prepared.gather(rows, &self.place_of, &message.buf)?;
        // This is checked before waiting for the device.
        drop(message);
        let value = |&residue: &u64| T::from_residue(residue, &self.plain);
        backend.take_with(slots, |residues| {
            Ok(residues.chunks_exact(n).map(|row| row.iter().map(value).collect()).collect())
        })
    }
}
