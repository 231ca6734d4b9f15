//! Arbitrary bytes as a model file: nothing may panic or read outside, whatever is in there.
//!
//! The magic, version, length and checksum are mended first, or no input would get past them. `fuzz/seeds` has valid
//! files to start from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zhat::model::FORMAT_VERSION;
use zhat::{Classifier, Model, QueryBuffer, Scratch, exact};

const MAGIC: [u8; 8] = [0x89, b'Z', b'H', b'A', b'T', b'\r', b'\n', 0x1a];
const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

fuzz_target!(|bytes: &[u8]| {
    // Words, for their alignment.
    let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    let (_, file, _) = unsafe { words.align_to_mut::<u8>() };
    let file = &mut file[..bytes.len()];
    file.copy_from_slice(bytes);
    mend(file);
    if let Ok(model) = Model::from_bytes(file) {
        use_all_of(&model);
    }
    if let Ok(model) = Model::from_bytes_trusted(file) {
        use_all_of(&model);
    }
});

fn mend(file: &mut [u8]) {
    let len = file.len() as u32;
    if file.len() < 20 {
        return;
    }
    file[..8].copy_from_slice(&MAGIC);
    file[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    file[12..16].copy_from_slice(&len.to_le_bytes());
    let mut digest = CRC.digest();
    digest.update(&file[..16]);
    digest.update(&file[20..]);
    file[16..20].copy_from_slice(&digest.finalize().to_le_bytes());
}

fn use_all_of(model: &Model<'_>) {
    let _ = model.sections().count();
    for class in [0, 1, model.classes() - 1, model.classes(), usize::MAX] {
        if let Some(row) = model.row_of_class(class) {
            let rows = model.rows();
            let _ = (model.class_of_row(row), rows.weights(row).count(), rows.scale(row), rows.bias(row));
        }
    }
    for value in [0.0, 1.0, -1e3, 1e-30, f32::NAN] {
        let Ok(query) = QueryBuffer::<64>::new(model, &vec![value; model.dim()]) else {
            continue;
        };
        let answer = exact::<4>(model, &query).expect("a query of the model");
        assert!(answer.top.iter().all(|best| (0.0..=1.0).contains(&best.p)));
        let _ = (answer.log_z(), answer.probability(model, &query, 1));
        if let Ok(classifier) = Classifier::new(*model) {
            let budget = classifier.budget().with_cap(64);
            let mut scratch = Scratch::<128>::new();
            let _ = classifier.classify::<4>(&query, &mut scratch);
            if let Ok(classifier) = classifier.with_budget(budget) {
                let _ = classifier.classify::<4>(&query, &mut scratch);
                let _ = classifier.certain_log_z(&query, &mut scratch);
                let _ = classifier.certain_top::<4>(&query, &mut scratch);
            }
        }
    }
}
