//! The checks that read the content of the sections: each number in its range, each relation between them.

use super::{Model, Section};
use crate::Error;
use crate::hint::keep_small;
use crate::kernels::{self, four_bit};
use crate::math::float;
use crate::rows::{Bits, RowTable};
use crate::tree::Unsound;

/// Biases keep to a quarter of the range of [`Log2`](crate::Log2), scores to three quarters: no sum leaves it.
pub(super) const BIAS_LIMIT: i32 = 1 << 29;

/// The norm in the header may be this much below the real one, for its rounding.
const NORM_SLACK: f32 = 1.0 + 1e-5;

#[cold]
pub(super) fn content(model: &Model<'_>) -> Result<(), Error> {
    permutation(model)?;
    table(model, model.rows(), [Section::Rows, Section::RowScales, Section::Biases])?;
    if let Some(tree) = model.tree() {
        table(model, tree.nodes(), [Section::NodeRows, Section::NodeScales, Section::NodeBiases])?;
        tree.check(model.classes()).map_err(|unsound| {
            let section = match unsound {
                Unsound::Spans => Section::NodeSpans,
                Unsound::Bounds => Section::NodeBounds,
            };
            Error::SectionContent(section.kind())
        })?;
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
    if !model.has_sound_trust() {
        return Err(Error::SectionContent(Section::Trust.kind()));
    }
    if model.has(Section::InputScale) && model.input_scale().is_none() {
        return Err(Error::SectionContent(Section::InputScale.kind()));
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
pub(super) fn are_finite(values: &[f32]) -> bool {
    values.iter().all(|value| {
        keep_small();
        value.is_finite()
    })
}

#[cold]
#[inline(never)]
pub(super) fn are_finite_and_not_negative(values: &[f32]) -> bool {
    values.iter().all(|value| {
        keep_small();
        value.is_finite() && *value >= 0.0
    })
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

/// The bounds on every score and every dot product stand on the largest norm and the largest row: they have to be true
/// of every row and node. Biases keep to their part of the range, no weight is −128, which is also what a pair of weights
/// beyond the range gives, and padding is zero, so that no stray weight hides there.
#[cold]
fn table(model: &Model<'_>, rows: &RowTable<'_>, [weights, scales, biases]: [Section; 3]) -> Result<(), Error> {
    // 4-bit rows have their scales themselves.
    let scales = if rows.bits() == Bits::Four { weights } else { scales };
    let limit = model.max_norm() * NORM_SLACK;
    let unit = libm::ldexpf(1.0, model.scale_exponent());
    for row in 0..rows.len() {
        let stored = rows.stored(row);
        let squares = match rows.bits() {
            Bits::Eight => squares(stored).filter(|_| is_padded(stored, model.dim())),
            Bits::Four => four_bit::squares(stored, model.dim()),
        };
        let Some(squares) = squares.filter(|&squares| squares <= model.largest_row()) else {
            return Err(Error::SectionContent(weights.kind()));
        };
        if float::sqrt(squares as f32) * (f32::from(rows.scale(row)) * unit) > limit {
            return Err(Error::SectionContent(scales.kind()));
        }
        if !(-BIAS_LIMIT..=BIAS_LIMIT).contains(&rows.bias(row).to_bits()) {
            return Err(Error::SectionContent(biases.kind()));
        }
    }
    Ok(())
}

/// The sum of the squares of a row's int8 weights; `None` if one of them is none.
fn squares(row: &[i16]) -> Option<u32> {
    let (mut squares, mut least) = (0, 0);
    for [even, odd] in row.iter().map(|&pair| kernels::weights(pair).map(i32::from)) {
        keep_small();
        squares += even * even + odd * odd;
        least = least.min(even).min(odd);
    }
    (least >= -127).then_some(squares as u32)
}

/// Whether what is behind the last column, less than a word, is zero.
fn is_padded(row: &[i16], dim: usize) -> bool {
    let [first, last] = *row.last_chunk().unwrap_or(&[0; 2]);
    let has_odd = |pair| kernels::weights(pair)[1] != 0;
    match dim % kernels::ROW_ALIGN {
        1 => last == 0 && !has_odd(first),
        2 => last == 0,
        3 => !has_odd(last),
        _ => true,
    }
}
