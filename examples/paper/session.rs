//! Runs the experiments on word vectors one after the other: vectors are read once, and indices are built once for each
//! scale.

use std::cell::OnceCell;
use std::path::PathBuf;

use zhat::host::input::NamedMatrix;
use zhat::host::report::plots;

use super::command::{Outcome, Progress, name};
use super::error::ReproduceError;
use super::figure1::figure1;
use super::fit::{Fit, fit};
use super::oracle::{Indices, Oracles};
use super::result::{OracleTable, PaperCell, side_by_side};
use super::store::Store;
use super::table1::{paper as paper1, table1};
use super::table2::{paper as paper2, table2};
use super::table3::{paper as paper3, table3};
use super::vectors::Vectors;
use super::{FmbeArgs, PROGRAM, Step, VectorArgs};

/// The number of queries with which scales are compared.
const FIT_QUERIES: usize = 2000;

/// The common settings of all experiments on vectors.
pub struct Session<'a> {
    pub from: &'a VectorArgs,
    pub named: NamedMatrix,
    pub queries: usize,
    pub seeds: u32,
    pub store: &'a Store,
    pub progress: &'a Progress,
}

/// Table 1, 2 or 3.
#[derive(Clone, Copy)]
pub enum Which<'a> {
    One { fmbe: &'a FmbeArgs, variants: u32 },
    Two { fmbe: &'a FmbeArgs },
    Three,
}

impl Which<'_> {
    const fn name(self) -> &'static str {
        match self {
            Self::One { .. } => "table1",
            Self::Two { .. } => "table2",
            Self::Three => "table3",
        }
    }

    /// Returns the name of the file of its result.
    pub fn file(self, scale: f32) -> String {
        format!("{}-{scale}", self.name())
    }

    const fn paper(self) -> PaperCell {
        match self {
            Self::One { .. } => paper1,
            Self::Two { .. } => paper2,
            Self::Three => paper3,
        }
    }

    /// Returns the numbers of features. Table 2 has the largest only.
    fn features(self) -> Vec<u32> {
        match self {
            Self::One { fmbe, .. } => fmbe.features.clone(),
            Self::Two { fmbe } => fmbe.features.last().copied().into_iter().collect(),
            Self::Three => Vec::new(),
        }
    }

    fn options(self) -> String {
        let features: Vec<String> = self.features().iter().map(u32::to_string).collect();
        match self {
            Self::One { fmbe, variants } => {
                format!(
                    " --features {} --variants {variants} --feature-queries {}",
                    features.join(","),
                    fmbe.feature_queries
                )
            }
            Self::Two { fmbe } => {
                format!(" --features {} --feature-queries {}", features.join(","), fmbe.feature_queries)
            }
            Self::Three => String::new(),
        }
    }

    fn run(self, oracles: &Oracles<'_>, tick: &(dyn Fn(Step<'_>) + Sync)) -> Result<OracleTable, ReproduceError> {
        let features = self.features();
        match self {
            Self::One { fmbe, variants } => table1(oracles, &features, variants, fmbe.feature_queries as usize, tick),
            Self::Two { fmbe } => {
                table2(oracles, features.first().copied().unwrap_or(0), fmbe.feature_queries as usize, tick)
            }
            Self::Three => table3(oracles, tick),
        }
    }
}

impl Session<'_> {
    /// Returns the command line that repeats an experiment, without folders, which are the user's own.
    fn command(&self, what: &str, scale: Option<f32>) -> String {
        let scale = scale.map_or(String::new(), |scale| format!(" --scale {scale}"));
        format!("{PROGRAM} {what} --vectors {} --rows {}{scale}", name(&self.from.vectors), self.from.rows)
    }

    fn source(&self) -> String {
        name(&self.from.vectors)
    }

    /// Finds the scale at which the vectors are most like the paper's.
    pub fn fit(&self) -> Outcome<Fit> {
        let queries = self.queries.min(FIT_QUERIES);
        let command = format!("{} --queries {queries}", self.command("fit", None));
        if let Some(found) = self.store.stored("fit", &command) {
            return Ok(found);
        }
        let vectors = Vectors::new(self.named.clone(), 1.0, queries)?;
        let found = fit(&vectors, [&self.source(), &command], &|step| self.tick(step))?;
        self.store.finish("fit", &found, &found.grid(), self.progress)?;
        Ok(found)
    }

    /// Makes tables at a scale.
    pub fn tables(&self, scale: f32, tables: &[Which<'_>]) -> Outcome {
        let vectors = Vectors::new(self.named.clone(), scale, self.queries)?;
        let indices: OnceCell<Indices> = OnceCell::new();
        for which in tables {
            let what = which.file(scale);
            self.store.expect(&what, &self.from.file())?;
            let own = format!(" --queries {} --seeds {}{}", self.queries, self.seeds, which.options());
            let command = self.command(which.name(), Some(scale)) + &own;
            if self.store.stored::<OracleTable>(&what, &command).is_some() {
                continue;
            }
            if indices.get().is_none() {
                // Only this thread is here, so the cell is still empty.
                let _ = indices.set(Indices::new(&vectors, &|step| self.tick(step))?);
            }
            let Some(indices) = indices.get() else { continue };
            let source = self.source();
            let oracles = Oracles::new(&vectors, indices, &source, &command, self.seeds)?;
            let table = which.run(&oracles, &|step| self.tick(step))?;
            let grid = side_by_side(std::slice::from_ref(&table), which.paper());
            self.store.finish(&what, &table, &grid, self.progress)?;
        }
        Ok(())
    }

    /// Makes Figure 1, and stores it also at `plot` if there is one.
    pub fn figure(&self, scale: f32, plot: Option<&PathBuf>) -> Outcome {
        let vectors = Vectors::new(self.named.clone(), scale, 1)?;
        self.progress.stage("sorting classes");
        let what = format!("figure1-{scale}");
        let found = figure1(&vectors, &self.source(), &self.command("figure1", Some(scale)));
        for path in plot.into_iter().chain(&self.store.picture(&what)) {
            plots::cumulative(path, &format!("{}, ×{scale}", self.source()), &found.lines())?;
        }
        self.store.finish(&what, &found, &found.grid(), self.progress)
    }

    fn tick(&self, step: Step<'_>) {
        self.progress.count(step.what, step.done, step.of);
    }
}
