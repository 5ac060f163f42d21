//! Files and folders as destinations.

use super::temporary::{Step, Temporary, builder, step, sync_all, sync_folder, without_path};
use super::{Output, OutputOptions, Target};
use crate::error::{Error, IoContext, OutputError, Result};
use crate::io::pending::Pending;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BUFFER: usize = 1 << 16;

/// A file that is written and does not have its name yet.
pub(super) struct Unplaced {
    temp: BufWriter<Temporary>,
    path: PathBuf,
    options: OutputOptions,
}

impl Unplaced {
    /// Its path.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// The last bytes cannot be written, or the file appeared meanwhile and `force` is off.
    pub(super) fn place(self) -> Result<()> {
        let Self { temp, path, options } = self;
        let temp = temp.into_inner().map_err(io::IntoInnerError::into_error).writing(&path)?;
        match temp.place(&path, options.force) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            placed => placed.writing(&path),
        }
    }
}

impl Write for Unplaced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temp.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temp.flush()
    }
}

impl Output {
    /// Starts the file `path`. `inputs` are the files that are read while it is written.
    ///
    /// # Errors
    /// The file exists and `force` is off; it is one of the inputs; it is a folder; its folder is
    /// missing or may not be written.
    pub fn create(path: impl AsRef<Path>, options: OutputOptions, inputs: &[&Path]) -> Result<Self> {
        let path = path.as_ref();
        if let Some(input) = inputs.iter().find(|input| same_file(input, path)) {
            return Err(OutputError::IsInput { path: input.display().to_string() }.into());
        }
        if path.as_os_str().is_empty() {
            return Err(OutputError::NoName.into());
        }
        let path = match fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                return Err(OutputError::Folder {
                    path: path.display().to_string(),
                    inside: path.join("result").display().to_string(),
                }
                .into());
            }
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(path).writing(path)?;
                let file = BufWriter::with_capacity(BUFFER, file);
                return Ok(Self::to_writer(path.display().to_string(), file));
            }
            Ok(_) if !options.force => return Err(exists(path)),
            // Replace what a link points to, not the link.
            Ok(_) => fs::canonicalize(path).writing(path)?,
            Err(_) if fs::symlink_metadata(path).is_ok() && !options.force => return Err(exists(path)),
            Err(_) => path.to_owned(),
        };
        check_parent(&path)?;
        let temp = Temporary::create(parent(&path), options.secret || options.private).writing(&path)?;
        let temp = BufWriter::with_capacity(BUFFER, temp);
        Ok(Self::to(Target::File(Unplaced { temp, path, options })))
    }

    /// Completes several outputs; if one fails, those completed before it are removed again.
    ///
    /// Files that `force` replaced are not restored.
    ///
    /// # Errors
    /// The same as for [`Output::commit`].
    pub fn commit_all(outputs: impl IntoIterator<Item = Self>) -> Result<()> {
        let mut placed = Vec::new();
        for output in outputs {
            let path = match &output.target {
                Target::File(file) if !file.options.force => Some(file.path.clone()),
                _ => None,
            };
            if let Err(error) = output.commit() {
                for path in placed {
                    // Best effort: the first error is the one to report.
                    let _ = fs::remove_file(path);
                }
                return Err(error);
            }
            placed.extend(path);
        }
        Ok(())
    }
}

/// A folder for several results (`-o keys/`), created if missing. Unless it is kept, the created
/// folders are removed again.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// Outermost first.
    created: Vec<Pending>,
}

impl OutputFolder {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The work succeeded: the folders stay.
    pub fn keep(mut self) {
        self.created.clear();
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        for folder in self.created.iter().rev() {
            // Only empty folders are removed, so files that somebody put there meanwhile are safe.
            let _ = fs::remove_dir(folder.path());
        }
    }
}

