//! The origin of a request: the tenant of a token, and the address of a connection.

use crate::address;
use crate::app::App;
use crate::db::Tenant;
use crate::ids;
use crate::problem::{Answer, Problem};
use crate::rates::Asker;
use crate::request;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, StatusCode, header};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The other end of a connection, in the extensions of its requests.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The address that counts for a request: the client's, which a trusted proxy names.
pub(super) fn address(app: &App, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
    let (peer, header) = (peer(extensions), headers.get_all(FORWARDED).iter().next_back());
    let named = header.and_then(|header| header.to_str().ok()).and_then(address::forwarded);
    let trusted = app.config.proxies.contains(&peer);
    address::counted(named.filter(|_| trusted).unwrap_or(peer))
}

/// The other end of the connection of a request.
fn peer(extensions: &Extensions) -> IpAddr {
    let peer = extensions.get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0.ip());
    peer.to_canonical()
}

/// The header in which proxies name clients.
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Somebody on this machine, for whom no proxy asks.
pub struct Local;

impl FromRequestParts<Arc<App>> for Local {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Problem> {
        let forwarded =
            parts.headers.contains_key(FORWARDED) || parts.headers.contains_key(header::FORWARDED);
        match peer(&parts.extensions).is_loopback() && !forwarded {
            true => Ok(Self),
            false => {
                Err(Problem::new(StatusCode::FORBIDDEN, "local", "only loopback addresses are answered here")
                    .hint("the setting metrics-listen gives the metrics an address of their own"))
            }
        }
    }
}

/// Takes one request of `asker`.
pub(super) fn limit(app: &App, asker: Asker) -> Answer<()> {
    app.rates.take(asker).map_err(|seconds| {
        app.metrics.limited();
        Problem::too_many(seconds)
    })
}

/// The tenant of a request.
pub struct Who(pub Tenant);

impl FromRequestParts<Arc<App>> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.split_once(' '));
        let known = match token {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && token.len() <= 200 => {
                app.db.tenant_of(&ids::token_hash(token.trim())).await?
            }
            _ => None,
        };
        let Some(known) = known else {
            limit(app, Asker::Address(address(app, &parts.headers, &parts.extensions)))?;
            return Err(Problem::unauthorized());
        };
        request::identify(&known);
        for asker in askers(&known.tenant) {
            limit(app, asker)?;
        }
        Ok(Self(known.tenant))
    }
}

/// The askers that requests of a tenant count for.
fn askers(tenant: &Tenant) -> impl Iterator<Item = Asker> {
    let guests = tenant.address.clone().map(Asker::Guests);
    std::iter::once(Asker::Tenant(tenant.id.clone())).chain(guests)
}

/// Lets an answer cost as much as so many requests more.
pub(super) fn charge(app: &App, tenant: &Tenant, requests: usize) {
    askers(tenant).for_each(|asker| app.rates.charge(&asker, requests as u64));
}

/// The address of a request that has no tenant.
pub struct From(pub IpAddr);

impl FromRequestParts<Arc<App>> for From {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let address = address(app, &parts.headers, &parts.extensions);
        limit(app, Asker::Address(address))?;
        Ok(Self(address))
    }
}
