//! `zhat build`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use zhat::Budget;
use zhat::host::Matrix;
use zhat::host::build::{Chosen, Correction, NoIndex, Plan, Targets, TrialResult};
use zhat::host::evaluate::{FloatLayer, ModelSummary, Report, mean_p};
use zhat::host::input::network::{InputScale, as_partial, with_input_scale};
use zhat::host::input::{ReadOptions, expect_same_length, expect_writable, read_names, read_queries, write_npy};
use zhat::host::label::{KnownFigures, MapFigures, SetFigures, TriedScore};
use zhat::host::make::{Knobs, Made, Request, Step, make};
use zhat::host::report::describe::{Description, Needs, SectionSize, sections};
use zhat::host::report::{cost, warnings};
use zhat::model::Bits;

use super::args;
use super::files::{File, expect_apart, given};
use super::inputs::{self, Layer, LayerArgs};
use super::network::NetworkArgs;
use super::output::{self, Table, WHAT_FOR, bytes, count, maybe, percent, print, print_json};
use super::progress::{Progress, on_interrupt, write};
use super::{Failure, Outcome};

/// Make a model file from a weight matrix
///
/// Quantises the rows, builds an index over them, and chooses its settings by what they reach on the queries. The last
/// fifth of the queries is put aside to report on, unless --test-queries are given. The same input and seed give the
/// same file.
#[derive(Args)]
#[command(after_help = "Example:
  zhat build --weights W.npy --bias b.npy --queries Q.npy --work 4% --cap 16% -o model.zhat
  zhat build --model net.onnx --inputs x.npy --work 4% -o model.zhat
  zhat build --weights model.safetensors --tensor lm_head.weight --queries Q.npy --max-error 2% -o model.zhat")]
