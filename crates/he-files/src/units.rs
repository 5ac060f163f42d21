//! Sizes and durations as a person reads them.

use std::time::Duration;

/// A number of bytes in binary units with three significant digits: `17 B`, `1.50 KiB`, `23.4 MiB`,
/// `512 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // 999.5 would print as 1000, which is four digits; 1024 is the border all the same, so only
    // rounding moves it.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// A duration: `870 ns`, `12.3 µs`, `4.56 ms`, `1.24 s`, `2 min 05 s`, `3 h 07 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 999.5e-9 {
        format!("{} ns", time.as_nanos())
    } else if seconds < 999.5e-6 {
        format!("{} µs", three_digits(seconds * 1e6))
    } else if seconds < 999.5e-3 {
        format!("{} ms", three_digits(seconds * 1e3))
    } else if seconds < 59.95 {
        format!("{} s", three_digits(seconds))
    } else {
        let whole = seconds.round() as u64;
        if whole < 3600 {
            format!("{} min {:02} s", whole / 60, whole % 60)
        } else {
            let minutes = (seconds / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// A number for programs that is not exact, such as a logarithm or a bound: cut off behind four
/// decimals, which is all that it means.
pub fn four_decimals(value: f64) -> f64 {
    (value * 1e4).floor() / 1e4
}

/// Three significant digits without exponent (four where the number has four before the point).
fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_decimals_are_left() {
        for (value, text) in [(16.000_000_073, "16.0"), (27.011_293, "27.0112"), (-1.5, "-1.5"), (0.0, "0.0")]
        {
            assert_eq!(serde_json::json!(four_decimals(value)).to_string(), text);
        }
    }

    #[test]
    fn bytes_at_the_borders() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (10 * 1024 - 1, "10.0 KiB"),
            (1023 * 1024, "1023 KiB"),
            (1024 * 1024 - 1, "1.00 MiB"),
            (512 << 20, "512 MiB"),
            (1 << 30, "1.00 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn durations_at_the_borders() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (12_345, "12.3 µs"),
            (999_600, "1.00 ms"),
            (4_560_000, "4.56 ms"),
            (999_600_000, "1.00 s"),
            (1_240_000_000, "1.24 s"),
            (59_940_000_000, "59.9 s"),
            (59_960_000_000, "1 min 00 s"),
            (125_000_000_000, "2 min 05 s"),
            (3_599_700_000_000, "1 h 00 min"),
            (11_220_000_000_000, "3 h 07 min"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanos)), text);
        }
    }
}
