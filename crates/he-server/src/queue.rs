//! Whose turn it is: jobs that wait, fairly between tenants.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// Jobs that wait, and how many of each tenant run.
///
/// The next job is the oldest of the tenant of whom the fewest run; of several such tenants it is
/// the one whose last turn was the longest ago.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: HashMap<String, VecDeque<String>>,
    running: HashMap<String, usize>,
    /// The number of the last turn of each tenant.
    turns: BTreeMap<String, u64>,
    turn: u64,
}

impl Queue {
    /// A job more.
    pub fn push(&mut self, tenant: &str, job: String) {
        self.waiting.entry(tenant.to_owned()).or_default().push_back(job);
    }

    /// Takes the job whose turn it is, with its tenant: it runs from now on.
    pub fn next(&mut self) -> Option<(String, String)> {
        let order = |tenant: &&String| {
            let running = self.running.get(*tenant).copied().unwrap_or_default();
            (running, self.turns.get(*tenant).copied().unwrap_or_default(), (*tenant).clone())
        };
        let tenant = self.waiting.keys().min_by_key(order)?.clone();
        let jobs = self.waiting.get_mut(&tenant)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.waiting.remove(&tenant);
        }
        self.turn += 1;
        self.turns.insert(tenant.clone(), self.turn);
        *self.running.entry(tenant.clone()).or_default() += 1;
        job.map(|job| (tenant, job))
    }

    /// A job of this tenant has ended.
    pub fn ended(&mut self, tenant: &str) {
        if let Some(count) = self.running.get_mut(tenant) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(tenant);
            }
        }
        if !self.running.contains_key(tenant) && !self.waiting.contains_key(tenant) {
            self.turns.remove(tenant);
        }
    }

    /// Takes a job out that waits. Whether it waited.
    pub fn remove(&mut self, tenant: &str, job: &str) -> bool {
        let Some(jobs) = self.waiting.get_mut(tenant) else { return false };
        let before = jobs.len();
        jobs.retain(|waiting| waiting != job);
        let found = jobs.len() < before;
        if jobs.is_empty() {
            self.waiting.remove(tenant);
        }
        found
    }

    /// The jobs that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// The jobs that run.
    pub fn running(&self) -> usize {
        self.running.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_take_turns_whoever_has_more() {
        let mut queue = Queue::default();
        (0..100).for_each(|i| queue.push("a", format!("a{i}")));
        (0..2).for_each(|i| queue.push("b", format!("b{i}")));
        let mut order = Vec::new();
        while order.len() < 6 {
            let (tenant, job) = queue.next().unwrap();
            queue.ended(&tenant);
            order.push(job);
        }
        assert_eq!(order, ["a0", "b0", "a1", "b1", "a2", "a3"]);
        // Who comes late does not wait behind the others' jobs.
        queue.push("c", "c0".to_owned());
        assert_eq!(queue.next().unwrap().1, "c0");
        assert_eq!((queue.waiting(), queue.running()), (96, 1));
    }

    #[test]
    fn nobody_takes_all_places() {
        let mut queue = Queue::default();
        for tenant in ["a", "a", "a", "b"] {
            queue.push(tenant, tenant.to_owned());
        }
        let started: Vec<String> = (0..2).map(|_| queue.next().unwrap().0).collect();
        assert_eq!(started, ["a", "b"]);
        // The place that b gives back goes to a only because nobody else waits.
        queue.ended("b");
        assert_eq!(queue.next().unwrap().0, "a");
        queue.push("b", "b".to_owned());
        queue.ended("a");
        assert_eq!(queue.next().unwrap().0, "b");
    }

    #[test]
    fn jobs_can_be_taken_out() {
        let mut queue = Queue::default();
        queue.push("a", "1".to_owned());
        queue.push("a", "2".to_owned());
        assert!(queue.remove("a", "1") && !queue.remove("a", "1") && !queue.remove("b", "2"));
        assert_eq!(queue.next().unwrap().1, "2");
        assert!(queue.next().is_none());
        queue.ended("a");
        assert_eq!((queue.waiting(), queue.running(), queue.turns.len()), (0, 0, 0));
    }
}
