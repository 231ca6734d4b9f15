//! Tests of the language model's readers: accepted inputs, and the errors for others.

use std::fs;
use std::path::PathBuf;

use crate::error::Error;
use crate::settings::{Objective, Settings};
use crate::shape::Tying;
use crate::text::{Tokens, read_text};
use crate::train::Trainer;
use crate::vocabulary::{END, UNKNOWN, Vocabulary};

fn file(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("text.txt");
    fs::write(&path, bytes).unwrap();
    path
}

fn words(vocabulary: &Vocabulary) -> Vec<&str> {
    vocabulary.words().iter().map(String::as_str).collect()
}

#[test]
fn words_are_numbered_by_frequency_and_ties_by_spelling() {
    let vocabulary = Vocabulary::from_text("b a b c\nb a d\n", None).unwrap();
    assert_eq!(words(&vocabulary), ["b", END, "a", "c", "d", UNKNOWN]);
    let tokens = Tokens::new("a x\n\n  \nd", &vocabulary).unwrap();
    let (unknown, end) = (vocabulary.unknown(), vocabulary.end());
    assert_eq!(tokens.ids(), [2, unknown, end, 4, end]);
}

#[test]
fn rare_words_become_unknown() {
    let vocabulary = Vocabulary::from_text("b a b c\nb a d\n", Some(4)).unwrap();
    assert_eq!(words(&vocabulary), ["b", END, UNKNOWN, "a"]);
    let tokens = Tokens::new("a c", &vocabulary).unwrap();
    assert_eq!(tokens.ids(), [3, 2, 1]);
}

#[test]
fn an_unknown_that_stands_in_the_text_is_the_one_that_is_counted() {
    let text = "a <unk> b <unk> <unk>\n";
    let vocabulary = Vocabulary::from_text(text, Some(4)).unwrap();
    assert_eq!(words(&vocabulary), [UNKNOWN, END, "a", "b"]);
    assert_eq!(Tokens::new(text, &vocabulary).unwrap().ids(), [2, 0, 3, 0, 0, 1]);
}

#[test]
fn contexts_stop_at_the_sentence() {
    let vocabulary = Vocabulary::from_text("a b c d e\n", None).unwrap();
    let tokens = Tokens::new("a b c\nd e\n", &vocabulary).unwrap();
    let end = vocabulary.end();
    let id = |word| vocabulary.id(word);
    let mut context = [0; 3];
    tokens.context(0, &mut context);
    assert_eq!(context, [end, end, end]);
    tokens.context(3, &mut context);
    assert_eq!(context, [id("a"), id("b"), id("c")]);
    tokens.context(5, &mut context);
    assert_eq!(context, [end, end, id("d")]);
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = read_text(&folder.path().join("absent.txt")).unwrap_err();
    assert!(matches!(error, Error::Read { .. }));
    assert!(error.to_string().contains("absent.txt"), "{error}");
}

