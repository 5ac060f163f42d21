//! The service over HTTP: every route, what is refused, what survives a restart.
#![allow(missing_docs, clippy::unwrap_used)]

mod api;
mod client;
mod corpus;
mod digits;
mod endings;
mod fairness;
mod fixtures;
mod hostile;
mod indexes;
mod lookups;
mod measures;
mod models;
mod operating;
mod restarts;
mod tenants;
mod uploads;
