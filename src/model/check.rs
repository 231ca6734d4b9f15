//! The checks that read the content of the sections: each number in its range, each relation between them.

use super::{Model, Section};
use crate::Error;
use crate::hint::keep_small;
use crate::kernels;
use crate::math::float;
use crate::rows::{Bits, Indices, RowTable};
use crate::tree::Unsound;

/// The norm in the header may be this much below the real one, for its rounding.
const NORM_SLACK: f32 = 1.0 + 1e-5;

#[cold]
pub(super) fn content(model: &Model<'_>) -> Result<(), Error> {
    permutation(model)?;
    table(model, model.rows(), [Section::Rows, Section::RowScales])?;
    if let Some(tree) = model.tree() {
        table(model, tree.nodes(), [Section::NodeRows, Section::NodeScales])?;
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

/// Checks that all values are finite. Not inlined, since many places call it and none is critical for time.
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

/// The number of classes that one pass over the order looks for, with a bit for each. A host's stack has room for more.
const MARKS: usize = if cfg!(feature = "std") { 1 << 18 } else { 1 << 12 };

/// Checks that every class has exactly one row.
///
/// If the file has the inverse, one pass is enough: two lists that undo each other are permutations. Otherwise there
/// are as many rows as classes, and no class may come twice. That takes a pass for each 4 096 classes with a bit for
/// each of them, as there is no memory for more.
#[cold]
fn permutation(model: &Model<'_>) -> Result<(), Error> {
    let wrong = Err(Error::SectionContent(Section::ClassOfRow.kind()));
    let Some(order) = model.order() else {
        return Ok(());
    };
    let classes = model.classes();
    if let Some(row_of_class) = order.row_of_class {
        let is_back = |row| order.class_of_row.get(row).and_then(|class| row_of_class.get(class)) == Some(row);
        return if (0..classes).all(is_back) { Ok(()) } else { wrong };
    }
    let mut first = 0;
    while first < classes {
        let count = MARKS.min(classes - first);
        let found = match order.class_of_row {
            Indices::Short(list) => found_of(list, first, count),
            Indices::Long(list) => found_of(list, first, count),
        };
        if found != count {
            return wrong;
        }
        first += count;
    }
    Ok(())
}

/// Counts how many of the `count` numbers from `first` on, at most `MARKS`, are in the list.
#[cold]
fn found_of<I: Copy + Into<u32>>(list: &[I], first: usize, count: usize) -> usize {
    let mut marks = [0u32; MARKS / 32];
    let mut found = 0;
    for &number in list {
        keep_small();
        let at = (number.into() as usize).wrapping_sub(first);
        if at < count
            && let Some(word) = marks.get_mut(at / 32)
        {
            found += usize::from(*word >> (at % 32) & 1 == 0);
            *word |= 1 << (at % 32);
        }
    }
    found
}

/// Checks the rows or node vectors of a table against the header. The bounds on every score and every dot product rest
/// on the largest norm and the largest row, so these must hold for every row and node. No weight is −128, which is also
/// what an invalid pair of weights unpacks to, and padding is zero, so that no stray weight hides there.
#[cold]
fn table(model: &Model<'_>, rows: &RowTable<'_>, [weights, scales]: [Section; 2]) -> Result<(), Error> {
    let scales = if rows.bits().has_own_scales() { weights } else { scales };
    // In 4-bit rows `squares` checks the padding.
    if rows.bits() == Bits::Eight && !is_padded(rows, model.dim()) {
        return Err(Error::SectionContent(weights.kind()));
    }
    let limit = model.max_norm() * NORM_SLACK;
    let unit = libm::ldexpf(1.0, model.scale_exponent());
    // At a scale up to this, a row within the largest sum of squares is within the norm as well: most rows need no
    // root.
    let largest = model.largest_row();
    let safe_scale = limit / (float::sqrt(largest as f32) * unit * NORM_SLACK);
    let safe_scale = if safe_scale.is_finite() { safe_scale as u16 } else { 0 };
    for (row, stored) in rows.all_stored().enumerate() {
        let Some(squares) = rows.bits().squares(stored, model.dim()).filter(|&sum| sum <= largest) else {
            return Err(Error::SectionContent(weights.kind()));
        };
        let scale = rows.scale(row);
        if scale > safe_scale && float::sqrt(squares as f32) * (f32::from(scale) * unit) > limit {
            return Err(Error::SectionContent(scales.kind()));
        }
    }
    Ok(())
}

/// Returns true if the padding behind the last column, less than a word, is zero in every int8 row.
#[cold]
fn is_padded(rows: &RowTable<'_>, dim: usize) -> bool {
    let columns = (dim % kernels::ROW_ALIGN) as u32;
    columns == 0
        || rows.all_stored().all(|row| {
            keep_small();
            let [[a, b], [c, d]] = row.last_chunk().unwrap_or(&[0; 2]).map(kernels::weights);
            u32::from_le_bytes([a, b, c, d].map(i8::cast_unsigned)) >> (8 * columns) == 0
        })
}
