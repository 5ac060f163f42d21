//! The counters, in the text format of Prometheus.

use crate::db::JobState;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The upper bounds of the classes of times, in seconds.
const BOUNDS: [f64; 8] = [0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0];

/// The methods that are counted one by one. Clients may send any word as a method, and what is
/// counted must not grow with what they send.
const METHODS: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/// Answers of a route.
#[derive(Debug, Default)]
struct Answers {
    count: u64,
    seconds: f64,
    classes: [u64; BOUNDS.len()],
}

/// The counts of one run of the service.
#[derive(Debug, Default)]
pub struct Metrics {
    answers: Mutex<BTreeMap<(String, &'static str, u16), Answers>>,
    connections: AtomicI64,
    received: AtomicU64,
    sent: AtomicU64,
    completed: AtomicU64,
    refused: AtomicU64,
    jobs: [AtomicU64; 3],
    limited: AtomicU64,
    queries: AtomicU64,
    scans: AtomicU64,
    gave_way: AtomicU64,
    turned_away: AtomicU64,
}

impl Metrics {
    /// An answer was given.
    pub fn answered(&self, method: &str, route: &str, status: u16, time: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = answers.entry((route.to_owned(), method, status)).or_default();
        entry.count += 1;
        entry.seconds += time.as_secs_f64();
        for (class, bound) in entry.classes.iter_mut().zip(BOUNDS) {
            *class += u64::from(time.as_secs_f64() <= bound);
        }
    }

    /// A connection was opened (1) or closed (-1).
    pub fn connected(&self, change: i64) {
        self.connections.fetch_add(change, Ordering::Relaxed);
    }

    /// Bytes of an upload have arrived.
    pub fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of a download were sent.
    pub fn sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An upload has become an object.
    pub fn completed(&self) {
        self.completed.fetch_add(1, Ordering::Relaxed);
    }

    /// An upload was refused for what it is.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// A request came too early.
    pub fn limited(&self) {
        self.limited.fetch_add(1, Ordering::Relaxed);
    }

    /// A database is scanned for so many queries.
    pub fn scanned(&self, queries: u64) {
        self.queries.fetch_add(queries, Ordering::Relaxed);
        self.scans.fetch_add(1, Ordering::Relaxed);
    }

    /// The queries to databases, and the scans for them.
    pub fn scans(&self) -> (u64, u64) {
        (self.queries.load(Ordering::Relaxed), self.scans.load(Ordering::Relaxed))
    }

    /// A connection was closed for a newcomer, or because it took too long.
    pub fn gave_way(&self) {
        self.gave_way.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection was closed at once, for all places are busy.
    pub fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// A job has ended.
    pub fn job_ended(&self, state: JobState) {
        let at = match state {
            JobState::Done => 0,
            JobState::Failed => 1,
            _ => 2,
        };
        self.jobs[at].fetch_add(1, Ordering::Relaxed);
    }
}

/// The numbers that other rooms know, as of now.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// The uploads on their way.
    pub uploads: usize,
    /// The jobs that wait and those that run.
    pub jobs: (usize, usize),
    /// The free bytes of the disk, if the operating system says them.
    pub disk_free: Option<u64>,
}

/// The text that Prometheus reads.
pub fn text(metrics: &Metrics, now: Gauges) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: &[(String, f64)]| {
        // A string takes everything.
        let _ = writeln!(out, "# HELP he_server_{name} {help}\n# TYPE he_server_{name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(out, "he_server_{name}{labels} {value}");
        }
    };
    let one = |value: f64| [(String::new(), value)];
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    family(
        "connections",
        "gauge",
        "Open connections.",
        &one(metrics.connections.load(Ordering::Relaxed) as f64),
    );
    family("uploads", "gauge", "Uploads on their way.", &one(now.uploads as f64));
    let (waiting, running) = now.jobs;
    family("jobs_waiting", "gauge", "Jobs in the queue.", &one(waiting as f64));
    family("jobs_running", "gauge", "Jobs that are computed.", &one(running as f64));
    let ended = ["done", "failed", "cancelled"].into_iter().zip(&metrics.jobs);
    let ended: Vec<_> = ended.map(|(state, n)| (format!("{{state=\"{state}\"}}"), number(n))).collect();
    family("jobs_total", "counter", "Jobs that have ended.", &ended);
    family("received_bytes_total", "counter", "Bytes of uploads.", &one(number(&metrics.received)));
    family("sent_bytes_total", "counter", "Bytes of downloads.", &one(number(&metrics.sent)));
    family(
        "uploads_completed_total",
        "counter",
        "Uploads that have become objects.",
        &one(number(&metrics.completed)),
    );
    family(
        "uploads_refused_total",
        "counter",
        "Uploads that were refused for what they are.",
        &one(number(&metrics.refused)),
    );
    family(
        "limited_total",
        "counter",
        "Requests refused because they came too often.",
        &one(number(&metrics.limited)),
    );
    let (queries, scans) = metrics.scans();
    family("lookups_total", "counter", "Queries to databases.", &one(queries as f64));
    family("scans_total", "counter", "Scans of databases for queries.", &one(scans as f64));
    let closed = [("gave-way", &metrics.gave_way), ("turned-away", &metrics.turned_away)];
    let closed = closed.map(|(why, count)| (format!("{{why=\"{why}\"}}"), number(count)));
    family("connections_closed_total", "counter", "Connections closed to make room.", &closed);
    if let Some(free) = now.disk_free {
        family("disk_free_bytes", "gauge", "Free bytes of the disk of the data folder.", &one(free as f64));
    }
    let answers = metrics.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let mut times = Vec::new();
    for ((route, method, status), entry) in answers.iter() {
        let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
        for (bound, count) in BOUNDS.iter().zip(entry.classes) {
            times.push((format!("_bucket{{{labels},le=\"{bound}\"}}"), count as f64));
        }
        times.push((format!("_bucket{{{labels},le=\"+Inf\"}}"), entry.count as f64));
        times.push((format!("_sum{{{labels}}}"), entry.seconds));
        times.push((format!("_count{{{labels}}}"), entry.count as f64));
    }
    family("request_seconds", "histogram", "Times to the beginning of answers.", &times);
    out
}
