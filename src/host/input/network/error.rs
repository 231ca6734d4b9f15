//! Why a network can't be used: the file, and what is wrong with it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::protobuf::Broken;
use crate::host::input::ReadError;

/// A network that can't be used, and why. Displays as `net.onnx: ` and the [`Obstacle`].
///
/// ```
/// let error = zhat::host::input::network::Onnx::open("no such file.onnx").unwrap_err();
/// assert!(error.path().ends_with("no such file.onnx"));
/// println!("{error}");
/// ```
#[derive(Debug)]
pub struct ImportError {
    path: PathBuf,
    obstacle: Box<Obstacle>,
}

impl ImportError {
    pub(super) fn new(path: &Path, obstacle: Obstacle) -> Self {
        Self { path: path.to_owned(), obstacle: Box::new(obstacle) }
    }

    /// Returns the file, as it was named by the caller.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is wrong.
    pub fn obstacle(&self) -> &Obstacle {
        &self.obstacle
    }
}

/// Why it can't be used.
///
/// ```
/// use zhat::host::input::network::{Obstacle, Onnx};
///
/// let error = Onnx::from_bytes("net.onnx", b"something else".to_vec()).unwrap_err();
/// assert!(!matches!(error.obstacle(), Obstacle::Io(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// The system refused: no such file, no permission, a failing disk.
    Io(io::Error),
    /// An unknown extension; the text says what to do instead.
    Kind(&'static str),
    /// The file is not what its extension says, or broken in the way the text says.
    Malformed(String),
    /// Weights in another file that can't be read: the text says why.
    External {
        /// The tensor.
        tensor: String,
        /// The file that should hold it.
        file: String,
        /// What is wrong with that file.
        why: String,
    },
    /// What an output comes from is not a linear layer.
    NotLinear {
        /// The node at which the way back from the output ends.
        node: String,
        /// Why it is not one.
        why: String,
        /// Layers that could be meant.
        candidates: Vec<String>,
    },
    /// The output layer is an operator that can't be read.
    Unread {
        /// The operator, and the output that comes from it.
        node: String,
        /// Why it can't be read.
        why: String,
    },
    /// What stands behind the layer makes something other than a softmax of its scores.
    Behind {
        /// The node that does it, or the output.
        node: String,
        /// What it does.
        why: String,
        /// The name of the layer, for `--layer`.
        layer: String,
    },
    /// Several layers could be meant.
    Unclear {
        /// What they are.
        candidates: Vec<String>,
    },
    /// There is no node of that name.
    NoSuchLayer {
        /// The name.
        name: String,
        /// The layers there are.
        candidates: Vec<String>,
    },
    /// Inputs that the network does not take; the text says what it takes.
    Inputs(String),
    /// The engine can't run the network; the text is its own.
    Engine(String),
    /// A file of inputs.
    File(Box<ReadError>),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.obstacle {
            Obstacle::File(error) => error.fmt(f),
            obstacle => write!(f, "{}: {obstacle}", self.path.display()),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => f.write_str("no such file"),
            Self::Io(error) if error.kind() == io::ErrorKind::IsADirectory => f.write_str("is a directory"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Kind(text) => f.write_str(text),
            Self::Malformed(text) | Self::Inputs(text) => f.write_str(text),
            Self::External { tensor, file, why } => {
                write!(f, "the tensor \"{tensor}\" is kept in {file}: {why}")
            }
            Self::NotLinear { node, why, candidates } => {
                write!(f, "{node} {why}; {}", listed(candidates))
            }
            Self::Unread { node, why } => write!(
                f,
                "{node} {why}: its weights can't be taken from here. Save them as an array, N×d, and build with --weights, --bias \
                 and --queries"
            ),
            Self::Behind { node, why, layer } => write!(
                f,
                "{node} {why}; p would not be what the network answers. Let the network end in a softmax of the layer's scores, \
                 or take the scores all the same with --layer {layer}, which marks the model as partial"
            ),
            Self::Unclear { candidates } => {
                write!(f, "several layers could be meant; {}", listed(candidates))
            }
            Self::NoSuchLayer { name, candidates } => write!(f, "has no layer \"{name}\"; {}", listed(candidates)),
            Self::Engine(text) => {
                write!(f, "can't be run here: {text}; the layer's inputs from another engine can be given as --queries")
            }
            Self::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.obstacle {
            Obstacle::Io(error) => Some(error),
            Obstacle::File(error) => Some(&**error),
            _ => None,
        }
    }
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ReadError> for Obstacle {
    fn from(error: ReadError) -> Self {
        Self::File(Box::new(error))
    }
}

impl From<Broken> for Obstacle {
    fn from(_: Broken) -> Self {
        Self::Malformed("not an ONNX file, or a broken one".into())
    }
}

/// Lists candidates line by line, the last ones of many: the output layer is near the end.
fn listed(candidates: &[String]) -> String {
    const SHOWN: usize = 8;
    let skipped = candidates.len().saturating_sub(SHOWN);
    let mut text = match candidates.len() {
        0 => "there is no linear layer with constant weights in it".to_owned(),
        n if skipped > 0 => format!("--layer NAME takes another one, of which the last {SHOWN} of {n} are"),
        _ => "--layer NAME takes one of these:".to_owned(),
    };
    for candidate in &candidates[skipped..] {
        text += &format!("\n  {candidate}");
    }
    text
}
