//! A fair queue of jobs: between tenants, and between the addresses of guests.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// The tenant of a job, and its party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The tenant.
    pub tenant: String,
    /// Tenants of one account share their turns and places.
    account: String,
    guest: bool,
}

impl Owner {
    /// A tenant that somebody made.
    pub fn tenant(tenant: &str) -> Self {
        Self::sharing(tenant, tenant)
    }

    /// A tenant that takes turns as one with all others of an account.
    pub fn sharing(tenant: &str, account: &str) -> Self {
        Self { tenant: tenant.to_owned(), account: account.to_owned(), guest: false }
    }

    /// A guest of this [address](crate::address::counted), if it is known: guests of one address
    /// share their turns, since anybody may have any number of sessions. Loopback addresses are
    /// those of proxies that are not named in the settings, and say nothing.
    pub fn guest(tenant: &str, address: Option<&str>) -> Self {
        let says_nothing = |address: &str| address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let account = address.filter(|address| !says_nothing(address)).unwrap_or(tenant);
        Self { guest: true, ..Self::sharing(tenant, account) }
    }

    /// Whether it is a guest.
    pub fn is_guest(&self) -> bool {
        self.guest
    }
}

/// The number of jobs that run at a time, and the shares of accounts and guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The number of them.
    pub all: usize,
    /// The most that an account has.
    pub of_account: usize,
    /// Whether one of several is kept for tenants that are not guests, because there are some.
    pub reserved: bool,
}

impl Capacity {
    /// The capacity for guests: one of several places is left to others.
    fn of_guests(self) -> usize {
        self.all.saturating_sub(1).max(1)
    }
}

/// The jobs of a tenant.
#[derive(Debug)]
struct Line {
    owner: Owner,
    waiting: VecDeque<String>,
    running: usize,
    /// The number of its last turn.
    turn: u64,
}

/// Jobs that wait, and how many of each tenant run.
///
/// The next job is the oldest of the tenant of whom the fewest run; of several such tenants it is
/// the one whose last turn was the longest ago. The tenants of an account are one tenant in that
/// respect, and take turns among themselves. The guests of an account leave one of several places
/// to others; all guests together leave one to other tenants, if there are some.
#[derive(Debug, Default)]
pub struct Queue {
    /// By tenant; those of whom nothing waits or runs are left out.
    lines: HashMap<String, Line>,
    /// The number of the last turn of each account that has a line.
    turns: HashMap<String, u64>,
    turn: u64,
}

impl Queue {
    /// A job more.
    pub fn push(&mut self, owner: &Owner, job: String) {
        let new = || Line { owner: owner.clone(), waiting: VecDeque::new(), running: 0, turn: 0 };
        self.lines.entry(owner.tenant.clone()).or_insert_with(new).waiting.push_back(job);
    }

    /// Takes the job whose turn it is, with its owner: it runs from now on. None, if there is no
    /// place for it.
    pub fn next(&mut self, places: Capacity) -> Option<(Owner, String)> {
        if self.running() >= places.all {
            return None;
        }
        // The running jobs of each account.
        let mut accounts = HashMap::new();
        for line in self.lines.values() {
            *accounts.entry(&*line.owner.account).or_insert(0) += line.running;
        }
        let guests: usize =
            self.lines.values().filter(|line| line.owner.is_guest()).map(|line| line.running).sum();
        let of_account = |line: &Line| {
            let account = &*line.owner.account;
            let turn = self.turns.get(account).copied().unwrap_or_default();
            (accounts.get(account).copied().unwrap_or_default(), turn)
        };
        let has_place = |line: &&Line| {
            let (running, most) = (of_account(line).0, places.of_guests());
            let guests_have = running < most && (!places.reserved || guests < most);
            running < places.of_account && (!line.owner.is_guest() || guests_have)
        };
        let order = |line: &&Line| {
            let (running, turn) = of_account(line);
            (running, turn, line.running, line.turn, line.owner.tenant.clone())
        };
        let waiting = self.lines.values().filter(|line| !line.waiting.is_empty());
        let owner = waiting.filter(has_place).min_by_key(order)?.owner.clone();
        let line = self.lines.get_mut(&owner.tenant)?;
        self.turn += 1;
        (line.turn, line.running) = (self.turn, line.running + 1);
        self.turns.insert(owner.account.clone(), self.turn);
        line.waiting.pop_front().map(|job| (owner, job))
    }