pub struct Build {
    #[command(flatten)]
    layer: LayerArgs,
    /// Inputs of the layer as they occur, M×d: what the index is tuned to. Without them it still works, but less well
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
    /// Other queries to report on, instead of the last fifth of --queries
    #[arg(long, value_name = "FILE")]
    test_queries: Option<PathBuf>,
    /// The true class of each query: integers, .npy or .csv
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Other queries that --labels are of, instead of --queries: nothing is tuned on them
    #[arg(long, value_name = "FILE", requires = "labels")]
    labelled_queries: Option<PathBuf>,
    /// The true class of each of --test-queries
    #[arg(long, value_name = "FILE", requires = "test_queries")]
    test_labels: Option<PathBuf>,
    /// Store what makes sets of classes that hold the true one for these shares of the inputs: 90%,95%, for example. For that a
    /// fifth of the labels is put aside
    #[arg(long, value_name = "SHARES", requires = "labels", value_delimiter = ',', value_parser = args::level)]
    sets: Vec<f32>,
    /// Divide scores by the temperature at which --labels are most probable
    #[arg(long, requires = "labels")]
    fit_temperature: bool,
    /// Fit the temperature to --labels and, if labels held out say that it is better, a bias or a factor of each class
    #[arg(long, requires = "labels", conflicts_with = "fit_temperature")]
    fit_map: bool,
    /// Other shares of the classes than in training: 2×N, those of training and those of the deployment, or N, those of the
    /// deployment, where the others are the mean p of the layer over --queries
    #[arg(long, value_name = "FILE", conflicts_with = "sets")]
    priors: Option<PathBuf>,
    /// Write the layer as the model has it, weights.npy and bias.npy in this folder: with --fit-map or --priors it is what
    /// `zhat eval` needs
    #[arg(long, value_name = "FOLDER")]
    write_layer: Option<PathBuf>,
    /// A name for each class, one per line: stored in the model file
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// What a step of the int8 activations of a quantised network is worth: stored in the model file with --input-zero-point, for
    /// `Model::input_scale` on the device. Known of a network that is quantised itself
    #[arg(long, value_name = "SCALE", value_parser = args::scale)]
    input_scale: Option<f32>,
    /// The int8 activation that stands for zero, -128 to 127. For uint8 activations give theirs less 128
    #[arg(long, value_name = "NUMBER", requires = "input_scale", default_value = "0", allow_hyphen_values = true)]
    input_zero_point: i8,
    /// The model file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Mean work to aim for: dot products per query, as a share of N
    #[arg(long, value_name = "SHARE", default_value = "4%", value_parser = args::share)]
    work: f32,
    /// Hard cap on the work of any query; four times the work by default
    #[arg(long, value_name = "SHARE", value_parser = args::share)]
    cap: Option<f32>,
    /// Mean instructions of a Cortex-M4 to aim for, instead of --work: 50k, for example. An estimate, within 8 % on the layers that
    /// it was fitted to
    #[arg(long, value_name = "COUNT", value_parser = args::instructions, conflicts_with_all = ["work", "max_error"])]
    instructions: Option<u64>,
    /// The most time that any query may take, instead of --cap: 1ms, for example. Counted in cycles of a Cortex-M4 without wait
    /// states, which slow flash adds
    #[arg(long, value_name = "TIME", value_parser = args::duration, requires = "clock", conflicts_with = "cap")]
    deadline: Option<f64>,
    /// The clock of --deadline: 64MHz, for example
    #[arg(long, value_name = "FREQUENCY", value_parser = args::frequency, requires = "deadline")]
    clock: Option<f64>,
    /// The least work whose mean error of Z is at most this, instead of --work
    #[arg(long, value_name = "SHARE", value_parser = args::positive, conflicts_with = "work")]
    max_error: Option<f32>,
    /// Store the row of each class as well: for language::Context, and for the p of any class, which otherwise look through
    /// all rows. Two bytes a class
    #[arg(long)]
    lookup: bool,
    /// The most that the model file may take: 1MiB, 512K, or bytes
    #[arg(long, value_name = "SIZE", value_parser = args::size)]
    flash: Option<usize>,
    /// Bits of a weight: 8, or 4 for a file of about half the size whose probabilities are off by more, and which a device
    /// reads with the feature `rows4`
    #[arg(long, value_name = "BITS", default_value = "8", value_parser = args::bits)]
    bits: Bits,
    /// The most of the queries to come that may be taken for none of the classes: sets the threshold of the energy and, with
    /// --ood-queries, that of `Prediction::is_known`
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = args::share)]
    reject: f32,
    /// Inputs of the layer that are none of the classes, as they occur: stores what tells them, for `Prediction::is_known`. 40 or
    /// more, in any order in which neighbours are alike, by speaker for example; a quarter is reported on
    #[arg(long, value_name = "FILE")]
    ood_queries: Option<PathBuf>,
    /// Seed of everything that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How far the clusters follow the queries, 0 to 1; chosen by default
    #[arg(long, value_name = "SHARE", help_heading = "Knobs")]
    blend: Option<f32>,
    /// Children of a node; chosen by default
    #[arg(long, value_name = "COUNT", help_heading = "Knobs", value_parser = clap::value_parser!(u32).range(2..=1024))]
    branching: Option<u32>,
    /// Most rows of a leaf; chosen by default
    #[arg(long, value_name = "COUNT", help_heading = "Knobs", value_parser = clap::value_parser!(u32).range(1..=65536))]
    leaf: Option<u32>,
    /// Links of a row; 8 by default
    #[arg(long, value_name = "COUNT", help_heading = "Knobs", value_parser = clap::value_parser!(u32).range(0..=64))]
    links: Option<u32>,
    /// Rows that have links, those that queries reach most often, as a share of N; chosen by default
    #[arg(long, value_name = "SHARE", help_heading = "Knobs", value_parser = args::share)]
    linked: Option<f32>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    file: &'a Path,
    seconds: f32,
    /// What was taken of a network.
    layer: Option<&'a str>,
    model: &'a ModelSummary,
    /// The shape of the index; `null` where all rows are scored.
    plan: Option<&'a Plan>,
    temperature: f32,
    /// Which map from scores to probabilities was fitted; `null` without `--fit-map`.
    map: Option<&'a MapFigures>,
    /// What the tuning showed; `null` where all rows are scored.
    expected: Option<&'a TrialResult>,
    /// What queries that nothing was tuned on showed; `null` without.
    report: Option<&'a Report>,
    /// How sets of classes did on labels that nothing was made from.
    sets: &'a [SetFigures],
    /// How well inputs that are none of the classes are told; `null` without examples of them.
    known: Option<&'a KnownFigures>,
    sections: &'a [SectionSize],
    needs: &'a Needs,
    warnings: &'a [String],
}

