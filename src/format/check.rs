//! The checks that read the content of the sections: each number in its range, each relation between them.

use super::{Model, Section};
use crate::Error;
use crate::math::float;

/// Biases keep to a quarter of the range of [`Log2`](crate::math::Log2), scores to three quarters: no sum leaves it.
pub(super) const BIAS_LIMIT: i32 = 1 << 29;

/// The norm in the header may be this much below the real one, for its rounding.
const NORM_SLACK: f32 = 1.0 + 1e-5;

pub(super) fn content(model: &Model<'_>) -> Result<(), Error> {
    permutation(model)?;
    biases(model)?;
    norms(model)
}

/// Two lists that undo each other are permutations.
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

fn biases(model: &Model<'_>) -> Result<(), Error> {
    let rows = model.rows();
    let in_range =
        (0..rows.len()).all(|row| (-BIAS_LIMIT..=BIAS_LIMIT).contains(&rows.bias(row).to_bits()));
    if in_range {
        Ok(())
    } else {
        Err(Error::SectionContent(Section::Biases.kind()))
    }
}

/// The bound on every score stands on the largest norm: it has to be true. Padding is zero, so that no stray weight
/// hides there.
fn norms(model: &Model<'_>) -> Result<(), Error> {
    let limit = model.max_norm() * NORM_SLACK;
    for row in 0..model.classes() {
        let values = model.rows().values(row);
        let squares: u32 = values
            .iter()
            .map(|&v| u32::from(v.unsigned_abs()) * u32::from(v.unsigned_abs()))
            .sum();
        let scale = libm::ldexpf(
            model.rows().scale(row).units() as f32,
            model.scale_exponent(),
        );
        if float::sqrt(squares as f32) * scale > limit {
            return Err(Error::SectionContent(Section::RowScales.kind()));
        }
        if values
            .get(model.dim()..)
            .is_none_or(|padding| padding.iter().any(|&v| v != 0))
        {
            return Err(Error::SectionContent(Section::Rows.kind()));
        }
    }
    Ok(())
}
