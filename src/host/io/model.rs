//! Model files.

use std::io::Read;
use std::path::Path;

use super::error::{Problem, ReadError};
use super::source::with_file;
use crate::model::ModelBuf;

/// Reads and checks a model file.
///
/// ```
/// let file = zhat::host::io::read_model("models/next_word.zhat")?;
/// assert_eq!(file.model().classes(), 8192);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What is wrong with the file, by name.
pub fn read_model(path: impl AsRef<Path>) -> Result<ModelBuf, ReadError> {
    with_file(path.as_ref(), |mut source| {
        let mut bytes = Vec::new();
        source.reader.read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Err(Problem::Empty);
        }
        ModelBuf::from_bytes(&bytes).map_err(Problem::Model)
    })
}
