//! From rows, nodes, links and settings to the bytes of a file.

use super::cluster::Hierarchy;
use super::corrections::NodeFit;
use super::links::Links;
use crate::host::quantise::QuantisedRows;
use crate::host::{BuildError, Compensation, Matrix};
use crate::math::{Log2, SmallFloat};
use crate::model::{FileWriter, ModelBuf, Section, Settings};
use crate::rows::Indices;
use crate::tree::{Bounds, GAIN_BITS, INFO_BIAS_SHIFT, INFO_WORDS, Spread, SpreadFunction};

/// The bounds of all nodes, from the rows as they are rounded.
pub type BoundsOf<'a> = &'a dyn Fn(&QuantisedRows) -> Vec<Bounds>;

/// All that a file is made of.
pub struct Parts<'a> {
    /// The rows, in the order of the tree.
    pub rows: &'a QuantisedRows,
    /// The class of each row.
    pub order: &'a [u32],
    /// The tree.
    pub hierarchy: &'a Hierarchy,
    /// A prediction for each node.
    pub fits: &'a [NodeFit],
    /// f₀ and f₁.
    pub spread_function: (f32, f32),
    /// How the nodes' vectors are rounded.
    pub compensation: Option<&'a Compensation>,
    /// Row indices, as many for each row that has any; may be empty.
    pub links: &'a Links,
    /// Certain bounds on the nodes, given their vectors as rounded; may be left out.
    pub bounds: Option<BoundsOf<'a>>,
    /// Budget and the like, for the classifier.
    pub settings: Settings,
}

/// Puts the file together and opens it.
pub fn assemble(parts: &Parts<'_>) -> Result<ModelBuf, BuildError> {
    let nodes = quantised_nodes(parts);
    let mut file = parts.rows.start_file(Some(&nodes));
    let classes = parts.order.len();
    indices(&mut file, Section::ClassOfRow, parts.order, classes);

    let curve: Vec<f64> = parts.fits.iter().map(|fit| f64::from(fit.variance) / 2.0 * LOG2_E).collect();
    let frozen: Vec<f64> =
        parts.fits.iter().map(|fit| (2.0 * f64::from(fit.variance) * (fit.rows as f64).ln()).sqrt() * LOG2_E).collect();
    let (curve, curve_exponent) = scales(&curve);
    let (frozen, frozen_exponent) = scales(&frozen);
    let (constant, slope) = parts.spread_function;
    let function = SpreadFunction { constant, slope, curve_exponent, frozen_exponent };
    let mut info = [0u32; INFO_WORDS];
    info[0] = parts.hierarchy.top as u32;
    info[1..5].copy_from_slice(&function.to_words());
    info[INFO_BIAS_SHIFT] = nodes.bias_shift;
    file.required(Section::TreeInfo, &info);
    nodes.add_to(&mut file, [Section::NodeRows, Section::NodeScales, Section::NodeBiases]);
    let spans: Vec<u32> =
        parts.hierarchy.spans.iter().flat_map(|span| span.fields().map(|field| field as u32)).collect();
    indices(&mut file, Section::NodeSpans, &spans, classes.max(parts.fits.len()));
    let counts = parts.fits.iter().map(|fit| ((fit.rows as f64).log2() * f64::from(1 << Spread::COUNT_BITS)) as u16);
    let spreads: Vec<[u16; 3]> = curve.iter().zip(&frozen).zip(counts).map(|((&c, &f), n)| [c, f, n]).collect();
    file.required(Section::NodeSpreads, bytemuck::cast_slice::<[u16; 3], u16>(&spreads));
    let gain = |fit: &NodeFit| {
        (f64::from(fit.gain) * LOG2_E * f64::from(1 << GAIN_BITS)).round().clamp(-32768.0, 32767.0) as i16
    };
    file.required(Section::NodeGains, &parts.fits.iter().map(gain).collect::<Vec<i16>>());
    if let Some(bounds) = parts.bounds {
        let words: Vec<u16> = bounds(&nodes).iter().flat_map(|bounds| bounds.to_words()).collect();
        file.optional(Section::NodeBounds, &words);
    }
    if !parts.links.list.is_empty() {
        indices(&mut file, Section::Links, &parts.links.list, classes);
        if parts.links.linked.contains(&false) {
            file.required(Section::LinkedRows, &crate::model::Links::encode(&parts.links.linked));
        }
    }
    file.required(Section::Settings, &parts.settings.to_words());
    Ok(file.into_model()?)
}

const LOG2_E: f64 = core::f64::consts::LOG2_E;

fn quantised_nodes(parts: &Parts<'_>) -> QuantisedRows {
    let vectors: Vec<f32> = parts.fits.iter().flat_map(|fit| &fit.vector).copied().collect();
    let vectors = Matrix::new(vectors, parts.rows.dim).expect("whole rows");
    let biases: Vec<f32> = parts.fits.iter().map(|fit| fit.bias).collect();
    QuantisedRows::round(&vectors, &biases, parts.rows.scale_exponent, parts.compensation, parts.rows.bits)
}

/// Numbers as small floats with a common exponent.
fn scales(values: &[f64]) -> (Vec<u16>, i32) {
    // The exponent has room for shifts only to the left of the fixed point.
    let largest = values.iter().fold(0.0, |m: f64, &v| m.max(v));
    let least = -(Log2::FRACTION_BITS as i32 - 16);
    let exponent =
        if largest == 0.0 { -20 } else { (largest / f64::from(SmallFloat::MAX - (1 << 15))).log2().ceil() as i32 };
    let exponent = exponent.clamp(-60, least);
    let unit = f64::from(exponent).exp2();
    let bits = |&value: &f64| SmallFloat::at_least((value / unit).round() as u32).map_or(0xffff, SmallFloat::to_bits);
    (values.iter().map(bits).collect(), exponent)
}

/// Indices below `limit`, in sixteen bits where that is enough.
pub(in crate::host) fn indices(file: &mut FileWriter, section: Section, list: &[u32], limit: usize) {
    if Indices::are_short(limit) {
        let short: Vec<u16> = list.iter().map(|&index| index as u16).collect();
        file.required(section, &short);
    } else {
        file.required(section, list);
    }
}
