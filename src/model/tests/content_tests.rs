//! Tests of the relations between sections: orders, links, biases.

use super::*;
use crate::host::QuantisedRows;
use crate::math::Log2;

/// Starts a file of `rows` equal rows, without anything else.
fn equal_rows(rows: usize) -> FileWriter {
    let weights = Matrix::new(vec![1.0; 2 * rows], 2).expect("rows");
    QuantisedRows::round(&weights, &vec![0.0; rows], -20, None, Bits::Eight).start_file(None)
}

fn finished(file: &FileWriter) -> Result<ModelBuf, Error> {
    ModelBuf::from_bytes(&file.finish().expect("within the limits"))
}

#[test]
fn a_permutation_must_be_one() {
    let file = |class_of_row: [u16; 4], row_of_class: Option<[u16; 4]>| {
        let mut file = equal_rows(4);
        file.required(Section::ClassOfRow, &class_of_row);
        if let Some(row_of_class) = row_of_class {
            file.optional(Section::RowOfClass, &row_of_class);
        }
        finished(&file).map(|_| ())
    };
    assert_eq!(file([2, 0, 3, 1], Some([1, 3, 0, 2])), Ok(()));
    assert_eq!(file([2, 0, 3, 1], None), Ok(()));
    let wrong = Err(Error::SectionContent(Section::ClassOfRow.kind()));
    for (forth, back) in [
        ([0, 0, 1, 2], [0, 2, 3, 0]),
        ([2, 0, 3, 4], [1, 3, 0, 2]),
        ([2, 0, 3, 1], [1, 3, 0, 0]),
        ([2, 0, 3, 1], [1, 3, 0, 9]),
    ] {
        assert_eq!(file(forth, Some(back)), wrong, "{forth:?} {back:?}");
    }
    // Alone: a class twice, one that does not exist, and one of the next 32.
    for forth in [[0, 0, 1, 2], [2, 0, 3, 4], [1, 2, 3, 65_535], [3, 3, 3, 3], [0, 1, 2, 35]] {
        assert_eq!(file(forth, None), wrong, "{forth:?}");
    }
    let mut lone = equal_rows(4);
    lone.optional(Section::RowOfClass, &[0u16, 1, 2, 3]);
    assert_eq!(finished(&lone).err(), Some(Error::MissingSection(Section::ClassOfRow.kind())));
}

#[test]
fn a_permutation_of_more_classes_than_one_pass_looks_for_must_be_one() {
    const N: u32 = 300_000;
    let mut file = equal_rows(N as usize);
    let mut order: Vec<u32> = (0..N).rev().collect();
    let mut open = |order: &[u32]| {
        file.required(Section::ClassOfRow, order);
        finished(&file).map(|_| ())
    };
    assert_eq!(open(&order), Ok(()));
    let wrong = Err(Error::SectionContent(Section::ClassOfRow.kind()));
    for (row, class) in [(0, 0), (7, N), (N as usize - 1, N - 1), (12, u32::MAX)] {
        let before = std::mem::replace(&mut order[row], class);
        assert_eq!(open(&order), wrong, "class {class} at row {row}");
        order[row] = before;
    }
}

#[test]
fn the_row_of_a_class_is_found_with_and_without_a_list_of_them() {
    let mut file = equal_rows(70);
    let class_of_row: Vec<u16> = (0..70).map(|row| (row * 3 + 5) % 70).collect();
    file.required(Section::ClassOfRow, &class_of_row);
    let alone = finished(&file).expect("a permutation");
    let mut row_of_class = vec![0u16; 70];
    (0..).zip(&class_of_row).for_each(|(row, &class)| row_of_class[usize::from(class)] = row);
    file.optional(Section::RowOfClass, &row_of_class);
    let with_list = finished(&file).expect("a permutation and its inverse");
    for class in 0..70 {
        let row = alone.model().row_of_class(class).expect("a class");
        assert_eq!(alone.model().class_of_row(row), class);
        assert_eq!(with_list.model().row_of_class(class), Some(row));
    }
    assert_eq!((alone.model().row_of_class(70), with_list.model().row_of_class(70)), (None, None));
}

#[test]
fn links_are_those_of_the_rows_that_have_them() {
    let linked: Vec<bool> = (0..70).map(|row| row % 3 == 1 || row > 60).collect();
    let rows: Vec<u16> = (0..70).filter(|&row| linked[usize::from(row)]).collect();
    let mut file = equal_rows(70);
    let list: Vec<u16> = rows.iter().flat_map(|&row| [69 - row, row / 2]).collect();
    file.required(Section::Links, &list);
    file.required(Section::LinkedRows, &Links::encode(&linked));
    let opened = finished(&file).expect("links");
    let model = opened.model();
    let links = model.links().expect("links");
    assert_eq!((links.per_row(), links.rows()), (2, rows.len()));
    for row in 0..100 {
        let of_row = links.of(row);
        let own: Vec<usize> = (0..of_row.len()).filter_map(|i| of_row.get(i)).collect();
        let expected = if linked.get(row) == Some(&true) { vec![69 - row, row / 2] } else { vec![] };
        assert_eq!(own, expected, "row {row}");
    }
}

