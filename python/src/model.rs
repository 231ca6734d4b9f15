//! A model file in memory, and what it answers.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, ToPyArray};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use zhat::host::evaluate::stored_budget;
use zhat::host::input::{read_model, write_atomically};
use zhat::host::report::describe::Description;
use zhat::model::{FileWriter, Section};
use zhat::{Budget, Classifier, Error, ModelBuf, Prediction, Query, exact};

use crate::error::{read, system, value};
use crate::queries::{Numbers, Queries};
use crate::work::pool;

/// Queries that are answered between two looks for Ctrl-C.
const BLOCK: usize = 4096;
/// Queries that a thread takes at a time, at least.
const PORTION: usize = 16;

/// A model file, checked.
#[pyclass(frozen, module = "zhat._zhat")]
pub struct Model {
    pub file: Arc<ModelBuf>,
    /// The file with the row of each class beside it, made when given classes are first asked for.
    with_rows: OnceLock<ModelBuf>,
}

/// Reads a model file.
#[pyfunction]
pub fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
    py.detach(|| read_model(&path)).map(Model::new).map_err(|error| read(&error))
}

/// Opens the bytes of a model file.
#[pyfunction]
pub fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Model> {
    py.detach(|| ModelBuf::from_bytes(bytes)).map(Model::new).map_err(value)
}

/// Arrays of classes, p, low, high, log_z, familiar, rejected, work and far_share.
type Arrays<'py> = (
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<i8>>,
    Bound<'py, PyArray1<i8>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f32>>,
);

#[pymethods]
impl Model {
    /// Returns the bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.file.as_bytes())
    }

    /// Writes the file in one step.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| write_atomically(&path, self.file.as_bytes()));
        written.map_err(|error| {
            let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
            system(cause.map_or(std::io::ErrorKind::Other, std::io::Error::kind), &error)
        })
    }

    /// Returns what `zhat inspect --json` prints.
    fn description(&self) -> PyResult<String> {
        serde_json::to_string(&Description::of(&self.file.model())).map_err(value)
    }

    fn names(&self) -> Option<Vec<String>> {
        let model = self.file.model();
        let names = model.names()?;
        Some((0..model.classes()).map(|class| names.get(class).unwrap_or_default().to_owned()).collect())
    }

    #[getter]
    fn classes(&self) -> usize {
        self.file.model().classes()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.file.model().dim()
    }

    #[getter]
    fn build_id(&self) -> u32 {
        self.file.model().build_id()
    }

    #[getter]
    fn least_cap(&self) -> usize {
        self.file.model().least_cap()
    }

    #[getter]
    fn is_exact(&self) -> bool {
        self.file.model().tree().is_none()
    }

    /// Returns the scale and the zero point of int8 activations, as the network before the layer makes them.
    #[getter]
    fn input_scale(&self) -> Option<(f32, i8)> {
        self.file.model().input_scale().map(|input| (input.scale, input.zero_point))
    }

    /// Answers queries: with all rows scored, or within the stored budget, or within its `cap`.
    #[pyo3(signature = (queries, k, cap, exact, scale, zero_point))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn classify<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: usize,
        cap: Option<u32>,
        exact: bool,
        scale: Option<f32>,
        zero_point: i32,
    ) -> PyResult<Arrays<'py>> {
        match k {
            1..=5 => self.answer::<5>(py, queries, k, cap, exact, scale, zero_point),
            6..=16 => self.answer::<16>(py, queries, k, cap, exact, scale, zero_point),
            17..=100 => self.answer::<100>(py, queries, k, cap, exact, scale, zero_point),
            101..=1000 => self.answer::<1000>(py, queries, k, cap, exact, scale, zero_point),
            _ => Err(value(format!("k: {k} is not 1 to 1000"))),
        }
    }

    /// Returns p of the given classes for each query.
    #[pyo3(signature = (queries, classes, cap, exact, scale, zero_point))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        classes: PyReadonlyArray1<'py, i64>,
        cap: Option<u32>,
        exact: bool,
        scale: Option<f32>,
        zero_point: i32,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let file = self.with_rows()?;
        let model = file.model();
        let queries = Queries::new(queries, scale, zero_point, &model)?;
        let numbers = queries.numbers()?;
        let asked = classes.as_slice().map_err(value)?.iter().map(|&class| match usize::try_from(class) {
            Ok(class) if class < model.classes() => Ok(class),
            _ => Err(value(format!("classes: {class} is none of {} classes", model.classes()))),
        });
        let classes: Vec<usize> = asked.collect::<PyResult<_>>()?;
        let budget = budget(&model, cap, exact)?;
        let mut all = reserved(numbers.count(model.dim()), classes.len())?;
        each_block(
            py,
            file,
            numbers,
            budget,
            |prediction: Prediction<1>, query| {
                let p = |&class: &usize| prediction.probability(&model, query, class);
                classes.iter().map(p).collect::<Result<Vec<f32>, Error>>()
            },
            |row: Vec<f32>| all.extend(row),
        )?;
        shaped(py, all, classes.len())
    }

    fn __reduce__(slf: Bound<'_, Self>) -> PyResult<(Py<PyAny>, (Py<PyAny>,))> {
        let py = slf.py();
        let open = py.import("zhat._zhat")?.getattr("from_bytes")?;
        Ok((open.unbind(), (slf.get().to_bytes(py).into_any().unbind(),)))
    }
}