/// What limits the work of a query, as it is asked for.
pub struct Limits {
    /// Mean work, as a share of all rows.
    pub work: f32,
    /// The most work of any query.
    pub cap: Option<f32>,
    /// Mean instructions, in the place of the work.
    pub instructions: Option<u64>,
    /// The most cycles of any query, in the place of the cap.
    pub deadline: Option<u64>,
    /// Whether the work is chosen by an error.
    pub has_max_error: bool,
    /// Bits of a weight.
    pub bits: Bits,
}

impl Limits {
    /// Makes the model; with a deadline, with a smaller cap as long as the tree that was chosen does not keep it.
    pub fn make_in_time(&self, request: &Request<'_>, on_step: &mut dyn FnMut(Step)) -> Outcome<Made> {
        let mut request = request.clone();
        let rows = request.weights.rows();
        // A cap that is asked for once is not asked for again.
        let mut asked = u32::MAX;
        loop {
            let made = make(&request, on_step)?;
            let Some(limit) = self.deadline else { return Ok(made) };
            let model = made.model.model();
            let budget = model.settings().map_or(Budget::new(rows as u32), |settings| settings.budget);
            let most = budget.most_cycles(&model);
            if most <= limit {
                return Ok(made);
            }
            let in_time = Budget::for_cycles(&model, limit).ok().filter(|_| made.index.is_ok());
            let Some(in_time) = in_time.filter(|in_time| in_time.cap.min(asked) > 1) else {
                let what = if made.index.is_ok() { "the least search" } else { "scoring all rows" };
                let (limit, most) = (count(limit), count(most));
                let message = format!("a deadline of {limit} cycles is too short: {what} takes up to {most}");
                return Err(Failure::Failed(message));
            };
            asked = in_time.cap.min(asked - 1);
            let cap = asked as f32 / rows as f32;
            request.targets = Targets { cap, work: request.targets.work.min(cap), ..request.targets };
        }
    }

    /// Returns work and cap, as shares of so many rows.
    pub fn shares(&self, rows: usize, cols: usize) -> Outcome<(f32, f32)> {
        let stride = cols.next_multiple_of(4);
        // Whatever is enough for all rows.
        let most = |share: f32| share.min(1.0);
        let cap = match self.deadline {
            Some(limit) => Some(most(cost::cap_for(limit, rows, stride, self.bits))),
            None => self.cap,
        };
        let work = match self.instructions {
            Some(instructions) => most(cost::work_for(instructions, rows, stride, self.bits)),
            // A deadline by itself leaves the work as it is, as far as it allows that.
            None if self.deadline.is_some() => cap.map_or(self.work, |cap| self.work.min(cap)),
            None => self.work,
        };
        let cap = cap.unwrap_or(most(4.0 * work));
        if work <= 0.0 || cap <= 0.0 {
            let message = format!("that is too little time for any of {rows} rows of {cols} columns");
            return Err(Failure::Usage(message));
        }
        if cap < work && !self.has_max_error {
            let message = format!("--cap {} is below --work {}", percent(cap), percent(work));
            return Err(Failure::Usage(message));
        }
        Ok((work, cap))
    }
}

impl Build {
    fn limits(&self) -> Limits {
        Limits {
            work: self.work,
            cap: self.cap,
            instructions: self.instructions,
            deadline: self.deadline.zip(self.clock).map(|(seconds, clock)| (seconds * clock) as u64),
            has_max_error: self.max_error.is_some(),
            bits: self.bits,
        }
    }

