//! Measuring pairs, and the rows of the table.

use std::fmt::Display;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The time of all samples of a pair, unless a single call takes longer.
const BUDGET: f64 = 0.6;
/// Shorter calls are repeated for this long.
const SAMPLE: f64 = 0.004;
/// The samples per function.
const ROUNDS: (f64, f64) = (3.0, 100.0);

/// Begins a table; `peer` heads its column.
pub fn heading(peer: &str) {
    println!("\n| job | ours | {peer} | ours / peer |\n|---|---|---|---|");
}

/// Measures two functions that do the same job and prints a row: the least mean time of a call
/// among the samples of each, and the ratio of these.
pub fn pair<A, B>(job: impl Display, mut ours: impl FnMut() -> A, mut peer: impl FnMut() -> B) {
    let [ours, peer] = least([&mut || drop(black_box(ours())), &mut || drop(black_box(peer()))]);
    println!("| {job} | {} | {} | {:.2} |", in_words(ours), in_words(peer), ours / peer);
}

/// The least time of a call in seconds. The first call of each is not counted.
fn least(mut calls: [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let plan = calls.each_mut().map(|call| {
        call();
        let once = sample(call, 1);
        let repeats = (SAMPLE / once).ceil();
        (repeats as u32, repeats * once)
    });
    let round: f64 = plan.iter().map(|(_, time)| time).sum();
    let rounds = (BUDGET / round).clamp(ROUNDS.0, ROUNDS.1) as usize;
    let mut least = [f64::INFINITY; 2];
    for _ in 0..rounds {
        for ((call, (repeats, _)), least) in calls.iter_mut().zip(plan).zip(&mut least) {
            *least = least.min(sample(call, repeats));
        }
    }
    least
}

/// The mean time of a call in seconds.
fn sample(call: &mut dyn FnMut(), repeats: u32) -> f64 {
    let begin = Instant::now();
    for _ in 0..repeats {
        call();
    }
    begin.elapsed().max(Duration::from_nanos(1)).as_secs_f64() / f64::from(repeats)
}

/// A time of three digits with its unit.
fn in_words(seconds: f64) -> String {
    let units = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)];
    let (unit, size) = units.into_iter().find(|(_, size)| seconds >= *size).unwrap_or(units[3]);
    let value = seconds / size;
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        let cases = [(1.5, "1.50 s"), (0.0123, "12.3 ms"), (4.567e-4, "457 µs"), (2e-10, "0.20 ns")];
        for (seconds, words) in cases {
            assert_eq!(in_words(seconds), words);
        }
    }

    #[test]
    fn functions_take_turns() {
        let order = std::cell::RefCell::new(vec![]);
        let call = |side: u8| {
            order.borrow_mut().push(side);
            std::thread::sleep(Duration::from_millis(5));
        };
        least([&mut || call(0), &mut || call(1)]);
        let order = order.into_inner();
        // Each is called once unmeasured and once to plan.
        assert_eq!(order[..4], [0, 0, 1, 1]);
        assert!(order.len() >= 10);
        assert!(order[4..].chunks(2).all(|turn| turn == [0, 1]), "{order:?}");
    }
}
