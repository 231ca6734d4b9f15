//! `zhat plot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use zhat::host::evaluate::{Method, Options, QuantisedLayer, quantised, scores};
use zhat::host::input::expect_writable;
use zhat::host::report::plots;

use super::files::{expect_apart, given};
use super::output::print;
use super::{Failure, Outcome, args, eval, inputs};

/// Draw a plot, as .svg or .png
#[derive(Args)]
#[command(after_help = "Example:
  zhat plot cumulative model.zhat --queries test.npy -o cumulative.svg
  zhat plot reliability model.zhat --queries test.npy --labels y.npy -o reliability.png
  zhat plot error-work model.zhat --queries test.npy --estimators all -o error.svg")]
pub struct Plot {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Draw the share of the probability that the best classes hold, a line for each query
    #[command(
        after_help = "Example:\n  zhat plot cumulative model.zhat --queries test.npy --count 6 -o cumulative.svg"
    )]
    Cumulative {
        #[command(flatten)]
        common: Common,
        /// The number of queries, from first to last at equal steps
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=16))]
        count: u32,
    },
    /// Draw a reliability diagram: is a p of 70 % right 70 % of the time?
    #[command(after_help = "Example:
  zhat plot reliability model.zhat --queries test.npy --labels y.npy -o reliability.png")]
    Reliability {
        #[command(flatten)]
        common: Common,
        /// The true class of each query
        #[arg(long, value_name = "FILE")]
        labels: PathBuf,
        /// all, or names of estimators
        #[arg(long, value_name = "NAMES", default_value = "exact,moments,self-normalised")]
        estimators: String,
    },
    /// Draw error against work of estimators, over budgets
    #[command(
        after_help = "Example:\n  zhat plot error-work model.zhat --queries test.npy --estimators all -o error.svg"
    )]
    ErrorWork {
        #[command(flatten)]
        common: Common,
        /// all, or names of estimators
        #[arg(long, value_name = "NAMES", default_value = "moments,mimps,uniform")]
        estimators: String,
    },
}

#[derive(Args)]
struct Common {
    /// The model file
    model: PathBuf,
    /// Queries, M×d
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The plot, .svg or .png
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Plot {
    pub fn run(&self) -> Outcome {
        let (What::Cumulative { common, .. } | What::Reliability { common, .. } | What::ErrorWork { common, .. }) =
            &self.what;
        plots::expect_format(&common.output).map_err(Failure::Usage)?;
        let labels = match &self.what {
            What::Reliability { labels, .. } => Some(labels),
            _ => None,
        };
        let files = [("the model", common.model.as_path()), ("--queries", common.queries.as_path())];
        let files = files.into_iter().chain(given("--labels", &labels));
        expect_apart([("--output", common.output.as_path())], files)?;
        expect_writable(&common.output)?;
        let file = inputs::model(&common.model)?;
        let model = file.model();
        let queries = inputs::model_queries(&common.queries, &common.model, model.dim())?;
        let about = inputs::about(&common.model, queries.rows());
        match &self.what {
            What::Cumulative { count, .. } => {
                let step = queries.rows().div_ceil(*count as usize).max(1);
                let mut curves = Vec::new();
                for index in (0..queries.rows()).step_by(step) {
                    let values = quantised(&model, queries.row(index)).map_err(|(_, error)| {
                        Failure::Failed(format!("{}: query {index}: {error}", common.queries.display()))
                    })?;
                    curves.push((
                        format!("query {index}"),
                        plots::cumulative_shares(scores(&QuantisedLayer(&model), &values)),
                    ));
                }
                let about = format!("{}, {} of them drawn", about, curves.len());
                plots::cumulative(&common.output, &about, &curves)?;
            }
            What::Reliability { labels, estimators, .. } => {
                let methods = args::methods(estimators).map_err(Failure::Usage)?;
                let labels = inputs::labels(labels, &common.queries, &queries, model.classes())?;
                let file = eval::usable(file.clone(), &methods)?;
                let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
                let found = eval::shown(&file.model(), None, &queries, &options)?;
                let curves: Vec<_> = found.reliability.iter().map(|(name, curve)| (*name, curve.points())).collect();
                plots::reliability(&common.output, &about, &curves)?;
            }
            What::ErrorWork { estimators, .. } => {
                let methods: Vec<Method> = args::methods(estimators).map_err(Failure::Usage)?;
                let file = eval::usable(file.clone(), &methods)?;
                let points = super::tune::shown(&file.model(), &queries, &methods, &super::tune::BUDGETS, 1)?;
                plots::error_against_work(&common.output, &about, &super::tune::lines(&points))?;
            }
        }
        print(&format!("{}\n", common.output.display()))
    }
}
