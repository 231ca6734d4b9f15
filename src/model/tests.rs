use proptest::prelude::*;

use super::header::{CHECKSUM_AT, ENTRY_LEN, HEADER_LEN};
use super::*;
use crate::Error;
use crate::host::{Matrix, flat_model};

mod content_tests;
mod four_bit_tests;

fn small() -> ModelBuf {
    let rows = Matrix::new((0..15).map(|i| (i as f32 * 0.7).sin()).collect(), 3).expect("whole rows");
    flat_model(&rows, &[0.5, -0.5, 0.0, 1.0, f32::NEG_INFINITY]).expect("a valid model")
}

/// Opens changed bytes; the copy is aligned as an included model is.
fn open(bytes: &[u8]) -> Result<(), Error> {
    ModelBuf::from_bytes(bytes).map(|_| ())
}

/// Opens the bytes without the checksum and uses all of the model: nothing may panic, whatever is in there.
fn use_all_of_it(bytes: &[u8]) {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    let bytes = &bytemuck::cast_slice::<u64, u8>(&words)[..bytes.len()];
    let Ok(model) = Model::from_bytes_trusted(bytes) else {
        return;
    };
    let values = vec![1.0; model.dim()];
    let Ok(query) = crate::QueryBuffer::<64>::new(&model, &values) else {
        return;
    };
    let answer = crate::exact::<3>(&model, &query).expect("a query of the model");
    assert!(answer.top.iter().all(|ranked| (0.0..=1.0).contains(&ranked.p)));
    for class in 0..8 {
        let _ = answer.probability(&model, &query, class);
    }
}

/// Repairs the checksum, so that the checks after it are reached.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&bytes);
    bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn every_truncation_is_rejected() {
    let file = small();
    for len in 0..file.len() {
        assert!(open(&file[..len]).is_err(), "{len} bytes were accepted");
        use_all_of_it(&file[..len]);
    }
}

#[test]
fn every_changed_byte_is_rejected() {
    let file = small();
    for at in 0..file.len() {
        for change in 1..=255u8 {
            let mut bytes = file.to_vec();
            bytes[at] ^= change;
            assert!(open(&bytes).is_err(), "byte {at} changed by {change:#x} was accepted");
        }
    }
}

#[test]
fn no_changed_byte_makes_the_trusted_path_panic() {
    let file = small();
    for at in 0..file.len() {
        for change in [1u8, 2, 0x10, 0x80, 0xff] {
            let mut bytes = file.to_vec();
            bytes[at] ^= change;
            use_all_of_it(&bytes);
        }
    }
}

#[test]
fn appended_bytes_are_rejected() {
    let mut bytes = small().to_vec();
    bytes.push(0);
    assert_eq!(open(&bytes), Err(Error::TrailingBytes));
}

#[test]
fn misaligned_bytes_are_rejected() {
    let file = small();
    let mut words = vec![0u64; file.len() / 8 + 2];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    bytes[1..=file.len()].copy_from_slice(&file);
    assert_eq!(Model::from_bytes(&bytes[1..=file.len()]).err(), Some(Error::Misaligned));
}

#[test]
fn wrong_headers_are_named() {
    let cases: [(usize, u32, Error); 10] = [
        (8, 1 | 3 << 16, Error::Version(1)),
        (20, 0, Error::Header),
        (24, 0, Error::Header),
        (24, 1 << 20, Error::Header),
        (28, 8, Error::Header),
        (32, 401, Error::Header),
        (32, 15 << 16, Error::Header),
        (36, f32::NAN.to_bits(), Error::Header),
        (36, f32::INFINITY.to_bits(), Error::Header),
        (44, 1, Error::Header),
    ];
    for (at, value, expected) in cases {
        let mut bytes = small().to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        assert_eq!(open(&resealed(bytes)), Err(expected), "at {at}");
    }
    assert_eq!(open(&[]), Err(Error::Truncated));
    assert_eq!(open(b"PK\x03\x04 something else entirely, long enough for a header"), Err(Error::NotAModel));
}

#[test]
fn a_norm_above_the_stated_one_is_rejected() {
    let mut bytes = small().to_vec();
    bytes[36..40].copy_from_slice(&0.5f32.to_bits().to_le_bytes());
    assert_eq!(open(&resealed(bytes)), Err(Error::SectionContent(Section::RowScales.kind())));
}

