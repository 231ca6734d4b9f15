//! An opened file: checked to be one, read through a buffer, with its length known.

use std::fs::{self, File};
use std::io::{BufReader, Cursor};
use std::path::Path;

use super::error::{Problem, ReadError};

/// A reader and how many bytes it can give, which bounds every allocation a header asks for.
pub(super) struct Source<R> {
    pub reader: R,
    pub len: u64,
}

impl<'a> Source<Cursor<&'a [u8]>> {
    /// What is in memory already.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { reader: Cursor::new(bytes), len: bytes.len() as u64 }
    }
}

/// Opens `path`, gives it to `read`, and puts its name on what goes wrong.
pub(super) fn with_file<T>(
    path: &Path,
    read: impl FnOnce(Source<BufReader<File>>) -> Result<T, Problem>,
) -> Result<T, ReadError> {
    open(path).and_then(read).map_err(|problem| ReadError::new(path, problem))
}

fn open(path: &Path) -> Result<Source<BufReader<File>>, Problem> {
    // Looked at before opening: on some systems opening a directory fails with an unrelated message.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(Problem::Directory);
    }
    Ok(Source { reader: BufReader::with_capacity(1 << 16, File::open(path)?), len: metadata.len() })
}

/// What a file that is no `expected` one starts like: said instead of "wrong magic" where it is known.
pub(super) fn not_a(expected: &'static str, start: &[u8]) -> Problem {
    const KNOWN: [(&[u8], &str); 8] = [
        (b"PK\x03\x04", "a zip archive, as .npz files are: np.save writes one array as .npy"),
        (b"\x93NUMPY", "a .npy file"),
        (b"\x1f\x8b", "compressed by gzip: unpack it first"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x89ZHAT", "a zhat model file"),
        (b"\x80\x02", "a Python pickle"),
        (b"\x80\x03", "a Python pickle"),
        (b"\x80\x04", "a Python pickle"),
    ];
    match KNOWN.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, what)) => Problem::Malformed(format!("not a {expected} file, but {what}")),
        None => Problem::Magic(expected),
    }
}

/// The extension of `path` in lower case, or nothing.
pub(super) fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}
