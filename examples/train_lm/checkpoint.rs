//! Stores a training run in a file, to continue it or to use its model.
//!
//! The file is a safetensors file: the parameters, Adam's moments, the best parameters so far and
//! the words, with the settings and the place in the run as its metadata.

use core::fmt::Display;
use core::str::FromStr;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use zhat::host::input::write_atomically;

use super::adam::Adam;
use super::error::Error;
use super::model::LogBilinear;
use super::settings::{Objective, Settings};
use super::shape::{Shape, Tying};
use super::train::Trainer;
use super::vocabulary::Vocabulary;

const KIND: &str = "zhat log-bilinear 1";

impl Trainer {
    /// Writes the run to `path`, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut tensors = vec![
            ("values", Dtype::F32, bytes(&self.model.values)),
            ("first", Dtype::F32, bytes(&self.adam.first)),
            ("second", Dtype::F32, bytes(&self.adam.second)),
            ("words", Dtype::U8, self.vocabulary.words().join("\n").into_bytes()),
        ];
        let mut metadata = describe(&self.settings);
        put(&mut metadata, "kind", KIND);
        put(&mut metadata, "steps", self.adam.steps);
        put(&mut metadata, "failures", self.failures);
        if let Some((perplexity, values)) = &self.best {
            tensors.push(("best", Dtype::F32, bytes(values)));
            put(&mut metadata, "perplexity", perplexity);
        }
        let views = tensors.iter().map(|(name, kind, data)| {
            let length = data.len() / if *kind == Dtype::F32 { 4 } else { 1 };
            let view = TensorView::new(*kind, vec![length], data).expect("the length fits the data");
            (*name, view)
        });
        let file = serialize(views, Some(metadata)).expect("names differ and lengths fit");
        Ok(write_atomically(path, &file)?)
    }

    /// Reads a run that [`Trainer::save`] wrote.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let file = fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
        parse(&file).map_err(|reason| Error::Checkpoint { path: path.into(), reason })
    }
}

fn parse(file: &[u8]) -> Result<Trainer, String> {
    let (_, header) = SafeTensors::read_metadata(file).map_err(|e| e.to_string())?;
    let metadata = header.metadata().as_ref().ok_or("it has no metadata")?;
    let kind: String = get(metadata, "kind")?;
    if kind != KIND {
        return Err(format!("its kind is {kind:?}, not {KIND:?}"));
    }
    let settings = settings(metadata)?;
    settings.check().map_err(|e| e.to_string())?;
    let tensors = SafeTensors::deserialize(file).map_err(|e| e.to_string())?;
    let tensor = |name: &str| tensors.tensor(name).map_err(|e| e.to_string());
    let words = String::from_utf8(tensor("words")?.data().to_vec()).map_err(|e| e.to_string())?;
    let words = words.split('\n').map(str::to_owned).collect();
    let vocabulary = Vocabulary::from_words(words).map_err(|e| e.to_string())?;
    let shape = Shape::new(&settings, &vocabulary);
    let floats = |name: &str| {
        let view = tensor(name)?;
        if view.dtype() != Dtype::F32 || view.shape() != [shape.parameters()] {
            return Err(format!("{name} does not have the model's parameters"));
        }
        let values = view.data().chunks_exact(4);
        Ok(values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<_>>())
    };
    let best = match metadata.contains_key("perplexity") {
        true => Some((get(metadata, "perplexity")?, floats("best")?)),
        false => None,
    };
    Ok(Trainer {
        settings,
        vocabulary,
        model: LogBilinear { shape, values: floats("values")? },
        adam: Adam { first: floats("first")?, second: floats("second")?, steps: get(metadata, "steps")? },
        failures: get(metadata, "failures")?,
        best,
    })
}

type Metadata = HashMap<String, String>;

fn put(metadata: &mut Metadata, key: &str, value: impl Display) {
    metadata.insert(key.to_owned(), value.to_string());
}

fn get<T: FromStr>(metadata: &Metadata, key: &str) -> Result<T, String> {
    let value = metadata.get(key).ok_or_else(|| format!("{key} is missing"))?;
    value.parse().map_err(|_| format!("{key} is {value:?}"))
}

fn describe(s: &Settings) -> Metadata {
    let mut out = Metadata::new();
    put(&mut out, "dimension", s.dimension);
    put(&mut out, "context", s.context);
    put(&mut out, "tying", s.tying);
    let (name, number) = match s.objective {
        Objective::MaximumLikelihood => ("likelihood", 0.0),
        Objective::SelfNormalised { penalty } => ("penalty", f64::from(penalty)),
        Objective::Contrastive { noise } => ("noise", noise as f64),
    };
    put(&mut out, "objective", name);
    put(&mut out, "objective_value", number);
    put(&mut out, "batch", s.batch);
    put(&mut out, "learning_rate", s.learning_rate);
    put(&mut out, "dropout", s.dropout);
    put(&mut out, "epochs", s.epochs);
    put(&mut out, "validations", s.validations);
    put(&mut out, "patience", s.patience);
    put(&mut out, "seed", s.seed);
    out
}

fn settings(m: &Metadata) -> Result<Settings, String> {
    let number: f64 = get(m, "objective_value")?;
    let objective: String = get(m, "objective")?;
    Ok(Settings {
        dimension: get(m, "dimension")?,
        context: get(m, "context")?,
        tying: get::<Tying>(m, "tying")?,
        objective: match objective.as_str() {
            "likelihood" => Objective::MaximumLikelihood,
            "penalty" => Objective::SelfNormalised { penalty: number as f32 },
            "noise" => Objective::Contrastive { noise: number as usize },
            other => return Err(format!("objective is {other:?}")),
        },
        batch: get(m, "batch")?,
        learning_rate: get(m, "learning_rate")?,
        dropout: get(m, "dropout")?,
        epochs: get(m, "epochs")?,
        validations: get(m, "validations")?,
        patience: get(m, "patience")?,
        seed: get(m, "seed")?,
    })
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}
