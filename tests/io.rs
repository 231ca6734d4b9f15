//! Files as a user has them: read by name, written in one step, refused with a message that helps.
#![cfg(feature = "std")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use zhat::host::Matrix;
use zhat::host::input::{
    ReadError, ReadOptions, expect_same_length, read_labels, read_matrix, read_named_matrix, read_names, read_vector,
    write_atomically, write_atomically_with, write_npy,
};

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn put(directory: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// The message, checked to start with the name of the file.
fn message<T: std::fmt::Debug>(path: &Path, result: Result<T, ReadError>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.path(), path);
    let text = error.to_string();
    let prefix = format!("{}: ", path.display());
    text.strip_prefix(&prefix).expect("the message starts with the file").to_owned()
}

fn files_in(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_format_gives_the_same_matrix() {
    let directory = directory();
    let expected = Matrix::new(vec![0.5, -2.0, 3.0, 0.25], 2).unwrap();
    let npy = directory.path().join("w.npy");
    write_npy(&npy, &expected).unwrap();
    let mut binary = b"2 2\n".to_vec();
    for (word, row) in [b"a ", b"b "].iter().zip(expected.iter()) {
        binary.extend_from_slice(&word[..]);
        binary.extend(row.iter().flat_map(|value| value.to_le_bytes()));
    }
    let json = r#"{"dimensions":2,"vectors":{"a":[0.5,-2,2.06,0],"b":[3,0.25,3.01,1]}}"#;
    let unnamed = [npy, put(&directory, "w.CSV", "0.5,-2\n3,0.25\n")];
    for path in unnamed {
        let named = read_named_matrix(&path, ReadOptions::default()).unwrap();
        assert_eq!((named.matrix, named.names), (expected.clone(), None), "{path:?}");
    }
    let named = [
        put(&directory, "glove.txt", "a 0.5 -2\nb 3 0.25\n"),
        put(&directory, "w2v.vec", "2 2\na 0.5 -2\nb 3 0.25\n"),
        put(&directory, "w2v.bin", binary),
        put(&directory, "wink.json", json),
    ];
    for path in named {
        let named = read_named_matrix(&path, ReadOptions::default()).unwrap();
        assert_eq!(named.matrix, expected, "{path:?}");
        assert_eq!(named.names.unwrap(), ["a", "b"], "{path:?}");
        let transpose = ReadOptions { transpose: true, ..Default::default() };
        assert!(message(&path, read_matrix(&path, transpose)).contains("cannot be transposed"));
    }
}

#[test]
fn what_is_no_file_of_a_known_kind_is_refused() {
    let directory = directory();
    let options = ReadOptions::default();
    let missing = directory.path().join("missing.npy");
    assert_eq!(message(&missing, read_matrix(&missing, options)), "no such file");
    assert_eq!(message(&missing, read_vector(&missing, options)), "no such file");
    assert_eq!(message(&missing, read_names(&missing)), "no such file");

    let folder = directory.path().join("W.npy");
    fs::create_dir(&folder).unwrap();
    assert_eq!(message(&folder, read_matrix(&folder, options)), "is a directory");
    assert_eq!(message(&folder, read_labels(&folder, options)), "is a directory");

    let other = put(&directory, "w.pth", "x");
    assert!(message(&other, read_matrix(&other, options)).starts_with("unknown kind of file"));
    assert!(message(&other, read_vector(&other, options)).contains("expected .npy, .safetensors"));
    assert!(message(&other, read_labels(&other, options)).contains("expected .npy, .csv or .txt"));

    let text = put(&directory, "q.npy", "0.1,0.2\n");
    assert_eq!(message(&text, read_matrix(&text, options)), "not a .npy file (wrong magic)");
    for name in ["e.npy", "e.safetensors", "e.csv", "e.txt", "e.bin", "e.json"] {
        let empty = put(&directory, name, "");
        assert_eq!(message(&empty, read_matrix(&empty, options)), "is empty");
    }
}

#[test]
fn a_matrix_survives_a_round_trip_through_npy() {
    let directory = directory();
    let path = directory.path().join("w.npy");
    let values = (0..20_000).map(|i| (i as f32 - 1e4) * 1.7e-3).collect();
    let matrix = Matrix::new(values, 50).unwrap();
    write_npy(&path, &matrix).unwrap();
    assert_eq!(read_matrix(&path, ReadOptions::default()).unwrap(), matrix);
    let options = ReadOptions { transpose: true, limit: Some(7), ..Default::default() };
    let transposed = read_matrix(&path, options).unwrap();
    assert_eq!((transposed.rows(), transposed.cols()), (7, 400));
    assert!((0..7).all(|i| (0..400).all(|j| transposed.row(i)[j] == matrix.row(j)[i])));
}

#[test]
fn a_message_names_both_files_that_do_not_fit() {
    let directory = directory();
    let weights = directory.path().join("weights.npy");
    write_npy(&weights, &Matrix::new(vec![0.0; 12], 4).unwrap()).unwrap();
    let bias = put(&directory, "bias.csv", "1\n2\n");
    let options = ReadOptions::default();
    let matrix = read_matrix(&weights, options).unwrap();
    let values = read_vector(&bias, options).unwrap();
    let result = expect_same_length(&weights, &matrix, "bias.csv", values.len());
    assert_eq!(message(&weights, result), "3×4, but bias.csv has 2 values");
}

#[test]
fn writing_replaces_the_file_and_leaves_nothing_else() {
    let directory = directory();
    let path = put(&directory, "model.zhat", "old");
    write_atomically(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(files_in(&directory), ["model.zhat"]);
}

#[test]
fn a_failure_midway_leaves_the_old_file_and_nothing_else() {
    let directory = directory();
    let path = put(&directory, "model.zhat", "old");
    let result = write_atomically_with(&path, |writer| {
        writer.write_all(&[0; 1 << 20])?;
        Err(io::ErrorKind::StorageFull.into())
    });
    let error = result.unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: cannot be written: ", path.display())));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(files_in(&directory), ["model.zhat"]);
}

#[test]
fn a_panic_midway_leaves_the_old_file_and_nothing_else() {
    let directory = directory();
    let path = put(&directory, "model.zhat", "old");
    let result = std::panic::catch_unwind(|| write_atomically_with(&path, |_| panic!("midway")));
    assert!(result.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(files_in(&directory), ["model.zhat"]);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let directory = directory();
    let shown = |path: &Path| write_atomically(path, b"x").unwrap_err().to_string();
    let path = directory.path().join("none").join("model.zhat");
    let parent = directory.path().join("none");
    assert_eq!(shown(&path), format!("{}: no such directory: {}", path.display(), parent.display()));
    assert_eq!(shown(directory.path()), format!("{}: is a directory", directory.path().display()));
    let file = put(&directory, "file", "old");
    let below = file.join("model.zhat");
    assert!(shown(&below).contains(&format!("cannot create files in {}", file.display())));
    assert_eq!(fs::read(&file).unwrap(), b"old");
}

#[cfg(unix)]
#[test]
fn a_directory_without_permission_keeps_its_file() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let path = put(&directory, "model.zhat", "old");
    let mode = |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let may_anyway = fs::write(directory.path().join("probe"), "").is_ok();
    let result = write_atomically(&path, b"new");
    mode(0o755);
    // Who may write everywhere cannot see the refusal.
    if !may_anyway {
        let text = result.unwrap_err().to_string();
        assert!(text.ends_with("permission denied"), "{text}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}

#[cfg(unix)]
#[test]
fn a_written_file_is_as_readable_as_any_other_and_a_link_stays_one() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let path = put(&directory, "plain", "x");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    let written = directory.path().join("written");
    write_atomically(&written, b"x").unwrap();
    assert_eq!(mode(&written), mode(&path));

    let link = directory.path().join("link");
    std::os::unix::fs::symlink("plain", &link).unwrap();
    write_atomically(&link, b"through").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"through");
}

#[cfg(unix)]
#[test]
fn a_socket_is_not_replaced() {
    let directory = directory();
    let path = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let error = write_atomically(&path, b"x").unwrap_err();
    assert!(error.to_string().ends_with("is not a regular file"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn arbitrary_bytes_under_any_extension_never_panic(bytes: Vec<u8>) {
        let directory = directory();
        for extension in ["npy", "safetensors", "csv", "txt", "vec", "bin", "json", "zip"] {
            let path = put(&directory, &format!("x.{extension}"), &bytes);
            let options = ReadOptions::default();
            let _ = read_named_matrix(&path, options);
            let _ = read_vector(&path, options);
            let _ = read_labels(&path, options);
            let _ = read_names(&path);
        }
    }
}
