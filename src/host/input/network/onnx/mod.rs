//! ONNX networks: reading the output layer, and cutting it off. Nothing is run here.

mod constant;
mod graph;
mod head;
mod linear;
mod rows;
mod shapes;
mod split;
mod tail;
mod tensor;

use std::path::{Path, PathBuf};

use graph::Graph;
#[cfg(not(feature = "import"))]
use shapes::Shapes;
#[cfg(feature = "import")]
pub(super) use {graph::Input, head::Head, shapes::Shapes, split::Output as ValueOutput};

use super::error::{ImportError, Obstacle};
use super::layer::OutputLayer;

/// An ONNX file in memory.
///
/// ```
/// use zhat::host::input::network::Onnx;
///
/// let network = Onnx::open("models/import/gemm.onnx")?;
/// let layer = network.layer(None)?;
/// println!("{} classes of {} columns", layer.weights.rows(), layer.weights.cols());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Onnx {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Onnx {
    /// Reads a file.
    ///
    /// ```
    /// let network = zhat::host::input::network::Onnx::open("models/import/gemm.onnx")?;
    /// assert!(network.layer(None).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it can't be read, or is not a network.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        let bytes = super::read(path)?;
        Self::from_bytes(path, bytes)
    }

    /// Takes the bytes of a file; `path` is for messages, and its folder for weights that are kept beside it.
    ///
    /// ```
    /// let bytes = std::fs::read("models/import/gemm.onnx")?;
    /// assert!(zhat::host::input::network::Onnx::from_bytes("gemm.onnx", bytes).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are not a network.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Self, ImportError> {
        let onnx = Self { path: path.as_ref().to_owned(), bytes };
        onnx.graph()?;
        Ok(onnx)
    }

    /// Returns the file, as it was named by the caller.
    ///
    /// ```
    /// let network = zhat::host::input::network::Onnx::open("models/import/gemm.onnx")?;
    /// assert!(network.path().ends_with("gemm.onnx"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the output layer: the one that is named, or the one that the outputs come from.
    ///
    /// ```
    /// let network = zhat::host::input::network::Onnx::open("models/import/gemm.onnx")?;
    /// assert!(network.layer(Some("no such layer")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, or several could be meant; if its weights can't be read.
    pub fn layer(&self, name: Option<&str>) -> Result<OutputLayer, ImportError> {
        let graph = self.graph()?;
        let shapes = Shapes::of(&graph);
        let head = self.named(graph.head(&shapes, self.folder(), name))?;
        self.named(graph.output_layer(&head, self.folder()))
    }

    /// Returns the network without its output layer: a file whose output is the layer's query.
    ///
    /// ```
    /// let network = zhat::host::input::network::Onnx::open("models/import/gemm.onnx")?;
    /// let split = network.split(None)?;
    /// std::fs::write(std::env::temp_dir().join("body.onnx"), &split.bytes)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Onnx::layer`].
    pub fn split(&self, name: Option<&str>) -> Result<Split, ImportError> {
        let graph = self.graph()?;
        let shapes = Shapes::of(&graph);
        let head = self.named(graph.head(&shapes, self.folder(), name))?;
        let query = graph.query_output(&shapes, &head);
        let bytes = self.named(self.with_outputs(&graph, &shapes, &[query], false))?;
        if i32::try_from(bytes.len()).is_err() {
            let why = "the body would take more than the 2 GiB that an .onnx file may have".to_owned();
            return self.named(Err(Obstacle::Malformed(why)));
        }
        Ok(Split { bytes, query: head.layer.query.into(), taken: graph.taken(&head) })
    }

    pub(super) fn graph(&self) -> Result<Graph<'_>, ImportError> {
        self.named(Graph::parse(&self.bytes))
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    pub(super) fn named<T>(&self, result: Result<T, Obstacle>) -> Result<T, ImportError> {
        result.map_err(|obstacle| ImportError::new(&self.path, obstacle))
    }
}

/// A network without its output layer.
#[derive(Clone, Debug)]
pub struct Split {
    /// The file.
    pub bytes: Vec<u8>,
    /// Its output: what the layer takes.
    pub query: String,
    /// One line for people: the layer that was cut off.
    pub taken: String,
}
