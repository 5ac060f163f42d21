//! Sets of all sizes, with and without labels.

use crate::setup::{Parties, items, labels, plain, rng};
use he_psi::Plan;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;

#[test]
fn sets_of_all_sizes_are_intersected() {
    let mut rng = rng();
    for (server, client, bytes, log_n) in
        [(1, 1, 0, 6), (40, 5, 0, 6), (300, 3, 9, 6), (2, 100, 1, 7), (500, 60, 4, 8), (1, 1, 33, 7)]
    {
        let plan = Plan::new(server, client).labels(bytes).insecure_log_n(log_n);
        let mut parties = Parties::new(plan, &mut rng);
        let set = items(server as usize, &mut rng);
        let all = labels(if bytes == 0 { 0 } else { set.len() }, bytes as usize, &mut rng);
        parties.server.append(&set, &all, &mut rng).unwrap();
        let others = items(client as usize, &mut rng);
        for common in [0, client as usize / 2, client as usize] {
            let common = common.min(set.len());
            let mut asked: Vec<Vec<u8>> = set.choose_some(common, &mut rng);
            asked.extend(others[common..].iter().cloned());
            asked.shuffle(&mut rng);
            let found = parties.intersect(&asked, &mut rng).unwrap();
            assert_eq!(found, plain(&set, &all, &asked), "{server}, {client}, {bytes}, {common}");
        }
    }
}

trait ChooseSome {
    fn choose_some(&self, count: usize, rng: &mut rand::rngs::ChaCha8Rng) -> Vec<Vec<u8>>;
}

impl ChooseSome for Vec<Vec<u8>> {
    fn choose_some(&self, count: usize, rng: &mut rand::rngs::ChaCha8Rng) -> Vec<Vec<u8>> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.shuffle(rng);
        order[..count].iter().map(|&i| self[i].clone()).collect()
    }
}

#[test]
fn duplicates_are_found_as_often_as_they_are_asked_for() {
    let mut rng = rng();
    let mut parties = Parties::new(Plan::new(20, 8).labels(3).insecure_log_n(6), &mut rng);
    let mut set = items(10, &mut rng);
    let mut all = labels(10, 3, &mut rng);
    set.extend_from_within(..5);
    all.extend_from_within(..5);
    parties.server.append(&set, &all, &mut rng).unwrap();
    assert_eq!(parties.server.len(), 10);
    let outside = b"outside".to_vec();
    let asked = [&set[3], &outside, &set[3], &set[9], &outside, &set[3]].map(Clone::clone);
    assert_eq!(parties.intersect(&asked, &mut rng).unwrap(), plain(&set, &all, &asked));
}

#[test]
fn an_empty_set_has_nothing_in_common() {
    let mut rng = rng();
    let mut parties = Parties::new(Plan::new(20, 4).insecure_log_n(6), &mut rng);
    parties.server.append(&[[0u8; 0]; 0], &[[0u8; 0]; 0], &mut rng).unwrap();
    let asked = items(rng.random_range(1..=4), &mut rng);
    assert_eq!(parties.intersect(&asked, &mut rng).unwrap(), []);
}
