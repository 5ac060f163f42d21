//! Times: milliseconds since 1970 in the database, RFC 3339 outside.

use jiff::Timestamp;

/// Now.
pub fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// So many hours as milliseconds.
pub fn hours(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(3_600_000)
}

/// For people and programs.
pub fn text(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map(|time| time.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_those_of_rfc_3339() {
        assert_eq!(super::text(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::text(1_763_800_000_123), "2025-11-22T08:26:40.123Z");
        assert_eq!(super::hours(2), 7_200_000);
    }
}
