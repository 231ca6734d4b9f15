//! Random features: their mean is the exponential, and more of them come closer.

use zhat::QueryBuffer;
use zhat::estimators::fmbe;
use zhat::host::{Matrix, flat_model, with_fmbe};
use zhat::model::{FileWriter, FmbeKind, ModelBuf, Section};

use super::support::{D, clustered, log_z, moments, query};

const KINDS: [FmbeKind; 3] = [FmbeKind::Maclaurin, FmbeKind::Centred, FmbeKind::Positive];

#[test]
fn the_mean_feature_is_the_exponential() {
    // One row for the paper's kinds; the centred one is exact there, so it gets two.
    for (kind, n) in [(FmbeKind::Maclaurin, 1), (FmbeKind::Centred, 2), (FmbeKind::Positive, 1)] {
        let values = [0.5, -0.3, 0.4, 0.2, -0.5, 0.1, 0.4, -0.6];
        let rows = Matrix::new(values[..4 * n].to_vec(), 4).expect("rows");
        let plain = flat_model(&rows, &[0.7, -0.2][..n]).expect("valid");
        let ratios: Vec<f64> = (0..3000)
            .map(|seed| {
                let file = with_fmbe(&plain, kind, 100, seed).expect("small");
                let query = QueryBuffer::<4>::new(&file.model(), &[0.6, 0.4, -0.5, 0.9]).expect("valid");
                let estimate = fmbe(&file.model(), &query).expect("a table");
                (f64::from(estimate.log_z()) - log_z(&file.model(), &query)).exp()
            })
            .collect();
        let (mean, deviation) = moments(&ratios);
        let error = deviation / (ratios.len() as f64).sqrt();
        // An estimate below zero is given as zero, and that can only raise the mean.
        let negative = ratios.iter().filter(|&&ratio| ratio == 0.0).count();
        println!("{kind:?}: {mean:.4} ± {error:.4}, {negative} below zero");
        assert!(error < 0.02 && (mean - 1.0).abs() < 4.0 * error + 1e-3, "{kind:?}, seeds 0 to 2999: {mean} ± {error}");
    }
}

#[test]
fn more_features_come_closer_on_small_norms() {
    let (rows, biases) = clustered(100, D, 0.25);
    let plain = flat_model(&rows, &biases).expect("valid");
    for kind in KINDS {
        let errors = [50, 800, 12_800].map(|features| {
            let mut sum = 0.0;
            for seed in 0..12 {
                let file = with_fmbe(&plain, kind, features, seed).expect("small");
                let query = query::<D>(&file.model(), 0.5, seed as u32);
                let estimate = fmbe(&file.model(), &query).expect("a table");
                sum += ((f64::from(estimate.log_z()) - log_z(&file.model(), &query)).exp() - 1.0).abs() / 12.0;
            }
            sum
        });
        println!("{kind:?}: mean error {errors:?}");
        // Sixteen times the features: a quarter of the error, on average.
        assert!(errors[1] < errors[0] * 0.6 + 1e-5 && errors[2] < errors[1] * 0.6 + 1e-5, "{kind:?}: {errors:?}");
        assert!(errors[2] < 0.02, "{kind:?}: {errors:?}");
    }
}

#[test]
fn work_is_the_dot_products_and_does_not_depend_on_the_rows() {
    for n in [10, 100] {
        let (rows, biases) = clustered(n, D, 0.25);
        let plain = flat_model(&rows, &biases).expect("valid");
        let dots = KINDS.map(|kind| {
            let file = with_fmbe(&plain, kind, 1000, 7).expect("small");
            fmbe(&file.model(), &query::<D>(&file.model(), 0.5, 0)).expect("a table").work.rows
        });
        // Mean degrees are one and four; the centred kind has d/2 + 1 more.
        assert!((900..1100).contains(&dots[0]) && (3900..4100).contains(&dots[1]) && dots[2] == 1000, "{dots:?}");
    }
}

#[test]
fn damaged_tables_are_rejected() {
    let (rows, biases) = clustered(10, D, 0.25);
    let plain = flat_model(&rows, &biases).expect("valid");
    let words = |kind| {
        let file = with_fmbe(&plain, kind, 20, 7).expect("small");
        let (at, len) = section(&file);
        (0..len / 4).map(|i| u32::from_le_bytes(file[at + 4 * i..][..4].try_into().expect("four"))).collect::<Vec<_>>()
    };
    let open = |words: &[u32]| {
        let mut file = FileWriter::reopen(&plain).expect("a valid file");
        file.optional(Section::Fmbe, words);
        ModelBuf::from_bytes(&file.finish().expect("small")).map(|_| ())
    };
    for kind in KINDS {
        let sound = words(kind);
        assert_eq!(open(&sound), Ok(()));
        for len in 0..sound.len() {
            assert!(open(&sound[..len]).is_err(), "{kind:?}: {len} of {} words", sound.len());
        }
        for place in [0, 1, 4, 6, 7, 8, 39] {
            let mut wrong = sound.clone();
            wrong[place] ^= 0x40;
            assert!(open(&wrong).is_err(), "{kind:?}: word {place}");
        }
    }
    let mut infinite = words(FmbeKind::Centred);
    *infinite.last_mut().expect("words") = f32::INFINITY.to_bits();
    assert_eq!(open(&infinite), Err(zhat::Error::SectionContent(15)));
}

/// Offset and length of section 15, from the file's own table.
fn section(file: &[u8]) -> (usize, usize) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four")) as usize;
    let entry = (48..).step_by(16).find(|&at| word(at) & 0xffff == 15).expect("the section");
    (word(entry + 4), word(entry + 8))
}
