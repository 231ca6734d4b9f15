//! Checks the files that options name: a command never writes a file that it reads.

use std::fs;
use std::path::Path;

use super::{Failure, Outcome};

/// An option, or the command's name for an argument, and the file.
pub type File<'a> = (&'static str, &'a Path);

/// Returns the file of an option that may be absent.
pub fn given<'a>(option: &'static str, path: &'a Option<impl AsRef<Path>>) -> Option<File<'a>> {
    path.as_ref().map(|path| (option, path.as_ref()))
}

/// Refuses, before any work, to write a file that is read.
pub fn expect_apart<'a>(
    outputs: impl IntoIterator<Item = File<'a>>,
    inputs: impl IntoIterator<Item = File<'a>, IntoIter: Clone>,
) -> Outcome {
    let inputs = inputs.into_iter();
    for (option, output) in outputs {
        if let Some((other, input)) = inputs.clone().find(|(_, input)| is_same(output, input)) {
            let (output, input) = (output.display(), input.display());
            return Err(Failure::Usage(format!("{option} {output} would overwrite {other} {input}")));
        }
    }
    Ok(())
}

/// Returns true if two paths lead to the same file, through links of either kind. A path that leads nowhere is no file
/// yet.
fn is_same(a: &Path, b: &Path) -> bool {
    let same_path = matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    same_path || is_same_node(a, b)
}

#[cfg(unix)]
fn is_same_node(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let node = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((node(a), node(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(not(unix))]
fn is_same_node(_: &Path, _: &Path) -> bool {
    false
}
