//! By which names the service is called, and from which pages: against pages of others that make a
//! browser ask it for them (DNS rebinding, cross-site requests).

use crate::address::is_loopback;
use crate::host_name::Name;
use crate::problem::{Answer, Problem};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Answers only requests that call the service by a name of its own, and changes nothing for pages
/// of others. `hosts` are the names that its operator lists, and `listen` is the address at which
/// the request has arrived.
pub async fn checked(
    State((hosts, listen)): State<(Arc<[String]>, IpAddr)>,
    request: Request,
    next: Next,
) -> Response {
    match check(&hosts, listen, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check(hosts: &[String], listen: IpAddr, request: &Request) -> Answer<()> {
    let name = name(request)?;
    let listed = |name: &Name| {
        hosts.iter().filter_map(|host| Name::of_text(host)).any(|known| known.host == name.host)
    };
    let known = match is_loopback(listen) {
        true => name.is_loopback() || listed(&name),
        false => hosts.is_empty() || listed(&name),
    };
    if !known {
        let what = format!("this service is not called {}", name.host);
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", what)
            .hint("its operator lists its names in the setting hosts"));
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        return Ok(());
    }
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    let page = origin.to_str().ok().and_then(|text| text.split_once("://"));
    let page = page.and_then(|(scheme, name)| Some((scheme, Name::of_text(name)?)));
    let own = page.is_some_and(|(scheme, page)| {
        listed(&page) || (page.host == name.host && page.port(scheme) == name.port(scheme))
    });
    match own {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "origin",
            "the request comes from a page of another site",
        )
        .hint("use the page of this service; its operator lists its names in the setting hosts")),
    }
}

/// The name in a request.
fn name(request: &Request) -> Answer<Name> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let text = match (request.uri().authority(), first, second) {
        (Some(authority), _, None) => Some(authority.as_str()),
        (None, Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    text.and_then(Name::of_text)
        .ok_or_else(|| Problem::request("the request has no header Host, several, or one that is not a name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Config, Settings};
    use axum::body::Body;
    use he::Device;

    fn status(listen: &str, hosts: &[&str], method: &str, headers: &[(&str, &str)]) -> u16 {
        let settings =
            Settings { hosts: Some(hosts.iter().map(ToString::to_string).collect()), ..Settings::default() };
        let config = Config::new(settings, vec![Device::cpu()]).unwrap();
        let mut request = Request::builder().method(method).uri("/v1/info");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        check(&config.hosts, listen.parse().unwrap(), &request)
            .map_or_else(|problem| problem.status.as_u16(), |()| 200)
    }

    #[test]
    fn names_are_those_of_the_service() {
        let get = |listen, hosts: &[&str], host| status(listen, hosts, "GET", &[("Host", host)]);
        for host in
            ["localhost", "LOCALHOST.:80", "127.0.0.1:8750", "127.1.2.3", "[::1]:9", "[::ffff:127.0.0.1]"]
        {
            assert_eq!(get("127.0.0.1", &[], host), 200, "{host}");
            assert_eq!(get("::1", &["a"], host), 200, "{host}");
            assert_eq!(get("10.0.0.1", &["a"], host), 421, "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0"]
        {
            assert_eq!(get("127.0.0.1", &[], host), 421, "{host}");
            assert_eq!(get("10.0.0.1", &[], host), 200, "{host}");
            assert_eq!(get("10.0.0.1", &["he.example"], host), 421, "{host}");
        }
        assert_eq!(get("127.0.0.1", &["He.example"], "he.EXAMPLE:443"), 200);
        for host in ["", "a b", "user@localhost", "localhost:x", "localhost:", "localhost/a", "[::1"] {
            assert_eq!(get("127.0.0.1", &[], host), 400, "{host}");
        }
        assert_eq!(status("127.0.0.1", &[], "GET", &[]), 400);
        assert_eq!(status("127.0.0.1", &[], "GET", &[("Host", "localhost"), ("Host", "localhost")]), 400);
    }

    #[test]
    fn pages_of_others_change_nothing() {
        let post = |hosts: &[&str], host, origin| {
            status("127.0.0.1", hosts, "POST", &[("Host", host), ("Origin", origin)])
        };
        assert_eq!(post(&[], "localhost:8750", "http://localhost:8750"), 200);
        assert_eq!(post(&[], "[::1]:80", "http://[::1]"), 200);
        assert_eq!(post(&["he.example"], "127.0.0.1:8750", "https://he.example"), 200);
        for origin in [
            "https://evil.example",
            "http://localhost:3000",
            "http://localhost",
            "null",
            "",
            "localhost:8750",
        ] {
            assert_eq!(post(&[], "localhost:8750", origin), 403, "{origin}");
        }
        let get = [("Host", "localhost"), ("Origin", "https://evil.example")];
        assert_eq!(status("127.0.0.1", &[], "GET", &get), 200);
    }
}
