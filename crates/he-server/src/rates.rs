//! Limits on the rate of requests: a bucket of tokens per tenant and per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Somebody who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    /// A tenant.
    Tenant(String),
    /// The guests of an address.
    Guests(String),
    /// An address without a tenant.
    Address(IpAddr),
    /// An address that opens sessions.
    Sessions(IpAddr),
}

/// The requests that are left for one of them, as of a time.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// The buckets.
#[derive(Debug)]
pub struct Rates {
    per_second: f64,
    sessions_per_second: f64,
    address_guests: f64,
    buckets: Mutex<HashMap<Asker, Bucket>>,
}

impl Rates {
    /// So many requests per second, and sessions per minute; the guests of one address ask as often
    /// as so many guests may.
    pub fn new(per_second: u32, sessions_per_minute: u32, address_guests: u64) -> Self {
        Self {
            address_guests: address_guests as f64,
            per_second: f64::from(per_second),
            sessions_per_second: f64::from(sessions_per_minute) / 60.0,
            buckets: Mutex::default(),
        }
    }

    /// The rate, and what may come at once after a pause.
    fn of(&self, asker: &Asker) -> (f64, f64) {
        match asker {
            Asker::Tenant(_) | Asker::Address(_) => (self.per_second, 4.0 * self.per_second),
            Asker::Guests(_) => {
                (self.address_guests * self.per_second, 4.0 * self.address_guests * self.per_second)
            }
            Asker::Sessions(_) => (self.sessions_per_second, 60.0 * self.sessions_per_second),
        }
    }

    /// Takes one request of `asker`.
    ///
    /// # Errors
    /// The seconds to wait, if it asks too often.
    pub fn take(&self, asker: Asker) -> Result<(), u64> {
        self.take_at(asker, Instant::now())
    }

    /// Takes more of `asker` after an answer that has cost as much as `requests` more: the next
    /// requests wait for it.
    pub fn charge(&self, asker: &Asker, requests: u64) {
        let (_, most) = self.of(asker);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(asker) {
            bucket.left = (bucket.left - requests as f64).max(-most.max(1.0));
        }
    }

    fn take_at(&self, asker: Asker, now: Instant) -> Result<(), u64> {
        let (rate, most) = self.of(&asker);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(asker).or_insert(Bucket { left: most.max(1.0), at: now });
        let grown = now.saturating_duration_since(bucket.at).as_secs_f64() * rate;
        *bucket = Bucket { left: (bucket.left + grown).min(most.max(1.0)), at: now };
        if bucket.left < 1.0 {
            return Err((((1.0 - bucket.left) / rate).ceil() as u64).clamp(1, 3600));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    /// Forgets who has not asked for a while.
    pub fn forget(&self) {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at).as_secs() < 120);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn buckets_fill_again() {
        let rates = Rates::new(2, 6, 8);
        let (asker, start) = (|| Asker::Tenant("a".to_owned()), Instant::now());
        for _ in 0..8 {
            rates.take_at(asker(), start).unwrap();
        }
        assert_eq!(rates.take_at(asker(), start), Err(1));
        rates.take_at(Asker::Tenant("b".to_owned()), start).unwrap();
        rates.take_at(asker(), start + Duration::from_millis(500)).unwrap();
        assert!(rates.take_at(asker(), start + Duration::from_millis(500)).is_err());
        let sessions = || Asker::Sessions([127, 0, 0, 1].into());
        for _ in 0..6 {
            rates.take_at(sessions(), start).unwrap();
        }
        assert_eq!(rates.take_at(sessions(), start), Err(10));
        // The guests of an address together.
        let guests = || Asker::Guests("1.1.1.1".to_owned());
        for _ in 0..64 {
            rates.take_at(guests(), start).unwrap();
        }
        assert!(rates.take_at(guests(), start).is_err());
    }

    #[test]
    fn answers_cost_by_what_they_hold() {
        let rates = Rates::new(2, 6, 8);
        let (asker, start) = (|| Asker::Tenant("a".to_owned()), Instant::now());
        rates.take_at(asker(), start).unwrap();
        rates.charge(&asker(), 13);
        assert_eq!(rates.take_at(asker(), start), Err(4));
        rates.charge(&asker(), 1_000_000);
        assert_eq!(rates.take_at(asker(), start), Err(5));
        assert!(rates.take_at(asker(), start + Duration::from_secs(5)).is_ok());
    }
}
