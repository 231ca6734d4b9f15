//! The views of a model's bytes, without the host library: also what runs under Miri.

use zhat::model::Aligned;
use zhat::{Classifier, Model, QueryBuffer, Scratch, exact, include_model};

static FLAT: &[u8] = include_model!("../fuzz/seeds/model/flat.zhat");
static INDEXED: &[u8] = include_model!("../fuzz/seeds/model/indexed.zhat");

/// Room for either file.
type Bytes = Aligned<[u8; 16384]>;

fn copy(file: &[u8]) -> Box<Bytes> {
    let mut bytes = Box::new(Aligned([0; 16384]));
    bytes.0[..file.len()].copy_from_slice(file);
    bytes
}

/// Uses all of a model; whatever is in there, nothing may panic or read outside.
fn use_all_of(model: &Model<'_>) {
    let Ok(query) = QueryBuffer::<8>::new(model, &[0.5, -1.0, 2.0, 0.25, 0.0, 1.0]) else {
        return;
    };
    let answer = exact::<3>(model, &query).expect("valid");
    assert!(answer.top.iter().all(|best| (0.0..=1.0).contains(&best.p)));
    let _ = answer.probability(model, &query, 7);
    if let Ok(classifier) = Classifier::new(*model) {
        let mut scratch = Scratch::<64>::new();
        let _ = classifier.classify::<3>(&query, &mut scratch);
        let _ = classifier.certain_log_z(&query, &mut scratch);
        let _ = classifier.certain_top::<3>(&query, &mut scratch);
    }
}

#[test]
fn the_files_are_valid() {
    for file in [FLAT, INDEXED] {
        use_all_of(&Model::from_bytes(file).expect("a valid file"));
    }
    assert!(Classifier::new(Model::from_bytes(INDEXED).expect("a valid file")).is_ok());
}

#[test]
fn every_truncation_is_rejected() {
    for file in [FLAT, INDEXED] {
        let bytes = copy(file);
        for len in 0..file.len() {
            assert!(Model::from_bytes(&bytes.0[..len]).is_err(), "{len} bytes were accepted");
            assert!(Model::from_bytes_trusted(&bytes.0[..len]).is_err(), "{len} bytes were trusted");
        }
    }
}

#[test]
fn no_changed_byte_is_accepted_and_none_makes_a_trusted_file_panic() {
    // Miri takes a thousand times as long: a few places of each section are enough there.
    for (file, step) in [(FLAT, if cfg!(miri) { 61 } else { 1 }), (INDEXED, if cfg!(miri) { 1999 } else { 1 })] {
        let mut bytes = copy(file);
        for at in (0..file.len()).step_by(step) {
            for change in [1, 0x80, 0xff] {
                bytes.0[at] ^= change;
                assert!(Model::from_bytes(&bytes.0[..file.len()]).is_err(), "byte {at} changed by {change:#x}");
                if let Ok(model) = Model::from_bytes_trusted(&bytes.0[..file.len()]) {
                    use_all_of(&model);
                }
                bytes.0[at] ^= change;
            }
        }
    }
}
