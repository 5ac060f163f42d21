//! The bytes of objects: staged on the local disk while they arrive or are computed, then in a
//! folder or in a store of the protocol of S3, under names that nobody can guess.

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use he_files::io::input::Input;
use he_files::io::output::move_file;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetResultPayload, ObjectStore};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::runtime::Handle;

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// The store of the objects.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    prefix: Key,
    /// The folder, if it is one: objects are moved there.
    folder: Option<PathBuf>,
    staging: PathBuf,
}

/// The bytes of an object.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

impl Store {
    /// Opens the store of this URL, or the folder `objects` in `data`; uploads are staged in
    /// `data`.
    ///
    /// # Errors
    /// The URL is none; a folder cannot be made.
    pub fn open(url: Option<&str>, data: &Path) -> io::Result<Self> {
        let staging = data.join("staging");
        private_folder(&staging)?;
        let Some(url) = url else {
            let folder = data.join("objects");
            private_folder(&folder)?;
            let folder = folder.canonicalize()?;
            let objects = Arc::new(LocalFileSystem::new_with_prefix(&folder)?);
            return Ok(Self { objects, prefix: Key::default(), folder: Some(folder), staging });
        };
        let parsed = url.parse().map_err(|_| invalid(format!("{url} is not a URL")))?;
        // Credentials and the region come from the environment, as for other programs.
        let options = std::env::vars().map(|(name, value)| (name.to_ascii_lowercase(), value));
        let (objects, prefix) = object_store::parse_url_opts(&parsed, options)
            .map_err(|error| invalid(format!("{url} cannot be used as a store: {error}")))?;
        Ok(Self { objects: objects.into(), prefix, folder: None, staging })
    }

    /// The file in which an object is staged.
    pub fn staged(&self, id: &str) -> PathBuf {
        self.staging.join(id)
    }

    /// All names of staged files.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all_staged(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.staging)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn key(&self, id: &str) -> Key {
        // Folders of a few thousand entries each.
        let folder = id.get(..2).unwrap_or("00");
        self.prefix.child(folder).child(id)
    }

    /// Makes a staged file an object. It is on the disk, or in the store, when this returns.
    ///
    /// # Errors
    /// The store fails; the file is still staged then.
    pub async fn adopt(&self, id: &str) -> io::Result<()> {
        let (staged, key) = (self.staged(id), self.key(id));
        if let Some(folder) = &self.folder {
            let target = folder.join(key.as_ref());
            return blocking(move || {
                if let Some(parent) = target.parent() {
                    private_folder(parent)?;
                }
                move_file(&staged, &target)
            })
            .await;
        }
        let mut file = tokio::fs::File::open(&staged).await?;
        let mut writer = object_store::buffered::BufWriter::new(Arc::clone(&self.objects), key);
        tokio::io::copy(&mut file, &mut writer).await?;
        tokio::io::AsyncWriteExt::shutdown(&mut writer).await?;
        tokio::fs::remove_file(&staged).await
    }

    /// Whether there is such an object.
    pub async fn holds(&self, id: &str) -> bool {
        self.objects.head(&self.key(id)).await.is_ok()
    }

    /// Some bytes of an object.
    ///
    /// # Errors
    /// It is not there; the store fails.
    pub async fn get(&self, id: &str, range: Range<u64>) -> io::Result<Content> {
        if range.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
        let found = self.objects.get_opts(&self.key(id), options).await?;
        Ok(match found.payload {
            GetResultPayload::File(file, _) => {
                let mut file = tokio::fs::File::from_std(file);
                file.seek(SeekFrom::Start(range.start)).await?;
                let left = range.end - range.start;
                stream::try_unfold((file, left), |(mut file, left)| async move {
                    let mut piece = vec![0; PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
                    if piece.is_empty() {
                        return Ok(None);
                    }
                    let count = file.read(&mut piece).await?;
                    if count == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    piece.truncate(count);
                    Ok(Some((Bytes::from(piece), (file, left - count as u64))))
                })
                .boxed()
            }
            GetResultPayload::Stream(stream) => stream.map_err(io::Error::from).boxed(),
        })
    }

    /// An object as the input of work on a thread of its own. Errors call it `name`.
    ///
    /// # Errors
    /// It is not there; the store fails.
    pub async fn input(&self, id: &str, name: &str) -> io::Result<Input> {
        let found = self.objects.get(&self.key(id)).await?;
        Ok(match found.payload {
            GetResultPayload::File(file, _) => Input::from_reader(name, file),
            GetResultPayload::Stream(stream) => {
                let stream = stream.map_err(io::Error::from).boxed();
                let piece = Bytes::new();
                Input::from_reader(name, Blocking { stream, piece, runtime: Handle::current() })
            }
        })
    }

    /// Removes an object, and what is staged of it.
    ///
    /// # Errors
    /// The store fails; it is not an error that there is none.
    pub async fn remove(&self, id: &str) -> io::Result<()> {
        match tokio::fs::remove_file(self.staged(id)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match self.objects.delete(&self.key(id)).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Whether the store answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> io::Result<()> {
        match self.objects.head(&self.key("00000000000000000000000000000000")).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            done => Ok(done.map(|_| ())?),
        }
    }
}

/// A stream read by a thread that may wait.
struct Blocking {
    stream: BoxStream<'static, io::Result<Bytes>>,
    piece: Bytes,
    runtime: Handle,
}

impl Read for Blocking {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.runtime.block_on(self.stream.next()) {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let count = out.len().min(self.piece.len());
        out[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}

/// Makes a folder that only its owner may enter.
///
/// # Errors
/// It cannot be made.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a staged file to append to it, for its owner alone.
///
/// # Errors
/// It cannot be opened.
pub fn append_to(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// Runs on a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