    pub fn run(&self) -> Outcome {
        if self.instructions.is_none() && self.deadline.is_none() {
            self.limits().shares(1, 1)?;
        }
        if self.blend.is_some_and(|blend| !(0.0..=1.0).contains(&blend)) {
            return Err(Failure::Usage("--blend is 0 to 1".into()));
        }
        if self.labels.is_some() && self.queries.is_none() && self.network.inputs.is_empty() {
            return Err(Failure::Usage("--labels need --queries, or --inputs of a network".into()));
        }
        if !self.network.inputs.is_empty() && (self.queries.is_some() || self.layer.network.is_none()) {
            return Err(Failure::Usage("--inputs are for --model, in the place of --queries".into()));
        }
        let start = Instant::now();
        // Before minutes of work, not after.
        expect_apart([("--output", self.output.as_path())], self.inputs().chain(self.network.paths()))?;
        expect_writable(&self.output)?;
        on_interrupt(&self.output);
        let progress = Progress::new();
        progress.message("reading");
        let layer = self.layer.read()?;
        let input = self.input(&layer)?;
        let (work, cap) = self.limits().shares(layer.weights.rows(), layer.weights.cols())?;
        let (queries, skipped) = self.read_queries(&layer, &progress)?;
        let doubts = self.expect_answers_of_the_network(&layer)?;
        let report = self.test_queries.as_ref().map(|path| self.layer.queries(&layer, path)).transpose()?;
        let labelled = self.labelled_queries.as_ref().map(|path| self.layer.queries(&layer, path)).transpose()?;
        let labels = match (&self.labels, labelled.as_ref().or(queries.as_ref())) {
            (Some(path), Some(queries)) => {
                let source = self.labelled_queries.as_deref().or(self.queries.as_deref());
                Some(inputs::labels(path, source.unwrap_or(self.layer.path()), queries, layer.weights.rows())?)
            }
            _ => None,
        };
        let report_labels = match (&self.test_labels, &self.test_queries, &report) {
            (Some(path), Some(source), Some(queries)) => {
                Some(inputs::labels(path, source, queries, layer.weights.rows())?)
            }
            _ => None,
        };
        let names = match &self.names {
            Some(path) => {
                let names = read_names(path)?;
                let same = expect_same_length(self.layer.path(), &layer.weights, path, names.len());
                self.layer.or_transposed(same, names.len() == layer.weights.cols())?;
                Some(names)
            }
            None => layer.names.clone(),
        };
        let priors = self.priors.as_ref().map(|path| self.read_priors(path, &layer, queries.as_ref())).transpose()?;
        let unknown = self.ood_queries.as_ref().map(|path| self.layer.queries(&layer, path)).transpose()?;
        let request = Request {
            unknown: unknown.as_ref(),
            fit_map: self.fit_map,
            priors: priors.as_ref().map(|(before, after)| (&before[..], &after[..])),
            queries: queries.as_ref(),
            labels: labels.as_deref(),
            labelled: labelled.as_ref(),
            sets: &self.sets,
            report_labels: report_labels.as_deref(),
            fit_temperature: self.fit_temperature,
            report: report.as_ref(),
            names: names.as_deref(),
            targets: Targets {
                work,
                cap,
                bits: self.bits,
                linked: self.linked,
                reject: self.reject,
                seed: self.seed,
                ..Targets::default()
            },
            knobs: Knobs {
                blend: self.blend,
                branching: self.branching.map(|n| n as usize),
                leaf: self.leaf.map(|n| n as usize),
                links: self.links.map(|n| n as usize),
            },
            max_error: self.max_error,
            flash: self.flash,
            lookup: self.lookup,
            ..Request::new(&layer.weights, &layer.biases)
        };
        let mut made = self.limits().make_in_time(&request, &mut |step| progress.step(step))?;
        if let Some(folder) = &self.write_layer {
            self.write_layer(folder, &made, &layer)?;
        }
        if let Some(input) = input {
            made.model = with_input_scale(&made.model, input)?;
        }
        if let Some(left_out) = &layer.left_out {
            made.model = as_partial(&made.model, left_out)?;
        }
        progress.message("writing");
        write(&self.output, &made.model)?;
        progress.finish();
        let model = made.model.model();
        let description = Description::of(&model);
        let mut warnings = description.warnings.clone();
        if self.layer.is_oriented() {
            let of_shape = warnings::of_shape(&model);
            warnings.retain(|warning| of_shape.as_ref() != Some(warning));
        }
        warnings.extend(self.query_warnings(queries.as_ref(), report.as_ref()));
        warnings.extend(doubts);
        if self.json {
            let json = Json {
                file: &self.output,
                seconds: start.elapsed().as_secs_f32(),
                layer: layer.taken.as_deref(),
                model: &description.model,
                plan: made.index.as_ref().ok().map(|chosen| &chosen.plan),
                temperature: made.temperature,
                map: made.map.as_ref(),
                expected: made.index.as_ref().ok().map(|chosen| &chosen.expected),
                report: made.report.as_ref(),
                sets: &made.sets,
                known: made.known.as_ref(),
                sections: &description.sections,
                needs: &description.needs,
                warnings: &warnings,
            };
            return print_json(&json);
        }
        let mut text = String::new();
        if let Some(taken) = &layer.taken {
            let _ = writeln!(text, "layer {taken}");
        }
        if let Some(left_out) = &layer.left_out {
            let _ = writeln!(
                text,
                "left out behind the layer: {left_out}; p is a softmax of the layer's scores, not the network's output"
            );
        }
        if let Some(input) = model.input_scale() {
            let (scale, zero) = (input.scale, input.zero_point);
            let _ = writeln!(text, "int8 activations of scale {scale}, zero point {zero}: stored in the model file");
        }
        if let (Some(queries), false) = (&queries, self.network.inputs.is_empty()) {
            let (rows, files) = (queries.rows(), self.network.inputs.len());
            let _ =
                writeln!(text, "ran the network on {files} files: {rows} queries, {skipped} steps skipped as padding");
        }
        print(&(text + &self.text(&made, start.elapsed()) + &output::warnings(&warnings)))
    }

