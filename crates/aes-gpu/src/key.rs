//! Keys in the memory of a device.

use gpu::Buffer;
use he_core::aes::{Direction, KeySize};
use std::fmt;

/// Words of the round keys of one direction.
pub(crate) const SCHEDULE_WORDS: usize = 2 * 15;

/// Words of a device that are zeroed, in the order of the stream, before their memory is used
/// again.
pub(crate) struct Secret(pub(crate) Buffer);

impl Drop for Secret {
    fn drop(&mut self) {
        let (stream, words) = (self.0.stream().clone(), self.0.words());
        if stream.fill_zero(&mut self.0, 0, words).is_err() {
            // A device that has failed computes no more, so there is nothing left to request.
            let _ = stream.synchronize();
        }
    }
}

/// Round keys of both directions in a device's memory, made by
/// [`AesStream::key`](crate::AesStream::key). Zeroed when dropped, after the work that uses them;
/// never printed.
pub struct DeviceKey {
    pub(crate) size: KeySize,
    pub(crate) schedules: Secret,
}

impl DeviceKey {
    /// The size.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// Address of the round keys.
    pub(crate) fn address(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Encrypt => self.schedules.0.address(),
            Direction::Decrypt => self.schedules.0.address() + 8 * SCHEDULE_WORDS as u64,
        }
    }

    pub(crate) fn rounds(&self) -> u32 {
        self.size.rounds() as u32
    }
}

/// The two keys of XTS in a device's memory, made by
/// [`AesStream::xts_key`](crate::AesStream::xts_key).
pub struct DeviceXtsKey {
    pub(crate) data: DeviceKey,
    pub(crate) tweak: DeviceKey,
}

/// A key and the powers of its H in a device's memory, made by
/// [`AesStream::gcm_key`](crate::AesStream::gcm_key).
pub struct DeviceGcmKey {
    pub(crate) key: DeviceKey,
    pub(crate) powers: Secret,
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceKey({} bits)", self.size.bits())
    }
}

impl fmt::Debug for DeviceXtsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceXtsKey(2 x {} bits)", self.data.size.bits())
    }
}

impl fmt::Debug for DeviceGcmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceGcmKey({} bits)", self.key.size.bits())
    }
}
