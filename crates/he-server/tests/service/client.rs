//! A client of HTTP/1.1 that does no more than the tests need, and exactly what they say.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}: {}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// Checks the status, and shows the answer if it is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Checks that it is a problem of this status, in its form, and returns the detail.
    #[track_caller]
    pub fn problem(self, status: u16) -> String {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let problem = answer.json();
        assert_eq!(problem["status"], status);
        assert!(problem["type"].is_string() && problem["title"].is_string(), "{problem}");
        problem["detail"].as_str().unwrap().to_owned()
    }
}

/// Somebody who asks a service.
#[derive(Clone, Debug)]
pub struct Client {
    pub address: SocketAddr,
    pub token: Option<String>,
}

pub const TUS: (&str, &str) = ("Tus-Resumable", "1.0.0");
pub const PIECE: (&str, &str) = ("Content-Type", "application/offset+octet-stream");

impl Client {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// The head of a request.
    pub fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: Option<usize>) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        if let Some(token) = &self.token {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(length) = length {
            head += &format!("Content-Length: {length}\r\n");
        }
        head + "\r\n"
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let length = (!body.is_empty() || method == "POST" || method == "PATCH").then_some(body.len());
        stream.write_all(self.head(method, path, headers, length).as_bytes()).unwrap();
        // A service that refuses a body may close before it has taken all of it.
        let _ = stream.write_all(body);
        read_answer(&mut BufReader::new(stream), method == "HEAD").unwrap()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Begins an upload without a part of it, and returns its URL.
    pub fn begin(&self, route: &str, bytes: usize) -> Answer {
        self.send("POST", route, &[TUS, ("Upload-Length", &bytes.to_string())], b"")
    }

    pub fn append(&self, url: &str, offset: usize, part: &[u8]) -> Answer {
        self.send("PATCH", url, &[TUS, PIECE, ("Upload-Offset", &offset.to_string())], part)
    }

    /// Uploads a file in one request.
    pub fn whole(&self, route: &str, file: &[u8]) -> Answer {
        self.send("POST", route, &[TUS, PIECE, ("Upload-Length", &file.len().to_string())], file)
    }

    /// Uploads a file, and returns its name.
    #[track_caller]
    pub fn upload(&self, route: &str, file: &[u8]) -> String {
        self.whole(route, file).expect(201).json()["id"].as_str().unwrap().to_owned()
    }

    /// The offset of an upload.
    #[track_caller]
    pub fn offset(&self, url: &str) -> usize {
        let answer = self.send("HEAD", url, &[TUS], b"").expect(200);
        answer.header("upload-offset").unwrap().parse().unwrap()
    }

    /// Asks for a job, and returns its name.
    #[track_caller]
    pub fn job(&self, operation: Value, inputs: &[&str], key_set: &str) -> String {
        let job = serde_json::json!({ "operation": operation, "inputs": inputs, "key_set": key_set });
        self.post("/v1/jobs", &job).expect(202).json()["id"].as_str().unwrap().to_owned()
    }

    /// Waits for the end of a job.
    #[track_caller]
    pub fn wait(&self, job: &str) -> Value {
        for _ in 0..6000 {
            let job = self.get(&format!("/v1/jobs/{job}")).expect(200).json();
            if !["queued", "running"].contains(&job["state"].as_str().unwrap()) {
                return job;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the job does not end");
    }

    /// The bytes of an object.
    #[track_caller]
    pub fn content(&self, id: &str) -> Vec<u8> {
        self.get(&format!("/v1/objects/{id}/content")).expect(200).body
    }
}

/// Reads an answer.
pub fn read_answer(reader: &mut impl BufRead, without_body: bool) -> io::Result<Answer> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no answer: {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    if without_body || status == 204 || status == 304 {
        return Ok(answer);
    }
    if answer.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk)?;
            if length == 0 {
                break;
            }
            answer.body.extend_from_slice(&chunk[..length]);
        }
    } else {
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        match length {
            Some(length) => {
                answer.body = vec![0; length];
                reader.read_exact(&mut answer.body)?;
            }
            None => drop(reader.read_to_end(&mut answer.body)?),
        }
    }
    Ok(answer)
}
