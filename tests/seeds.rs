//! What fuzzing starts from is valid: a seed that is refused at its first byte shows nothing.
#![cfg(feature = "std")]

use std::fs;
use std::path::{Path, PathBuf};

use zhat::ModelBuf;
use zhat::host::input::network::{Onnx, Tflite};
use zhat::host::input::{ReadOptions, read_everything};
use zhat::model::Bits;

fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let files = fs::read_dir(folder).expect("seeds").map(|entry| entry.expect("a file").path());
    let seeds: Vec<_> = files.map(|path| (path.clone(), fs::read(path).expect("a seed"))).collect();
    assert!(!seeds.is_empty() && seeds.iter().all(|(_, bytes)| bytes.len() < 16_384));
    seeds
}

#[test]
fn models_are_valid_and_have_every_kind_of_section() {
    let (mut kinds, mut widths) = (Vec::new(), Vec::new());
    for (path, bytes) in seeds("model") {
        let file = ModelBuf::from_bytes(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        widths.push(file.model().bits());
        kinds.extend(file.model().sections().map(|(kind, _)| kind));
    }
    for section in zhat::model::Section::ALL {
        assert!(kinds.contains(&section.kind()), "no seed has {section:?}");
    }
    assert!([Bits::Eight, Bits::Four].iter().all(|width| widths.contains(width)), "no seed of a width");
    for (path, bytes) in seeds("capi") {
        assert!(ModelBuf::from_bytes(&bytes[8..]).is_ok(), "{}", path.display());
    }
}

#[test]
fn every_reader_has_files_that_it_reads() {
    // The names of the targets are those of the readers, for the extensions that files have.
    for target in ["npy", "safetensors", "csv", "word_text", "word2vec", "wink"] {
        for (path, bytes) in seeds(target) {
            let extension = path.extension().and_then(|extension| extension.to_str()).expect("an extension");
            // Names are read from nearly anything.
            let [as_values @ .., _] = read_everything(extension, &bytes, ReadOptions::default());
            let named = ReadOptions { tensor: Some("a"), ..ReadOptions::default() };
            let [as_tensor, ..] = read_everything(extension, &bytes, named);
            assert!(as_tensor.is_ok() || as_values.iter().any(Result::is_ok), "{}: {as_values:?}", path.display());
        }
    }
}

#[test]
fn networks_have_an_output_layer() {
    for (path, bytes) in seeds("onnx") {
        let network = Onnx::from_bytes(&path, bytes).expect("a network");
        assert!(network.layer(None).is_ok() || path.ends_with("external.onnx"), "{}", path.display());
    }
    for (path, bytes) in seeds("tflite") {
        assert!(Tflite::from_bytes(&path, bytes).and_then(|network| network.layer(None)).is_ok(), "{}", path.display());
    }
}

#[test]
#[cfg(feature = "keywords")]
fn encoders_are_valid() {
    for (path, bytes) in seeds("encoder") {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
        let encoder = zhat::keywords::Encoder::from_bytes(&bytemuck::cast_slice(&words)[..bytes.len()]);
        assert!(encoder.is_ok(), "{}: {:?}", path.display(), encoder.err());
    }
}
