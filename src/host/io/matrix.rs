//! Matrices from any of the formats, chosen by the file's extension.

use std::io::{BufRead, Seek};
use std::path::Path;

use super::error::{Problem, ReadError};
use super::source::{Source, extension, with_file};
use super::{ReadOptions, delimited, npy::Npy, safetensors, wink, word_text, word2vec};
use crate::host::Matrix;

/// What is said of NumPy's archives.
pub(super) const ARCHIVE: Problem = Problem::Option("is an archive of arrays: np.save writes one as .npy");
/// What is said of a tensor that is named where there are no names.
pub(super) const NO_TENSORS: Problem = Problem::Option("only a .safetensors file has tensors to name");

/// A matrix, and names of its rows where the file has them.
///
/// ```
/// # let file = std::env::temp_dir().join("zhat-named-matrix.vec");
/// # std::fs::write(&file, "2 3\nthe 1 0 0\nof 0 1 0\n")?;
/// use zhat::host::io::{ReadOptions, read_named_matrix};
///
/// let vectors = read_named_matrix(&file, ReadOptions::default())?;
/// assert_eq!(vectors.names.as_deref(), Some(&["the".to_string(), "of".to_string()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMatrix {
    /// The values.
    pub matrix: Matrix,
    /// A name per row: the words of a word-vector file.
    pub names: Option<Vec<String>>,
}

/// Reads a matrix of finite values. The [module](super) lists the formats.
///
/// ```
/// use zhat::host::io::{ReadOptions, read_matrix};
///
/// let weights = read_matrix("models/import/weights.npy", ReadOptions::default())?;
/// println!("{} × {}", weights.rows(), weights.cols());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Whatever is wrong with the file: it holds another type or shape, is truncated or empty, has a
/// value that is not a finite f32.
pub fn read_matrix(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Matrix, ReadError> {
    read_named_matrix(path, options).map(|named| named.matrix)
}

/// Reads a matrix as [`read_matrix`] does, with the names of its rows if the file has them.
///
/// ```
/// use zhat::host::io::{ReadOptions, read_named_matrix};
///
/// let found = read_named_matrix("models/import/weights.npy", ReadOptions::default())?;
/// assert!(found.names.is_none()); // an array of numbers has none
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`].
pub fn read_named_matrix(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<NamedMatrix, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| read_as(&extension(path), source, options))
}

/// Reads what a file of this extension holds.
pub(super) fn read_as<R: BufRead + Seek>(
    extension: &str,
    source: Source<R>,
    options: ReadOptions<'_>,
) -> Result<NamedMatrix, Problem> {
    let unnamed = |matrix| NamedMatrix { matrix, names: None };
    match extension {
        "npy" | "csv" | "txt" | "vec" | "bin" | "json" if options.tensor.is_some() => Err(NO_TENSORS),
        "npy" => Npy::open(source)?.read_matrix(options).map(unnamed),
        "safetensors" => safetensors::read_matrix(source, options).map(unnamed),
        "csv" => delimited::read_matrix(source, options).map(unnamed),
        "txt" | "vec" | "bin" | "json" if options.transpose => {
            Err(Problem::Option("word vectors cannot be transposed: a row is a word"))
        }
        "txt" | "vec" => word_text::read(source, options),
        "bin" => word2vec::read(source, options),
        "json" => wink::read(source, options),
        "npz" => Err(ARCHIVE),
        _ => Err(Problem::Extension(".npy, .safetensors, .csv, or word vectors as .txt, .vec, .bin or .json")),
    }
}

/// Reads queries: a matrix as [`read_matrix`] does, or one query as a `.npy` of one dimension.
///
/// ```
/// use zhat::host::io::{ReadOptions, read_queries};
///
/// let queries = read_queries("models/import/weights.npy", ReadOptions::default())?;
/// assert!(queries.rows() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`].
pub fn read_queries(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Matrix, ReadError> {
    let path = path.as_ref();
    let result = read_matrix(path, options);
    match &result {
        Err(error) if matches!(error.problem(), Problem::Shape { found, .. } if found.len() == 1) => {
            let query = super::read_vector(path, options)?;
            let cols = query.len();
            Matrix::new(query, cols).ok_or_else(|| ReadError::new(path, Problem::Empty))
        }
        _ => result,
    }
}

/// Reads a matrix that came without a name of its own, as from standard input: `.npy` if it starts as one, else CSV.
/// `name` stands for the file in messages.
///
/// ```
/// let bytes = std::fs::read("models/import/weights.npy")?;
/// let weights = zhat::host::io::read_matrix_bytes("weights.npy", &bytes)?;
/// assert!(weights.rows() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`].
pub fn read_matrix_bytes(name: &str, bytes: &[u8]) -> Result<Matrix, ReadError> {
    let source = Source::of(bytes);
    let options = ReadOptions::default();
    let matrix = match bytes.starts_with(b"\x93NUMPY") {
        true => Npy::open(source).and_then(|npy| npy.read_matrix(options)),
        false => delimited::read_matrix(source, options),
    };
    matrix.map_err(|problem| ReadError::new(Path::new(name), problem))
}
