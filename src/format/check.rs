//! The checks that read the content of the sections: each number in its range, each relation between them.

use super::{Model, Section};
use crate::Error;
use crate::math::float;
use crate::rows::RowTable;

/// Biases keep to a quarter of the range of [`Log2`](crate::math::Log2), scores to three quarters: no sum leaves it.
pub(super) const BIAS_LIMIT: i32 = 1 << 29;

/// The norm in the header may be this much below the real one, for its rounding.
const NORM_SLACK: f32 = 1.0 + 1e-5;

#[cold]
pub(super) fn content(model: &Model<'_>) -> Result<(), Error> {
    permutation(model)?;
    table(model, model.rows(), [Section::Rows, Section::RowScales, Section::Biases])?;
    if let Some(tree) = model.tree() {
        table(model, tree.nodes(), [Section::NodeRows, Section::NodeScales, Section::NodeBiases])?;
        tree.check(model.classes())?;
    }
    if model.links().is_some_and(|links| !links.check(model.classes())) {
        return Err(Error::SectionContent(Section::Links.kind()));
    }
    if model.names().is_some_and(|names| !names.is_sound()) {
        return Err(Error::SectionContent(Section::Names.kind()));
    }
    if model.measured().is_some_and(|measured| !measured.is_sound()) {
        return Err(Error::SectionContent(Section::Measured.kind()));
    }
    if model.settings().is_some_and(|settings| !settings.is_sound()) {
        return Err(Error::SectionContent(Section::Settings.kind()));
    }
    if model.fmbe().is_some_and(|fmbe| !fmbe.is_sound()) {
        return Err(Error::SectionContent(Section::Fmbe.kind()));
    }
    Ok(())
}

/// Out of line, as it is called from many places and never where time counts.
#[cold]
#[inline(never)]
pub(super) fn are_finite_and_positive(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_finite() && *value >= 0.0)
}

/// Two lists that undo each other are permutations.
#[cold]
fn permutation(model: &Model<'_>) -> Result<(), Error> {
    let Some(order) = model.order() else {
        return Ok(());
    };
    for row in 0..model.classes() {
        let class = order.class_of_row.get(row);
        let back = class.and_then(|class| order.row_of_class.get(class));
        if back != Some(row) {
            return Err(Error::SectionContent(Section::ClassOfRow.kind()));
        }
    }
    Ok(())
}

/// The bound on every score stands on the largest norm: it has to be true of every row and node. Biases keep to their
/// part of the range, and padding is zero, so that no stray weight hides there.
#[cold]
fn table(model: &Model<'_>, rows: &RowTable<'_>, [values, scales, biases]: [Section; 3]) -> Result<(), Error> {
    let limit = model.max_norm() * NORM_SLACK;
    for row in 0..rows.len() {
        let weights = rows.values(row);
        let squares: u32 = weights.iter().map(|&v| u32::from(v.unsigned_abs()) * u32::from(v.unsigned_abs())).sum();
        let scale = libm::ldexpf(f32::from(rows.scale(row)), model.scale_exponent());
        if float::sqrt(squares as f32) * scale > limit {
            return Err(Error::SectionContent(scales.kind()));
        }
        if !(-BIAS_LIMIT..=BIAS_LIMIT).contains(&rows.bias(row).to_bits()) {
            return Err(Error::SectionContent(biases.kind()));
        }
        if weights.get(model.dim()..).is_none_or(|padding| padding.iter().any(|&v| v != 0)) {
            return Err(Error::SectionContent(values.kind()));
        }
    }
    Ok(())
}
