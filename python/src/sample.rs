//! Classes drawn from the estimated distribution.

use numpy::PyArray2;
use pyo3::prelude::*;
use rand_pcg::Pcg32;
use zhat::{Budget, Classifier, Error};

use crate::error::value;
use crate::model::{Model, budget, each_query, reserved, shaped};
use crate::queries::Queries;

/// Arrays of classes and p.
type Drawn<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

#[pymethods]
impl Model {
    /// Draws classes for each query: what is drawn for query `i` depends on the seed and on `i` alone.
    #[pyo3(signature = (queries, draws, seed, cap, exact, scale, zero_point))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        draws: usize,
        seed: u64,
        cap: Option<u32>,
        exact: bool,
        scale: Option<f32>,
        zero_point: i32,
    ) -> PyResult<Drawn<'py>> {
        let model = self.file.model();
        let queries = Queries::new(queries, scale, zero_point, &model)?;
        let numbers = queries.numbers()?;
        // Opening every row is drawing from all of them.
        let all = Budget::new(u32::MAX);
        let budget = budget(&model, cap, exact)?.unwrap_or(all);
        let classifier = Classifier::new(model).and_then(|classifier| classifier.with_budget(budget)).map_err(value)?;
        let words = model.scratch_words_for(&budget);
        let count = numbers.count(model.dim());
        let (mut classes, mut p) = (reserved(count, draws)?, reserved(count, draws)?);
        each_query(
            py,
            &self.file,
            numbers,
            words,
            &|i, query, scratch| {
                let mut random = Pcg32::new(seed, i as u64);
                (0..draws).map(|_| classifier.sample(query, scratch, &mut random)).collect::<Result<Vec<_>, Error>>()
            },
            &mut |drawn| {
                for one in drawn {
                    classes.push(i64::from(one.class));
                    p.push(one.p);
                }
            },
        )?;
        Ok((shaped(py, classes, draws)?, shaped(py, p, draws)?))
    }
}
