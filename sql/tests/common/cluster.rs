//! Processes of a cluster.

use super::World;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that ends with the test.
pub struct Process(Child);

impl Process {
    pub fn start(arguments: &[String]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_he-sql")).args(arguments).stdout(Stdio::null()).spawn();
        Self(child.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that is free with the next one.
pub fn port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return port;
        }
    }
}

pub fn wait_for(port: u16) {
    let started = Instant::now();
    while TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing listens on port {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A scheduler and executors on this machine.
pub struct Cluster {
    scheduler: (Process, u16),
    pub executors: Vec<Process>,
}

impl Cluster {
    pub fn start(world: &World, executors: usize) -> Self {
        let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let at = port();
        let scheduler = Process::start(&words(format!("scheduler --bind 127.0.0.1:{at}")));
        wait_for(at);
        let executors = (0..executors).map(|number| {
            let port = port();
            let folder = world.path(&format!("executor-{number}"));
            std::fs::create_dir(&folder).unwrap();
            let arguments = format!("executor --scheduler 127.0.0.1:{at} --bind 127.0.0.1:{port} --work-dir");
            let mut arguments = words(arguments);
            arguments.push(folder.to_str().unwrap().to_owned());
            let process = Process::start(&arguments);
            wait_for(port);
            process
        });
        let executors = executors.collect();
        Self { scheduler: (scheduler, at), executors }
    }

    /// A query on it, without keys and tables.
    pub fn query(&self, world: &World, sql: &str, answer: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_he-sql"));
        command.args(["query", sql, "--partitions", "4", "--output", &world.url(answer)]);
        command.args(["--ballista", &format!("df://127.0.0.1:{}", self.scheduler.1)]);
        command
    }
}
