//! The sizes of a model, and the places of its parts in the vector of parameters.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use super::error::Error;
use super::settings::Settings;
use super::vocabulary::Vocabulary;

/// The relation of the input vectors r and the output rows v.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tying {
    /// r and v are separate tables, as in the papers.
    Untied,
    /// r = v. A diagonal between them would change nothing: it merges into the c_j. The affinity of
    /// two words at a distance is then the same in both orders, which costs perplexity.
    Tied,
    /// r = v, and q = Σ_a M_a Σ_j c_{a,j} ∘ v_{w_j} with d × d matrices M_a, which tell the orders apart. One such map
    /// recovers most of the perplexity that tying costs, each further one some more.
    Mapped {
        /// The number of maps, at least 1.
        maps: usize,
    },
}

impl fmt::Display for Tying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untied => f.write_str("untied"),
            Self::Tied => f.write_str("tied"),
            Self::Mapped { maps } => write!(f, "mapped{maps}"),
        }
    }
}

impl FromStr for Tying {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "untied" => Ok(Self::Untied),
            "tied" => Ok(Self::Tied),
            "mapped" => Ok(Self::Mapped { maps: 1 }),
            _ => match name.strip_prefix("mapped").map(str::parse) {
                Some(Ok(maps)) => Ok(Self::Mapped { maps }),
                _ => Err(Error::Setting("the tying is one of: untied, tied, mapped, mapped2, mapped3, …")),
            },
        }
    }
}

/// The sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of words, N.
    pub classes: usize,
    /// The length of a word vector, d.
    pub dimension: usize,
    /// The number of words in a context.
    pub context: usize,
    /// The relation of input and output vectors.
    pub tying: Tying,
}

impl Shape {
    pub fn new(settings: &Settings, vocabulary: &Vocabulary) -> Self {
        Self {
            classes: vocabulary.len(),
            dimension: settings.dimension,
            context: settings.context,
            tying: settings.tying,
        }
    }

    /// Returns the length of the sums over a context: one part of length d for every map.
    pub fn width(&self) -> usize {
        match self.tying {
            Tying::Mapped { maps } => maps * self.dimension,
            Tying::Untied | Tying::Tied => self.dimension,
        }
    }

    pub fn rows(&self) -> Range<usize> {
        0..self.classes * self.dimension
    }

    pub fn bias(&self) -> Range<usize> {
        let start = self.rows().end;
        start..start + self.classes
    }

    pub fn weights(&self) -> Range<usize> {
        let start = self.bias().end;
        start..start + self.context * self.width()
    }

    pub fn input(&self) -> Range<usize> {
        match self.tying {
            Tying::Untied => {
                let start = self.weights().end;
                start..start + self.classes * self.dimension
            }
            Tying::Tied | Tying::Mapped { .. } => self.rows(),
        }
    }

    pub fn map(&self) -> Option<Range<usize>> {
        let start = self.weights().end;
        let end = start + self.dimension * self.width();
        matches!(self.tying, Tying::Mapped { .. }).then_some(start..end)
    }

    /// Returns the number of parameters.
    pub fn parameters(&self) -> usize {
        let end = self.weights().end;
        match self.tying {
            Tying::Untied => self.input().end,
            Tying::Tied => end,
            Tying::Mapped { .. } => end + self.dimension * self.width(),
        }
    }
}
