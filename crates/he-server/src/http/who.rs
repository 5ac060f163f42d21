//! Who asks: the tenant of a token, and the address of a connection.

use crate::app::App;
use crate::db::Tenant;
use crate::ids;
use crate::problem::{Answer, Problem};
use crate::rates::Asker;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The other end of a connection, in the extensions of its requests.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The address of a request.
pub(super) fn address(parts: &Parts) -> IpAddr {
    parts.extensions.get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0.ip())
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
        let tenant = match token {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && token.len() <= 200 => {
                app.db.tenant_of(&ids::token_hash(token.trim())).await?
            }
            _ => None,
        };
        let Some(tenant) = tenant else {
            limit(app, Asker::Address(address(parts)))?;
            return Err(Problem::unauthorized());
        };
        limit(app, Asker::Tenant(tenant.id.clone()))?;
        Ok(Self(tenant))
    }
}

/// The address of a request, whoever asks.
pub struct At(pub IpAddr);

impl<S: Sync> FromRequestParts<S> for At {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(address(parts)))
    }
}

/// The address of a request that has no tenant.
pub struct From(pub IpAddr);

impl FromRequestParts<Arc<App>> for From {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let address = address(parts);
        limit(app, Asker::Address(address))?;
        Ok(Self(address))
    }
}
