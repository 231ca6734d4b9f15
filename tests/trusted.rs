//! Damaged files that are opened without their checks: answers may be wrong, but they come, and soon.
#![cfg(feature = "std")]

use rand_pcg::Pcg32;
use zhat::model::{Bits, FileWriter, Section, Sizes};
use zhat::{Budget, Classifier, Error, Model, QueryBuffer, Scratch, include_model, scratch_words};

/// Above 2^16, so that a span may say 2^32 − 1.
const N: usize = 70_000;
const NODES: usize = 2_000;
const ALL: u32 = u32::MAX;
type Memory = Scratch<{ scratch_words(N, 64) }>;

/// The bytes of a file, aligned.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

/// A file of rows without weights and a tree of nodes that all say `span` of themselves, with two at the top.
fn file(span: [u32; 4], exponent: i32) -> Vec<u64> {
    let sizes = Sizes {
        classes: N,
        dim: 4,
        scale_exponent: -20,
        bias_shift: 0,
        max_norm: 1.0,
        largest_row: 1,
        bits: Bits::Eight,
    };
    let mut file = FileWriter::new(sizes);
    file.required(Section::Rows, &vec![0i16; 2 * N]);
    file.required(Section::RowScales, &vec![1u16; N]);
    file.required(Section::Biases, &vec![0i16; N]);
    let info = [2, 1.0_f32.to_bits(), 1.0_f32.to_bits(), exponent as u32, exponent as u32, 0, 0, 0];
    file.required(Section::TreeInfo, &info);
    file.required(Section::NodeRows, &vec![0i16; 2 * NODES]);
    file.required(Section::NodeScales, &vec![1u16; NODES]);
    file.required(Section::NodeBiases, &vec![0i16; NODES]);
    file.required(Section::NodeSpans, &[span; NODES]);
    file.required(Section::NodeSpreads, &vec![[9u16; 3]; NODES]);
    file.required(Section::NodeGains, &vec![0i16; NODES]);
    file.optional(Section::NodeBounds, &vec![[0u16; 5]; NODES]);
    let mut settings = [0u32; 8];
    settings[0] = 1_000;
    settings[4] = 1.0_f32.to_bits();
    file.required(Section::Settings, &settings);
    let bytes = file.finish().expect("within the limits");
    let words = aligned(&bytes);
    assert!(Model::from_bytes(&bytemuck::cast_slice(&words)[..bytes.len()]).is_err(), "the checks find it");
    words
}

/// Everything that walks the tree; none of it may score more rows than there are, or take a second.
fn ask_all_of(words: &[u64]) {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let len = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let model = Model::from_bytes_trusted(&bytes[..len]).expect("a sound header");
    let start = std::time::Instant::now();
    let mut scratch = Memory::new();
    for values in [[0.0; 4], [0.5, -1.0, 0.25, 1.0]] {
        let query = QueryBuffer::<4>::new(&model, &values).expect("a small query");
        let stored = match Classifier::new(model) {
            Ok(stored) => stored,
            Err(error) => {
                assert!(matches!(error, Error::Budget(_)), "{error}");
                continue;
            }
        };
        for cap in [3, 64, 1_000, ALL] {
            let budget = Budget::new(cap).with_expand(8);
            let Ok(classifier) = stored.with_budget(budget) else { continue };
            match classifier.classify::<3>(&query, &mut scratch) {
                Ok(answer) => {
                    assert!(answer.work.row_equivalents() <= cap.min((N + NODES) as u32), "{:?}", answer.work);
                    assert!(!answer.top.is_empty());
                }
                Err(error) => assert!(matches!(error, Error::ScratchWords(_) | Error::SectionContent(_)), "{error}"),
            }
            let _ = classifier.sample(&query, &mut scratch, &mut Pcg32::new(7, 7));
            let _ = classifier.certain_log_z(&query, &mut scratch);
            let samples = zhat::estimators::moments_with_samples;
            let _ = samples(&model, &query, &budget, 50, &mut scratch, &mut Pcg32::new(7, 7));
        }
        let mut scratch = Scratch::<{ scratch_words(N, 6000) }>::new();
        let (_, work) = stored.certain_top::<3>(&query, &mut scratch).expect("bounds");
        assert!(work.nodes as usize <= 2 * NODES || work.nodes == ALL, "{work:?}");
        assert!(work.rows as usize <= 2 * N || work.rows == ALL, "{work:?}");
    }
    assert!(start.elapsed().as_secs() < 20, "it took {:?}", start.elapsed());
}

#[test]
fn a_node_that_is_its_own_child_ends() {
    ask_all_of(&file([0, N as u32, 0, 2], -10));
    ask_all_of(&file([0, N as u32, 0, NODES as u32], -10));
    ask_all_of(&file([0, 1, 1, 1], -10));
}

#[test]
fn a_node_with_more_rows_or_children_than_there_can_be_ends() {
    ask_all_of(&file([0, ALL, 0, ALL], -10));
    ask_all_of(&file([ALL, ALL, ALL, ALL], -10));
    ask_all_of(&file([9, ALL, 0, 0], -10));
    ask_all_of(&file([ALL, 1, ALL, 1], -10));
}

#[test]
fn leaves_that_all_have_all_rows_end() {
    ask_all_of(&file([0, N as u32, 0, 0], -10));
    ask_all_of(&file([0, 0, 0, 0], -10));
}

/// Labels are looked up by the class: one that is not there is a read outside of the caller's table.
#[test]
fn a_damaged_order_names_no_class_that_is_not_there() {
    static SOUND: &[u8] = include_model!("data/indexed.zhat");
    let sound = Model::from_bytes(SOUND).expect("valid");
    let mut file = FileWriter::reopen(SOUND).expect("valid");
    // Every row a class that is far outside, every link to a row that is.
    file.required(Section::ClassOfRow, &[u16::MAX; 500]);
    let links = sound.sections().find(|&(kind, _)| kind == Section::Links.kind()).map_or(0, |(_, bytes)| bytes / 2);
    file.required(Section::Links, &vec![511_u16; links]);
    let with_order = aligned(&file.finish().expect("within the limits"));
    file.leave_out(Section::ClassOfRow);
    let without_order = aligned(&file.finish().expect("within the limits"));
    for words in [with_order, without_order] {
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let len = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
        assert!(Model::from_bytes(&bytes[..len]).is_err(), "the checks find it");
        let model = Model::from_bytes_trusted(&bytes[..len]).expect("a sound header");
        let classifier = Classifier::new(model).expect("a sound tree");
        let query = QueryBuffer::<16>::new(&model, &[0.5; 16]).expect("a small query");
        let classifier = classifier.with_budget(Budget::new(400).with_expand(8)).expect("enough");
        let mut scratch = Scratch::<{ scratch_words(500, 200) }>::new();
        let estimated = classifier.classify::<100>(&query, &mut scratch).expect("an answer");
        let exact = zhat::exact::<100>(&model, &query).expect("an answer");
        let (certain, _) = classifier.certain_top::<100>(&query, &mut scratch).expect("bounds");
        let drawn = classifier.sample(&query, &mut scratch, &mut Pcg32::new(7, 7)).expect("a class");
        let listed = estimated.top.iter().chain(&exact.top).map(|best| best.class);
        let classes = listed.chain(certain.iter().map(|best| best.class)).chain([drawn.class]);
        assert!(classes.into_iter().all(|class| class < 500));
    }
}

#[test]
fn an_exponent_of_any_size_is_taken() {
    for exponent in [i32::MIN, -1_000, 0, 1_000, i32::MAX] {
        ask_all_of(&file([0, 1, 0, 0], exponent));
    }
}