    /// Shares of the classes in training and in the deployment.
    fn read_priors(&self, path: &Path, layer: &Layer, queries: Option<&Matrix>) -> Outcome<(Vec<f32>, Vec<f32>)> {
        let shares = read_queries(path, ReadOptions::default())?;
        let classes = layer.weights.rows();
        let wrong = |what: &str| Failure::Failed(format!("{}: {what}", path.display()));
        let values = shares.data();
        if values.iter().any(|&p| !p.is_finite() || p < 0.0) {
            return Err(wrong("shares are numbers from zero on"));
        }
        let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
        let (before, after) = match (values.len(), queries) {
            (len, _) if len == 2 * classes => (values[..classes].to_vec(), &values[classes..]),
            (len, Some(queries)) if len == classes => (mean_p(float, queries), values),
            (len, None) if len == classes => {
                return Err(wrong(
                    "one share for each class is enough with --queries only: give those of training as well, 2×N",
                ));
            }
            (len, _) => {
                return Err(wrong(&format!("{len} shares, but there are {classes} classes: N or 2×N are needed")));
            }
        };
        let whole = |shares: &[f32]| {
            let sum: f32 = shares.iter().sum();
            if sum > 0.0 { Ok(shares.iter().map(|p| p / sum).collect()) } else { Err(wrong("all shares are zero")) }
        };
        Ok((whole(&before)?, whole(after)?))
    }

    /// Writes the layer that the model was made from, at the temperature of the one that was given.
    fn write_layer(&self, folder: &Path, made: &Made, layer: &Layer) -> Outcome {
        let (weights, biases) = match &made.layer {
            Some((weights, biases)) => (weights, &biases[..]),
            None => (&layer.weights, &layer.biases[..]),
        };
        let t = if made.layer.is_some() { made.temperature } else { 1.0 };
        let scaled = |values: &[f32], cols: usize| {
            Matrix::new(values.iter().map(|x| x * t).collect(), cols).ok_or(Failure::Failed("an empty layer".into()))
        };
        std::fs::create_dir_all(folder)?;
        write_npy(folder.join("weights.npy"), &scaled(weights.data(), weights.cols())?)?;
        Ok(write_npy(folder.join("bias.npy"), &scaled(biases, 1)?)?)
    }

