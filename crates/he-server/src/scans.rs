//! Scans of one database for private look-ups, each for all queries that wait for it.
//!
//! A thread has the database on its device. While it scans, the queries that arrive wait, and the
//! next scan answers them together, whoever sent them.

use crate::metrics::Metrics;
use crate::problem::{Answer, Problem};
use axum::http::{HeaderValue, StatusCode, header};
use he::Device;
use he_lookup::{Query, Result as LookupResult, Server};
use std::sync::Arc;
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// The queries that may wait, in scans.
const WAITING: usize = 16;

type Told = oneshot::Sender<LookupResult<he_lookup::Answer>>;

/// A query, and who waits for its answer.
struct Waiting {
    query: Query,
    told: Told,
}

/// The way to the thread, which ends with the last query once this is dropped.
#[derive(Debug)]
pub struct Scans(mpsc::Sender<Waiting>);

impl Scans {
    /// Starts the thread, whose scans take at most `queries` queries each.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn start(server: Server<Device>, queries: usize, metrics: Arc<Metrics>) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(queries * WAITING);
        let run = move || scan(&server, receiver, queries, &metrics);
        thread::Builder::new().name("lookups".to_owned()).spawn(run)?;
        Ok(Self(sender))
    }

    /// Answers a query.
    ///
    /// # Errors
    /// So many queries wait that this one may not: 503. The device has failed.
    pub async fn answer(&self, query: Query) -> Answer<he_lookup::Answer> {
        let (told, answer) = oneshot::channel();
        self.0.try_send(Waiting { query, told }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => busy(),
            mpsc::error::TrySendError::Closed(_) => Problem::internal("the thread of the scans has ended"),
        })?;
        Ok(answer.await.map_err(Problem::internal)??)
    }
}

fn busy() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many queries wait for this database")
        .hint("try again in 1 s")
        .header(header::RETRY_AFTER, HeaderValue::from(1))
}

/// Answers queries until nobody can send any more.
fn scan(server: &Server<Device>, mut queries: mpsc::Receiver<Waiting>, most: usize, metrics: &Metrics) {
    while let Some(first) = queries.blocking_recv() {
        let more = std::iter::from_fn(|| queries.try_recv().ok());
        let together = std::iter::once(first).chain(more).filter(|waiting| !waiting.told.is_closed());
        let together: Vec<Waiting> = together.take(most).collect();
        if !together.is_empty() {
            metrics.scanned(together.len() as u64);
            answer(server, together);
        }
    }
}

/// Answers queries in one scan. A failure of it is everybody's, and told to the first; the others
/// see that nobody tells them anything.
fn answer(server: &Server<Device>, together: Vec<Waiting>) {
    let (queries, told): (Vec<Query>, Vec<Told>) =
        together.into_iter().map(|waiting| (waiting.query, waiting.told)).unzip();
    match server.answer(&queries) {
        Ok(answers) => told.into_iter().zip(answers).for_each(|(told, answer)| drop(told.send(Ok(answer)))),
        Err(error) => drop(told.into_iter().next().map(|told| told.send(Err(error)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::ring::Ring;
    use he_lookup::{Client, ClientKey, Database, Plan};

    /// Queries of several clients that wait are answered by one scan; who has gone is left out.
    #[test]
    fn those_who_wait_share_a_scan() {
        let mut rng = he_core::rand::rng();
        let plan = Plan::index(30, 2).insecure_log_n(5);
        let ring = Ring::new(Device::cpu(), plan.params().unwrap().rlwe().ring().clone()).unwrap();
        let records: Vec<[u8; 2]> = (0..30u8).map(|i| [i, 255 - i]).collect();
        let database = Database::of_records(&plan, [1; 32], &records, &ring).unwrap();
        let description = database.description();
        let server = Server::new(description, &ring, database.packs(), 4).unwrap();
        let client = || Client::new(description, ClientKey::generate(&mut he_core::rand::rng()), &ring);
        let clients: Vec<_> = (0..6).map(|_| client().unwrap()).collect();
        let (sender, receiver) = mpsc::channel(8);
        let mut answers = Vec::new();
        for (number, client) in clients.iter().enumerate() {
            let (told, answer) = oneshot::channel();
            let query = client.query(number as u64, &mut rng).unwrap();
            sender.try_send(Waiting { query, told }).unwrap();
            answers.push(answer);
        }
        drop(answers.remove(2));
        drop(sender);
        let metrics = Metrics::default();
        scan(&server, receiver, 4, &metrics);
        assert_eq!(metrics.scans(), (5, 2));
        for (number, mut answer) in [0, 1, 3, 4, 5].into_iter().zip(answers) {
            let answer = answer.try_recv().unwrap().unwrap();
            assert_eq!(clients[number].read(&answer, number as u64).unwrap(), records[number]);
        }
    }
}
