//! Writes files that are either complete or not there.
//!
//! The content goes to a temporary file beside the destination, is synchronised to the disk, and takes the
//! destination's name in one step. A crash, a full disk or Ctrl-C before that step leaves the old file as it was.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use npyz::WriterBuilder;
use tempfile::NamedTempFile;

use crate::host::Matrix;

/// A file that could not be written, and the reason. An existing file is untouched.
#[derive(Debug)]
pub struct WriteError {
    path: PathBuf,
    why: String,
    source: Option<io::Error>,
}

impl WriteError {
    /// Returns the path of the file, as the caller gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)?;
        match &self.source {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// Writes `bytes` as the file `path`, replacing what is there in one step.
///
/// ```
/// use zhat::host::input::{WriteError, write_atomically};
///
/// let file = std::env::temp_dir().join("zhat-written");
/// write_atomically(&file, b"all or nothing")?;
/// assert_eq!(std::fs::read(&file)?, b"all or nothing");
/// let refused: WriteError = write_atomically("/no/such/folder/file", b"").unwrap_err();
/// println!("{refused}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A [`WriteError`] if the directory is missing or not writable, the disk is full, or `path` is not a regular file.
pub fn write_atomically(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), WriteError> {
    write_atomically_with(path, |writer| writer.write_all(bytes))
}

/// Writes the file `path` with the output of `write`, and replaces an existing file in one step.
///
/// # Errors
/// As [`write_atomically`], and the errors of `write`.
pub fn write_atomically_with(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    let fail = |why: &str, source| WriteError { path: path.to_owned(), why: why.into(), source: Some(source) };
    let (target, mut file) = open(path)?;
    fill(&mut file, write).map_err(|error| fail("cannot be written", error))?;
    file.persist(&target).map_err(|error| fail("cannot be replaced", error.error))?;
    // Synchronises the new name as well. Not every system can do this; the file is whole either way.
    let _ = fs::File::open(directory_of(&target)).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Writes `matrix` as a two-dimensional f32 `.npy` file in C order.
///
/// ```
/// use zhat::host::{Matrix, input};
///
/// let file = std::env::temp_dir().join("zhat-written.npy");
/// let matrix = Matrix::new(vec![1.0, 2.0], 2).expect("a row");
/// input::write_npy(&file, &matrix)?;
/// assert_eq!(input::read_matrix(&file, input::ReadOptions::default())?, matrix);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`write_atomically`].
pub fn write_npy(path: impl AsRef<Path>, matrix: &Matrix) -> Result<(), WriteError> {
    write_atomically_with(path, |writer| {
        let mut npy = npyz::WriteOptions::new()
            .default_dtype()
            .shape(&[matrix.rows() as u64, matrix.cols() as u64])
            .writer(writer)
            .begin_nd()?;
        npy.extend(matrix.data().iter().copied())?;
        npy.finish()
    })
}

/// Checks that a file could be written here, and changes nothing. Call it before a long computation.
///
/// ```
/// assert!(zhat::host::input::expect_writable(std::env::temp_dir().join("zhat-written")).is_ok());
/// assert!(zhat::host::input::expect_writable("/no/such/folder/file").is_err());
/// ```
///
/// # Errors
/// As [`write_atomically`].
pub fn expect_writable(path: impl AsRef<Path>) -> Result<(), WriteError> {
    open(path.as_ref()).map(|_| ())
}

/// Resolves the destination, and creates a temporary file beside it.
fn open(path: &Path) -> Result<(PathBuf, NamedTempFile), WriteError> {
    let fail = |why: String, source| WriteError { path: path.to_owned(), why, source };
    // A link stays a link: the file that it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(fail("is a directory".into(), None)),
        // Renaming onto a device would replace the device.
        Ok(found) if !found.is_file() => return Err(fail("is not a regular file".into(), None)),
        _ => {}
    }
    let directory = directory_of(&target);
    let file = create(directory).map_err(|error| {
        let shown = directory_of(path).display();
        // Not the error's own text, which names the temporary file.
        match error.kind() {
            io::ErrorKind::NotFound => fail(format!("no such directory: {shown}"), None),
            kind => fail(format!("cannot create files in {shown}"), Some(kind.into())),
        }
    })?;
    Ok((target, file))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn create(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".zhat-");
    #[cfg(unix)]
    {
        // With the permissions of any file that the user creates (less the umask), not private as temporary files are.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

fn fill(file: &mut NamedTempFile, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, file.as_file_mut());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.as_file().sync_all()
}