#[test]
fn bytes_that_are_not_utf8_are_located() {
    let folder = tempfile::tempdir().unwrap();
    let error = read_text(&file(&folder, b"caf\xc3\xa9 caf\xe9 au lait\n")).unwrap_err();
    assert!(matches!(error, Error::NotUtf8 { offset: 9, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("text.txt") && text.contains("offset 9"), "{text}");
}

#[test]
fn a_text_without_words_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let blanks: [&[u8]; 3] = [b"", b" \n\t\n", b"\xef\xbb\xbf\n"];
    for bytes in blanks {
        let error = read_text(&file(&folder, bytes)).unwrap_err();
        assert!(error.to_string().contains("text.txt has no words"), "{error}");
    }
    let error = Vocabulary::from_text("\n\n", None).unwrap_err();
    assert!(matches!(error, Error::EmptyText { path: None }));
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_no_part_of_words() {
    let folder = tempfile::tempdir().unwrap();
    let text = read_text(&file(&folder, b"\xef\xbb\xbfa b\r\na b\r\n")).unwrap();
    let vocabulary = Vocabulary::from_text(&text, None).unwrap();
    assert_eq!(words(&vocabulary), [END, "a", "b", UNKNOWN]);
}

#[test]
fn one_word_leaves_nothing_to_predict() {
    for (text, size) in [("a a\na\n", None), ("a a b\n", Some(3)), ("a b\n", Some(0))] {
        let error = Vocabulary::from_text(text, size).unwrap_err();
        assert!(matches!(error, Error::OneWord | Error::WordList { .. }), "{error:?}");
    }
}

#[test]
fn a_vocabulary_above_the_text_is_refused_with_both_sizes() {
    let error = Vocabulary::from_text("a b c\n", Some(6)).unwrap_err();
    assert!(matches!(error, Error::VocabularyAboveText { asked: 6, available: 5 }));
    let text = error.to_string();
    assert!(text.contains('6') && text.contains('5'), "{text}");
}

#[test]
fn a_word_list_must_be_one() {
    let list = |words: &[&str]| Vocabulary::from_words(words.iter().map(|&w| w.into()).collect());
    assert!(list(&["a", "b", UNKNOWN, END]).is_ok());
    for bad in [
        &["a", "b", "a", UNKNOWN, END][..],
        &["a", "b", "c", UNKNOWN],
        &["a", "b", "c", END],
        &["a", "b c", UNKNOWN, END],
        &["a", "", UNKNOWN, END],
    ] {
        assert!(matches!(list(bad), Err(Error::WordList { .. })), "{bad:?}");
    }
}

#[test]
fn settings_without_meaning_are_refused() {
    let text = "a b c\n";
    let vocabulary = Vocabulary::from_text(text, None).unwrap();
    let tokens = Tokens::new(text, &vocabulary).unwrap();
    let good = Settings::default();
    let bad = [
        Settings { dimension: 0, ..good },
        Settings { context: 0, ..good },
        Settings { batch: 0, ..good },
        Settings { epochs: 0, ..good },
        Settings { validations: 0, ..good },
        Settings { patience: 0, ..good },
        Settings { learning_rate: f32::NAN, ..good },
        Settings { dropout: 1.0, ..good },
        Settings { objective: Objective::Contrastive { noise: 0 }, ..good },
        Settings { objective: Objective::SelfNormalised { penalty: f32::NAN }, ..good },
    ];
    for settings in bad {
        let error = Trainer::new(settings, vocabulary.clone(), &tokens).unwrap_err();
        assert!(matches!(error, Error::Setting(_)), "{settings:?}");
    }
    assert!("half-tied".parse::<Tying>().is_err());
    assert!("mapped-".parse::<Tying>().is_err());
}

#[test]
fn contexts_of_another_shape_are_refused() {
    let text = "a b c\n";
    let vocabulary = Vocabulary::from_text(text, None).unwrap();
    let tokens = Tokens::new(text, &vocabulary).unwrap();
    let settings = Settings { context: 2, dimension: 4, ..Settings::default() };
    let model = Trainer::new(settings, vocabulary.clone(), &tokens).unwrap().best();
    assert!(matches!(model.queries(&[0, 1, 2]), Err(Error::ContextLength { .. })));
    assert!(matches!(model.queries(&[0, 5]), Err(Error::NoSuchWord { word: 5, classes: 5 })));
    assert_eq!(model.queries(&[0, 1, 2, 3]).unwrap().rows(), 2);
    assert_eq!(model.context(&vocabulary, "c"), [vocabulary.end(), vocabulary.id("c")]);
    assert_eq!(model.context(&vocabulary, "a b c"), [vocabulary.id("b"), vocabulary.id("c")]);
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let text = "a b c\n";
    let vocabulary = Vocabulary::from_text(text, None).unwrap();
    let tokens = Tokens::new(text, &vocabulary).unwrap();
    let trainer = Trainer::new(Settings::default(), vocabulary, &tokens).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    trainer.save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for bad in [&whole[..whole.len() - 5], &whole[..8], b"not a checkpoint"] {
        fs::write(&path, bad).unwrap();
        let error = Trainer::load(&path).unwrap_err();
        assert!(matches!(error, Error::Checkpoint { .. }), "{error:?}");
    }
    assert!(matches!(Trainer::load(&folder.path().join("absent")), Err(Error::Read { .. })));
}

#[test]
fn an_export_holds_the_arrays_of_the_model() {
    let text = "a b c\n";
    let vocabulary = Vocabulary::from_text(text, None).unwrap();
    let tokens = Tokens::new(text, &vocabulary).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mapped = ["context.bin", "map.npy"];
    for (tying, extra) in
        [(Tying::Untied, &["input.npy"][..]), (Tying::Tied, &[]), (Tying::Mapped { maps: 2 }, &mapped)]
    {
        let settings = Settings { tying, ..Settings::default() };
        let model = Trainer::new(settings, vocabulary.clone(), &tokens).unwrap().best();
        let out = folder.path().join(tying.to_string());
        model.export(&vocabulary, &out).unwrap();
        let mut names: Vec<_> = fs::read_dir(&out).unwrap().map(|f| f.unwrap().file_name()).collect();
        names.sort();
        let mut expected = vec!["bias.npy", "context.npy", "rows.npy", "words.txt"];
        expected.extend(extra);
        expected.sort();
        assert_eq!(names, expected);
        let rows = npyz::NpyFile::new(fs::File::open(out.join("rows.npy")).unwrap()).unwrap();
        assert_eq!(rows.shape(), [5, 64]);
        assert_eq!(rows.into_vec::<f32>().unwrap(), model.rows().data());
        assert_eq!(fs::read_to_string(out.join("words.txt")).unwrap().lines().count(), 5);
    }
}