    /// A job of this tenant has ended.
    pub fn ended(&mut self, tenant: &str) {
        if let Some(line) = self.lines.get_mut(tenant) {
            line.running = line.running.saturating_sub(1);
        }
        self.forget(tenant);
    }

    /// Takes a job out that waits. Whether it waited.
    pub fn remove(&mut self, tenant: &str, job: &str) -> bool {
        let Some(line) = self.lines.get_mut(tenant) else { return false };
        let before = line.waiting.len();
        line.waiting.retain(|waiting| waiting != job);
        let found = line.waiting.len() < before;
        self.forget(tenant);
        found
    }

    /// Forgets a tenant of whom nothing is left.
    fn forget(&mut self, tenant: &str) {
        if self.lines.get(tenant).is_some_and(|line| line.running == 0 && line.waiting.is_empty()) {
            let account = self.lines.remove(tenant).map(|line| line.owner.account);
            let is_left = |of: &String| self.lines.values().any(|line| line.owner.account == *of);
            if let Some(account) = account.filter(|account| !is_left(account)) {
                self.turns.remove(&account);
            }
        }
    }

    /// The jobs that wait.
    pub fn waiting(&self) -> usize {
        self.lines.values().map(|line| line.waiting.len()).sum()
    }

    /// The jobs that run.
    pub fn running(&self) -> usize {
        self.lines.values().map(|line| line.running).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Capacity = Capacity { all: 2, of_account: usize::MAX, reserved: false };

    fn push(queue: &mut Queue, tenant: &str, job: &str) {
        queue.push(&Owner::tenant(tenant), job.to_owned());
    }

    fn next(queue: &mut Queue, places: Capacity) -> Option<String> {
        queue.next(places).map(|(_, job)| job)
    }

    #[test]
    fn tenants_take_turns_whoever_has_more() {
        let mut queue = Queue::default();
        (0..100).for_each(|i| push(&mut queue, "a", &format!("a{i}")));
        (0..2).for_each(|i| push(&mut queue, "b", &format!("b{i}")));
        let mut order = Vec::new();
        while order.len() < 6 {
            let (owner, job) = queue.next(TWO).unwrap();
            queue.ended(&owner.tenant);
            order.push(job);
        }
        assert_eq!(order, ["a0", "b0", "a1", "b1", "a2", "a3"]);
        // A tenant that comes late does not wait behind the others' jobs.
        push(&mut queue, "c", "c0");
        assert_eq!(next(&mut queue, TWO).unwrap(), "c0");
        assert_eq!((queue.waiting(), queue.running()), (96, 1));
    }

    #[test]
    fn nobody_takes_all_places() {
        let mut queue = Queue::default();
        for tenant in ["a", "a", "a", "b"] {
            push(&mut queue, tenant, tenant);
        }
        let started: Vec<String> = (0..2).filter_map(|_| next(&mut queue, TWO)).collect();
        assert_eq!(started, ["a", "b"]);
        assert_eq!(next(&mut queue, TWO), None);
        // The place that b gives back goes to a only because nobody else waits.
        queue.ended("b");
        assert_eq!(next(&mut queue, TWO).unwrap(), "a");
        push(&mut queue, "b", "b");
        queue.ended("a");
        assert_eq!(next(&mut queue, TWO).unwrap(), "b");
    }

    #[test]
    fn jobs_can_be_taken_out() {
        let mut queue = Queue::default();
        push(&mut queue, "a", "1");
        push(&mut queue, "a", "2");
        assert!(queue.remove("a", "1") && !queue.remove("a", "1") && !queue.remove("b", "2"));
        assert_eq!(next(&mut queue, TWO).unwrap(), "2");
        assert!(queue.next(TWO).is_none());
        queue.ended("a");
        assert_eq!((queue.waiting(), queue.running(), queue.lines.len() + queue.turns.len()), (0, 0, 0));
    }

    /// Sessions cost nothing: whoever has many of them has the turns and places of one.
    #[test]
    fn guests_of_an_address_are_one_party() {
        let mut queue = Queue::default();
        let guest = |name: &str, address: &str| {
            let counted = crate::address::counted(address.parse().unwrap()).to_string();
            Owner::guest(name, Some(&counted))
        };
        for (name, address) in [("a", "192.0.2.1"), ("b", "::ffff:192.0.2.1"), ("c", "192.0.2.1")] {
            queue.push(&guest(name, address), name.to_owned());
        }
        // One of two places is left to others.
        let first = next(&mut queue, TWO).unwrap();
        assert_eq!((&*first, next(&mut queue, TWO)), ("a", None));
        for (name, address) in [("d", "2001:db8::1"), ("e", "2001:db8::ffff"), ("f", "2001:db8:0:1::1")] {
            queue.push(&guest(name, address), name.to_owned());
        }
        assert_eq!(next(&mut queue, TWO).unwrap(), "d");
        queue.ended("a");
        // The second guest of d's address comes after the others, who take turns.
        assert_eq!(next(&mut queue, TWO).unwrap(), "f");
        queue.ended("d");
        queue.ended("f");
        assert_eq!(next(&mut queue, TWO).unwrap(), "b");
        assert_eq!(next(&mut queue, TWO).unwrap(), "e");
        queue.ended("b");
        assert_eq!(next(&mut queue, TWO).unwrap(), "c");
        queue.ended("c");
        queue.ended("e");
        // Behind a proxy addresses say nothing, nor does the lack of one.
        for owner in [guest("g", "127.0.0.1"), guest("h", "::1"), Owner::guest("i", None)] {
            queue.push(&owner, owner.tenant.clone());
        }
        assert_eq!([next(&mut queue, TWO), next(&mut queue, TWO)].map(Option::unwrap), ["g", "h"]);
        queue.ended("g");
        assert_eq!(next(&mut queue, TWO).unwrap(), "i");
    }

    /// Tenants of an account are one among the others, and take turns between themselves.
    #[test]
    fn an_account_is_one_whoever_has_more_tenants() {
        let mut queue = Queue::default();
        for tenant in ["a", "b", "c"] {
            (0..3).for_each(|i| queue.push(&Owner::sharing(tenant, "x"), format!("{tenant}{i}")));
        }
        (0..3).for_each(|i| push(&mut queue, "t", &format!("t{i}")));
        let mut order = Vec::new();
        while order.len() < 6 {
            let (owner, job) = queue.next(TWO).unwrap();
            queue.ended(&owner.tenant);
            order.push(job);
        }
        assert_eq!(order, ["a0", "t0", "b0", "t1", "c0", "t2"]);
        // No account has more than its places.
        let most = |of_account| Capacity { of_account, ..TWO };
        assert!(queue.next(most(1)).is_some() && queue.next(most(1)).is_none());
        assert!(queue.next(most(2)).is_some());
    }

    #[test]
    fn guests_leave_a_place_to_tenants() {
        let reserved = Capacity { reserved: true, ..TWO };
        let mut queue = Queue::default();
        for name in ["g", "h"] {
            queue.push(&Owner::guest(name, None), name.to_owned());
        }
        assert_eq!((next(&mut queue, reserved).as_deref(), next(&mut queue, reserved)), (Some("g"), None));
        push(&mut queue, "t", "t");
        assert_eq!(next(&mut queue, reserved).as_deref(), Some("t"));
        queue.ended("g");
        assert_eq!(next(&mut queue, reserved).as_deref(), Some("h"));
        // The only place is for all.
        let mut queue = Queue::default();
        queue.push(&Owner::guest("g", None), "g".to_owned());
        assert_eq!(next(&mut queue, Capacity { all: 1, reserved: true, ..TWO }).as_deref(), Some("g"));
    }
}
