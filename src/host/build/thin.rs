//! Links only where they pay: of the rows that queries reach most often, as few as do no harm.
//!
//! A few rows are among the best of nearly every query (an eighth of a language model's words are 98 % of them), and links
//! are followed from the best rows only. What the others have takes flash and is hardly ever read.

use super::Plan;
use super::index::Index;
use super::tune::{Judge, MISS, Trial};
use crate::host::BuildError;

/// The shares of the rows that are tried, one after the other. With fewer, recall falls a little on every layer.
const SHARES: [f32; 2] = [0.5, 0.25];
/// How much more fewer links may cost, over all queries: what two of five hundred make if they are missed.
const NO_HARM: f32 = 1.08;
/// Where few rows have most of the mass a search that stops by itself errs little, but for the best classes that it misses. Where all
/// queries together err less than this many missed ones would, they cannot tell what links are worth: all of them stay.
const FEW_MISSED: f32 = 4.0;

/// The trial with links at the fewest rows that does as well as `best`, with the same budget, and every trial on the way. Where
/// no links are followed none are needed.
pub fn fewest_links<'g>(
    judge: &Judge<'_>,
    best: Trial,
    index: impl Fn(&Plan) -> Result<Index<'g>, BuildError>,
    trials: &mut Vec<Trial>,
) -> Result<Trial, BuildError> {
    if best.budget.expand == 0 {
        return Ok(Trial { plan: Plan { links: 0, ..best.plan }, ..best });
    }
    if best.budget.epsilon > 0.0 && judge.all_errors(&best) < FEW_MISSED * MISS {
        return Ok(best);
    }
    let (mut fewest, most) = (best.clone(), NO_HARM * best.result.cost_of_all());
    let mut truths = None;
    for linked in SHARES {
        let plan = Plan { linked, ..best.plan };
        let trial = judge.try_again(&index(&plan)?, &plan, best.budget, &mut truths)?;
        trials.push(trial.clone());
        if trial.result.cost_of_all() <= most && judge.keeps_to_work(&trial) {
            fewest = trial;
        }
    }
    Ok(fewest)
}
