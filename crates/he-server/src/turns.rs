//! Work of which little is done at a time, fairly between those who want it.

use crate::db::Tenant;
use crate::queue::{Capacity, Owner, Queue};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

#[derive(Default)]
struct State {
    queue: Queue,
    waiting: HashMap<String, oneshot::Sender<()>>,
}

/// Places for work, of which an account has at most one at a time.
pub struct Turns {
    places: usize,
    state: Mutex<State>,
}

impl Turns {
    /// So many places.
    pub fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { places, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of this work, whose name is `id`.
    pub async fn take(self: &Arc<Self>, tenant: &str, account: &str, id: &str) -> Turn {
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.state();
            state.queue.push(&Owner::sharing(tenant, account), id.to_owned());
            state.waiting.insert(id.to_owned(), tell);
        }
        // Gives the place back, or leaves the queue, if nobody waits any more.
        let turn = Turn { turns: Arc::clone(self), tenant: tenant.to_owned(), id: id.to_owned() };
        self.call();
        drop(told.await);
        turn
    }

    /// Tells those whose turn has come.
    fn call(&self) {
        let mut state = self.state();
        let places = Capacity { all: self.places, of_account: 1, reserved: false };
        while let Some((_, id)) = state.queue.next(places) {
            // If it is not awaited any more, its turn is dropped, which gives the place back.
            if let Some(tell) = state.waiting.remove(&id) {
                let _ = tell.send(());
            }
        }
    }
}

/// A turn, which ends when it is dropped.
pub struct Turn {
    turns: Arc<Turns>,
    tenant: String,
    id: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        {
            let mut state = self.turns.state();
            let has_begun = state.waiting.remove(&self.id).is_none();
            if has_begun || !state.queue.remove(&self.tenant, &self.id) {
                state.queue.ended(&self.tenant);
            }
        }
        self.turns.call();
    }
}

/// Long requests at the same time: of a tenant, and of an account.
pub struct LongRequests {
    most: (usize, usize),
    open: Mutex<HashMap<String, usize>>,
}

impl LongRequests {
    /// So many of a tenant, and of the guests of one address.
    pub fn new(of_tenant: usize, of_account: usize) -> Arc<Self> {
        Arc::new(Self { most: (of_tenant, of_account), open: Mutex::default() })
    }

    /// Counts one more, until what is returned is dropped, if there are not too many.
    pub fn begin(self: &Arc<Self>, tenant: &Tenant) -> Option<LongRequest> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |name: &String| open.get(name).copied().unwrap_or_default();
        let (id, account) = (tenant.id.clone(), format!("account {}", tenant.account()));
        if of(&id) >= self.most.0 || of(&account) >= self.most.1 {
            return None;
        }
        for name in [&id, &account] {
            *open.entry(name.clone()).or_default() += 1;
        }
        Some(LongRequest { all: Arc::clone(self), names: [id, account] })
    }
}

/// A long request, as long as it is not dropped.
pub struct LongRequest {
    all: Arc<LongRequests>,
    names: [String; 2],
}

impl Drop for LongRequest {
    fn drop(&mut self) {
        let mut open = self.all.open.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &self.names {
            if let Some(count) = open.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    open.remove(name);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Quota;
    use futures_util::FutureExt;

    #[test]
    fn an_account_has_one_place_at_a_time() {
        let turns = Turns::new(2);
        let mut first: Vec<_> =
            ["1", "2", "3"].map(|id| Box::pin(turns.take("a", "address", id))).into_iter().collect();
        let mut begun: Vec<Option<Turn>> = first.iter_mut().map(|turn| turn.now_or_never()).collect();
        assert!(begun[0].is_some() && begun[1].is_none() && begun[2].is_none());
        // Another guest of the address waits as well, another tenant does not.
        let mut guest = Box::pin(turns.take("b", "address", "4"));
        assert!((&mut guest).now_or_never().is_none());
        let tenant = turns.take("c", "c", "5").now_or_never().unwrap();
        begun[0] = None;
        // Guests take turns between themselves.
        assert!((&mut first[1]).now_or_never().is_none());
        let guest = guest.now_or_never().unwrap();
        // One that is not awaited any more leaves the queue.
        drop(first.remove(1));
        drop(guest);
        assert!((&mut first[1]).now_or_never().is_some());
        drop((tenant, first));
        let state = turns.state();
        assert_eq!((state.queue.running(), state.queue.waiting(), state.waiting.len()), (0, 0, 0));
    }

    #[test]
    fn long_requests_are_counted_per_tenant_and_address() {
        let requests = LongRequests::new(2, 3);
        let tenant = |id: &str, address: Option<&str>| {
            let quota = Quota { bytes: 0, objects: 0, jobs: 0 };
            let address = address.map(ToOwned::to_owned);
            Tenant { id: id.to_owned(), guest: address.is_some(), expires: None, quota, address }
        };
        let (a, b, c) = (tenant("a", Some("1")), tenant("b", Some("1")), tenant("c", None));
        let mut begun = vec![requests.begin(&a).unwrap(), requests.begin(&a).unwrap()];
        assert!(requests.begin(&a).is_none());
        begun.push(requests.begin(&b).unwrap());
        assert!(requests.begin(&b).is_none());
        begun.push(requests.begin(&c).unwrap());
        begun.remove(0);
        begun.push(requests.begin(&b).unwrap());
        drop(begun);
        assert!(requests.open.lock().unwrap().is_empty());
    }
}
