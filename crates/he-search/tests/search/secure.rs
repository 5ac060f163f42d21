//! Parameters of 128 bits, which take longer than other tests.

use crate::plain::value;
use crate::setup::{Setup, rng};
use he_search::{Bands, Index, Metric, Plan, Search};
use rand::RngExt;

/// 1000 records of dimension 128 about 31 centres, as the public suite for encrypted search draws
/// them: count and payloads are those of plain numbers.
#[test]
#[ignore = "twelve seconds in the dev profile; tests/deep.sh runs it"]
fn a_thousand_records_of_dimension_128() {
    let mut rng = rng();
    let bands = Bands { lowest: -0.66, below: 0.62, above: 0.86, highest: 1.0 };
    let plan = Plan::matching(128, Metric::Cosine, 0.74, 0.12).bands(bands).payload(8).records(1000);
    let setup = Setup::new(plan, &mut rng);
    let mut unit = || {
        let normal = |_| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let x: Vec<f64> = (0..128).map(normal).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter().map(|x| x / norm).collect::<Vec<f64>>()
    };
    let centres: Vec<Vec<f64>> = (0..31).map(|_| unit()).collect();
    let mut near = |i: usize| {
        let noise = unit();
        centres[i % 31].iter().zip(noise).map(|(x, y)| x + 0.3 * y).collect::<Vec<f64>>()
    };
    let records: Vec<Vec<f64>> = (0..1000).map(|i| near(i * 7919 % 61)).collect();
    let query = near(3);
    let payloads: Vec<[u8; 8]> =
        (0..1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    let mut rng = crate::setup::rng();
    let sealed = setup.client.segment(0, &records, &payloads, &mut rng).unwrap();
    let mut index = Index::new(&setup.params);
    index.append(sealed.expand().unwrap(), &setup.ev).unwrap();
    let query_ct = setup.client.query(&query, &mut rng).unwrap().expand().unwrap();
    let search = Search::new(&setup.params, &setup.ev, &query_ct, &setup.keys).unwrap();
    let near: Vec<usize> = (0..1000).filter(|&i| value(Metric::Cosine, &query, &records[i]) > 0.8).collect();
    assert!(!near.is_empty());
    let count = setup.client.count(&search.count_all(&index).unwrap()).unwrap();
    assert_eq!((count.matches, count.undecided), (near.len() as u64, 0));
    let matches = setup.client.matches(&search.fetch_all(&index).unwrap()).unwrap();
    let found: Vec<(usize, &[u8])> =
        matches.found.iter().map(|found| (found.position.slot, &found.payload[..])).collect();
    let expected: Vec<(usize, &[u8])> = near.iter().map(|&i| (i, &payloads[i][..])).collect();
    assert_eq!(found, expected);
}
