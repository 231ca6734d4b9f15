use super::*;
use crate::host::QuantisedRows;
use crate::rows::Bits;

/// Rows of two blocks, of which the first has fewer columns, and so do its first group and word.
const DIM: usize = 74;
const STRIDE: usize = 76;

fn four_bits() -> ModelBuf {
    let rows = Matrix::new((0..5 * DIM).map(|i| (i as f32 * 0.7).sin()).collect(), DIM).expect("whole rows");
    let biases = [0.5, -0.5, 0.0, 1.0, f32::NEG_INFINITY];
    QuantisedRows::round(&rows, &biases, -20, None, Bits::Four).start_file(None).into_model().expect("a valid model")
}

fn use_it(bytes: &[u8]) {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    let bytes = &bytemuck::cast_slice::<u64, u8>(&words)[..bytes.len()];
    let Ok(model) = Model::from_bytes_trusted(bytes) else {
        return;
    };
    let Ok(query) = crate::QueryBuffer::<128>::new(&model, &vec![1.0; model.dim()]) else {
        return;
    };
    let answer = crate::exact::<3>(&model, &query).expect("a query of the model");
    assert!(answer.top.iter().all(|ranked| (0.0..=1.0).contains(&ranked.p)));
    assert!(model.rows().weights(0).count() == model.rows().stride());
}

#[test]
fn a_file_of_four_bits_says_so_and_is_half_as_large() {
    let file = four_bits();
    let model = file.model();
    assert_eq!((model.bits(), model.rows().bits(), model.rows().stride()), (Bits::Four, Bits::Four, STRIDE));
    assert!(model.sections().all(|(kind, _)| kind != Section::RowScales.kind()));
    assert_eq!(model.sections().next(), Some((Section::Rows.kind(), 5 * Bits::Four.row_bytes(DIM))));
    for row in 0..5 {
        let step = model.row_scale(row);
        for (column, weight) in model.rows().weights(row).take(DIM).enumerate() {
            // The last one is masked by its bias.
            let truth = if row == 4 { 0.0 } else { ((row * DIM + column) as f32 * 0.7).sin() };
            assert!((f32::from(weight) * step - truth).abs() < 0.1, "row {row}, column {column}");
        }
        assert!(model.rows().weights(row).skip(DIM).all(|weight| weight == 0));
    }
    assert_eq!(model.rows().weights(5).count(), 0);
    assert_eq!(FileWriter::reopen(&file).and_then(|writer| writer.finish()), Ok(file.to_vec()));
}

#[test]
fn every_truncation_is_rejected() {
    let file = four_bits();
    for len in 0..file.len() {
        assert!(open(&file[..len]).is_err(), "{len} bytes were accepted");
        use_it(&file[..len]);
    }
}

#[test]
fn other_widths_and_rows_that_overflow_are_rejected() {
    let file = four_bits();
    let with = |at: usize, value: u32| {
        let mut bytes = file.to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        use_it(&bytes);
        open(&resealed(bytes))
    };
    for bits in [1, 2, 3, 5, 8, 16, u32::MAX] {
        assert_eq!(with(44, bits), Err(Error::Header), "{bits}");
    }
    // As int8 rows they would have another length.
    assert_eq!(with(44, 0), Err(Error::SectionLength(Section::Rows.kind())));
    assert_eq!(with(40, (16 << 14) - 1), Err(Error::Header));
    assert_eq!(with(40, file.model().largest_row()), Ok(()));
    assert_eq!(with(36, 0.5f32.to_bits()), Err(Error::SectionContent(Section::Rows.kind())));
}

#[test]
fn every_bit_of_a_row_counts_or_is_refused() {
    let file = four_bits();
    let offset = HEADER_LEN + 4;
    let start = u32::from_le_bytes(file[offset..offset + 4].try_into().expect("four bytes")) as usize;
    let original: Vec<i8> = file.model().rows().weights(0).collect();
    let mut refused = 0;
    for bit in 0..8 * Bits::Four.row_bytes(DIM) {
        let mut bytes = file.to_vec();
        bytes[start + bit / 8] ^= 1 << (bit % 8);
        // Nothing of the size of the row stands in the way.
        bytes[36..40].copy_from_slice(&1e6f32.to_le_bytes());
        bytes[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
        let bytes = resealed(bytes);
        use_it(&bytes);
        match ModelBuf::from_bytes(&bytes) {
            Ok(changed) => {
                let rows = *changed.model().rows();
                let is_other = !rows.weights(0).eq(original.iter().copied());
                assert!(is_other || rows.scale(0) != file.model().rows().scale(0), "bit {bit} changes nothing");
            }
            Err(error) => {
                assert_eq!(error, Error::SectionContent(Section::Rows.kind()));
                refused += 1;
            }
        }
    }
    // Before the first group: three scales; before the first column: half a word; two columns of padding; above the scales of
    // the second block: sixteen bits.
    assert_eq!(refused, 12 + 16 + 8 + 16);
}

proptest! {
    #[test]
    fn damaged_files_do_no_harm(at in any::<prop::sample::Index>(), change in 1u8..=255, cut in any::<prop::sample::Index>()) {
        let file = four_bits();
        let mut bytes = file.to_vec();
        bytes[at.index(file.len())] ^= change;
        prop_assert!(open(&bytes).is_err());
        use_it(&bytes);
        use_it(&resealed(bytes));
        prop_assert!(open(&file[..cut.index(file.len())]).is_err());
    }
}
