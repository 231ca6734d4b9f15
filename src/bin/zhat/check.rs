//! `zhat check`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use zhat::Model;
use zhat::host::Matrix;
use zhat::host::input::network::{Agreement, Comparison, Difference, Obstacle, RunOptions, output_layer};
use zhat::host::input::{ReadOptions, expect_labels_in_range, read_labels};

use super::network::NetworkArgs;
use super::output::{percent, print, print_json};
use super::progress::Progress;
use super::{Failure, Outcome, inputs};

/// Disagreements that are shown.
const SHOWN: usize = 5;

/// Compare what a network answers with what a model answers
///
/// Runs the whole network on the inputs, and the model on what the network hands to its output layer. The network's answer
/// is its own output tensor. |Δp| is that between p of the best class of each. Networks that are not run here (.tflite, or
/// operators that the engine lacks) are compared with the arithmetic of their layer, in floats, on --queries.
///
/// Exit status: 0 if they agree, 1 if not (--max-difference) or if something failed.
#[derive(Args)]
#[command(after_help = "Example:
  zhat check net.onnx model.zhat --inputs x.npy --labels y.npy
  zhat check net.tflite model.zhat --queries q.npy")]
pub struct Check {
    /// The network, .onnx or .tflite
    network: PathBuf,
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    inputs: NetworkArgs,
    /// Inputs of the layer, instead of --inputs of the network, which is not run then
    #[arg(long, value_name = "FILE", conflicts_with = "inputs")]
    queries: Option<PathBuf>,
    /// The layer, if it is not the one that the network's output comes from: the name of a node
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// The true class of each query: integers, .npy or .csv
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The most that the two may differ: |Δp| in the mean, and the share of queries with another best class
    #[arg(long, value_name = "DP,SHARE", default_value = "0.02,2%", value_parser = limits)]
    max_difference: Limits,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--max-difference` allows.
#[derive(Clone, Copy, Debug)]
struct Limits {
    difference: f64,
    others: f64,
}

fn limits(text: &str) -> Result<Limits, String> {
    let (difference, others) = text.split_once(',').unwrap_or((text, "2%"));
    let number = |text: &str| {
        let (digits, unit) = text.trim().strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
        digits.trim().parse::<f64>().ok().map(|number| number * unit).filter(|number| (0.0..=1.0).contains(number))
    };
    let wrong = || format!("{text} is not two shares, such as 0.02,2%");
    Ok(Limits { difference: number(difference).ok_or_else(wrong)?, others: number(others).ok_or_else(wrong)? })
}

impl Check {
    pub fn run(&self) -> Outcome {
        if self.inputs.inputs.is_empty() && self.queries.is_none() {
            return Err(Failure::Usage("--inputs of the network are needed, or --queries of its layer".into()));
        }
        let file = inputs::model(&self.model)?;
        let model = file.model();
        let labels = self.labels.as_ref().map(|path| read_labels(path, ReadOptions::default())).transpose()?;
        if let (Some(path), Some(labels)) = (&self.labels, &labels) {
            expect_labels_in_range(path, labels, model.classes())?;
        }
        let labels = labels.as_deref();
        let mut found = match &self.queries {
            Some(path) => self.layer_alone(&model, &inputs::model_queries(path, &self.model, model.dim())?, labels)?,
            None => self.network(&model, labels)?,
        };
        found.left_out = model.left_out().map(String::from);
        if let (Some(path), Some(labels)) = (&self.labels, labels)
            && labels.len() != found.queries
        {
            let message =
                format!("{}: {} labels, but there are {} queries", path.display(), labels.len(), found.queries);
            return Err(Failure::Failed(message));
        }
        match self.json {
            true => print_json(&found)?,
            false => print(&text(&found))?,
        }
        self.verdict(&found)
    }

    /// The network, run on its inputs.
    fn network(&self, model: &Model<'_>, labels: Option<&[usize]>) -> Outcome<Agreement> {
        let files = self.inputs.files();
        let options =
            RunOptions { layer: self.layer.as_deref(), inputs: &files, skip_padding: self.inputs.skip_padding };
        let progress = Progress::new();
        let mut found = Agreement::default();
        let network = NetworkArgs::open(&self.network)?;
        let run = network.answers(&options, &mut |seen| {
            progress.count("comparing", (seen.done * 1000.0) as usize, 1000);
            let added = found.add(model, &seen, labels);
            added.map_err(|error| Obstacle::Inputs(format!("{}: {error}", self.model.display())))
        });
        let found = match run {
            Ok(()) => found,
            // What stands behind the layer may be more than the engine knows: its body can do without that.
            Err(error) if matches!(error.obstacle(), Obstacle::Engine(_)) && found.queries == 0 => {
                let Ok((queries, _)) = network.queries(&options, &mut |_| {}) else { return Err(error.into()) };
                if model.is_partial() {
                    return Err(error.into());
                }
                inputs::expect_dim(&self.network, &queries, &self.model, model.dim())?;
                self.layer_alone(model, &queries, labels)?
            }
            Err(error) => return Err(error.into()),
        };
        progress.finish();
        Ok(found)
    }

    /// The layer in floats.
    fn layer_alone(&self, model: &Model<'_>, queries: &Matrix, labels: Option<&[usize]>) -> Outcome<Agreement> {
        let layer = output_layer(&self.network, self.layer.as_deref())?;
        if layer.weights.cols() != queries.cols() {
            let (rows, cols) = (layer.weights.rows(), layer.weights.cols());
            let message = format!(
                "{}: its layer is {rows}×{cols}, but {} has a dimension of {}",
                self.network.display(),
                self.model.display(),
                queries.cols()
            );
            return Err(Failure::Failed(message));
        }
        let mut found = Agreement::default();
        let added = found.add_layer(model, &layer, queries, labels);
        added.map_err(|error| Failure::Failed(format!("{}: {error}", self.model.display())))?;
        Ok(found)
    }

    /// Fails if the two differ by more than is allowed.
    fn verdict(&self, found: &Agreement) -> Outcome {
        let model = self.model.display();
        if found.left_out.is_some() && found.against == Comparison::Layer {
            let message =
                format!("{model}: is partial: p is a softmax of the layer's scores, not the network's output");
            return Err(Failure::Failed(message));
        }
        let Limits { difference, others } = self.max_difference;
        if found.queries > 0 && found.is_within(difference, others) {
            return Ok(());
        }
        let share = (found.queries - found.same) as f32 / found.queries.max(1) as f32;
        Err(Failure::Failed(format!(
            "{model}: differs from {}: |Δp| is {:.4} in the mean (at most {difference}), another best class for {} (at most {}): \
             --max-difference",
            self.network.display(),
            found.dp_mean,
            percent(share),
            percent(others as f32)
        )))
    }
}

fn text(found: &Agreement) -> String {
    let share = |count: usize| percent(count as f32 / found.queries.max(1) as f32);
    let differ = found.queries - found.same;
    let compared = match found.against {
        Comparison::Network => "the output of the whole network against body and model",
        Comparison::Layer => "the network's layer in floats against the model: the network was not run to its output",
    };
    let mut text = format!("{} queries: {compared}\n", found.queries);
    if let Some(left_out) = &found.left_out {
        let _ = writeln!(
            text,
            "partial       left out behind the layer: {left_out}; p is a softmax of the layer's scores, not the network's output"
        );
    }
    let _ = writeln!(text, "best class    another one for {} ({differ} of {})", share(differ), found.queries);
    let _ = writeln!(text, "|Δp|          {:.4} mean, {:.4} the largest seen", found.dp_mean, found.dp_max);
    let covered = match found.with_interval {
        0 => "–".into(),
        count => percent(found.covered as f32 / count as f32),
    };
    let (familiar, queries) = (found.with_interval, found.queries);
    let _ = writeln!(
        text,
        "coverage      {covered} of the network's p inside the 95 % interval; {familiar} of {queries} have one"
    );
    let (mean, most) = (percent(found.work_mean as f32), percent(found.work_max as f32));
    let _ = writeln!(text, "work          {mean} of all rows mean, {most} the largest seen");
    if let (Some(network), Some(model)) = (found.network_right, found.model_right) {
        let _ = writeln!(text, "accuracy      {} of the network, {} of body and model", share(network), share(model));
    }
    for Difference { query, network_class, network_p, model_class, model_p } in found.differ.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "  query {query}: class {network_class} with p {network_p:.3} by the network, {model_class} with {model_p:.3} \
             by the model"
        );
    }
    text
}
