//! Ciphertexts of files on any engine, while the next frames are read.

use super::{CipherReader, wrong_number};
use crate::error::{InFile, Result};
use crate::note::KeyId;
use crate::scheme::{OfKeySet, Scheme};
use he::Device;
use he_core::ring::Ring;
use he_core::wire::{Frame, SealedFrame};
use std::sync::{Arc, Mutex, PoisonError};

/// The decoder of frames of a file to ciphertexts, on any engine.
pub struct Decoder<S: Scheme> {
    name: String,
    params: S::Params,
    key_id: KeyId,
    slots: usize,
    spares: Spares,
}

/// Memory of bodies that have been decoded, for the next ones.
#[derive(Clone, Default)]
pub(super) struct Spares(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spares {
    /// The most bodies that are kept.
    const MOST: usize = 4;

    /// One of them.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a body, unless there are enough.
    fn keep(&self, body: Vec<u8>) {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < Self::MOST {
            spares.push(body);
        }
    }
}

impl<S: Scheme> Decoder<S> {
    /// The ciphertexts of a frame: exactly `batch` of them, with as many slots as the description
    /// says.
    ///
    /// # Errors
    /// The frame is damaged, or of another size.
    pub fn decode(&self, ring: &Ring<Device>, sealed: SealedFrame, batch: usize) -> Result<S::Ciphertext> {
        let mut frame = sealed.open().in_file(&self.name)?;
        let ct = self.decode_open(ring, &frame, batch)?;
        self.spares.keep(std::mem::take(&mut frame.body));
        Ok(ct)
    }

    /// The same from a frame that was opened.
    ///
    /// # Errors
    /// The frame is of another size.
    pub fn decode_open(&self, ring: &Ring<Device>, frame: &Frame, batch: usize) -> Result<S::Ciphertext> {
        let ct = S::decode(&self.params, ring, frame).in_file(&self.name)?.of(&self.key_id);
        if S::shape(&ct) != (batch, self.slots) {
            return Err(wrong_number(&self.name, "other"));
        }
        Ok(ct)
    }

    /// The key set of its ciphertexts.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }
}

impl<S: Scheme> CipherReader<S> {
    /// The decoder of its frames.
    pub fn decoder(&self) -> Decoder<S> {
        let slots = self.payload.content.slots(S::slots(&self.params));
        let (name, params, spares) = (self.name.clone(), self.params.clone(), self.spares.clone());
        Decoder { name, params, key_id: self.payload.key_id.clone(), slots, spares }
    }

    /// The next batch: [`frame`](Self::frame), decoded.
    ///
    /// # Errors
    /// There is no further frame, it is damaged, or of another size.
    pub fn next(&mut self, ring: &Ring<Device>, batch: usize) -> Result<S::Ciphertext> {
        let frame = self.frame()?;
        self.decoder().decode(ring, frame, batch)
    }
}
