//! A small HTTP server, which counts its requests: GET and HEAD, with ranges, of bytes by their
//! path. A bucket of S3 with paths as names of objects is the same.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The answer at a path.
#[derive(Clone)]
pub enum Content {
    Bytes(Arc<Vec<u8>>),
    /// Half of the bytes that were announced.
    Cut(Arc<Vec<u8>>),
    /// These bytes, and then zeros up to a length.
    Endless(Arc<Vec<u8>>, u64),
    /// Something else is at this URL.
    Redirect(String),
    /// Refused by this status, with a text.
    Status(u16, &'static str),
}

#[derive(Default)]
struct Shared {
    contents: Mutex<HashMap<String, Content>>,
    requests: Mutex<Vec<String>>,
    sent: AtomicU64,
}

/// A server on the loopback interface, for the rest of the process.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, shared) = (listener.local_addr().unwrap(), Arc::<Shared>::default());
        let of_server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&of_server);
                // Clients leave when they like.
                std::thread::spawn(move || serve(stream?, &shared));
            }
        });
        Self { address, shared }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn put(&self, path: &str, content: Content) {
        self.shared.contents.lock().unwrap().insert(path.to_owned(), content);
    }

    pub fn put_file(&self, path: &str, file: &std::path::Path) {
        self.put(path, Content::Bytes(Arc::new(std::fs::read(file).unwrap())));
    }

    /// The number of requests of a method for a path.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let wanted = format!("{method} {path}");
        self.shared.requests.lock().unwrap().iter().filter(|&request| request == &wanted).count()
    }

    /// Bytes of bodies that clients took.
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut range) = (String::new(), None);
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(bytes) = header.strip_prefix("range: bytes=") {
                range = Some(bytes.to_owned());
            }
        }
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        shared.requests.lock().unwrap().push(format!("{method} {path}"));
        let content = shared.contents.lock().unwrap().get(&path).cloned();
        let content = content.unwrap_or(Content::Status(404, "nothing here"));
        if !answer(&mut writer, shared, &method, range.as_deref(), &content)? {
            return Ok(());
        }
    }
}

/// Answers a request, and says whether the connection goes on.
fn answer(
    out: &mut TcpStream,
    shared: &Shared,
    method: &str,
    range: Option<&str>,
    content: &Content,
) -> std::io::Result<bool> {
    let mut send = |bytes: &[u8]| {
        out.write_all(bytes)?;
        shared.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok::<_, std::io::Error>(())
    };
    let head = |status: &str, length: u64, more: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: \"1\"\r\n\
             Last-Modified: Mon, 23 Nov 2026 08:00:00 GMT\r\n{more}\r\n"
        )
        .into_bytes()
    };
    match content {
        Content::Bytes(bytes) => {
            let all = bytes.len();
            let (status, part, more) = match range.and_then(|range| range.split_once('-')) {
                None => ("200 OK", 0..all, String::new()),
                Some((first, last)) => {
                    let part = match first.parse() {
                        Ok(first) => first..last.parse::<usize>().map_or(all, |last| all.min(last + 1)),
                        Err(_) => all.saturating_sub(last.parse().unwrap())..all,
                    };
                    let more = format!("Content-Range: bytes {}-{}/{all}\r\n", part.start, part.end - 1);
                    ("206 Partial Content", part, more)
                }
            };
            send(&head(status, part.len() as u64, &more))?;
            if method != "HEAD" {
                send(&bytes[part])?;
            }
            Ok(true)
        }
        Content::Cut(bytes) => {
            // Without an entity tag, after which clients ask for the rest.
            send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len()).as_bytes())?;
            send(&bytes[..bytes.len() / 2])?;
            Ok(false)
        }
        Content::Endless(bytes, length) => {
            send(&head("200 OK", *length, ""))?;
            send(bytes)?;
            for _ in 0..length / (1 << 16) {
                send(&[0; 1 << 16])?;
            }
            Ok(false)
        }
        Content::Redirect(to) => {
            send(&head("302 Found", 0, &format!("Location: {to}\r\n")))?;
            Ok(true)
        }
        Content::Status(status, text) => {
            send(&head(&format!("{status} Refused"), text.len() as u64, ""))?;
            if method != "HEAD" {
                send(text.as_bytes())?;
            }
            Ok(true)
        }
    }
}
