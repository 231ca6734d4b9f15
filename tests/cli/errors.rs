//! Bad input: a message that names the file and what is wrong, a status that scripts can use, an old file that stays.

use std::fs;

use super::support::{D, Files, M, N, bytemuck_of};

const OLD: &[u8] = b"the old model";

/// Runs a build that has to fail with 1; its message. The old output has to stay.
fn refused(files: &Files, inputs: &str) -> String {
    fs::write(files.path("old.zhat"), OLD).unwrap();
    let before = files.list();
    let message = files.fail(1, &format!("build {inputs} -o old.zhat"));
    assert_eq!(fs::read(files.path("old.zhat")).unwrap(), OLD);
    assert_eq!(files.list(), before, "something was left behind");
    message
}

#[test]
fn files_that_are_not_there_or_no_files() {
    let files = Files::new();
    assert_eq!(refused(&files, "--weights none.npy"), "zhat: none.npy: no such file\n");
    assert_eq!(refused(&files, "--weights weights.npy --bias none.npy"), "zhat: none.npy: no such file\n");
    assert_eq!(refused(&files, "--weights weights.npy --queries none.npy"), "zhat: none.npy: no such file\n");
    fs::create_dir(files.path("dir.npy")).unwrap();
    assert_eq!(refused(&files, "--weights dir.npy"), "zhat: dir.npy: is a directory\n");
    assert_eq!(files.fail(1, "inspect none.zhat"), "zhat: none.zhat: no such file\n");
    assert_eq!(files.fail(1, "inspect dir.npy"), "zhat: dir.npy: is a directory\n");
}

#[test]
fn wrong_magic() {
    let files = Files::new();
    fs::write(files.path("text.npy"), "1,2,3\n").unwrap();
    assert_eq!(refused(&files, "--weights text.npy"), "zhat: text.npy: not a .npy file (wrong magic)\n");
    let message = files.fail(1, "inspect weights.npy");
    assert_eq!(message, "zhat: weights.npy: not a zhat model file (wrong magic)\n");
    fs::write(files.path("empty.zhat"), "").unwrap();
    assert_eq!(files.fail(1, "query empty.zhat --query queries.npy"), "zhat: empty.zhat: is empty\n");
}

