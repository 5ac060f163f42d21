//! Places of connections: so many in all and per address. A newcomer gets the place of a
//! connection that does nothing, so that nobody can keep others out by holding connections.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// The head of a request must arrive within this time of its first byte.
const HEAD: Duration = Duration::from_secs(10);
/// An answer that nobody has read for so long may lose its place to a newcomer.
const STALLED: Duration = Duration::from_secs(5);

/// The activity of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Its first request has not arrived.
    Fresh,
    /// It waits for another request.
    Idle,
    /// A request is worked on.
    Busy,
    /// An answer is sent.
    Sending,
}

/// A connection, as others see it. Times are milliseconds since the first of all.
#[derive(Debug)]
pub struct Seat {
    start: Instant,
    phase: AtomicU8,
    /// When bytes have moved last, or the phase has changed.
    moved: AtomicU64,
    /// When the first byte of a head has come that is not complete, or 0.
    head: AtomicU64,
    close: Notify,
}

impl Seat {
    fn new(start: Instant) -> Self {
        let seat = Self {
            start,
            phase: AtomicU8::new(Phase::Fresh as u8),
            moved: AtomicU64::new(0),
            head: AtomicU64::new(0),
            close: Notify::new(),
        };
        seat.touch();
        seat
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    fn touch(&self) {
        self.moved.store(self.now(), Ordering::Relaxed);
    }

    fn is(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Relaxed) == phase as u8
    }

    fn waits(&self) -> bool {
        self.is(Phase::Fresh) || self.is(Phase::Idle)
    }

