//! `zhat check`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use zhat::host::import::{Agreement, Difference, Obstacle, RunOptions};
use zhat::host::io::{ReadOptions, expect_labels_in_range, read_labels};

use super::network::NetworkArgs;
use super::output::{percent, print, print_json};
use super::progress::Progress;
use super::{Failure, Outcome, inputs};

/// Disagreements that are shown.
const SHOWN: usize = 5;

/// Compare a network with its body and a model
///
/// Runs the whole network on the inputs, and the model on what the network hands to its output layer. |Δp| is that
/// between p of the best class of each.
#[derive(Args)]
#[command(after_help = "Example:
  zhat check net.onnx model.zhat --inputs x.npy --labels y.npy")]
pub struct Check {
    /// The network, .onnx
    network: PathBuf,
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    inputs: NetworkArgs,
    /// The layer, if it is not the one that the network's output comes from: the name of a node
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// The true class of each query: integers, .npy or .csv
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(&self) -> Outcome {
        if self.inputs.inputs.is_empty() {
            return Err(Failure::Usage("--inputs are needed".into()));
        }
        let file = inputs::model(&self.model)?;
        let model = file.model();
        let labels = self.labels.as_ref().map(|path| read_labels(path, ReadOptions::default())).transpose()?;
        if let (Some(path), Some(labels)) = (&self.labels, &labels) {
            expect_labels_in_range(path, labels, model.classes())?;
        }
        let files = self.inputs.files();
        let options =
            RunOptions { layer: self.layer.as_deref(), inputs: &files, skip_padding: self.inputs.skip_padding };
        let progress = Progress::new();
        let mut found = Agreement::default();
        NetworkArgs::open(&self.network)?.answers(&options, &mut |seen| {
            progress.count("comparing", (seen.done * 1000.0) as usize, 1000);
            let added = found.add(&model, &seen, labels.as_deref());
            added.map_err(|error| Obstacle::Inputs(format!("{}: {error}", self.model.display())))
        })?;
        progress.finish();
        if let (Some(path), Some(labels)) = (&self.labels, &labels)
            && labels.len() != found.queries
        {
            let message =
                format!("{}: {} labels, but there are {} queries", path.display(), labels.len(), found.queries);
            return Err(Failure::Failed(message));
        }
        if self.json {
            return print_json(&found);
        }
        print(&text(&found))
    }
}

fn text(found: &Agreement) -> String {
    let share = |count: usize| percent(count as f32 / found.queries.max(1) as f32);
    let differ = found.queries - found.same;
    let mut text = format!("{} queries: the whole network against body and model\n", found.queries);
    let _ = writeln!(text, "best class    another one for {} ({differ} of {})", share(differ), found.queries);
    let _ = writeln!(text, "|Δp|          {:.4} mean, {:.4} at most", found.dp_mean, found.dp_max);
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
    let _ = writeln!(text, "work          {mean} of all rows mean, {most} at most");
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