#[test]
fn links_that_do_not_add_up_are_rejected() {
    let blocks = Links::encode(&[true; 40]);
    assert_eq!(blocks, [[u32::MAX, 0], [0xff, 32]]);
    let open = |list: &[u16], blocks: &[[u32; 2]]| {
        let mut file = equal_rows(40);
        file.required(Section::Links, list);
        file.required(Section::LinkedRows, blocks);
        finished(&file).map(|_| ())
    };
    let list = [3u16; 80];
    assert_eq!(open(&list, &blocks), Ok(()));
    assert_eq!(
        open(&list[..79], &blocks),
        Err(Error::SectionLength(Section::Links.kind())),
        "not the same for each row"
    );
    assert_eq!(open(&list, &blocks[..1]), Err(Error::SectionLength(Section::LinkedRows.kind())));
    assert_eq!(open(&[], &[[0, 0]; 2]), Err(Error::SectionLength(Section::Links.kind())), "of no row");
    let wrong = Err(Error::SectionContent(Section::Links.kind()));
    assert_eq!(open(&[40; 80], &blocks), wrong, "a row that does not exist");
    for blocks in [
        [[u32::MAX, 0], [0x1fe, 32]],
        [[u32::MAX, 0], [0xff, 31]],
        [[u32::MAX, 1], [0xff, 32]],
        [[u32::MAX << 1, 0], [0xff, 32]],
        [[u32::MAX, 0], [0x7f, 33]],
    ] {
        // As many links as the last block says, so that nothing but the blocks is wrong.
        let rows = blocks[1][1] + blocks[1][0].count_ones();
        assert_eq!(open(&vec![3; 2 * rows as usize], &blocks), wrong, "{blocks:x?}");
    }
    let mut lone = equal_rows(40);
    lone.required(Section::LinkedRows, &blocks);
    assert_eq!(finished(&lone).err(), Some(Error::MissingSection(Section::Links.kind())));
}

/// Makes a model of rows of one column with these biases.
fn with_biases(biases: &[f32]) -> ModelBuf {
    let weights = Matrix::new((0..biases.len()).map(|i| (i % 7) as f32 - 3.0).collect(), 1).expect("rows");
    flat_model(&weights, biases).expect("a valid model")
}

proptest! {
    #[test]
    fn biases_are_rounded_to_a_part_in_30000_of_their_range(
        range in prop::sample::select(vec![1e-3f32, 0.5, 3.0, 20.0, 150.0, 700.0, 1390.0]),
        shares in prop::collection::vec(-1.0f32..1.0, 1..40),
    ) {
        let biases: Vec<f32> = shares.iter().map(|share| share * range).collect();
        let file = with_biases(&biases);
        let step = Log2::from_bits(1 << file.model().rows().bias_shift()).to_nats();
        let largest = biases.iter().fold(0.0f32, |most, bias| most.max(bias.abs()));
        prop_assert!(step <= (largest / 16_000.0).max(4e-6), "{step} for {largest}");
        for (row, bias) in biases.iter().enumerate() {
            let off = (file.model().rows().bias(row).to_nats() - bias).abs();
            prop_assert!(off <= 0.501 * step + bias.abs() * 1e-6, "{bias} is off by {off}");
        }
    }
}

#[test]
fn masked_classes_stay_out_whatever_the_query() {
    for mask in [f32::NEG_INFINITY, f32::MIN, -1e4] {
        let file = with_biases(&[0.5, mask, -3.0, 0.0, mask, 2.0, 0.0]);
        let model = file.model();
        assert!(model.rows().is_masked(1) && model.rows().is_masked(4) && !model.rows().is_masked(2));
        assert!((model.rows().bias(2).to_nats() + 3.0).abs() < 3e-3);
        for value in [-1000.0, -1.0, 0.0, 1.0, 1000.0] {
            let query = crate::QueryBuffer::<4>::new(&model, &[value]).expect("a query");
            let answer = crate::exact::<7>(&model, &query).expect("an answer");
            for ranked in &answer.top {
                assert!(![1, 4].contains(&ranked.class) || ranked.p < 1e-30, "{mask}, {value}: {ranked:?}");
            }
        }
    }
    assert!(!with_biases(&[-1399.0, 0.0]).model().rows().is_masked(0), "an honest bias");
}

#[test]
fn biases_beyond_the_range_of_scores_are_rejected() {
    let indexed = crate::include_model!("../../../fuzz/seeds/model/indexed.zhat");
    let model = Model::from_bytes(indexed).expect("a valid model");
    let mut info: [u32; 8] = bytemuck::pod_read_unaligned(model_section(indexed, Section::TreeInfo));
    let mut file = FileWriter::reopen(indexed).expect("a valid file");
    assert!(model.tree().is_some_and(|tree| tree.nodes().bias_shift() == info[5]));
    for (shift, expected) in [(14, Ok(())), (15, Err(Error::SectionContent(Section::NodeBiases.kind())))] {
        info[5] = shift;
        file.required(Section::TreeInfo, &info);
        assert_eq!(finished(&file).map(|_| ()), expected);
    }
}

/// Returns the bytes of a section.
fn model_section(file: &[u8], section: Section) -> &[u8] {
    let header = super::super::header::Header::parse(file).expect("a header");
    header.section(section).expect("a section")
}
