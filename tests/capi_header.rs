//! The header for C is what cbindgen makes of the functions.

use std::path::Path;

const HEADER: &str = "src/capi/zhat.h";

fn generated() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi");
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("a valid configuration");
    // In the order in which a reader needs them.
    let sources = ["error.rs", "model.rs", "answer.rs"];
    let builder = sources.iter().fold(cbindgen::Builder::new(), |builder, file| builder.with_src(folder.join(file)));
    let mut header = Vec::new();
    builder.with_config(config).generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("text")
}

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER)
}

#[test]
fn the_header_is_what_the_functions_are() {
    let committed = std::fs::read_to_string(path()).expect(HEADER);
    assert!(committed == generated(), "{HEADER} is out of date: cargo test --test capi_header -- --ignored");
}

/// `cargo test --test capi_header -- --ignored` writes it again.
#[test]
#[ignore = "writes the header"]
fn write_the_header() {
    std::fs::write(path(), generated()).expect(HEADER);
}
