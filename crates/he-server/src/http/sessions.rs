//! Sessions of guests: tenants that nobody made, with small quotas, for a while.

use super::who::{From, limit};
use crate::app::App;
use crate::clock;
use crate::db::{NewToken, Tenant};
use crate::ids;
use crate::problem::{Answer, Problem};
use crate::rates::Asker;
use crate::request;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// `POST /v1/sessions`.
pub async fn create(State(app): State<Arc<App>>, From(address): From) -> Answer<(StatusCode, Json<Value>)> {
    if !app.config.guests {
        return Err(Problem::new(StatusCode::FORBIDDEN, "guests", "this service has no guests")
            .hint("ask its operator for a token"));
    }
    limit(&app, Asker::Sessions(address))?;
    let expires = clock::now().saturating_add(clock::hours(app.config.hours.guest));
    let quota = app.config.guest;
    let address = Some(address.to_string());
    let tenant = Tenant { id: ids::id()?, guest: true, expires: Some(expires), quota, address };
    if !app.db.add_guest(&tenant, tenant.account()).await? {
        app.metrics.limited();
        let what = "there are too many guests of this address, and all of them hold something";
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "guests", what)
            .hint("go on with an earlier session, or ask the operator for a token"));
    }
    let token = ids::token()?;
    let (hash, id) = (ids::token_hash(&token), ids::id()?);
    let new = NewToken { hash: &hash, id: &id, tenant: &tenant.id, label: None, expires: None };
    app.db.add_token(new, None).await?;
    request::audit("session open", &tenant.id);
    let session = json!({
        "token": token,
        "tenant": tenant.id,
        "expires": clock::text(expires),
        "limits": limits(&app, &tenant),
    });
    Ok((StatusCode::CREATED, Json(session)))
}

/// The quotas of a tenant.
pub(super) fn limits(app: &App, tenant: &Tenant) -> Value {
    json!({
        "bytes": tenant.quota.bytes,
        "objects": tenant.quota.objects,
        "jobs": tenant.quota.jobs,
        "uploads": if tenant.guest { app.config.uploads.1 } else { app.config.uploads.0 },
        "upload_bytes": app.config.max_upload.min(tenant.quota.bytes),
    })
}
