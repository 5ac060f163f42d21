//! Keys and encrypted files, made once, and services for the tests.

use super::client::Client;
use he::Device;
use he_core::ckks::CkksParams;
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::Clear;
use he_files::contents::options::TableFlags;
use he_files::contents::{Contents, encrypt, images};
use he_files::io::cancel::Cancel;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::key_set::{KeyFiles, KeySet};
use he_files::note::Payload;
use he_files::operation::{Evaluation, Operation, Sources};
use he_files::passphrase::Passphrase;
use he_files::scheme::Ckks;
use he_files::scheme::engine::rng;
use he_files::team::Team;
use he_server::app::App;
use he_server::serve::Server;
use he_server::settings::{Config, Settings};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// The files that clients have.
pub struct Files {
    pub evaluation: Vec<u8>,
    pub secret: Vec<u8>,
    pub sealed: Vec<u8>,
    pub public: Vec<u8>,
    pub image: Vec<u8>,
    pub table: Vec<u8>,
    /// A table whose description is long.
    pub wide: Vec<u8>,
    /// An image under other keys.
    pub other_image: Vec<u8>,
}

fn picture() -> Vec<u8> {
    // A BMP of 24 bits, whose rows are multiples of four bytes.
    let (mut bmp, width, height) = (Vec::new(), 24u32, 16u32);
    let size = 54 + width * height * 3;
    bmp.extend(b"BM");
    bmp.extend(size.to_le_bytes());
    bmp.extend([0; 4]);
    bmp.extend(54u32.to_le_bytes());
    bmp.extend(40u32.to_le_bytes());
    bmp.extend(width.to_le_bytes());
    bmp.extend(height.to_le_bytes());
    bmp.extend([1, 0, 24, 0]);
    bmp.extend([0; 24]);
    bmp.extend((0..width * height * 3).map(|i| (i * 7 % 256) as u8));
    bmp
}

/// Columns whose names have a kilobyte each.
fn wide() -> Vec<u8> {
    let names: Vec<String> = (0..60).map(|i| format!("{i:03}{}", "x".repeat(1000))).collect();
    let row: Vec<&str> = names.iter().map(|_| "1").collect();
    format!("{}\n{}\n", names.join(","), row.join(",")).into_bytes()
}

fn encrypted(team: &Team<Ckks>, keys: &KeySet<Ckks>, data: Vec<u8>, path: &Path) -> Vec<u8> {
    let params = &team.lead().params;
    let input = Input::from_reader("data", io::Cursor::new(data));
    let clear = Clear::read::<Ckks>(input, TableFlags::default(), None, &()).unwrap();
    let content = Ckks::describe(&clear, params, None, &()).unwrap();
    let payload = Payload { key_id: keys.id.clone(), history: Vec::new(), content };
    let output =
        Output::create(path, OutputOptions { force: true, ..OutputOptions::default() }, &[]).unwrap();
    encrypt::by_public_key(team, &keys.public, &clear, &payload, output, &mut rng().unwrap()).unwrap();
    std::fs::read(path).unwrap()
}

pub fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let params = CkksParams::for_depth(1).build().unwrap();
        let team = Team::<Ckks>::new(&params, &[Device::cpu()]).unwrap();
        let rotations = images::rotations(&params, 1).unwrap();
        let mut random = rng().unwrap();
        let keys = KeySet::generate(team.lead(), &rotations, &mut random).unwrap();
        let other = KeySet::generate(team.lead(), &rotations, &mut random).unwrap();
        let write = |name: &str, passphrase: Option<&Passphrase>| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            KeyFiles::create(&folder, false).unwrap().write(&keys, &params, passphrase).unwrap();
            move |key: &str| std::fs::read(folder.join(key)).unwrap()
        };
        let plain = write("plain", None);
        let phrase = Passphrase::new(b"correct horse".to_vec().into()).unwrap();
        let sealed = write("sealed", Some(&phrase));
        let path = folder.path().join("file");
        Files {
            evaluation: plain("eval.key"),
            secret: plain("secret.key"),
            sealed: sealed("secret.key"),
            public: plain("public.key"),
            image: encrypted(&team, &keys, picture(), &path),
            table: encrypted(&team, &keys, b"a,b\n1,2\n3.5,-4\n".to_vec(), &path),
            wide: encrypted(&team, &keys, wide(), &path),
            other_image: encrypted(&team, &other, picture(), &path),
        }
    })
}

