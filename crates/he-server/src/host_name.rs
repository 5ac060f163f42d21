//! Names by which clients call the service.

use crate::address::is_loopback;
use axum::http::uri::Authority;
use std::net::IpAddr;

/// A host and, if it was given, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The host in small letters; addresses of IPv6 in brackets.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
}

impl Name {
    /// From `HOST` or `HOST:PORT`.
    pub fn of_text(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let (host, port) = (authority.host(), authority.port_u16());
        let expected =
            port.map_or(host.len(), |_| host.len() + 1 + authority.port().map_or(0, |p| p.as_str().len()));
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        // Names of users, and ports that are not numbers, are left over.
        (expected == text.len() && !host.is_empty()).then_some(Self { host, port })
    }

    /// Whether this is the machine itself.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(is_loopback)
    }

    /// The port under a scheme.
    pub fn port(&self, scheme: &str) -> u16 {
        self.port.unwrap_or(if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 })
    }
}
