//! Trains a log-bilinear language model: turns text into an output layer with real queries, which `zhat build` takes.
//!
//! ```console
//! $ cargo run --release --features cli --example train_lm -- train.txt --valid valid.txt -o lm
//! ```
//!
//! [`read_text`] gives a [`Vocabulary`] and [`Tokens`]; a [`Trainer`] trains a [`LogBilinear`] model on them with one
//! of three [`Objective`]s; [`evaluate()`] measures its exact perplexity. Its rows, bias and [`LogBilinear::queries`]
//! are the test data of estimators of Z.

mod adam;
mod alias;
mod batch;
mod checkpoint;
#[path = "../support/command.rs"]
mod command;
mod contrast;
mod dense;
mod error;
mod evaluate;
mod export;
mod model;
mod random;
mod sample;
mod settings;
mod shape;
mod softmax;
mod step;
mod summary;
#[cfg(test)]
mod tests;
mod text;
mod train;
#[path = "../support/trained.rs"]
mod trained;
mod vocabulary;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, ValueEnum};
use zhat::host::input::{expect_writable, write_atomically, write_npy};

use command::{Failure, Outcome, Progress, expect_apart, given, name};
use error::Error;
use evaluate::evaluate;
use export::write_array;
use model::LogBilinear;
use settings::{Objective, Settings};
use shape::Tying;
use summary::summary;
use text::{Tokens, read_text};
use train::{Outcome as Ended, Stage, Trainer};
use trained::Summary;
use vocabulary::Vocabulary;

/// The command line before the arguments.
const PROGRAM: &str = "cargo run --release --features cli --example train_lm --";

/// The options that a resumed run takes from its checkpoint.
const SETTINGS: [&str; 12] = [
    "method",
    "noise",
    "alpha",
    "size",
    "dimension",
    "context",
    "tying",
    "epochs",
    "batch",
    "learning_rate",
    "dropout",
    "seed",
];

/// The files that a run may write to its folder.
const WRITTEN: [&str; 15] = [
    "run.safetensors",
    "rows.npy",
    "bias.npy",
    "context.npy",
    "input.npy",
    "map.npy",
    "context.bin",
    "words.txt",
    "report.json",
    "calibration.npy",
    "calibration_contexts.npy",
    "calibration_labels.npy",
    "queries.npy",
    "queries_contexts.npy",
    "queries_labels.npy",
];

/// Train a log-bilinear language model on text.
///
/// A text is one sentence a line, words between white space. Arrays (rows.npy, bias.npy, …), words.txt and report.json
/// go to the folder of --output, and the run itself to run.safetensors in it, at every validation and on Ctrl-C;
/// --resume continues from there. The same text and seed give the same model. MATMUL_NUM_THREADS=1 in the environment is
/// a tenth faster: the work is already cut for all cores.
#[derive(Parser)]
#[command(
    name = "train_lm",
    after_help = "Example:
  train_lm train.txt --valid valid.txt --test test.txt --method nce --size 8192 --dimension 100 -o lm
  train_lm train.txt --valid valid.txt --resume lm/run.safetensors -o lm"
)]
struct Train {
    /// The text to train on
    text: PathBuf,
    /// The text for validation
    #[arg(long, value_name = "FILE")]
    valid: PathBuf,
    /// The text for the report
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// The folder for the model
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Continue a run; its settings and words stay as they were
    #[arg(long, value_name = "FILE", conflicts_with_all = SETTINGS)]
    resume: Option<PathBuf>,
    /// The objective
    #[arg(long, value_enum, default_value_t = Method::Mle)]
    method: Method,
    /// The number of noise words of a step, for nce
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    noise: usize,
    /// α of α·(ln Z)², for penalty
    #[arg(long, value_name = "NUMBER", default_value_t = 0.1)]
    alpha: f32,
    /// The number of entries of the vocabulary, <unk> and </s> included; all words of the text if absent
    #[arg(long, value_name = "COUNT")]
    size: Option<usize>,
    /// d, the length of a word's vector
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    dimension: usize,
    /// The number of words of a context
    #[arg(long, value_name = "COUNT", default_value_t = 9)]
    context: usize,
    /// The relation of input and output vectors: untied, tied, mapped, mapped2, …
    #[arg(long, default_value = "untied", value_parser = tying)]
    tying: Tying,
    /// The most passes over the text
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    epochs: u32,
    /// The number of contexts of a step
    #[arg(long, value_name = "COUNT", default_value_t = 512)]
    batch: usize,
    /// Adam's learning rate at d = 64
    #[arg(long, value_name = "NUMBER", default_value_t = 8e-3)]
    learning_rate: f32,
    /// The share of a query's elements that are dropped in training
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    dropout: f32,
    /// The seed of everything that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also write calibration.npy: queries of this many training contexts, evenly taken
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    calibration: usize,
    /// Also write queries.npy: queries of this many test contexts, evenly taken
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "test")]
    queries: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// Maximum likelihood
    Mle,
    /// Noise-contrastive estimation, with Z clamped to 1
    Nce,
    /// Maximum likelihood and a penalty that keeps Z near 1
    Penalty,
}

fn tying(text: &str) -> Result<Tying, String> {
    text.parse().map_err(|error: Error| error.to_string())
}

fn main() -> ExitCode {
    let arguments = Train::parse();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // Without a handler an interrupt ends the program as well, but loses the run since the last validation.
    let _ = ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed));
    command::finish("train_lm", arguments.run(&stop, &Progress::new()))
}