    /// How int8 activations are to be read: as the network or the options say.
    fn input(&self, layer: &Layer) -> Outcome<Option<InputScale>> {
        let given = self.input_scale.map(|scale| InputScale { scale, zero_point: self.input_zero_point });
        match (layer.input, given) {
            (Some(own), Some(given)) if own != given => Err(Failure::Usage(format!(
                "the network's activations have a scale of {} and a zero point of {}: leave out --input-scale",
                own.scale, own.zero_point
            ))),
            (own, given) => Ok(own.or(given)),
        }
    }

    /// What is wrong with the queries, file by file.
    fn query_warnings(&self, queries: Option<&Matrix>, test: Option<&Matrix>) -> Vec<String> {
        let shown = |path: &Option<PathBuf>| path.as_ref().map_or(String::new(), |path| path.display().to_string());
        let (mut name, test_name) = (shown(&self.queries), shown(&self.test_queries));
        if self.queries.is_none() {
            name = format!("inputs of the layer of {}", self.layer.path().display());
        }
        let own = [(queries, &name), (test, &test_name)].into_iter().filter_map(|(it, name)| Some((it?, name)));
        let mut found: Vec<String> = own.flat_map(|(queries, name)| warnings::of_queries(name, queries)).collect();
        found.extend(queries.and_then(|queries| warnings::of_calibration(&name, queries)));
        if let (Some(queries), Some(test)) = (queries, test) {
            found.extend(warnings::of_scale(&test_name, test, &name, queries));
        }
        found
    }