#[test]
fn a_damaged_model_is_refused() {
    let files = Files::with_model();
    let mut bytes = fs::read(files.path("model.zhat")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(files.path("bad.zhat"), &bytes).unwrap();
    assert!(files.fail(1, "inspect bad.zhat").contains("bad.zhat: the checksum does not match"));
    fs::write(files.path("short.zhat"), &bytes[..middle]).unwrap();
    assert!(files.fail(1, "export-rust short.zhat -o out").contains("short.zhat: the model file is cut short"));
}

#[test]
fn wrong_shapes_and_types() {
    let files = Files::new();
    files.npy("flat.npy", "<f4", &[6], bytemuck_of(&[0.0; 6]));
    assert!(refused(&files, "--weights flat.npy").starts_with("zhat: flat.npy: has shape 6, expected"));
    files.npy("ints.npy", "<i4", &[3, 2], vec![0; 24]);
    assert!(refused(&files, "--weights ints.npy").starts_with("zhat: ints.npy: holds int32, expected"));
    files.npy("narrow.npy", "<f4", &[20, 7], bytemuck_of(&[0.5; 140]));
    let expected = format!("zhat: narrow.npy: 20×7, but weights.npy is {N}×{D}\n");
    assert_eq!(refused(&files, "--weights weights.npy --queries narrow.npy"), expected);
}

#[test]
fn what_is_not_a_number_is_named_by_row_and_column() {
    let files = Files::new();
    let mut data = vec![0.5; 24];
    data[13] = f32::NAN;
    files.npy("nan.npy", "<f4", &[6, 4], bytemuck_of(&data));
    assert_eq!(refused(&files, "--weights nan.npy"), "zhat: nan.npy: NaN at row 3, column 1\n");
    data[13] = f32::INFINITY;
    files.npy("inf.npy", "<f4", &[3, 8], bytemuck_of(&data));
    let message = refused(&files, "--weights weights.npy --queries inf.npy");
    assert_eq!(message, "zhat: inf.npy: inf at row 1, column 5\n");
}

#[test]
fn lengths_that_do_not_match() {
    let files = Files::new();
    files.npy("short.npy", "<f4", &[N - 1], bytemuck_of(&[0.0; N - 1]));
    let message = refused(&files, "--weights weights.npy --bias short.npy");
    assert_eq!(message, format!("zhat: weights.npy: {N}×{D}, but short.npy has {} values\n", N - 1));
    fs::write(files.path("few.txt"), "a\nb\n").unwrap();
    let message = refused(&files, "--weights weights.npy --names few.txt");
    assert_eq!(message, format!("zhat: weights.npy: {N}×{D}, but few.txt has 2 values\n"));
    files.npy("labels3.npy", "<i8", &[3], vec![0; 24]);
    let message = refused(&files, "--weights weights.npy --queries queries.npy --labels labels3.npy");
    assert_eq!(message, format!("zhat: queries.npy: {M}×{D}, but labels3.npy has 3 values\n"));
    files.npy("high.npy", "<i8", &[M], (0..M as i64).flat_map(|i| (i + N as i64 - 5).to_le_bytes()).collect());
    let message = refused(&files, "--weights weights.npy --queries queries.npy --labels high.npy");
    assert_eq!(message, format!("zhat: high.npy: label {N} at position 5, but there are {N} classes\n"));
}

#[test]
fn an_empty_query_set() {
    let files = Files::new();
    files.npy("none.npy", "<f4", &[0, D], Vec::new());
    assert_eq!(refused(&files, "--weights weights.npy --queries none.npy"), "zhat: none.npy: is empty\n");
    let files = Files::with_model();
    files.npy("none.npy", "<f4", &[0, D], Vec::new());
    let message = files.fail(1, "eval model.zhat --weights weights.npy --queries none.npy");
    assert_eq!(message, "zhat: none.npy: is empty\n");
    let output = files.zhat("query model.zhat").write_stdin("").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "zhat: standard input: is empty\n");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_work() {
    let files = Files::new();
    let message = files.fail(1, "build --weights weights.npy -o none/model.zhat");
    assert_eq!(message, "zhat: none/model.zhat: no such directory: none\n");
    fs::create_dir(files.path("dir")).unwrap();
    assert_eq!(files.fail(1, "build --weights weights.npy -o dir"), "zhat: dir: is a directory\n");
    let message = files.fail(1, "build --weights weights.npy -o weights.npy/model.zhat");
    assert!(message.contains("cannot create files in weights.npy"), "{message}");
    // Even before the weights are looked at.
    assert_eq!(files.fail(1, "build --weights none.npy -o dir"), "zhat: dir: is a directory\n");
}

#[test]
fn a_model_for_another_layer() {
    let files = Files::with_model();
    files.npy("w.npy", "<f4", &[30, D], bytemuck_of(&[0.5; 30 * D]));
    let message = files.fail(1, "eval model.zhat --weights w.npy --queries queries.npy");
    assert_eq!(message, format!("zhat: w.npy: 30×{D}, but model.zhat is of {N}×{D}\n"));
    files.npy("q.npy", "<f4", &[5], bytemuck_of(&[0.5; 5]));
    let message = files.fail(1, "query model.zhat --query q.npy");
    assert_eq!(message, format!("zhat: q.npy: 1×5, but model.zhat has a dimension of {D}\n"));
    let output = files.zhat("query model.zhat").write_stdin("1,2\n").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, format!("zhat: standard input: 1×2, but model.zhat has a dimension of {D}\n"));
    files.npy("huge.npy", "<f4", &[D], bytemuck_of(&[1e30; D]));
    assert!(files.fail(1, "query model.zhat --query huge.npy").contains("huge.npy: the query is too large"));
}

#[test]
fn wrong_usage_has_a_status_of_two() {
    let files = Files::with_model();
    for (line, part) in [
        ("", "Usage"),
        ("frobnicate", "unrecognized subcommand"),
        ("build", "--weights"),
        ("build --weights weights.npy -o m.zhat --work 4", "4 is above 1: 4%, perhaps?"),
        ("build --weights weights.npy -o m.zhat --work 4% --cap 2%", "--cap 2.00 % is below --work 4.00 %"),
        ("build --weights weights.npy -o m.zhat --flash much", "is no size"),
        ("build --weights weights.npy -o m.zhat --blend 2", "--blend is 0 to 1"),
        ("build --weights weights.npy -o m.zhat --labels labels.npy", "--queries"),
        ("eval model.zhat --weights weights.npy --queries queries.npy --estimators best", "no estimator \"best\""),
        ("eval model.zhat --weights weights.npy --queries queries.npy --plot plot.pdf", ".svg or .png"),
        ("tune model.zhat --queries queries.npy --budgets 400%", "is above 100%"),
        ("query model.zhat --top 0", "0"),
    ] {
        let message = files.fail(2, line);
        assert!(message.contains(part), "zhat {line}: {message}");
    }
}