/// Makes the folder `path` with all that are missing above it.
///
/// Declare the result *before* the [`Output`]s inside it, so that their temporary files are gone
/// when it is dropped.
///
/// # Errors
/// Something of that name is not a folder, or it cannot be created; nothing stays created then.
pub fn create_dir(path: impl AsRef<Path>) -> Result<OutputFolder> {
    let path = path.as_ref();
    if path.as_os_str() == "-" || path.as_os_str().is_empty() {
        return Err(OutputError::NeedsFolder.into());
    }
    let mut folder = OutputFolder { path: path.to_owned(), created: Vec::new() };
    let missing: Vec<&Path> =
        path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
    for part in missing.into_iter().rev() {
        match fs::create_dir(part) {
            Ok(()) => folder.created.push(Pending::folder(part.to_owned())),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && part.is_dir() => {}
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => return Err(not_a_folder(path)),
            Err(e) => return Err(e).doing("create the folder", path),
        }
    }
    if !path.is_dir() {
        return Err(not_a_folder(path));
    }
    Ok(folder)
}

/// A folder as a result, which appears completely, under its name, or not at all.
#[derive(Debug)]
pub struct NewFolder {
    path: PathBuf,
    /// Holds the folder until it is complete. Both are the owner's alone (mode 0700): what is
    /// inside was decrypted.
    temp: TempDir,
    _pending: Pending,
}

impl NewFolder {
    /// Starts the folder `path`.
    ///
    /// # Errors
    /// Something of that name exists, or the folder above is missing or may not be written.
    pub fn create(path: &Path) -> Result<Self> {
        // Without a final slash.
        let path: PathBuf = path.components().collect();
        if fs::symlink_metadata(&path).is_ok() {
            return Err(OutputError::FolderExists { path: path.display().to_string() }.into());
        }
        check_parent(&path)?;
        let temp = builder().tempdir_in(parent(&path)).map_err(|e| without_path(&e)).writing(&path)?;
        let folder = Self { _pending: Pending::new(temp.path().to_owned()), temp, path };
        let mut inside = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut inside, 0o700);
        inside.create(folder.inside()).writing(&folder.path)?;
        Ok(folder)
    }

    /// The place of its content meanwhile.
    pub fn inside(&self) -> PathBuf {
        self.temp.path().join("content")
    }

    /// Its path.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// Something of that name has appeared meanwhile; the files do not reach the disk.
    pub fn commit(self) -> Result<()> {
        sync_all(&self.inside()).writing(&self.path)?;
        step(Step::Name);
        fs::rename(self.inside(), &self.path).writing(&self.path)?;
        sync_folder(parent(&self.path));
        Ok(())
    }
}

fn not_a_folder(path: &Path) -> Error {
    OutputError::NotAFolder { path: path.display().to_string() }.into()
}

fn exists(path: &Path) -> Error {
    OutputError::Exists { path: path.display().to_string() }.into()
}

/// Checks that a file can be at `path`.
fn check_parent(path: &Path) -> Result<()> {
    let folder = parent(path);
    if folder.is_dir() {
        return Ok(());
    }
    let (path, shown) = (path.display().to_string(), folder.display().to_string());
    Err(match folder.exists() {
        true => OutputError::ParentNotAFolder { path, folder: shown },
        false => OutputError::NoParent { path, folder: shown },
    }
    .into())
}

/// The folder that holds `path`; the current one for a bare name.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether a file at `path` would lie inside of a folder.
pub fn is_inside(path: &Path, folder: &Path) -> bool {
    match (fs::canonicalize(parent(path)), fs::canonicalize(folder)) {
        (Ok(parent), Ok(folder)) => parent.starts_with(folder),
        _ => false,
    }
}

