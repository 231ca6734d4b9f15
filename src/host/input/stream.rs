//! The common parts of all readers: an open file of known length, streams of floats, the layout of a matrix, numbers in
//! text.

use std::fs;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use half::{bf16, f16};

use super::ReadOptions;
use super::error::{Position, Problem, ReadError, Shape};
use crate::host::Matrix;

/// A reader and the number of bytes it has, which bounds every allocation that a header asks for.
pub(super) struct Source<R> {
    pub reader: R,
    pub len: u64,
}

impl<'a> Source<Cursor<&'a [u8]>> {
    /// Makes a source of bytes in memory.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { reader: Cursor::new(bytes), len: bytes.len() as u64 }
    }
}

/// Opens `path`, passes it to `read`, and adds its name to an error.
pub(super) fn with_file<T>(
    path: &Path,
    read: impl FnOnce(Source<BufReader<File>>) -> Result<T, Problem>,
) -> Result<T, ReadError> {
    open(path).and_then(read).map_err(|problem| ReadError::new(path, problem))
}

fn open(path: &Path) -> Result<Source<BufReader<File>>, Problem> {
    // Checked before opening: on some systems opening a directory fails with an unrelated message.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(Problem::Directory);
    }
    Ok(Source { reader: BufReader::with_capacity(1 << 16, File::open(path)?), len: metadata.len() })
}

/// Recognises other kinds of files by their first bytes, for an error that says more than "wrong magic".
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

/// Returns the extension of `path` in lower case, or nothing.
pub(super) fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

// Streams of floats as files store them, in blocks: reads bytes, converts to f32, and checks each value.
//
// A block is small enough to stay in cache between reading, converting and checking, so that a
// file costs one pass over its bytes and one over the result.

/// The number of values in a block.
const BLOCK: usize = 1 << 13;

/// The type of a stored float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    pub fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The encoding of a stream of floats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoding {
    pub element: Element,
    pub big_endian: bool,
}

/// The values that a use of the numbers accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accept {
    /// Weights and queries.
    Finite,
    /// Biases: −∞ masks a class.
    FiniteOrMasked,
}

impl Accept {
    pub fn accepts(self, value: f32) -> bool {
        value.is_finite() || (self == Self::FiniteOrMasked && value == f32::NEG_INFINITY)
    }
}

/// A value that was not accepted, and its index in the stream.
pub(super) struct Refused {
    pub index: usize,
    pub value: f64,
}

/// The reason why a stream of floats ended early.
pub(super) enum Stop {
    Refused(Refused),
    Problem(Problem),
}

/// Reads `count` values and passes them to `put`, block after block.
pub(super) fn read_floats(
    mut reader: impl Read,
    encoding: Encoding,
    count: usize,
    accept: Accept,
    mut put: impl FnMut(&[f32]),
) -> Result<(), Stop> {
    let size = encoding.element.size();
    let mut bytes = vec![0; size * BLOCK.min(count)];
    let mut values = vec![0.0; BLOCK.min(count)];
    let mut done = 0;
    while done < count {
        let block = BLOCK.min(count - done);
        let (bytes, values) = (&mut bytes[..block * size], &mut values[..block]);
        reader.read_exact(bytes).map_err(|error| {
            Stop::Problem(match error.kind() {
                ErrorKind::UnexpectedEof => Problem::Truncated {
                    expected: format!("{count} values"),
                    found: format!("fewer than {}", done + block),
                },
                _ => error.into(),
            })
        })?;
        decode(bytes, encoding, values);
        if let Some(at) = values.iter().position(|&value| !accept.accepts(value)) {
            return Err(Stop::Refused(Refused {
                index: done + at,
                value: original(&bytes[at * size..][..size], encoding, values[at]),
            }));
        }
        put(values);
        done += block;
    }
    Ok(())
}

/// Converts a block. Each encoding has its own loop, without a branch inside.
fn decode(bytes: &[u8], encoding: Encoding, values: &mut [f32]) {
    fn each<const SIZE: usize>(bytes: &[u8], values: &mut [f32], convert: impl Fn([u8; SIZE]) -> f32) {
        let (chunks, _) = bytes.as_chunks();
        for (value, &chunk) in values.iter_mut().zip(chunks) {
            *value = convert(chunk);
        }
    }
    match (encoding.element, encoding.big_endian) {
        (Element::F16, false) => each(bytes, values, |b| f16::from_le_bytes(b).to_f32()),
        (Element::F16, true) => each(bytes, values, |b| f16::from_be_bytes(b).to_f32()),
        (Element::Bf16, false) => each(bytes, values, |b| bf16::from_le_bytes(b).to_f32()),
        (Element::Bf16, true) => each(bytes, values, |b| bf16::from_be_bytes(b).to_f32()),
        (Element::F32, false) => each(bytes, values, f32::from_le_bytes),
        (Element::F32, true) => each(bytes, values, f32::from_be_bytes),
        (Element::F64, false) => each(bytes, values, |b| f64::from_le_bytes(b) as f32),
        (Element::F64, true) => each(bytes, values, |b| f64::from_be_bytes(b) as f32),
    }
}

