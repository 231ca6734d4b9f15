//! The other commands: inspect, query, export-rust, plot, demo, completions, man, help.

use std::fs;

use super::support::{D, Files, N, json, read};

#[test]
fn inspect_describes_the_file() {
    let files = Files::with_model();
    let text = files.run("inspect model.zhat");
    for part in ["rows", "links", "tree", "norms", "flat", "flash", "RAM", "Cortex-M4", "with names"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let description = json(&files.run("inspect model.zhat --json"));
    assert_eq!(description["model"]["classes"].as_u64(), Some(N as u64));
    let sections = description["sections"].as_array().unwrap();
    let sum: u64 = sections.iter().map(|section| section["bytes"].as_u64().unwrap()).sum();
    let bytes = fs::metadata(files.path("model.zhat")).unwrap().len();
    assert_eq!(description["model"]["bytes"].as_u64(), Some(bytes));
    assert!(sum < bytes && sum > bytes - 1000);
    assert!(description["needs"]["ram"].as_u64().unwrap() > 100);
    assert_eq!(description["layer"], "flat");
}

#[test]
fn a_query_is_answered_from_a_file_and_from_standard_input() {
    let files = Files::with_model();
    let queries = read(&files.path("queries.npy"));
    let from_file = files.run("query model.zhat --query queries.npy --top 2");
    assert_eq!(from_file.matches("query ").count(), queries.rows());
    assert!(from_file.contains("name"));
    let csv: String = queries.row(0).iter().map(f32::to_string).collect::<Vec<_>>().join(",");
    let output = files.zhat("query model.zhat --json --top 2").write_stdin(csv).output().unwrap();
    let answers = json(&String::from_utf8(output.stdout).unwrap())["answers"].take();
    assert_eq!(answers.as_array().unwrap().len(), 1);
    let best = &answers[0]["top"][0];
    assert_eq!(best["name"], format!("name{}", best["class"]));
    let (low, p, high) = (best["low"].as_f64().unwrap(), best["p"].as_f64().unwrap(), best["high"].as_f64().unwrap());
    assert!(low < p && p < high && answers[0]["work"].as_u64().unwrap() <= (N * 4 / 10) as u64);
    files.npy("one.npy", "<f4", &[D], super::support::bytemuck_of(queries.row(0)));
    let alone = json(&files.run("query model.zhat --query one.npy --json --top 2"));
    assert_eq!(alone["answers"], answers);
    let piped = files.zhat("query model.zhat --query - --json --top 2");
    let piped = { piped }.write_stdin(fs::read(files.path("queries.npy")).unwrap()).output().unwrap();
    assert_eq!(json(&String::from_utf8(piped.stdout).unwrap())["answers"][0]["top"], answers[0]["top"]);
    let exact = json(&files.run("query model.zhat --query one.npy --json --exact"))["answers"].take();
    assert_eq!(exact[0]["work"].as_u64(), Some(N as u64));
    // What is left of the interval is the rounding of the rows.
    let number = |name: &str| exact[0]["top"][0][name].as_f64().unwrap();
    assert!(number("low") < number("high") && number("high") - number("low") < high - low + 0.05);
}

#[test]
fn the_exported_module_has_the_sizes_of_the_model() {
    let files = Files::with_model();
    files.run("export-rust model.zhat -o firmware/model");
    let text = fs::read_to_string(files.path("firmware/model/model.rs")).unwrap();
    let file = zhat::model::ModelBuf::from_bytes(&fs::read(files.path("firmware/model/model.zhat")).unwrap()).unwrap();
    let settings = *file.model().settings().unwrap();
    for part in [
        "zhat::include_model!(\"model.zhat\")".to_owned(),
        format!("CLASSES: usize = {N};"),
        format!("DIM: usize = {D};"),
        format!(
            "Budget::new({}).with_epsilon({:?}).with_expand({})",
            settings.budget.cap, settings.budget.epsilon, settings.budget.expand
        ),
        format!("SCRATCH_WORDS: usize = {};", file.model().scratch_words()),
        "zhat::QueryBuffer<8>".to_owned(),
    ] {
        assert!(text.contains(&part), "{part} is missing:\n{text}");
    }
    let file = fs::read(files.path("model.zhat")).unwrap();
    assert!(file == fs::read(files.path("firmware/model/model.zhat")).unwrap());
    fs::write(files.path("taken"), "").unwrap();
    assert!(files.fail(1, "export-rust model.zhat -o taken").contains("taken: cannot be made a directory"));
}

#[test]
fn the_exported_c_files_hold_the_model_its_sizes_and_its_names() {
    let files = Files::with_model();
    files.run("export-c model.zhat --name my-words -o firmware");
    let text = |name: &str| fs::read_to_string(files.path(name)).unwrap();
    let (header, source) = (text("firmware/my_words.h"), text("firmware/my_words.c"));
    let bytes = fs::read(files.path("model.zhat")).unwrap();
    let file = zhat::model::ModelBuf::from_bytes(&bytes).unwrap();
    let model = file.model();
    let scratch = model.query_words() + model.scratch_words();
    for part in [
        format!("#if ZHAT_FORMAT_VERSION != {}\n", zhat::model::FORMAT_VERSION),
        format!("#define MY_WORDS_BUILD_ID 0x{:08x}u\n", model.build_id()),
        format!("#define MY_WORDS_CLASSES {N}\n"),
        format!("#define MY_WORDS_DIM {D}\n"),
        format!("#define MY_WORDS_CAP {}\n", model.settings().unwrap().budget.cap),
        format!("#define MY_WORDS_SCRATCH_WORDS {scratch}\n"),
        format!("#define MY_WORDS_LEN {}\n", bytes.len()),
        format!("  MY_WORDS_NAME{} = {},\n", N - 1, N - 1),
        format!("extern const uint32_t my_words_words[{}];\n", bytes.len().div_ceil(4)),
    ] {
        assert!(header.contains(&part), "{part} is missing:\n{header}");
    }
    assert!(!header.contains("INPUT_SCALE"));
    let word = |text: &str| u32::from_str_radix(text, 16).unwrap().to_le_bytes();
    let words = source.split(" 0x").skip(1).flat_map(|rest| word(&rest[..8]));
    let stored: Vec<u8> = words.collect();
    assert!(stored.len() < bytes.len() + 4 && stored[..bytes.len()] == bytes);

    // By default they are called as the model is; names that make no identifiers make no enum.
    let names: String = (0..N).map(|class| format!("{}\n", ["yes", "Yes", "ja?"][class % 3])).collect();
    fs::write(files.path("names.txt"), names).unwrap();
    files.run("build --weights weights.npy --names names.txt --input-scale 0.02 --input-zero-point -3 -o 5-words.zhat");
    files.run("export-c 5-words.zhat -o firmware");
    let header = text("firmware/model_5_words.h");
    assert!(!header.contains("enum model_5_words_class"), "{header}");
    assert!(header.contains("INPUT_SCALE 2e-2f\n") && header.contains("INPUT_ZERO_POINT (-3)\n"), "{header}");
    fs::write(files.path("taken"), "").unwrap();
    assert!(files.fail(1, "export-c model.zhat -o taken").contains("taken: cannot be made a directory"));
    fs::copy(files.path("model.zhat"), files.path("model.c")).unwrap();
    assert!(files.fail(2, "export-c model.c -o .").contains("would overwrite"));
}

#[test]
fn plots_are_drawn() {
    let files = Files::with_model();
    files.run("plot cumulative model.zhat --queries queries.npy --count 3 -o cumulative.svg");
    files.run("plot reliability model.zhat --queries queries.npy --labels labels.npy -o reliability.png");
    files.run("plot error-work model.zhat --queries queries.npy -o error.svg");
    let eval = "eval model.zhat --weights weights.npy --bias bias.npy --queries queries.npy";
    files.run(&format!("{eval} --estimators moments,uniform --plot eval.PNG"));
    assert!(fs::read_to_string(files.path("cumulative.svg")).unwrap().contains("query 50"));
    assert!(fs::read_to_string(files.path("error.svg")).unwrap().contains("mimps"));
    for name in ["reliability.png", "eval.PNG"] {
        assert!(fs::read(files.path(name)).unwrap().starts_with(b"\x89PNG"), "{name}");
    }
}

#[test]
fn the_demonstration_shows_exact_and_estimated_side_by_side() {
    let files = Files::new();
    let text = files.run("demo");
    for part in ["exact", "estimated", "95 % interval", "mimps", "perplexity"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn the_demonstration_goes_on_from_any_words() {
    let text = Files::new().run("demo the people of the united");
    assert!(text.contains("states"), "{text}");
}

#[test]
fn keywords_are_heard_and_drawn() {
    let files = Files::new();
    let text = files.run("demo keywords --plot words.svg");
    assert!(text.contains("the clips that ship") && text.contains("classes; events from p"), "{text}");
    assert!(fs::read_to_string(files.path("words.svg")).unwrap().contains("mel band"));
    let silence = [
        &b"RIFF\x24\x7d\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\x7d\0\0"[..],
        &[0; 32_000],
    ];
    fs::write(files.path("silence.wav"), silence.concat()).unwrap();
    assert!(
        files.run("demo keywords silence.wav silence.wav").contains("silence.wav, 1.00 s, 0 decisions\n  no word\n")
    );
}

#[test]
fn every_help_has_an_example_and_ends_well() {
    let files = Files::new();
    assert!(files.run("--help").contains("Example:"));
    let commands = [
        "build",
        "eval",
        "tune",
        "inspect",
        "query",
        "export-rust",
        "demo",
        "demo keywords",
        "plot",
        "completions",
        "man",
    ];
    let plots = ["plot cumulative", "plot reliability", "plot error-work"];
    for command in commands.into_iter().chain(plots) {
        let help = files.run(&format!("{command} --help"));
        assert!(help.contains("Example:") && help.contains(&format!("zhat {command}")), "{command}:\n{help}");
    }
    assert!(files.run("--version").starts_with("zhat "));
}

#[test]
fn completions_and_man_pages_are_made() {
    let files = Files::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(files.run(&format!("completions {shell}")).contains("export-rust"));
    }
    assert!(files.run("man").contains(".TH zhat"));
    files.run("man -o pages");
    assert!(files.path("pages/zhat.1").exists() && files.path("pages/zhat-build.1").exists());
}