/// The result of `he-cli eval` for these files: the same code, and the same bytes.
pub fn evaluated(operation: &str, input: &[u8], other: Option<&[u8]>) -> Vec<u8> {
    let open = |bytes: &[u8]| Input::from_reader("file", io::Cursor::new(bytes.to_vec()));
    let operation: Operation = serde_json::from_str(operation).unwrap();
    let sources = Sources {
        input: open(input),
        others: other.map(open).into_iter().collect(),
        key: open(&files().evaluation),
        bootstrap: None,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result");
    let output = Output::create(&path, OutputOptions::default(), &[]).unwrap();
    let evaluation = Evaluation::new(&operation, sources, &Cancel::default()).unwrap();
    evaluation.evaluate(&[Device::cpu()], Arc::new(()), output).unwrap();
    std::fs::read(path).unwrap()
}

/// A service in this process, which ends gracefully when it is dropped.
pub struct Service {
    pub client: Client,
    pub data: Arc<TempDir>,
    app: Arc<App>,
    end: Option<oneshot::Sender<()>>,
    ended: Option<std::thread::JoinHandle<()>>,
}

impl Service {
    pub fn start() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        Self::on(Arc::new(tempfile::tempdir().unwrap()), settings)
    }

    /// On the data of an earlier service.
    pub fn on(data: Arc<TempDir>, settings: Settings) -> Self {
        Self::changed(data, settings, |_| {})
    }

    /// Starts a service with changes that settings cannot state.
    pub fn changed(
        data: Arc<TempDir>,
        settings: Settings,
        change: impl FnOnce(&mut Config) + Send + 'static,
    ) -> Self {
        let settings = settings.or(Settings {
            listen: Some("127.0.0.1:0".parse().unwrap()),
            data: Some(data.path().to_owned()),
            session_rate: Some(6000),
            request_rate: Some(100_000),
            shutdown_seconds: Some(1),
            ..Settings::default()
        });
        let (end, ends) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let ended = std::thread::spawn(move || {
            Runtime::new().unwrap().block_on(async {
                let mut config = Config::new(settings, vec![Device::cpu()]).unwrap();
                change(&mut config);
                let app = App::start(config).await.unwrap();
                let server = Server::bind(Arc::clone(&app)).await.unwrap();
                tell.send((server.address().unwrap(), app)).unwrap();
                server.run(async { drop(ends.await) }).await;
            });
        });
        let (address, app) = told.recv().unwrap();
        let client = Client { address, token: None };
        Self { client, data, app, end: Some(end), ended: Some(ended) }
    }

    /// The service itself.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Somebody without a token.
    pub fn nobody(&self) -> Client {
        self.client.clone()
    }

    /// A fresh guest.
    pub fn guest(&self) -> Client {
        let session = self.client.send("POST", "/v1/sessions", &[], b"").expect(201).json();
        Client { token: Some(session["token"].as_str().unwrap().to_owned()), ..self.client.clone() }
    }

    /// A tenant with a token, and not a guest.
    pub fn tenant(&self, name: &str) -> Client {
        let settings = Settings { data: Some(self.data.path().to_owned()), ..Settings::default() };
        let config = Config::new(settings, vec![Device::cpu()]).unwrap();
        let made = Runtime::new()
            .unwrap()
            .block_on(he_server::tokens::create(&config, name, &Default::default()))
            .unwrap();
        Client { token: Some(made.token), ..self.client.clone() }
    }

    /// The value of a metric.
    pub fn metric(&self, name: &str) -> f64 {
        let text = String::from_utf8(self.client.get("/metrics").expect(200).body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("he_server_{name} ")));
        line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
    }

    /// Ends, and returns the data.
    pub fn stop(mut self) -> Arc<TempDir> {
        self.end();
        Arc::clone(&self.data)
    }

    fn end(&mut self) {
        drop(self.end.take());
        if let Some(ended) = self.ended.take() {
            ended.join().unwrap();
        }
    }

    /// All files below the data but the database and its lock, with their lengths.
    pub fn stored(&self) -> Vec<(String, u64)> {
        fn walk(folder: &Path, files: &mut Vec<(String, u64)>) {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
                match path.is_dir() {
                    true => walk(&path, files),
                    false if name.contains("sqlite") || name == "lock" => {}
                    false => files.push((name, entry.metadata().unwrap().len())),
                }
            }
        }
        let mut files = Vec::new();
        walk(self.data.path(), &mut files);
        files
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

/// Bytes that an output writes and a test reads.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes that are written to an output.
pub fn written(write: impl FnOnce(Output)) -> Vec<u8> {
    let bytes = Bytes::default();
    write(Output::to_writer("file", bytes.clone()));
    std::mem::take(&mut bytes.0.lock().unwrap())
}

/// An encrypted file of CKKS in memory, being read.
pub fn reader(file: &[u8]) -> CipherReader<Ckks> {
    CipherReader::new(Input::from_bytes("file", file.to_vec())).unwrap()
}
