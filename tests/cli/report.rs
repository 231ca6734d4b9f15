//! `zhat eval`: the JSON is what other programs read, so it stays as it is.

use serde_json::Value;

use super::support::{D, Files, M, N, json};

const EVAL: &str = "eval model.zhat --weights weights.npy --bias bias.npy --queries queries.npy";

/// Fields that are always there; a `null` is a figure that the method cannot have.
const FIELDS: [&str; 12] = [
    "work_mean",
    "work_p95",
    "work_max",
    "err_mean",
    "err_median",
    "err_p95",
    "err_float_mean",
    "dp_mean",
    "recall_at_1",
    "coverage95",
    "time_ratio_to_exact",
    "name",
];

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} is no number: {value}"))
}

#[test]
fn the_json_has_the_documented_fields() {
    let files = Files::with_model();
    let report = json(&files.run(&format!("{EVAL} --json")));
    assert_eq!((report["data"]["classes"].as_u64(), report["data"]["dim"].as_u64()), (Some(N as u64), Some(D as u64)));
    assert_eq!(report["data"]["queries"].as_u64(), Some(M as u64));
    assert!(report["model"].is_object());
    assert_eq!(report["model"]["classes"].as_u64(), Some(N as u64));
    let estimators = report["estimators"].as_array().unwrap();
    assert_eq!(estimators.iter().map(|e| e["name"].as_str().unwrap()).collect::<Vec<_>>(), ["exact", "moments"]);
    for estimator in estimators {
        for field in FIELDS {
            assert!(!estimator[field].is_null(), "{field} of {estimator}");
        }
        let shares = ["work_mean", "work_p95", "work_max", "recall_at_1", "coverage95", "dp_mean"];
        assert!(shares.iter().all(|field| (0.0..=1.0).contains(&number(estimator, field))), "{estimator}");
        assert!(number(estimator, "err_median") <= number(estimator, "err_p95"));
        assert!(number(estimator, "work_mean") <= number(estimator, "work_max"));
    }
    let (exact, moments) = (&estimators[0], &estimators[1]);
    assert!(number(exact, "err_mean") < 1e-5 && number(exact, "recall_at_1") == 1.0);
    assert!(number(exact, "coverage95") > 0.8 && number(exact, "work_mean") == 1.0);
    assert!(number(exact, "time_ratio_to_exact") == 1.0);
    assert!(number(moments, "work_max") <= 0.41 && number(moments, "recall_at_1") > 0.6, "{moments}");
    assert!(number(moments, "err_mean") < 0.2 && number(moments, "coverage95") > 0.8, "{moments}");
    // The rounding of the rows is all that Exact is off from the float layer.
    assert!(number(exact, "err_float_mean") < 0.05 && number(exact, "dp_mean") < 0.02, "{exact}");
}

#[test]
fn every_estimator_can_be_asked() {
    let files = Files::with_model();
    let report = json(&files.run(&format!(
        "{EVAL} --labels labels.npy --calibration calibration.npy --estimators all --seeds 2 --top 3 --json"
    )));
    let names: Vec<&str> =
        report["estimators"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    let all = ["exact", "moments", "moments+samples", "uniform", "nmimps", "mimps", "mince", "fmbe", "self-normalised"];
    assert_eq!(names, all);
    for estimator in report["estimators"].as_array().unwrap() {
        assert!(number(estimator, "err_mean") >= 0.0 && number(estimator, "log_loss") >= 0.0);
        assert!((0.0..=1.0).contains(&number(estimator, "ece")), "{estimator}");
        assert_eq!(estimator["k"].as_u64(), Some(3));
    }
    assert!(report["data"]["unseen_queries"].as_u64().is_some());
    for layer in ["float", "exact", "self_normalised"] {
        assert!(number(&report["labels"][layer], "accuracy") > 0.3, "{layer}");
    }
    let text = files.run(&format!("{EVAL} --labels labels.npy --calibration calibration.npy"));
    for part in ["moments", "rec@1", "×exact", "best of no calibration query", "log-loss"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let files = Files::with_model();
    let run = |threads: &str| {
        let line = format!("{EVAL} --estimators moments,mimps --json");
        let output = files.zhat(&line).env("RAYON_NUM_THREADS", threads).output().unwrap();
        let mut report = json(&String::from_utf8(output.stdout).unwrap());
        for estimator in report["estimators"].as_array_mut().unwrap() {
            let fields = estimator.as_object_mut().unwrap();
            fields.retain(|name, _| !name.starts_with("time"));
        }
        report
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn tune_lists_budgets_and_marks_the_front() {
    let files = Files::with_model();
    let line = "tune model.zhat --queries queries.npy --budgets 10%,30% --estimators moments,uniform";
    let text = files.run(&format!("{line} --plot tune.svg"));
    assert!(text.contains("uniform") && text.contains("links of ") && text.contains('*'), "{text}");
    let svg = std::fs::read_to_string(files.path("tune.svg")).unwrap();
    assert!(svg.contains("Pareto front") && svg.contains("uniform"));
    let points = json(&files.run(&format!("{line} --json")))["points"].take();
    let error = |estimator: &str, setting: &str, at: usize| {
        let all = points.as_array().unwrap();
        let own: Vec<&Value> = all.iter().filter(|p| p["estimator"] == estimator && p["setting"] == setting).collect();
        number(own[at], "err_mean")
    };
    assert!(error("moments", "stored", 1) < error("moments", "stored", 0));
    assert!(error("moments", "stored", 1) < error("uniform", "–", 1));
}
