//! The views of a model's bytes, without the host library: also what runs under Miri.

use zhat::model::{Aligned, FileHeader};
use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, exact, include_model};

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
fn a_prefix_says_how_long_the_file_is() {
    for file in [FLAT, INDEXED] {
        let mut bytes = copy(file);
        bytes.0[file.len()..].fill(0xff);
        for len in 0..FileHeader::LEN {
            assert_eq!(FileHeader::read(&file[..len]), Err(Error::Truncated), "{len} bytes");
            assert_eq!(Model::file_len(&file[..len]), Err(Error::Truncated), "{len} bytes");
        }
        for len in [FileHeader::LEN, FileHeader::LEN + 1, file.len()] {
            assert_eq!(Model::file_len(&file[..len]), Ok(file.len()));
        }
        let model = Model::from_prefix(&bytes.0).expect("a valid file");
        assert_eq!(
            (model.len(), Model::from_prefix_trusted(&bytes.0).map(|model| model.len())),
            (file.len(), Ok(file.len()))
        );
        assert_eq!(FileHeader::read(file).map(|header| header.build_id), Ok(model.build_id()));
        for len in (0..file.len()).step_by(if cfg!(miri) { 97 } else { 1 }) {
            assert!(Model::from_prefix(&bytes.0[..len]).is_err(), "{len} bytes were accepted");
            assert!(Model::from_prefix_trusted(&bytes.0[..len]).is_err(), "{len} bytes were trusted");
        }
    }
}

/// Flash that is erased, or written up to some place, and the file's own words: never more than the file, and no panic.
#[test]
fn whatever_a_prefix_holds_it_is_an_error_or_a_file_inside_of_it() {
    let mut bytes = copy(INDEXED);
    for fill in [0x00, 0xff] {
        bytes.0.fill(fill);
        assert_eq!(Model::from_prefix(&bytes.0).err(), Some(Error::NotAModel));
        assert_eq!(Model::file_len(&bytes.0), Err(Error::NotAModel));
    }
    for written in 0..FileHeader::LEN + 30 {
        bytes.0.fill(0xff);
        bytes.0[..written].copy_from_slice(&INDEXED[..written]);
        assert!(Model::from_prefix(&bytes.0).is_err());
        assert!(Model::from_prefix_trusted(&bytes.0).is_err());
    }
    // Lengths that a damaged header may state.
    for len in [0, 1, 19, 20, 47, 48, INDEXED.len() - 1, INDEXED.len() + 1, 16_384, 16_385, u32::MAX as usize] {
        let mut bytes = copy(INDEXED);
        bytes.0[12..16].copy_from_slice(&(len as u32).to_le_bytes());
        assert_eq!(Model::file_len(&bytes.0), Ok(len));
        assert!(Model::from_prefix(&bytes.0).is_err());
        if let Ok(model) = Model::from_prefix_trusted(&bytes.0) {
            use_all_of(&model);
        }
    }
}

#[test]
fn a_file_of_another_version_is_told_by_its_prefix() {
    let mut bytes = copy(FLAT);
    bytes.0[8..10].copy_from_slice(&7_u16.to_le_bytes());
    let header = FileHeader::read(&bytes.0).expect("a model");
    assert_eq!((header.version, header.len as usize), (7, FLAT.len()));
    assert_eq!(Model::file_len(&bytes.0), Err(Error::Version(7)));
    assert_eq!(Model::from_prefix(&bytes.0).err(), Some(Error::Version(7)));
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
