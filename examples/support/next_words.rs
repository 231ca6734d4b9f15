//! Predicts the next words after each of the prompts that ship with the model.

use core::fmt;

use zhat::language::Context;
use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, include_model};

use super::{figure, instructions_of, say, sizes};

static CONTEXT: &[u8] = include_model!("../../models/next_word.context");
static PROMPTS: &str = include_str!("../../models/prompts.txt");

/// The words of a context, and the length of the context's sums, as the model was trained.
const POSITIONS: usize = 9;
const WIDTH: usize = 128;

pub fn run<const DIM: usize, const SCRATCH_WORDS: usize>(file: &[u8]) -> Result<(), Error> {
    let model = Model::from_bytes(file)?;
    let names = model.names().ok_or(Error::NoSuchClass)?;
    let context = Context::from_bytes(CONTEXT, DIM)?;
    let classifier = Classifier::new(model)?;
    let mut scratch = Scratch::<SCRATCH_WORDS>::new();
    for prompt in PROMPTS.lines() {
        let words = Context::words::<POSITIONS>(names, prompt)?;
        let (values, for_query) = instructions_of(|| context.query::<DIM, WIDTH>(&model, &words));
        let (answer, for_answer) = instructions_of(|| {
            let query = QueryBuffer::<DIM>::new(&model, &values?)?;
            classifier.classify::<5>(&query, &mut scratch)
        });
        let answer = answer?;
        say!("{prompt} …");
        for (place, best) in answer.top.iter().enumerate() {
            let name = names.get(best.class as usize).unwrap_or("?");
            let p = Decimal(best.p);
            match answer.interval(place) {
                Some((low, high)) => say!("  {p} ({} to {})  {name}", Decimal(low), Decimal(high)),
                None => say!("  {p} (not like the calibration)  {name}"),
            }
        }
        if let Some((query, answer)) = for_query.zip(for_answer) {
            figure!("{query} instructions for the query, {answer} for the answer");
        }
    }
    if let Some(sizes) = sizes() {
        figure!("{} bytes of flash, {} of them the model", sizes.flash, file.len());
    }
    Ok(())
}

/// Displays a probability with four decimals, in whole numbers: printing floats takes 20 KiB of flash.
struct Decimal(f32);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = (self.0 * 10_000.0 + 0.5) as u32;
        write!(f, "{}.{:04}", whole / 10_000, whole % 10_000)
    }
}