    /// The files that are read.
    fn inputs(&self) -> impl Iterator<Item = File<'_>> + Clone {
        let others = [
            given("--queries", &self.queries),
            given("--test-queries", &self.test_queries),
            given("--labels", &self.labels),
            given("--labelled-queries", &self.labelled_queries),
            given("--test-labels", &self.test_labels),
            given("--priors", &self.priors),
            given("--ood-queries", &self.ood_queries),
            given("--names", &self.names),
        ];
        self.layer.files().chain(others.into_iter().flatten())
    }

    /// Queries of a file, or of a run of the network, and how many steps of that were padding.
    fn read_queries(&self, layer: &Layer, progress: &Progress) -> Outcome<(Option<Matrix>, usize)> {
        match (&self.queries, &self.layer.network) {
            (Some(path), _) => Ok((Some(self.layer.queries(layer, path)?), 0)),
            (None, Some(network)) if !self.network.inputs.is_empty() => {
                let (queries, skipped) = self.network.queries(network, self.layer.layer.as_deref(), progress)?;
                Ok((Some(queries), skipped))
            }
            _ => Ok((None, 0)),
        }
    }

    /// Runs the whole network on a few of its inputs, and compares what it answers with the layer: the last safeguard
    /// against operators behind the layer that are taken for something else than they are. Returns a warning where the
    /// two differ a little, as they do where the network itself rounds.
    #[cfg(feature = "import")]
    fn expect_answers_of_the_network(&self, layer: &Layer) -> Outcome<Option<String>> {
        /// More than quantised networks differ from their own numbers.
        const MOST: f64 = 0.05;
        const NOTABLE: f64 = 0.01;
        let Some(network) = self.layer.network.as_ref().filter(|_| !self.network.inputs.is_empty()) else {
            return Ok(None);
        };
        if layer.left_out.is_some() {
            return Ok(None);
        }
        let difference =
            self.network.difference(network, self.layer.layer.as_deref(), &layer.weights, &layer.biases)?;
        let text = |difference: f64| {
            format!(
                "{}: what the network answers differs from the softmax of its layer's scores by {difference:.3} in p of the \
                 best class, in the mean of the first inputs",
                network.display()
            )
        };
        match difference {
            Some(difference) if difference.is_nan() || difference > MOST => Err(Failure::Failed(format!(
                "{}: its output is not what this layer makes it (--layer takes the layer all the same, and marks the model \
                 as partial)",
                text(difference)
            ))),
            Some(difference) if difference > NOTABLE => Ok(Some(text(difference))),
            _ => Ok(None),
        }
    }

    #[cfg(not(feature = "import"))]
    fn expect_answers_of_the_network(&self, _: &Layer) -> Outcome<Option<String>> {
        Ok(None)
    }

    /// How well inputs that are none of the classes are told.
    fn known_text(&self, made: &Made) -> String {
        let Some(found) = &made.known else {
            return match (&self.ood_queries, &self.labels) {
                (Some(_), _) => "none of them  not told: that takes 40 --ood-queries and 200 --queries at least\n".into(),
                (None, Some(_)) => {
                    "none of them  unknown: how well inputs of no class are told takes examples of them, --ood-queries\n".into()
                }
                (None, None) => String::new(),
            };
        };
        let of = |tried: &TriedScore| {
            format!("{} {:.3} ({:.3} to {:.3})", tried.name, tried.auroc, tried.auroc_low, tried.auroc_high)
        };
        format!(
            "none of them  told by {}: it rejects {} ({} to {}) of {} known queries and accepts {} ({} to {}) of {} that are none\n  \
             AUROC       {}\n",
            found.chosen,
            percent(found.rejected),
            percent(found.rejected_low),
            percent(found.rejected_high),
            found.known,
            percent(found.accepted),
            percent(found.accepted_low),
            percent(found.accepted_high),
            found.unknown,
            found.tried.iter().map(of).collect::<Vec<_>>().join(", ")
        )
    }

    /// The report at the end.
    fn text(&self, made: &Made, time: Duration) -> String {
        let model = made.model.model();
        let (classes, dim) = (model.classes(), model.dim());
        let mut text = format!(
            "{}: {classes} classes, {dim} dimensions, {} bits a weight, ",
            self.output.display(),
            model.bits().count()
        );
        let _ = writeln!(text, "built in {:.1} s", time.as_secs_f32());
        let mut table = Table::new(&["section", "bytes", "share", WHAT_FOR]);
        for section in sections(&model) {
            let share = section.bytes as f32 / model.len() as f32;
            let bytes = count(section.bytes as u64);
            table.row(vec![section.name.into(), bytes, percent(share), section.purpose.into()]);
        }
        table.row(vec!["file".into(), count(model.len() as u64), bytes(model.len())]);
        let _ = writeln!(text, "\n{}", table.render());
        text += &index(&made.index);
        if self.fit_temperature || self.fit_map {
            let _ = writeln!(text, "temperature   {:.4}", made.temperature);
        }
        if let Some(map) = &made.map {
            let _ = match map.tried.iter().max_by(|a, b| a.gain.total_cmp(&b.gain)) {
                Some(best) => writeln!(
                    text,
                    "map           {}, fitted to {} labels; the best beyond the temperature, {} at a prior of {} labels, \
                     gains {:.4} ± {:.4} of log-loss",
                    map.chosen, map.labels, best.name, best.prior, best.gain, best.gain_error
                ),
                None => writeln!(text, "map           {}: {} labels are too few for more", map.chosen, map.labels),
            };
        }
        let (work, max_work) = match &made.report {
            Some(report) => {
                let found = &report.estimators[0];
                let _ = writeln!(text, "measured on   {} queries that nothing was tuned on", report.data.queries);
                let _ = writeln!(
                    text,
                    "error of Z    {} mean, {} median, {} for 95 %",
                    percent(found.err_mean),
                    percent(found.err_median),
                    percent(found.err_p95)
                );
                let _ =
                    writeln!(text, "p, best class ±{:.4} mean against the float layer", found.dp_mean.unwrap_or(0.0));
                let _ = writeln!(text, "recall        {} of the best class", maybe(found.recall_at_1));
                let _ = writeln!(
                    text,
                    "coverage      {} of the float layer's p inside the 95 % interval, {} for classes 2 to 5; {} familiar",
                    maybe(found.coverage95),
                    maybe(found.coverage95_others),
                    maybe(found.familiar)
                );
                if let Some(rejected) = found.rejected {
                    let (rejected, asked) = (percent(rejected), percent(self.reject));
                    let _ = writeln!(
                        text,
                        "reject        {rejected} of them by their energy; at most {asked} was asked for"
                    );
                }
                if let (Some(loss), Some(ece)) = (found.log_loss, found.ece) {
                    let _ = writeln!(text, "labels        log-loss {loss:.4}, calibration error {}", percent(ece));
                }
                if let Some(figures) = &found.figures {
                    let _ = writeln!(
                        text,
                        "              {} in bins of equal mass, {} to {} less what chance adds: {} of calibrated p; Brier {:.4}",
                        percent(figures.ece),
                        percent(figures.ece_low),
                        percent(figures.ece_high),
                        percent(figures.ece_by_chance),
                        figures.brier
                    );
                }
                (found.work_mean, found.work_max)
            }
            None => {
                let what = if self.queries.is_some() || !self.network.inputs.is_empty() {
                    "the queries it was tuned on"
                } else {
                    "rows in place of queries"
                };
                let _ =
                    writeln!(text, "measured on   {what}: give --queries (80 or more) for figures of error and recall");
                made.index.as_ref().map_or((1.0, 1.0), |chosen| (chosen.expected.work, chosen.expected.max_work))
            }
        };
        text += &output::sets(&made.sets);
        text += &self.known_text(made);
        let bound = model.settings().map_or(1.0, |settings| settings.budget.cap as f32 / classes as f32);
        let [work_text, seen, bound] = [work, max_work, bound].map(percent);
        let _ =
            writeln!(text, "work          {work_text} of all rows mean, {seen} the largest seen, {bound} the bound");
        let (stride, bits) = (model.rows().stride(), model.bits());
        let instructions = |share: f32| match made.index {
            Ok(_) => count(cost::search_instructions(f64::from(share) * classes as f64, stride, bits)),
            Err(_) => count(cost::exact_instructions(classes, stride, bits)),
        };
        let _ = writeln!(
            text,
            "Cortex-M4     about {} instructions a query ({} the largest seen; all rows: {}), {} of RAM",
            instructions(work),
            instructions(max_work),
            count(cost::exact_instructions(classes, stride, bits)),
            bytes(cost::ram(&model))
        );
        text
    }
}