/// Returns the value as it is in the file: an f64 may be finite although its f32 is not.
fn original(bytes: &[u8], encoding: Encoding, value: f32) -> f64 {
    match (encoding.element, bytes.try_into()) {
        (Element::F64, Ok(bytes)) if encoding.big_endian => f64::from_be_bytes(bytes),
        (Element::F64, Ok(bytes)) => f64::from_le_bytes(bytes),
        _ => value.into(),
    }
}

// Layout: the values of a stored matrix run along the rows of the result, or down its columns.
//
// A C-order file and a transposed Fortran-order file run along the rows of the result and are appended; the other two
// run down its columns and are scattered into place. Either way there is only one copy of the matrix.

/// A stored matrix: its shape and the order of its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub rows: usize,
    pub cols: usize,
    pub column_major: bool,
}

impl Layout {
    /// Checks `shape` against a file that has `len` bytes left for it.
    pub fn new(shape: &[u64], column_major: bool, encoding: Encoding, len: u64) -> Result<Self, Problem> {
        let &[rows, cols] = shape else {
            return Err(Problem::Shape { found: shape.to_vec(), expected: "two dimensions" });
        };
        expect_bytes(shape, encoding.element.size(), len)?;
        // At most the length of the file, which was checked above, so it fits usize on any host that can hold the
        // result.
        let size = |n| usize::try_from(n).map_err(|_| Problem::Malformed("too large for this machine".into()));
        Ok(Self { rows: size(rows)?, cols: size(cols)?, column_major })
    }

    /// Reads the matrix, or the part of it that `options` selects.
    pub fn read(self, reader: impl Read, encoding: Encoding, options: ReadOptions<'_>) -> Result<Matrix, Problem> {
        let (rows, cols) = match options.transpose {
            false => (self.rows, self.cols),
            true => (self.cols, self.rows),
        };
        let taken = options.take(rows);
        if taken == 0 || cols == 0 {
            return Err(Problem::Empty);
        }
        let mut data;
        let result = if self.column_major == options.transpose {
            data = Vec::with_capacity(taken * cols);
            read_floats(reader, encoding, taken * cols, Accept::Finite, |block| {
                data.extend_from_slice(block);
            })
        } else {
            data = vec![0.0; taken * cols];
            let (mut row, mut col) = (0, 0);
            read_floats(reader, encoding, rows * cols, Accept::Finite, |block| {
                for &value in block {
                    if row < taken {
                        data[row * cols + col] = value;
                    }
                    row += 1;
                    if row == rows {
                        (row, col) = (0, col + 1);
                    }
                }
            })
        };
        result.map_err(|stop| match stop {
            Stop::Problem(problem) => problem,
            Stop::Refused(refused) => Problem::Value { value: refused.value, at: self.position(refused.index) },
        })?;
        Matrix::new(data, cols).ok_or(Problem::Empty)
    }

    /// Returns row and column, as the file counts them, of value `index` of the stream.
    fn position(self, index: usize) -> Position {
        let (row, column) = match self.column_major {
            false => (index / self.cols, index % self.cols),
            true => (index % self.rows, index / self.rows),
        };
        Position::Cell { row: row as u64, column: column as u64 }
    }
}

/// Checks that `len` bytes are enough for `shape`, before anything of that size is allocated.
pub(super) fn expect_bytes(shape: &[u64], element_size: usize, len: u64) -> Result<(), Problem> {
    let needed = shape.iter().try_fold(element_size as u64, |bytes, &n| bytes.checked_mul(n));
    match needed {
        _ if shape.contains(&0) => Err(Problem::Empty),
        Some(needed) if needed <= len => Ok(()),
        _ => Err(Problem::Truncated {
            expected: format!("{} values of {element_size} bytes", Shape(shape)),
            found: format!("{len} bytes"),
        }),
    }
}

// A number in a text file.

/// The place of a number: its line for editors, its position for programs.
pub(super) struct Place {
    pub line: u64,
    pub at: Position,
}

/// Parses `text` as an accepted f32.
pub(super) fn parse(text: &str, accept: Accept, place: impl FnOnce() -> Place) -> Result<f32, Problem> {
    match text.parse::<f32>() {
        Ok(value) if accept.accepts(value) => Ok(value),
        // "1e300" is infinite as f32; the message shows the text's own value.
        Ok(value) => Err(Problem::Value { value: text.parse().unwrap_or(value.into()), at: place().at }),
        Err(_) => Err(not_a_number(text, place().line, "a number")),
    }
}

/// Makes the error for `text` that is not a number; shortens a long text.
pub(super) fn not_a_number(text: &str, line: u64, expected: &'static str) -> Problem {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    Problem::Number { line, text: short, expected }
}