/// Returns the file with this number for the first two columns of its last row.
fn with_pair(pair: i16) -> Vec<u8> {
    let mut bytes = small().to_vec();
    let offset = HEADER_LEN + 4;
    let rows = u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes")) as usize;
    bytes[rows + 16..rows + 18].copy_from_slice(&pair.to_le_bytes());
    // Nothing of the size of the row stands in the way.
    bytes[36..40].copy_from_slice(&1e3f32.to_le_bytes());
    bytes[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
    resealed(bytes)
}

#[test]
fn what_is_no_pair_of_weights_is_rejected() {
    for pair in i16::MIN..=i16::MAX {
        let [even, odd] = crate::kernels::weights(pair);
        let sound = (-127..=127).contains(&even) && (-127..=127).contains(&odd);
        let high = (i32::from(pair) - i32::from(pair as i8)) >> 8;
        assert_eq!(sound, even != i8::MIN && (-127..=127).contains(&high));
        let expected = if sound { Ok(()) } else { Err(Error::SectionContent(Section::Rows.kind())) };
        assert_eq!(open(&with_pair(pair)), expected, "{pair:#06x}");
    }
}

#[test]
fn a_row_longer_than_the_stated_one_is_rejected() {
    let file = small();
    let largest = file.model().largest_row();
    let stated = |largest: u32| {
        let mut bytes = file.to_vec();
        bytes[40..44].copy_from_slice(&largest.to_le_bytes());
        open(&resealed(bytes))
    };
    assert_eq!(stated(largest), Ok(()));
    assert_eq!(stated(largest - 1), Err(Error::SectionContent(Section::Rows.kind())));
    assert_eq!(stated(0), Err(Error::SectionContent(Section::Rows.kind())));
}

#[test]
fn padding_that_is_not_zero_is_rejected() {
    // Three columns: the last weight of each row is padding, and 0xff there only the sign of the one before.
    let mut bytes = small().to_vec();
    let offset = HEADER_LEN + 4;
    let rows = u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes")) as usize;
    bytes[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
    bytes[36..40].copy_from_slice(&1e3f32.to_le_bytes());
    for (pair, expected) in [
        (crate::kernels::pair(-5, 0), Ok(())),
        (crate::kernels::pair(5, 1), Err(Error::SectionContent(Section::Rows.kind()))),
        (crate::kernels::pair(-5, -1), Err(Error::SectionContent(Section::Rows.kind()))),
    ] {
        bytes[rows + 2..rows + 4].copy_from_slice(&pair.to_le_bytes());
        assert_eq!(open(&resealed(bytes.clone())), expected, "{pair:#06x}");
    }
}

fn with_section(kind: u16, required: bool) -> Vec<u8> {
    // The last section's kind is replaced by an unknown one; biases are then missing, or the unknown one is refused.
    let mut bytes = small().to_vec();
    let entry = HEADER_LEN + 2 * ENTRY_LEN;
    bytes[entry..entry + 2].copy_from_slice(&kind.to_le_bytes());
    bytes[entry + 2..entry + 4].copy_from_slice(&u16::from(required).to_le_bytes());
    resealed(bytes)
}

#[test]
fn unknown_sections_are_skipped_or_refused_as_they_ask() {
    assert_eq!(open(&with_section(999, true)), Err(Error::UnknownSection(999)));
    assert_eq!(open(&with_section(999, false)), Err(Error::MissingSection(Section::Biases.kind())));
    assert_eq!(open(&with_section(Section::Rows.kind(), true)), Err(Error::SectionTable));
}

/// Returns the small file with this many more sections: optional, empty, and of unknown kinds.
fn with_empty_sections(count: u16) -> Vec<u8> {
    let file = small();
    let moved = usize::from(count) * ENTRY_LEN;
    let len = (file.len() + moved).next_multiple_of(16);
    let entry = |head: &[u8], offset: u32, rest: &[u8]| [head, &offset.to_le_bytes(), rest].concat();
    let mut bytes = file[..HEADER_LEN].to_vec();
    bytes[10..12].copy_from_slice(&(3 + count).to_le_bytes());
    bytes[12..16].copy_from_slice(&(len as u32).to_le_bytes());
    for known in file[HEADER_LEN..].chunks_exact(ENTRY_LEN).take(3) {
        let offset = u32::from_le_bytes(known[4..8].try_into().expect("four bytes"));
        bytes.extend(entry(&known[..4], offset + moved as u32, &known[8..]));
    }
    for kind in 1_000..1_000 + u32::from(count) {
        bytes.extend(entry(&kind.to_le_bytes(), len as u32, &[0; 8]));
    }
    bytes.extend_from_slice(&file[HEADER_LEN + 3 * ENTRY_LEN..]);
    bytes.resize(len, 0);
    resealed(bytes)
}

#[test]
fn sixty_four_sections_are_the_most() {
    assert_eq!(open(&with_empty_sections(61)), Ok(()));
    assert_eq!(open(&with_empty_sections(62)), Err(Error::SectionTable));
    // Before the table is compared with itself: a quadratic number of steps would be seconds on a host.
    let bytes = with_empty_sections(60_000);
    let start = std::time::Instant::now();
    assert_eq!(open(&bytes), Err(Error::SectionTable));
    assert!(start.elapsed().as_millis() < 100, "{:?}", start.elapsed());
}

#[test]
fn words_that_must_be_zero_are_zero() {
    let indexed = crate::include_model!("../../fuzz/seeds/model/indexed.zhat");
    let features = crate::include_model!("../../fuzz/seeds/model/maclaurin.zhat");
    let content = |section: Section| Error::SectionContent(section.kind());
    for (file, section, reserved, expected) in [
        (indexed, Section::Settings, 7..8, content(Section::Settings)),
        (indexed, Section::Trust, 41..44, content(Section::Trust)),
        (indexed, Section::TreeInfo, 6..8, content(Section::TreeInfo)),
        (features, Section::Fmbe, 6..8, Error::SectionLength(Section::Fmbe.kind())),
    ] {
        assert_eq!(open(file), Ok(()));
        let is_it = |entry: &usize| file[HEADER_LEN + ENTRY_LEN * entry..][..2] == section.kind().to_le_bytes();
        let entry = HEADER_LEN + ENTRY_LEN * (0..Section::ALL.len()).find(is_it).expect("a section");
        let offset = u32::from_le_bytes(file[entry + 4..entry + 8].try_into().expect("four bytes")) as usize;
        let changed = |at: usize, bit: u8| {
            let mut bytes = file.to_vec();
            bytes[at] |= bit;
            open(&resealed(bytes))
        };
        for word in reserved {
            assert_eq!(changed(offset + 4 * word, 1), Err(expected), "{section:?}, word {word}");
        }
        assert_eq!(changed(entry + 12, 1), Err(Error::SectionTable), "the last word of an entry");
        assert_eq!(changed(entry + 2, 2), Err(Error::SectionTable), "a flag that says nothing");
        assert_eq!(changed(44, 1), Err(Error::Header), "the last word of the header");
    }
}

#[test]
fn a_reopened_file_is_the_same_and_sections_can_be_replaced() {
    let file = small();
    assert_eq!(FileWriter::reopen(&file).and_then(|writer| writer.finish()), Ok(file.to_vec()));
    let mut writer = FileWriter::reopen(&file).expect("a valid file");
    writer.required(Section::Biases, &[0i16; 5]);
    let changed = ModelBuf::from_bytes(&writer.finish().expect("small")).expect("still valid");
    assert_eq!(changed.model().rows().bias(0), crate::math::Log2::from_bits(0));
    assert_eq!(FileWriter::reopen(&file[..40]).err(), Some(Error::Truncated));
}

proptest! {
    #[test]
    fn damaged_larger_files_are_rejected(at in any::<prop::sample::Index>(), change in 1u8..=255, cut in any::<prop::sample::Index>()) {
        let rows = Matrix::new((0..40 * 61).map(|i| (i as f32 * 0.11).cos()).collect(), 61).expect("whole rows");
        let file = flat_model(&rows, &[0.1; 40]).expect("a valid model");
        let mut bytes = file.to_vec();
        bytes[at.index(file.len())] ^= change;
        prop_assert!(open(&bytes).is_err());
        // With the checksum mended it may be a valid model again; then it must be usable.
        let bytes = resealed(bytes);
        let _ = open(&bytes);
        use_all_of_it(&bytes);
        prop_assert!(open(&file[..cut.index(file.len())]).is_err());
    }

    #[test]
    fn random_bytes_are_no_model(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(open(&bytes).is_err());
    }
}

fn named(content: &[u8]) -> Result<ModelBuf, Error> {
    let file = small();
    let mut writer = FileWriter::reopen(&file).expect("valid");
    writer.optional(Section::Names, content);
    ModelBuf::from_bytes(&writer.finish().expect("small"))
}

#[test]
fn names_are_those_that_were_stored() {
    let list = ["the", "", "é", "of", "<unk>"];
    let file = named(&Names::encode(&list)).expect("valid");
    let model = file.model();
    let names = model.names().expect("names");
    assert_eq!(names.len(), 5);
    for (class, name) in list.iter().enumerate() {
        assert_eq!(names.get(class), Some(*name));
    }
    assert_eq!(names.get(5), None);
    assert_eq!(names.get(usize::MAX), None);
    assert!(small().model().names().is_none());
}

#[test]
fn long_names_have_longer_offsets() {
    for length in [65_530, 65_531, 65_532, 70_000] {
        let list = ["ab", "", &"x".repeat(length), "of", "é"].map(String::from);
        let section = Names::encode(&list);
        let text: usize = list.iter().map(String::len).sum();
        assert_eq!(section.len(), text + 6 * if text <= 65_535 { 2 } else { 4 });
        let file = named(&section).expect("valid");
        assert!((0..5).all(|class| file.model().names().and_then(|names| names.get(class)) == Some(&list[class])));
    }
}

#[test]
fn names_that_are_not_names_are_rejected() {
    let kind = Section::Names.kind();
    assert_eq!(named(&[0; 11]).err(), Some(Error::SectionLength(kind)), "too short for the offsets");
    let section = |starts: [u16; 6], text: &[u8]| [bytemuck::cast_slice(&starts), text].concat();
    for (starts, text) in [
        ([0, 1, 2, 3, 4, 4], "abcde"),
        ([1, 1, 2, 3, 4, 5], "abcde"),
        ([0, 3, 2, 3, 4, 5], "abcde"),
        ([0, 1, 2, 3, 4, 9], "abcde"),
        ([0, 1, 1, 1, 1, 2], "é"),
    ] {
        assert_eq!(named(&section(starts, text.as_bytes())).err(), Some(Error::SectionContent(kind)), "{starts:?}");
    }
    assert_eq!(named(&section([0, 1, 1, 1, 1, 1], b"\xff")).err(), Some(Error::SectionContent(kind)));
}

#[test]
fn a_rewritten_file_is_the_same_file() {
    let file = small();
    let mut writer = FileWriter::reopen(&file).expect("valid");
    assert_eq!(writer.finish().expect("small"), file.to_vec());
    let measured = Measured { queries: 7, error: 0.5, recall: 1.0, ..Default::default() };
    writer.optional(Section::Measured, &measured.to_words());
    let with = ModelBuf::from_bytes(&writer.finish().expect("small")).expect("valid");
    assert_eq!(with.model().measured(), Some(measured));
    let scale = InputScale { scale: 0.05, zero_point: -100 };
    writer.optional(Section::InputScale, &scale.to_words());
    let with = ModelBuf::from_bytes(&writer.finish().expect("small")).expect("valid");
    assert_eq!((with.model().measured(), with.model().input_scale()), (Some(measured), Some(scale)));
    for wrong in [[0, 0], [f32::NAN.to_bits(), 0], [1f32.to_bits(), 128]] {
        let mut writer = writer.clone();
        writer.optional(Section::InputScale, &wrong);
        let file = ModelBuf::from_bytes(&writer.finish().expect("small"));
        assert_eq!(file.err(), Some(Error::SectionContent(Section::InputScale.kind())));
    }
    // A section of the same kind is replaced.
    let other = Measured { queries: 8, ..measured };
    writer.optional(Section::Measured, &other.to_words());
    let with = ModelBuf::from_bytes(&writer.finish().expect("small")).expect("valid");
    assert_eq!(with.model().measured(), Some(other));
}
