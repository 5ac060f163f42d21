//! Cuckoo hashing: every item of a client gets one of its three bins for itself.

use crate::error::{Error, Result};
use std::collections::VecDeque;

/// The bins of an item, which differ.
pub(crate) type Bins = [usize; 3];

/// An occupied bin, the item in it, and the bin from which the search came.
struct Seen {
    from: Vec<Option<usize>>,
    stamp: Vec<usize>,
}

/// The item of each bin, by augmenting paths: it fails only if no assignment exists. Its time and
/// addresses depend on the bins.
///
/// # Errors
/// [`Error::Table`] with the probability of [`failure_log2`] at most.
pub(crate) fn assign(items: &[Bins], bins: usize) -> Result<Vec<Option<usize>>> {
    let mut table = vec![None; bins];
    let mut seen = Seen { from: vec![None; bins], stamp: vec![usize::MAX; bins] };
    for item in 0..items.len() {
        let free = search(items, &table, &mut seen, item);
        let mut to = free.ok_or(Error::Table { items: items.len(), bins })?;
        while let Some(from) = seen.from[to] {
            table[to] = table[from];
            to = from;
        }
        table[to] = Some(item);
    }
    Ok(table)
}

/// The nearest free bin that an item can have if others move.
fn search(items: &[Bins], table: &[Option<usize>], seen: &mut Seen, item: usize) -> Option<usize> {
    let mut queue = VecDeque::new();
    let mut visit = |bins: &Bins, from, queue: &mut VecDeque<usize>| {
        for &bin in bins {
            if seen.stamp[bin] != item {
                (seen.stamp[bin], seen.from[bin]) = (item, from);
                queue.push_back(bin);
            }
        }
    };
    visit(&items[item], None, &mut queue);
    while let Some(bin) = queue.pop_front() {
        let Some(occupant) = table[bin] else { return Some(bin) };
        visit(&items[occupant], Some(bin), &mut queue);
    }
    None
}

/// ln C(n, k).
fn ln_choose(n: f64, k: f64) -> f64 {
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
}

/// log2 of a bound on the probability that n items with three random bins of m each find no places:
/// by Hall's theorem, k items then have all their bins among some k - 1, so that the probability is
/// at most the sum over k of C(n, k) C(m, k - 1) (C(k - 1, 3) / C(m, 3))^k.
pub(crate) fn failure_log2(items: usize, bins: usize) -> f64 {
    if bins < items.max(3) {
        return 0.0;
    }
    let (n, m) = (items as f64, bins as f64);
    let term = |k: usize| {
        let k = k as f64;
        ln_choose(n, k) + ln_choose(m, k - 1.0) + k * (ln_choose(k - 1.0, 3.0) - ln_choose(m, 3.0))
    };
    let sum: f64 = (4..=items).map(|k| libm::exp(term(k))).sum();
    libm::log2(sum).min(0.0)
}

/// The fewest bins for which that bound is at most 2^log2.
pub(crate) fn fewest_bins(items: usize, log2: f64) -> usize {
    let (mut low, mut high) = (items.max(3), 4 * items + 64);
    while low < high {
        let middle = (low + high) / 2;
        if failure_log2(items, middle) <= log2 { high = middle } else { low = middle + 1 }
    }
    high
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

    fn random(rng: &mut ChaCha8Rng, bins: usize) -> Bins {
        loop {
            let found: Bins = std::array::from_fn(|_| rng.random_range(0..bins));
            if found[0] != found[1] && found[0] != found[2] && found[1] != found[2] {
                return found;
            }
        }
    }

    fn rng() -> ChaCha8Rng {
        let seed = rand::RngExt::random(&mut he_core::rand::rng());
        println!("seed {seed}");
        ChaCha8Rng::seed_from_u64(seed)
    }

    /// All assignments, tried one after the other.
    fn exists(items: &[Bins], taken: u64) -> bool {
        let Some((first, rest)) = items.split_first() else { return true };
        first.iter().any(|bin| taken >> bin & 1 == 0 && exists(rest, taken | 1 << bin))
    }

    #[test]
    fn an_assignment_is_found_exactly_if_there_is_one() {
        let mut rng = rng();
        let (mut found, mut missed) = (0, 0);
        for _ in 0..2000 {
            let items: Vec<Bins> = (0..8).map(|_| random(&mut rng, 9)).collect();
            match assign(&items, 9) {
                Ok(table) => {
                    found += 1;
                    let mut placed: Vec<usize> = table.iter().copied().flatten().collect();
                    placed.sort_unstable();
                    assert_eq!(placed, (0..8).collect::<Vec<_>>());
                    let fits =
                        |(bin, item): (usize, &Option<usize>)| item.is_none_or(|i| items[i].contains(&bin));
                    assert!(table.iter().enumerate().all(fits));
                }
                Err(_) => missed += 1,
            }
            assert_eq!(assign(&items, 9).is_ok(), exists(&items, 0));
        }
        println!("{found} found, {missed} missed");
        assert!(found > 1000);
    }

    /// Failures of small tables, which are frequent enough to be counted, stay below the bound.
    #[test]
    fn failures_stay_below_their_bound() {
        let mut rng = rng();
        for (items, bins) in [(6, 6), (8, 9), (12, 16)] {
            let trials = 4000;
            let fails = |_: &usize| {
                let items: Vec<Bins> = (0..items).map(|_| random(&mut rng, bins)).collect();
                assign(&items, bins).is_err()
            };
            let failed = (0..trials).filter(fails).count() as f64;
            let bound = f64::from(trials as u32) * failure_log2(items, bins).exp2();
            println!("{items} in {bins}: {failed} failed, at most {bound:.2} on average");
            assert!(failed <= bound + 6.0 * bound.sqrt() + 6.0);
        }
    }

    #[test]
    fn tables_are_as_large_as_the_bound_demands() {
        for items in [1, 3, 4, 10, 1000, 10_000] {
            let bins = fewest_bins(items, -40.0);
            assert!(failure_log2(items, bins) <= -40.0, "{items}");
            assert!(bins == items.max(3) || failure_log2(items, bins - 1) > -40.0, "{items}");
            println!("{items} items: {bins} bins");
        }
    }
}