    fn enter(&self, phase: Phase) {
        self.touch();
        self.head.store(0, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// The head of a request is complete.
    pub fn begin(&self) {
        self.enter(Phase::Busy);
    }

    /// An answer is sent until what is returned is dropped.
    pub fn sending(self: &Arc<Self>) -> Sending {
        self.enter(Phase::Sending);
        Sending(Arc::clone(self))
    }

    /// Ends when the connection must give way.
    pub async fn closed(&self) {
        self.close.notified().await;
    }

    fn has_read(&self) {
        let now = self.now();
        self.moved.store(now, Ordering::Relaxed);
        if self.waits() && self.head.load(Ordering::Relaxed) == 0 {
            self.head.store(now, Ordering::Relaxed);
        }
    }

    /// The order in which connections give way; busy ones do not. A request that comes whole is
    /// never seen in part, so parts of requests go first.
    fn rank(&self, entered: u64) -> Option<(u8, u64)> {
        let moved = self.moved.load(Ordering::Relaxed);
        if self.waits() && self.head.load(Ordering::Relaxed) > 0 {
            return Some((0, entered));
        }
        if self.is(Phase::Fresh) {
            return Some((1, entered));
        }
        let stalled = self.is(Phase::Sending) && self.now().saturating_sub(moved) > millis(STALLED);
        (self.is(Phase::Idle) || stalled).then_some((2 + u8::from(stalled), moved))
    }

    /// Whether its time is over: of a head, or for an answer that nobody reads.
    fn is_overdue(&self, unread: Duration) -> bool {
        let since = |time: u64| self.now().saturating_sub(time);
        let head = self.head.load(Ordering::Relaxed);
        (self.waits() && head > 0 && since(head) > millis(HEAD))
            || (self.is(Phase::Sending) && since(self.moved.load(Ordering::Relaxed)) > millis(unread))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// An answer on its way.
#[derive(Debug)]
pub struct Sending(Arc<Seat>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.enter(Phase::Idle);
    }
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    count: usize,
    open: HashMap<IpAddr, BTreeMap<u64, Arc<Seat>>>,
}

impl State {
    fn remove(&mut self, address: IpAddr, id: u64) -> Option<Arc<Seat>> {
        let seats = self.open.get_mut(&address)?;
        let seat = seats.remove(&id)?;
        if seats.is_empty() {
            self.open.remove(&address);
        }
        self.count -= 1;
        Some(seat)
    }

    /// Takes the place of one connection of an address. Whether one gave way.
    fn make_room(&mut self, address: IpAddr) -> bool {
        let seats = self.open.get(&address).into_iter().flatten();
        let ranked = seats.filter_map(|(id, seat)| Some((seat.rank(*id)?, *id)));
        let Some((_, id)) = ranked.min() else { return false };
        self.remove(address, id).inspect(|seat| seat.close.notify_one()).is_some()
    }
}

impl State {
    /// Takes the place of one connection of the address that has the most. Whether one gave way.
    fn relieve(&mut self) -> bool {
        let crowd = self.open.iter().max_by_key(|(_, seats)| seats.len()).map(|(address, _)| *address);
        crowd.is_some_and(|crowd| self.make_room(crowd))
    }
}

/// The places.
#[derive(Debug)]
pub struct Places {
    most: usize,
    most_of_address: usize,
    start: Instant,
    state: Mutex<State>,
}

impl Places {
    /// So many in all, and of one address.
    pub fn new(most: usize, most_of_address: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_address, start: Instant::now(), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection of this address, which is a proxy for others if `shared`. If an
    /// address has too many, its connection that is not busy and has waited the longest gives way,
    /// or else that of the address that has the most; there is none if all are busy.
    pub fn enter(self: &Arc<Self>, address: IpAddr, shared: bool) -> Option<Place> {
        let mut state = self.state();
        let own = state.open.get(&address).map_or(0, BTreeMap::len);
        let full = !shared && own >= self.most_of_address;
        if full && !state.make_room(address) {
            return None;
        }
        if state.count >= self.most && !state.relieve() {
            return None;
        }
        let (id, seat) = (state.next, Arc::new(Seat::new(self.start)));
        state.next += 1;
        state.count += 1;
        state.open.entry(address).or_default().insert(id, Arc::clone(&seat));
        Some(Place { places: Arc::clone(self), address, id, seat })
    }

    /// Closes a connection of the address that has the most, if one does nothing.
    pub fn relieve(&self) {
        self.state().relieve();
    }

    /// The places that are taken.
    pub fn count(&self) -> usize {
        self.state().count
    }

    /// Closes connections whose time is over: heads that do not end, and answers of which nothing
    /// was read for `unread`.
    pub fn close_overdue(&self, unread: Duration) {
        let state = self.state();
        let all = state.open.values().flat_map(BTreeMap::values);
        all.filter(|seat| seat.is_overdue(unread)).for_each(|seat| seat.close.notify_one());
    }
}

/// The place of a connection, which is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    address: IpAddr,
    id: u64,
    /// The seat, with the activity of the connection.
    pub seat: Arc<Seat>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.state().remove(self.address, self.id);
    }
}

/// A stream that tells its seat when bytes move.
pub struct Watched<S> {
    /// The stream.
    pub stream: S,
    /// Whom it tells.
    pub seat: Arc<Seat>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.seat.has_read();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn written(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(polled, Poll::Ready(Ok(1..))) {
            self.seat.touch();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.written(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn gave_way(place: &Place) -> bool {
        !place.places.state().open.get(&place.address).is_some_and(|seats| seats.contains_key(&place.id))
    }

    #[test]
    fn who_does_nothing_gives_way() {
        let places = Places::new(100, 3);
        let enter = || places.enter(address(1), false);
        let (first, second, third) = (enter().unwrap(), enter().unwrap(), enter().unwrap());
        first.seat.begin();
        let fourth = enter().unwrap();
        assert_eq!([&first, &second, &third, &fourth].map(gave_way), [false, true, false, false]);
        // One that has had a request gives way after one that never had, and part of a request
        // before both.
        drop(third.seat.sending());
        let fifth = enter().unwrap();
        assert_eq!([&first, &third, &fourth, &fifth].map(gave_way), [false, false, true, false]);
        third.seat.has_read();
        let (third, fourth) = (enter().unwrap(), third);
        assert_eq!([&first, &third, &fourth, &fifth].map(gave_way), [false, false, true, false]);
        fifth.seat.begin();
        third.seat.begin();
        assert!(enter().is_none());
        assert_eq!(places.count(), 3);
        // Others are not concerned, nor is a proxy.
        let other = places.enter(address(2), false).unwrap();
        let shared: Vec<Place> = (0..9).map(|_| places.enter(address(1), true).unwrap()).collect();
        assert_eq!(places.count(), 13);
        drop((first, second, third, fourth, fifth, other, shared));
        assert_eq!((places.count(), places.state().open.len()), (0, 0));
    }

    #[test]
    fn the_largest_crowd_makes_room_when_all_places_are_taken() {
        let places = Places::new(4, 3);
        let crowd: Vec<Place> = (0..3).map(|_| places.enter(address(1), false).unwrap()).collect();
        let one = places.enter(address(2), false).unwrap();
        let newcomer = places.enter(address(3), false).unwrap();
        assert!(gave_way(&crowd[0]) && !gave_way(&one) && !gave_way(&newcomer));
        assert_eq!(places.count(), 4);
    }

    #[test]
    fn heads_and_answers_have_their_time() {
        let places = Places::new(4, 4);
        let place = places.enter(address(1), false).unwrap();
        let overdue = |unread| place.seat.is_overdue(unread);
        assert!(!overdue(Duration::ZERO));
        place.seat.has_read();
        assert!(place.seat.head.load(Ordering::Relaxed) > 0 && !overdue(Duration::ZERO));
        place.seat.begin();
        assert_eq!(place.seat.head.load(Ordering::Relaxed), 0);
        let sending = place.seat.sending();
        std::thread::sleep(Duration::from_millis(3));
        assert!(overdue(Duration::ZERO) && !overdue(Duration::from_secs(60)));
        drop(sending);
        assert!(!overdue(Duration::ZERO));
    }
}
