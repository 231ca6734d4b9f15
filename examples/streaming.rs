//! Answers queries that arrive at a fixed rate, each with a deadline: the cap of the budget meets the deadline for any
//! query, and ε makes easy queries cheaper.
//!
//! The cap is that of [`Budget::for_instructions`]; the slowest of 1 000 queries shows that it holds. Every tenth is
//! damped, or zeros, as silence is.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use support::{entry, figure, say};
use zhat::language::Context;
use zhat::{Budget, Classifier, Error, Model, Prediction, QueryBuffer, Scratch, include_model};

static MODEL: &[u8] = include_model!("../models/next_word.zhat");
static CONTEXT: &[u8] = include_model!("../models/next_word.context");
const CLASSES: usize = 8192;
const DIM: usize = 64;
/// Memory of at least the size that [`Model::scratch_words_for`] returns for the budget below.
type Memory = Scratch<826>;

const QUERIES: u64 = 1000;
/// The instructions from one query to the next, and those that an answer may take.
const PERIOD: u64 = 160_000;
const DEADLINE: u64 = 120_000;
/// The search ends when the next node is predicted to hold at most this share of the scored mass.
const EPSILON: f32 = 0.003;

entry!(run);

fn run() -> Result<(), &'static str> {
    let model = Model::from_bytes(MODEL).map_err(|_| "the model is refused")?;
    let context = Context::from_bytes(CONTEXT, DIM).map_err(|_| "the context is refused")?;
    let budget =
        Budget::for_instructions(&model, DEADLINE).map_err(|_| "the deadline is too short")?.with_epsilon(EPSILON);
    let classifier = Classifier::new(model).and_then(|all| all.with_budget(budget)).map_err(|_| "no such budget")?;
    say!("a deadline of {DEADLINE} instructions allows {} row-equivalents", budget.cap);

    let mut scratch = Memory::new();
    if scratch.len() < model.scratch_words_for(&budget) {
        return Err("the memory is not enough for any query");
    }
    let mut random = Pcg32::seed_from_u64(1);
    let (mut total, mut most, mut mixed) = (0, 0, 0u32);
    let (mut worst, mut free_at, mut longest_wait) = (0, 0, 0);
    for query in 0..QUERIES {
        // Random words: stranger contexts than any text has.
        let words: [usize; 9] = core::array::from_fn(|_| random.next_u32() as usize % CLASSES);
        let mut values = context.query::<DIM, 128>(&model, &words).map_err(|_| "a word is refused")?;
        if query % 10 == 0 {
            let damped = [0.0, 0.01, 0.1, 0.3][(query / 10 % 4) as usize];
            values.iter_mut().for_each(|value| *value *= damped);
        }
        let (answer, counted) = support::instructions_of(|| answer(&classifier, &values, &mut scratch));
        let answer = answer.map_err(|_| "a query is refused")?;
        let rows = answer.work.row_equivalents();
        if rows > budget.cap {
            return Err("more work than the budget allows");
        }
        (total, most) = (total + u64::from(rows), most.max(rows));
        mixed = mixed.rotate_left(1) ^ answer.log_z().to_bits();
        // A queue: an answer starts when its query has arrived and the previous answer is done.
        let counted = counted.unwrap_or(0);
        let start = free_at.max(query * PERIOD);
        (free_at, worst) = (start + counted, worst.max(counted));
        longest_wait = longest_wait.max(free_at - query * PERIOD);
    }
    say!(
        "{QUERIES} queries: {} row-equivalents on average, {most} at most; all ln Z mixed are {mixed:#010x}",
        total / QUERIES
    );
    figure!("the worst answer took {worst} instructions; the longest from arrival to answer was {longest_wait}");
    // Targets with a hard-float ABI have the DSP instructions for which the promise is made.
    if cfg!(target_abi = "eabihf") && longest_wait > DEADLINE {
        return Err("a deadline was missed");
    }
    Ok(())
}

fn answer(classifier: &Classifier<'_>, values: &[f32], scratch: &mut Memory) -> Result<Prediction<5>, Error> {
    let query = QueryBuffer::<DIM>::new(classifier.model(), values)?;
    classifier.classify(&query, scratch)
}
