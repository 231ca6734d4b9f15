//! `zhat report`: one file with all that a colleague needs to see.

use std::fs;

use super::support::{Files, M};

#[test]
fn a_report_is_one_page_that_needs_nothing_else() {
    let files = Files::with_model();
    files.run("report model.zhat --queries queries.npy --labels labels.npy -o report.html");
    let page = fs::read_to_string(files.path("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains(&format!("<h1>model.zhat on {M} queries</h1>")));
    // Tables and plots are in it, and nothing is fetched from elsewhere.
    for part in ["moments", "What a device needs", "Error against work", "right 70 % of the time"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<svg").count(), 3);
    for link in ["src=", "href=", "url(", "@import"] {
        assert!(!page.contains(link), "{link}");
    }
}

#[test]
fn a_report_without_labels_has_no_reliability_and_writes_over_nothing_it_reads() {
    let files = Files::with_model();
    files.run("report model.zhat --queries queries.npy -o report.html");
    assert_eq!(fs::read_to_string(files.path("report.html")).unwrap().matches("<svg").count(), 2);
    let message = files.fail(2, "report model.zhat --queries queries.npy -o queries.npy");
    assert!(message.contains("--output queries.npy would overwrite --queries queries.npy"), "{message}");
    let message = files.fail(1, "report model.zhat --queries none.npy -o other.html");
    assert_eq!(message, "zhat: none.npy: no such file\n");
    assert!(!files.path("other.html").exists());
}