impl Model {
    pub fn new(file: ModelBuf) -> Self {
        Self { file: Arc::new(file), with_rows: OnceLock::new() }
    }

    /// Returns a copy of the file that looks the row of a class up, where this one would search for it. Its answers are the same.
    fn with_rows(&self) -> PyResult<&ModelBuf> {
        let model = self.file.model();
        if model.sections().all(|(kind, _)| kind != Section::ClassOfRow.kind())
            || model.sections().any(|(kind, _)| kind == Section::RowOfClass.kind())
        {
            return Ok(&self.file);
        }
        if let Some(file) = self.with_rows.get() {
            return Ok(file);
        }
        let mut rows = vec![0_u32; model.classes()];
        (0..model.classes()).for_each(|row| rows[model.class_of_row(row)] = row as u32);
        let mut writer = FileWriter::reopen(&self.file).map_err(value)?;
        // The width of the file's other indices.
        if zhat::internal::Indices::are_short(model.classes()) {
            writer.required(Section::RowOfClass, &rows.iter().map(|&row| row as u16).collect::<Vec<_>>());
        } else {
            writer.required(Section::RowOfClass, &rows);
        }
        let file = writer.into_model().map_err(value)?;
        Ok(self.with_rows.get_or_init(|| file))
    }

    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn answer<'py, const K: usize>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: usize,
        cap: Option<u32>,
        exact: bool,
        scale: Option<f32>,
        zero_point: i32,
    ) -> PyResult<Arrays<'py>> {
        let model = self.file.model();
        let queries = Queries::new(queries, scale, zero_point, &model)?;
        let numbers = queries.numbers()?;
        let budget = budget(&model, cap, exact)?;
        let k = k.min(model.classes());
        let count = numbers.count(model.dim());
        let mut classes = reserved(count, k)?;
        let (mut p, mut low, mut high) = (reserved(count, k)?, reserved(count, k)?, reserved(count, k)?);
        let (mut log_z, mut familiar, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
        let (mut work, mut far_share) = (Vec::new(), Vec::new());
        each_block(
            py,
            &self.file,
            numbers,
            budget,
            |prediction: Prediction<K>, _| Ok(prediction),
            |prediction| {
                for place in 0..k {
                    let found = prediction.top.get(place);
                    let (lower, upper) = prediction.interval(place).unwrap_or((f32::NAN, f32::NAN));
                    classes.push(found.map_or(-1, |found| i64::from(found.class)));
                    p.push(found.map_or(f32::NAN, |found| found.p));
                    low.push(lower);
                    high.push(upper);
                }
                let known = |answer: Option<bool>| answer.map_or(-1, i8::from);
                log_z.push(prediction.log_z());
                familiar.push(known(prediction.is_familiar()));
                rejected.push(known(prediction.is_rejected()));
                work.push(prediction.work.row_equivalents());
                far_share.push(prediction.far_share);
            },
        )?;
        Ok((
            shaped(py, classes, k)?,
            shaped(py, p, k)?,
            shaped(py, low, k)?,
            shaped(py, high, k)?,
            log_z.to_pyarray(py),
            familiar.to_pyarray(py),
            rejected.to_pyarray(py),
            work.to_pyarray(py),
            far_share.to_pyarray(py),
        ))
    }
}