impl Train {
    /// Trains until the end or until `stop`.
    fn run(&self, stop: &AtomicBool, progress: &Progress) -> Outcome {
        let written: Vec<PathBuf> = WRITTEN.iter().map(|name| self.output.join(name)).collect();
        let texts = [Some(("the text", self.text.as_path())), Some(("--valid", self.valid.as_path()))];
        let texts = texts.into_iter().chain([given("--test", &self.test)]).flatten();
        expect_apart(written.iter().map(|path| ("--output", path.as_path())), texts)?;
        progress.stage("reading");
        let text = read_text(&self.text)?;
        let resumed = self.resume.as_deref().map(Trainer::load).transpose()?;
        let vocabulary = match &resumed {
            Some(run) => run.vocabulary().clone(),
            None => Vocabulary::from_text(&text, self.size)?,
        };
        let tokens = |path: &Path| Ok::<_, Failure>(Tokens::new(&read_text(path)?, &vocabulary)?);
        let train = Tokens::new(&text, &vocabulary)?;
        let valid = tokens(&self.valid)?;
        let test = self.test.as_deref().map(tokens).transpose()?;
        let mut trainer = match resumed {
            Some(run) => run,
            None => Trainer::new(self.settings(), vocabulary.clone(), &train)?,
        };
        std::fs::create_dir_all(&self.output).map_err(|error| {
            Failure::Failed(format!("{}: cannot be made a directory: {error}", self.output.display()))
        })?;
        let checkpoint = self.output.join("run.safetensors");
        expect_writable(&checkpoint)?;
        let mut unsaved = None;
        let ended = trainer.run(&train, &valid, stop, &mut |run, p| {
            let what = format!("perplexity {:.1}", p.perplexity);
            progress.count("training", p.step as usize, p.steps as usize);
            progress.message(&what);
            if p.stage == Stage::Validated {
                unsaved = run.save(&checkpoint).err();
                progress.line(&format!("step {} of {}: validation {what}", p.step, p.steps));
            }
        })?;
        if let Some(error) = unsaved {
            return Err(error.into());
        }
        trainer.save(&checkpoint)?;
        if ended == Ended::Stopped {
            progress.finish();
            let path = checkpoint.display();
            return Err(Failure::Failed(format!("interrupted: the run is in {path}, --resume {path} goes on")));
        }
        progress.stage("writing");
        let model = trainer.best();
        model.export(&vocabulary, &self.output)?;
        self.sample(&model, &train, self.calibration, "calibration")?;
        let found = match &test {
            Some(test) => {
                self.sample(&model, test, self.queries, "queries")?;
                Some(evaluate(&model, test)?)
            }
            None => None,
        };
        let text = (&name(&self.text)[..], train.ids().len());
        let summary = summary(&trainer, &self.typed(), text, evaluate(&model, &valid)?, found);
        let report = serde_json::to_string_pretty(&summary)? + "\n";
        write_atomically(self.output.join("report.json"), report.as_bytes())?;
        progress.print(&self.text(&summary))
    }

    /// Returns the command line that repeats the run, without folders, which are the user's own.
    fn typed(&self) -> String {
        let mut command = format!("{PROGRAM} {} --valid {}", name(&self.text), name(&self.valid));
        if let Some(test) = &self.test {
            let _ = write!(command, " --test {}", name(test));
        }
        if let Some(run) = &self.resume {
            let _ = write!(command, " --resume {}", name(run));
        }
        let method = match self.method {
            Method::Mle => "mle".into(),
            Method::Nce => format!("nce --noise {}", self.noise),
            Method::Penalty => format!("penalty --alpha {}", self.alpha),
        };
        let size = self.size.map_or(String::new(), |size| format!(" --size {size}"));
        let Self { dimension, context, tying, epochs, batch, learning_rate, dropout, seed, .. } = self;
        if self.resume.is_none() {
            let _ = write!(
                command,
                " --method {method}{size} --dimension {dimension} --context {context} --tying {tying} --epochs {epochs} \
                 --batch {batch} --learning-rate {learning_rate} --dropout {dropout} --seed {seed}"
            );
        }
        let (calibration, queries) = (self.calibration, self.queries);
        command + &format!(" --calibration {calibration} --queries {queries} -o {}", name(&self.output))
    }

    fn settings(&self) -> Settings {
        Settings {
            dimension: self.dimension,
            context: self.context,
            tying: self.tying,
            objective: match self.method {
                Method::Mle => Objective::MaximumLikelihood,
                Method::Nce => Objective::Contrastive { noise: self.noise },
                Method::Penalty => Objective::SelfNormalised { penalty: self.alpha },
            },
            batch: self.batch,
            learning_rate: self.learning_rate,
            dropout: self.dropout,
            epochs: self.epochs,
            seed: self.seed,
            ..Settings::default()
        }
    }

    /// Writes queries of a text with their contexts and next words.
    fn sample(&self, model: &LogBilinear, tokens: &Tokens, count: usize, name: &str) -> Outcome {
        if count == 0 {
            return Ok(());
        }
        let sample = model.sample(tokens, count)?;
        let at = |suffix: &str| self.output.join(format!("{name}{suffix}.npy"));
        write_npy(at(""), &sample.queries)?;
        write_array(&at("_contexts"), &sample.contexts, &[sample.labels.len(), model.shape().context])?;
        write_array(&at("_labels"), &sample.labels, &[sample.labels.len()])?;
        Ok(())
    }

    fn text(&self, summary: &Summary) -> String {
        let mut text =
            format!("{}: {} words, {} dimensions\n", self.output.display(), summary.words, summary.dimension);
        let _ = writeln!(text, "{summary}");
        text
    }
}
