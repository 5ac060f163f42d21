//! The page: its files as they were in `web/dist` when the program was compiled, or in a folder.

use crate::problem::Problem;
use crate::start_error::StartError;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Scripts of the page alone, and WebAssembly.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
                      img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// The answer at `/` if there is no page.
const MISSING: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>he-server</title>\n\
    <h1>The service runs; its page was not built.</h1>\n\
    <p>Run <code>web/build.sh</code> and compile again, or start with <code>--page web/dist</code>.\n\
    The API is described at <a href=\"/openapi.json\">/openapi.json</a>.\n";

/// The place of the page.
#[derive(Debug)]
pub struct Page {
    folder: Option<PathBuf>,
}

impl Page {
    /// In this folder, or in the program.
    ///
    /// # Errors
    /// [`StartError::Page`] if there is no page in the folder.
    pub fn open(folder: Option<PathBuf>) -> Result<Self, StartError> {
        match &folder {
            Some(path) if !path.join("index.html").is_file() => {
                Err(StartError::Page { path: path.display().to_string() })
            }
            _ => Ok(Self { folder }),
        }
    }

    /// A file by its path below the root. In a folder, only names that were found in it are opened,
    /// so that no path of a client reaches the file system.
    fn file(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        let Some(folder) = &self.folder else {
            let (_, bytes) = EMBEDDED.iter().find(|(path, _)| *path == name)?;
            return Some(Cow::Borrowed(*bytes));
        };
        let mut files = BTreeMap::new();
        walk(folder, "", 0, &mut files);
        files.get(name).and_then(|path| std::fs::read(path).ok()).map(Cow::Owned)
    }
}

/// The files of a folder, by their paths in it.
fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut BTreeMap<String, PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < 8 => {
                walk(&entry.path(), &format!("{name}/"), depth + 1, files);
            }
            Ok(kind) if kind.is_file() => {
                files.insert(name, entry.path());
            }
            _ => {}
        }
    }
}

/// The media type of a file.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" | "ts" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// A file of the page, or 404.
pub async fn serve(State(page): State<Arc<Page>>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return Problem::not_found("resource").into_response();
    }
    let name = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    let (media, owned) = (media_type(name), name.to_owned());
    let found = tokio::task::spawn_blocking(move || page.file(&owned)).await.ok().flatten();
    let bytes = match (found, name) {
        (Some(bytes), _) => bytes,
        (None, "index.html") => Cow::Borrowed(MISSING.as_bytes()),
        (None, _) => return Problem::not_found("resource").into_response(),
    };
    // Weak, for the same file is also sent compressed.
    let tag = format!("W/\"{}\"", &blake3::hash(&bytes).to_hex()[..32]);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes());
    let mut response = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => match bytes {
            Cow::Borrowed(bytes) => Response::new(Body::from(bytes)),
            Cow::Owned(bytes) => Response::new(Body::from(bytes)),
        },
    };
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    answer.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    answer.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    answer.insert("cross-origin-embedder-policy", HeaderValue::from_static("require-corp"));
    answer.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    answer.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.insert(header::ETAG, tag);
    }
    response
}
