//! Nothing silent: what was asked for and can't be had is an error, and what is no good says so.

use std::fs;

use serde_json::Value;
use zhat::host::input::write_npy;
use zhat::host::{Kind, Layer, Matrix};

use super::support::{BUILD, D, Files, M, N, bytemuck_of, json, read};

const REST: &str = "--work 10% --blend 0 --branching 8 --leaf 8 --links 0";
const EVAL: &str = "eval model.zhat --weights weights.npy --bias bias.npy --queries queries.npy";

/// A .safetensors file of f32 tensors.
fn safetensors(files: &Files, name: &str, tensors: &[(&str, &[usize], &[f32])]) {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, shape, values) in tensors {
        let start = data.len();
        data.extend(bytemuck_of(values));
        entries.push(format!(
            "\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{start},{}]}}",
            data.len()
        ));
    }
    let header = format!("{{{}}}", entries.join(","));
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    fs::write(files.path(name), bytes).unwrap();
}

fn warnings(value: &Value) -> Vec<String> {
    let list = value["warnings"].as_array().unwrap_or_else(|| panic!("no warnings: {value}"));
    list.iter().map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_bias_tensor_without_a_bias_file_is_one_of_the_weights_file() {
    let files = Files::new();
    let weights = read(&files.path("weights.npy"));
    let biases: Vec<f32> = (0..N).map(|class| class as f32 * 0.01).collect();
    files.npy("b.npy", "<f4", &[N], bytemuck_of(&biases));
    let all: [(&str, &[usize], &[f32]); 3] =
        [("w", &[N, D], weights.data()), ("b", &[N], &biases), ("other", &[N], &[0.5; N])];
    safetensors(&files, "layer.safetensors", &all);
    files.run(&format!("build --weights layer.safetensors --bias-tensor b {REST} -o one.zhat"));
    files.run(&format!("build --weights weights.npy --bias b.npy {REST} -o two.zhat"));
    assert!(fs::read(files.path("one.zhat")).unwrap() == fs::read(files.path("two.zhat")).unwrap());
    let message = files.fail(1, "build --weights layer.safetensors --bias-tensor none -o m.zhat");
    assert!(message.contains("no tensor \"none\"") && message.contains("--bias-tensor names it"), "{message}");
    let message = files.fail(1, "build --weights layer.safetensors --bias layer.safetensors -o m.zhat");
    assert!(message.contains("name one: --bias-tensor names it"), "{message}");
}

#[test]
fn a_tensor_can_only_be_named_where_there_are_any() {
    let files = Files::new();
    for (options, option) in [
        ("--weights weights.npy --bias-tensor b", "--bias-tensor b"),
        ("--weights weights.npy --bias bias.npy --bias-tensor b", "--bias-tensor b"),
        ("--weights weights.npy --tensor w", "--tensor w"),
    ] {
        let message = files.fail(1, &format!("build {options} -o m.zhat"));
        assert!(message.contains("only a .safetensors file has tensors") && message.contains(option), "{message}");
    }
}

#[test]
fn no_output_overwrites_an_input() {
    let files = Files::with_model();
    fs::copy(files.path("queries.npy"), files.path("queries.svg")).unwrap();
    fs::copy(files.path("model.zhat"), files.path("model.png")).unwrap();
    let layer = "--weights weights.npy --bias bias.npy";
    let before: Vec<(String, Vec<u8>)> =
        files.list().into_iter().map(|name| (name.clone(), fs::read(files.path(&name)).unwrap())).collect();
    for (line, parts) in [
        (format!("build {layer} -o weights.npy"), ["--output weights.npy", "--weights weights.npy"]),
        (format!("build {layer} -o ./../{}/bias.npy", directory(&files)), ["--output", "--bias bias.npy"]),
        (format!("build {layer} --queries queries.npy -o queries.npy"), ["--output", "--queries queries.npy"]),
        (format!("build {layer} --test-queries queries.npy -o queries.npy"), ["--output", "--test-queries"]),
        (format!("build {layer} --queries queries.npy --labels labels.npy -o labels.npy"), ["--output", "--labels"]),
        (format!("build {layer} --names names.txt -o names.txt"), ["--output", "--names names.txt"]),
        (format!("eval model.png {layer} --queries queries.npy --plot model.png"), ["--plot", "the model"]),
        (format!("eval model.zhat {layer} --queries queries.svg --plot queries.svg"), ["--plot", "--queries"]),
        ("tune model.png --queries queries.npy --plot model.png".into(), ["--plot", "the model"]),
        ("plot cumulative model.png --queries queries.npy -o model.png".into(), ["--output", "the model"]),
        ("export-rust model.zhat -o .".into(), ["--output ./model.zhat", "the model model.zhat"]),
    ] {
        let message = files.fail(2, &line);
        assert!(message.contains("would overwrite"), "zhat {line}: {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "zhat {line}: {message}");
    }
    for (name, content) in before {
        assert!(content == fs::read(files.path(&name)).unwrap(), "{name} was changed");
    }
}

fn directory(files: &Files) -> String {
    files.path("x").parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
#[cfg(unix)]
fn no_output_overwrites_an_input_through_a_link() {
    let files = Files::new();
    std::os::unix::fs::symlink(files.path("weights.npy"), files.path("soft.npy")).unwrap();
    fs::hard_link(files.path("weights.npy"), files.path("hard.npy")).unwrap();
    let before = fs::read(files.path("weights.npy")).unwrap();
    for line in [
        "build --weights weights.npy -o soft.npy",
        "build --weights soft.npy -o weights.npy",
        "build --weights weights.npy -o hard.npy",
    ] {
        assert!(files.fail(2, line).contains("would overwrite --weights"), "zhat {line}");
    }
    assert!(before == fs::read(files.path("weights.npy")).unwrap());
}

#[test]
fn another_layer_is_not_evaluated() {
    let files = Files::with_model();
    write_npy(files.path("other.npy"), &Layer::generate(N, D, 6).weights).unwrap();
    let message = files.fail(1, &EVAL.replace("weights.npy", "other.npy"));
    for part in ["other.npy: not the weights that model.zhat was made from", "--tensor", "--transpose"] {
        assert!(message.contains(part), "{message}");
    }
    let message = files.fail(1, &EVAL.replace("--bias bias.npy", ""));
    for part in ["weights.npy: model.zhat was made with biases that differ by", "--bias", "--bias-tensor"] {
        assert!(message.contains(part), "{message}");
    }
    files.npy("zero.npy", "<f4", &[N], bytemuck_of(&[0.0; N]));
    let message = files.fail(1, &EVAL.replace("bias.npy", "zero.npy"));
    assert!(message.contains("zero.npy: not the biases that model.zhat was made with"), "{message}");
    write_npy(files.path("turned.npy"), &read(&files.path("weights.npy")).transposed()).unwrap();
    let message = files.fail(1, "eval model.zhat --weights turned.npy --queries queries.npy");
    assert!(message.contains(&format!("{D}×{N}, but model.zhat is of {N}×{D}")), "{message}");
    assert!(message.contains("add --transpose"), "{message}");
}

#[test]
fn weights_that_are_turned_are_recognised() {
    let files = Files::new();
    write_npy(files.path("turned.npy"), &read(&files.path("weights.npy")).transposed()).unwrap();
    for options in ["--queries queries.npy", "--bias bias.npy", "--names names.txt"] {
        let message = files.fail(1, &format!("build --weights turned.npy {options} -o m.zhat"));
        assert!(message.contains("turned.npy") && message.contains("add --transpose"), "{options}: {message}");
        let message = files.fail(1, &format!("build --weights weights.npy --transpose {options} -o m.zhat"));
        assert!(message.contains("leave out --transpose"), "{options}: {message}");
    }
    // With nothing to hold against them, more dimensions than classes are at least suspicious.
    let text = files.run("build --weights turned.npy --work 50% -o m.zhat");
    assert!(
        text.contains(&format!("warning: {D} classes of {N} dimensions")) && text.contains("--transpose"),
        "{text}"
    );
}

#[test]
fn recall_is_against_the_float_layer_too_and_accuracy_is_there_for_all() {
    let files = Files::with_model();
    let report = json(&files.run(&format!("{EVAL} --labels labels.npy --estimators all --seeds 1 --json")));
    for estimator in report["estimators"].as_array().unwrap() {
        let share = |field: &str| estimator[field].as_f64();
        assert!(share("accuracy").is_some_and(|accuracy| (0.3..=1.0).contains(&accuracy)), "{estimator}");
        assert_eq!(share("float_recall_at_1").is_some(), share("recall_at_1").is_some(), "{estimator}");
        if let (Some(float), Some(own)) = (share("float_recall_at_1"), share("recall_at_1")) {
            assert!((0.5..=1.0).contains(&float) && (float - own).abs() < 0.1, "{estimator}");
        }
    }
    let text = files.run(&format!("{EVAL} --labels labels.npy"));
    let line = text.lines().rev().find(|line| line.starts_with("moments")).unwrap();
    assert!(text.contains("float@1") && !line.contains('–'), "{line}");
}

#[test]
fn a_build_prints_json() {
    let files = Files::new();
    let built = json(&files.run(&format!("{BUILD} --json")));
    assert_eq!(built["file"], "model.zhat");
    assert_eq!(built["plan"]["branching"].as_u64(), Some(8));
    assert_eq!(built["model"]["classes"].as_u64(), Some(N as u64));
    assert_eq!(built["report"]["data"]["queries"].as_u64(), Some(M as u64 / 5));
    assert!(built["report"]["estimators"][0]["err_mean"].as_f64().is_some());
    let bytes = fs::metadata(files.path("model.zhat")).unwrap().len();
    assert_eq!(built["needs"]["flash"].as_u64(), Some(bytes));
    assert!(built["sections"].as_array().unwrap().iter().any(|section| section["name"] == "links"));
    assert_eq!(warnings(&built), warnings(&json(&files.run("inspect model.zhat --json"))));
}

#[test]
fn a_good_model_has_no_warnings() {
    let files = Files::new();
    let line = BUILD.replace("--work 10%", "--work 60% --cap 100%");
    assert_eq!(warnings(&json(&files.run(&format!("{line} --json")))), [""; 0]);
    assert!(!files.run("inspect model.zhat").contains("warning"));
    assert_eq!(warnings(&json(&files.run(&format!("{EVAL} --json")))), [""; 0]);
}

#[test]
fn a_useless_model_says_so_everywhere() {
    let files = Files::new();
    let weights = read(&files.path("weights.npy"));
    let large = Matrix::new(weights.data().iter().map(|w| w * 20.0).collect(), D).unwrap();
    write_npy(files.path("large.npy"), &large).unwrap();
    let line = "build --weights large.npy --queries calibration.npy --work 10% --cap 10% --branching 4 --leaf 4 --links 0 -o m.zhat";
    let text = files.run(line);
    let useless = |text: &str| text.contains("probabilities are not usable") && text.contains("of the queries only");
    assert!(text.contains("warning: Z is off by") && useless(&text), "{text}");
    assert!(useless(&warnings(&json(&files.run(&format!("{line} --json")))).join("\n")));
    assert!(useless(&files.run("inspect m.zhat")));
    let eval = "eval m.zhat --weights large.npy --queries queries.npy";
    assert!(useless(&files.run(eval)));
    assert!(useless(&warnings(&json(&files.run(&format!("{eval} --json")))).join("\n")));
}

#[test]
fn queries_that_show_nothing_are_named() {
    let files = Files::new();
    let text = files.run(&format!("build --weights weights.npy {REST} -o model.zhat"));
    assert!(text.contains("warning: built without queries"), "{text}");
    assert!(files.run("inspect model.zhat").contains("warning: built without queries"));
    let same: Vec<f32> = (0..100 * D).map(|i| (i % D) as f32 * 0.1).collect();
    files.npy("same.npy", "<f4", &[100, D], bytemuck_of(&same));
    let text = files.run(&format!("build --weights weights.npy --queries same.npy {REST} -o model.zhat"));
    assert!(text.contains("warning: same.npy: all 100 queries are the same one"), "{text}");
    let layer = Layer::generate(N, D, 5);
    let long = layer.queries(Kind::LanguageModel, 100, 3).data().iter().map(|q| q * 3.0).collect();
    write_npy(files.path("long.npy"), &Matrix::new(long, D).unwrap()).unwrap();
    let queries = "--queries calibration.npy --test-queries long.npy";
    let text = files.run(&format!("build --weights weights.npy {queries} {REST} -o model.zhat"));
    assert!(text.contains("warning: long.npy: queries are") && text.contains("those of calibration.npy"), "{text}");
    let eval = "eval model.zhat --weights weights.npy --queries long.npy --calibration calibration.npy";
    assert!(files.run(eval).contains("warning: long.npy: queries are"));
    files.npy("few.npy", "<f4", &[3, D], bytemuck_of(&same[..3 * D]));
    let text = files.run("eval model.zhat --weights weights.npy --queries few.npy");
    assert!(text.contains("warning: figures are from 3 queries only"), "{text}");
}

#[test]
fn the_demonstration_marks_what_it_misses() {
    let files = Files::new();
    for line in ["demo", "demo my fellow"] {
        let text = files.run(line);
        let footnote = text.lines().find(|line| line.starts_with("*  not found")).unwrap_or_else(|| panic!("{text}"));
        assert!(footnote.contains("sample contexts") && footnote.contains("best word in"), "{footnote}");
        // Whatever Exact lists and the estimate does not is marked, and nothing else.
        let mut rows = 0;
        for table in text.split("…    (").skip(1) {
            let cells: Vec<Vec<&str>> = table.lines().skip(2).take(5).map(|l| l.split_whitespace().collect()).collect();
            let estimated: Vec<&str> = cells.iter().map(|row| row[row.len() - 5]).collect();
            for row in &cells {
                assert_eq!(row[1] == "*", !estimated.contains(&row[0]), "{table}");
                rows += 1;
            }
        }
        assert!(rows >= 5);
    }
}

#[test]
fn files_that_are_not_what_they_say() {
    let files = Files::new();
    let zip = [b"PK\x03\x04".as_slice(), &[0; 60]].concat();
    fs::write(files.path("zip.npy"), &zip).unwrap();
    fs::write(files.path("zip.bin"), &zip).unwrap();
    fs::write(files.path("zip.npz"), &zip).unwrap();
    fs::copy(files.path("weights.npy"), files.path("npy.safetensors")).unwrap();
    fs::write(files.path("gzip.npy"), b"\x1f\x8b\x08\x00\x00\x00\x00\x00").unwrap();
    fs::write(files.path("pickle.npy"), b"\x80\x04\x95\x00\x00\x00").unwrap();
    let whole = fs::read(files.path("weights.npy")).unwrap();
    fs::write(files.path("cut.npy"), &whole[..whole.len() - 1]).unwrap();
    fs::write(files.path("cut-header.npy"), &whole[..50]).unwrap();
    files.npy("complex.npy", "<c8", &[2, 2], vec![0; 32]);
    for (name, part) in [
        ("zip.npy", "zip.npy: not a .npy file, but a zip archive, as .npz files are: np.save writes"),
        ("zip.bin", "zip.bin: not a word2vec binary file, but a zip archive"),
        ("zip.npz", "zip.npz: is an archive of arrays: np.save writes one as .npy"),
        ("npy.safetensors", "npy.safetensors: not a .safetensors file, but a .npy file"),
        ("gzip.npy", "compressed by gzip"),
        ("pickle.npy", "a Python pickle"),
        ("cut.npy", "cut.npy: ends early"),
        ("cut-header.npy", "cut-header.npy: ends early"),
        ("complex.npy", "complex.npy: holds complex64, expected f16, f32 or f64"),
    ] {
        let message = files.fail(1, &format!("build --weights {name} -o m.zhat"));
        assert!(message.contains(part), "{name}: {message}");
        assert!(files.fail(1, &format!("build --weights weights.npy --bias {name} -o m.zhat")).contains(name));
    }
}

#[test]
fn fortran_order_is_read_as_it_is_meant() {
    let files = Files::new();
    let weights = read(&files.path("weights.npy"));
    files.npy("fortran.npy", "<f4", &[N, D], bytemuck_of(weights.transposed().data()));
    let bytes = fs::read(files.path("fortran.npy")).unwrap();
    let at = bytes.windows(5).position(|text| text == b"False").unwrap();
    fs::write(files.path("fortran.npy"), [&bytes[..at], b"True ", &bytes[at + 5..]].concat()).unwrap();
    files.run(&format!("build --weights weights.npy {REST} -o one.zhat"));
    files.run(&format!("build --weights fortran.npy {REST} -o two.zhat"));
    assert!(fs::read(files.path("one.zhat")).unwrap() == fs::read(files.path("two.zhat")).unwrap());
}