/// Whether two paths name one file, through links of either kind.
fn same_file(a: &Path, b: &Path) -> bool {
    if a.as_os_str() == "-" {
        return false;
    }
    if let (Ok(a), Ok(b)) = (fs::canonicalize(a), fs::canonicalize(b))
        && a == b
    {
        return !is_device(&a);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
            return a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    false
}

fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    const FORCE: OutputOptions = OutputOptions { force: true, secret: false, private: false };

    #[test]
    fn appears_on_commit_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.he");
        let mut output = Output::create(&path, OutputOptions::default(), &[]).unwrap();
        output.write_all(b"hello").unwrap();
        assert_eq!(output.bytes(), 5);
        assert!(!path.exists());
        output.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello");
        assert_eq!(names(dir.path()), ["a.he"]);
    }

    #[test]
    fn dropped_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut output = Output::create(dir.path().join("a"), OutputOptions::default(), &[]).unwrap();
        output.write_all(&[1; 200_000]).unwrap();
        output.flush().unwrap();
        // Where files without a name are possible there is nothing, otherwise a hidden one in the
        // same folder.
        assert!(names(dir.path()).iter().all(|name| name.starts_with(".he-cli-")));
        drop(output);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn replaces_only_when_forced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, b"old").unwrap();
        let error = Output::create(&path, OutputOptions::default(), &[]).err().unwrap();
        assert!(error.to_string().ends_with("exists already"), "{error}");
        assert!(error.hint().unwrap().contains("replace"));
        let mut output = Output::create(&path, FORCE, &[]).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        output.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_file_that_appeared_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let output = Output::create(&path, OutputOptions::default(), &[]).unwrap();
        fs::write(&path, b"theirs").unwrap();
        assert!(output.commit().unwrap_err().to_string().ends_with("exists already"));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn input_is_not_output() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, b"data").unwrap();
        let roundabout = dir.path().join(".").join("a");
        let error = Output::create(&roundabout, FORCE, &[Path::new("-"), &path]).err().unwrap();
        assert!(error.to_string().ends_with("is both input and output"), "{error}");
        assert_eq!(error.hint().as_deref(), Some("write to another file"));
        assert!(Output::create(dir.path().join("b"), FORCE, &[&path]).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_hide_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, b"data").unwrap();
        let (soft, hard) = (dir.path().join("soft"), dir.path().join("hard"));
        std::os::unix::fs::symlink(&path, &soft).unwrap();
        fs::hard_link(&path, &hard).unwrap();
        for link in [&soft, &hard] {
            let error = Output::create(link, FORCE, &[&path]).err().unwrap();
            assert!(error.to_string().ends_with("is both input and output"), "{error}");
        }
        // A forced write through a link replaces the file behind it and leaves the link.
        let mut output = Output::create(&soft, FORCE, &[]).unwrap();
        output.write_all(b"new").unwrap();
        output.commit().unwrap();
        assert!(fs::symlink_metadata(&soft).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn secrets_are_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        // An ordinary file, whose mode follows from the umask of this process.
        let ordinary = dir.path().join("ordinary");
        fs::write(&ordinary, b"").unwrap();

        let secret = dir.path().join("secret.key");
        let options = OutputOptions { secret: true, ..OutputOptions::default() };
        let private = OutputOptions { private: true, ..OutputOptions::default() };
        for options in [options, private, OutputOptions { force: true, ..private }] {
            if !options.force {
                let _ = fs::remove_file(&secret);
            }
            let output = Output::create(&secret, options, &[]).unwrap();
            for entry in
                fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).filter(|p| *p != ordinary)
            {
                assert_eq!(mode(&entry), 0o600);
            }
            let Target::File(Unplaced { temp, .. }) = &output.target else { panic!("a file is written") };
            assert_eq!(temp.get_ref().file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
            output.commit().unwrap();
            assert_eq!(mode(&secret), 0o600);
        }
        // Replaced, an ordinary file does not keep its permissions.
        Output::create(&ordinary, OutputOptions { force: true, ..private }, &[]).unwrap().commit().unwrap();
        assert_eq!(mode(&ordinary), 0o600);
        fs::remove_file(&ordinary).unwrap();
        fs::write(&ordinary, b"").unwrap();

        let public = dir.path().join("public.key");
        Output::create(&public, OutputOptions::default(), &[]).unwrap().commit().unwrap();
        assert_eq!(mode(&public), mode(&ordinary));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_and_stay() {
        let mut output =
            Output::create("/dev/null", OutputOptions::default(), &[Path::new("/dev/null")]).unwrap();
        output.write_all(b"gone").unwrap();
        output.commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let mut full = Output::create("/dev/full", OutputOptions::default(), &[]).unwrap();
        full.write_all(b"no room").unwrap();
        let error = full.commit().unwrap_err();
        assert!(error.to_string().starts_with("cannot write /dev/full: no space left"), "{error}");
        assert!(error.hint().is_some());
    }

    #[test]
    fn folders_are_named_in_errors() {
        let dir = tempfile::tempdir().unwrap();
        let error = Output::create(dir.path().join("none/a"), OutputOptions::default(), &[]).err().unwrap();
        assert!(error.to_string().ends_with("none does not exist"), "{error}");
        assert!(error.hint().unwrap().starts_with("create it first: mkdir -p "));
        let error = Output::create(dir.path(), FORCE, &[]).err().unwrap();
        assert!(error.to_string().ends_with("it is a folder"), "{error}");
        fs::write(dir.path().join("f"), b"").unwrap();
        let error = Output::create(dir.path().join("f/a"), OutputOptions::default(), &[]).err().unwrap();
        assert!(error.to_string().ends_with("is not a folder"), "{error}");
        assert!(Output::create("", FORCE, &[]).err().unwrap().is_request());
    }

    #[test]
    fn created_folders_go_unless_kept() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("x/y/z");
        drop(create_dir(&deep).unwrap());
        assert!(names(dir.path()).is_empty());
        create_dir(&deep).unwrap().keep();
        assert!(deep.is_dir());
        // Files that were there before stay, kept or not.
        drop(create_dir(&deep).unwrap());
        assert!(deep.is_dir());
        fs::write(dir.path().join("f"), b"").unwrap();
        for path in ["f", "f/g"] {
            let error = create_dir(dir.path().join(path)).unwrap_err();
            assert!(error.to_string().ends_with("it is not a folder"), "{error}");
        }
        assert_eq!(names(dir.path()), ["f", "x"]);
    }

    #[test]
    fn all_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let folder = create_dir(dir.path().join("keys")).unwrap();
        let create = |name: &str| {
            let mut output = Output::create(folder.path().join(name), OutputOptions::default(), &[]).unwrap();
            output.write_all(name.as_bytes()).unwrap();
            output
        };
        let outputs = [create("a"), create("b"), create("c")];
        fs::write(folder.path().join("b"), b"theirs").unwrap();
        assert!(Output::commit_all(outputs).is_err());
        assert_eq!(names(folder.path()), ["b"]);
        fs::remove_file(folder.path().join("b")).unwrap();
        Output::commit_all([create("a"), create("b")]).unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
        folder.keep();
        assert_eq!(names(&dir.path().join("keys")), ["a", "b"]);
    }

    /// All files of a folder, and the folders in it, are on the disk before it gets its name.
    #[test]
    fn folders_are_whole_before_they_have_a_name() {
        use super::super::temporary::STEPS;
        let dir = tempfile::tempdir().unwrap();
        let folder = NewFolder::create(&dir.path().join("a")).unwrap();
        fs::create_dir(folder.inside().join("sub")).unwrap();
        fs::write(folder.inside().join("one"), b"1").unwrap();
        fs::write(folder.inside().join("sub/two"), b"2").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/no/such/file", folder.inside().join("link")).unwrap();
        STEPS.take();
        folder.commit().unwrap();
        let steps = STEPS.take();
        let count = |step| steps.iter().filter(|&&found| found == step).count();
        assert_eq!((count(Step::SyncFile), count(Step::SyncFolder), count(Step::Name)), (2, 3, 1));
        assert_eq!(steps[steps.len() - 2..], [Step::Name, Step::SyncFolder]);
        assert_eq!(names(&dir.path().join("a")).len(), if cfg!(unix) { 3 } else { 2 });
        assert_eq!(names(dir.path()), ["a"]);
    }
}