/// Returns the budget of a call; none to score all rows, as a model without an index does.
pub fn budget(model: &zhat::Model<'_>, cap: Option<u32>, exact: bool) -> PyResult<Option<Budget>> {
    if exact || model.tree().is_none() {
        return Ok(None);
    }
    let stored = stored_budget(model);
    let budget = cap.map_or(stored, |cap| stored.with_cap(cap));
    Classifier::new(*model).and_then(|classifier| classifier.with_budget(budget)).map_err(value)?;
    Ok(Some(budget))
}

/// Answers all queries without the GIL, on all threads, and hands over what `make` makes of each, in order.
pub fn each_block<const K: usize, T: Send>(
    py: Python<'_>,
    file: &ModelBuf,
    numbers: Numbers<'_>,
    budget: Option<Budget>,
    make: impl Fn(Prediction<K>, &Query) -> Result<T, Error> + Sync,
    mut take: impl FnMut(T),
) -> PyResult<()> {
    let answer = |query: &Query, scratch: &mut [u32]| {
        let model = file.model();
        let prediction = match budget {
            Some(budget) => Classifier::new(model)?.with_budget(budget)?.classify(query, scratch)?,
            None => exact(&model, query)?,
        };
        make(prediction, query)
    };
    let words = budget.map_or(0, |budget| file.model().scratch_words_for(&budget));
    each_query(py, file, numbers, words, &|_, query, scratch| answer(query, scratch), &mut take)
}

/// Does something with each query, and hands over the results in order.
pub fn each_query<T: Send>(
    py: Python<'_>,
    file: &ModelBuf,
    numbers: Numbers<'_>,
    words: usize,
    act: &(impl Fn(usize, &Query, &mut [u32]) -> Result<T, Error> + Sync),
    take: &mut impl FnMut(T),
) -> PyResult<()> {
    let model = file.model();
    let (count, pool) = (numbers.count(model.dim()), pool()?);
    let one = |memory: &mut (Vec<u32>, Vec<u32>), i: usize| {
        let query = Query::in_words(&mut memory.0, &model)?;
        numbers.set(i, &model, query)?;
        act(i, query, &mut memory.1)
    };
    let memory = || (vec![0; model.query_words()], vec![0; words]);
    for first in (0..count).step_by(BLOCK) {
        let block = first..count.min(first + BLOCK);
        let named = |i: usize, result: Result<T, Error>| result.map_err(|error| (i, error));
        let results: Result<Vec<T>, (usize, Error)> = py.detach(|| {
            if block.len() < PORTION {
                // Not worth waking other threads.
                let mut memory = memory();
                return block.map(|i| named(i, one(&mut memory, i))).collect();
            }
            pool.install(|| {
                let each = block.into_par_iter().with_min_len(PORTION);
                each.map_init(memory, |memory, i| named(i, one(memory, i))).collect()
            })
        });
        results.map_err(|(i, error)| value(format!("queries: query {i}: {error}")))?.into_iter().for_each(&mut *take);
        py.check_signals()?;
    }
    Ok(())
}

/// Returns room for so many rows, or a MemoryError.
pub fn reserved<T>(rows: usize, cols: usize) -> PyResult<Vec<T>> {
    let (mut values, fail) = (Vec::new(), || PyMemoryError::new_err(format!("an array of {rows}×{cols} is too large")));
    values.try_reserve_exact(rows.checked_mul(cols).ok_or_else(fail)?).map_err(|_| fail())?;
    Ok(values)
}

/// Returns rows of `cols` values as an array.
pub fn shaped<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    cols: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let rows = values.len().checked_div(cols).unwrap_or(0);
    PyArray1::from_vec(py, values).reshape([rows, cols])
}