/// What the index is like, what queries have taught it, and what that is worth for classes that they did not show.
fn index(index: &Result<Chosen, NoIndex>) -> String {
    let Chosen { plan, expected, without_links } = match index {
        Ok(chosen) => chosen,
        Err(NoIndex::Work { asked, least }) => {
            return format!(
                "index         none: no search keeps to {asked} rows and is sure to find a class, {least} are the least; \
                 all rows are scored\n"
            );
        }
        Err(_) => return "index         none: scoring all rows takes fewer instructions than a search\n".into(),
    };
    let mut text = format!("index         {} children, leaves of {}, ", plan.branching, plan.leaf);
    let _ = match plan.linked {
        _ if plan.links == 0 => writeln!(text, "no links"),
        linked if linked < 1.0 => writeln!(text, "{} links at {} of the rows", plan.links, percent(linked)),
        _ => writeln!(text, "{} links", plan.links),
    };
    let correction = match plan.correction {
        Correction::None => "no corrections",
        Correction::Full => "corrections",
    };
    let links = if plan.joint_links { "links" } else { "no links" };
    let _ = writeln!(text, "taught by     queries: a metric of blend {}, {correction}, {links}", plan.blend);
    if let Some(without) = without_links {
        let _ = writeln!(
            text,
            "links buy     an error of {} instead of {}, a recall of {} instead of {} (while tuning)",
            percent(expected.error),
            percent(without.error),
            percent(expected.recall),
            percent(without.recall)
        );
    }
    if let Some(unseen) = expected.unseen {
        let _ = writeln!(
            text,
            "unseen        {} recall on {} queries whose best class was not taught (while tuning)",
            percent(unseen.recall),
            unseen.queries
        );
    }
    text
}
