//! The modules are layers: each uses only those before it, in the order of the table at the top of `src/lib.rs`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a file names a module: the line, and the first name after the crate's root.
#[derive(Debug, PartialEq, Eq)]
struct Edge {
    line: usize,
    name: String,
}

/// The order of the modules, and which of them has what the crate re-exports at its root.
struct Layers {
    order: Vec<String>,
    re_exports: HashMap<String, String>,
}

impl Layers {
    fn read(lib: &str) -> Self {
        let rows = lib.lines().skip_while(|line| !line.starts_with("//! | module |")).skip(2);
        let rows = rows.map_while(|line| line.strip_prefix("//! | ")?.split(" | ").next());
        let order = rows.flat_map(names).collect();
        let mut re_exports = HashMap::new();
        for statement in code(lib).split(';') {
            let Some((_, path)) = statement.split_once("pub use ") else { continue };
            let path = path.trim().trim_start_matches("crate::");
            let mut parts = names(path);
            let module = parts.next().unwrap_or_default();
            parts.for_each(|name| drop(re_exports.insert(name, module.clone())));
        }
        Self { order, re_exports }
    }

    fn place(&self, module: &str) -> Option<usize> {
        self.order.iter().position(|known| known == module)
    }

    /// What a file of this module must not name: modules that come later, and names that nobody knows.
    fn wrong_edges(&self, module: &str, source: &str, depth: usize) -> Vec<String> {
        let own = self.place(module);
        let wrong = edges(source, depth).into_iter().filter_map(|Edge { line, name }| {
            let used = self.re_exports.get(&name).unwrap_or(&name);
            match (self.place(used), own) {
                (Some(used), Some(own)) if used <= own => None,
                (Some(_), Some(_)) => Some(format!("{line}: `{module}` uses `{used}`, which comes later")),
                _ => Some(format!("{line}: `{name}` or `{module}` is not in the table of src/lib.rs")),
            }
        });
        wrong.collect()
    }
}

/// The identifiers of a text.
fn names(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !is_part_of_a_name(c)).filter(|name| !name.is_empty()).map(str::to_owned)
}

fn is_part_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The source without comments and without what is compiled for tests only, line by line as before.
fn code(source: &str) -> String {
    let mut code = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let is_test = line.trim_start().starts_with("#[cfg(") && names(line).any(|name| name == "test");
        if is_test {
            // The item after it: up to its semicolon, or to the brace that closes it.
            let mut open = 0;
            code.push('\n');
            for line in lines.by_ref() {
                code.push('\n');
                open += line.matches('{').count();
                open -= line.matches('}').count().min(open);
                let ends = line.ends_with(';') || line.ends_with('}');
                if open == 0 && ends {
                    break;
                }
            }
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// All paths from the root of the crate in a file that is `depth` modules below it: `crate::…`, and as many `super::`.
fn edges(source: &str, depth: usize) -> Vec<Edge> {
    let code = code(source);
    let mut found = Vec::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&root) {
            // The end of a longer name or path, such as `zhat_crate::` or `self::super::`.
            if code[..at].ends_with(|c: char| is_part_of_a_name(c) || c == ':') {
                continue;
            }
            let line = 1 + code[..at].matches('\n').count();
            let path = &code[at + root.len()..];
            found.extend(first_names(path).into_iter().map(|name| Edge { line, name }));
        }
    }
    found
}

/// The first names of a path: one, or those of each branch of `{a::b, c::{d, e}}`.
fn first_names(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return names(path).take(1).collect();
    };
    let (mut depth, mut starts, mut found) = (0, true, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => starts = true,
            c if starts && is_part_of_a_name(c) => {
                found.extend(names(&group[at..]).next());
                starts = false;
            }
            _ => {}
        }
    }
    found
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn layers() -> Layers {
    Layers::read(&fs::read_to_string(source_folder().join("lib.rs")).expect("src/lib.rs"))
}

/// Every file of a folder and of those in it that is compiled outside of tests.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The modules from the root to a file: `search/top.rs` and `search/mod.rs` are in `search`, one two deep, one one deep.
fn modules_of(file: &Path) -> Vec<String> {
    let mut modules: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    modules.pop_if(|last| last == "mod");
    modules
}

#[test]
fn every_module_uses_only_those_before_it() {
    let (layers, folder) = (layers(), source_folder());
    let mut wrong = Vec::new();
    for file in rust_files(&folder) {
        let inside = file.strip_prefix(&folder).expect("a file of the folder");
        let modules = modules_of(inside);
        // The root of the library is above all modules; programs in `bin` see only what is public.
        if modules == ["lib"] || modules[0] == "bin" {
            continue;
        }
        let source = fs::read_to_string(&file).expect("a source file");
        let edges = layers.wrong_edges(&modules[0], &source, modules.len());
        wrong.extend(edges.into_iter().map(|edge| format!("src/{}:{edge}", inside.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_has_its_place() {
    let mut modules: Vec<String> = rust_files(&source_folder())
        .iter()
        .map(|file| modules_of(file.strip_prefix(source_folder()).expect("a file of the folder")).swap_remove(0))
        .filter(|module| module != "lib" && module != "bin")
        .collect();
    modules.dedup();
    let mut order = layers().order;
    order.sort();
    modules.sort();
    modules.dedup();
    assert_eq!(order, modules);
}

#[test]
fn a_use_that_is_turned_round_is_found() {
    let layers = layers();
    for (module, file, back) in [
        ("rows", "rows/query.rs", "use crate::model::Model;"),
        ("tree", "tree/mod.rs", "use crate::{Error, Model};"),
        ("search", "search/best_first.rs", "use super::super::estimators::Estimate;"),
        ("model", "model/settings.rs", "fn far(work: crate::search::Work) {}"),
    ] {
        let source = fs::read_to_string(source_folder().join(file)).expect("a source file");
        let depth = modules_of(Path::new(file)).len();
        assert_eq!(layers.wrong_edges(module, &source, depth), [""; 0]);
        let turned = format!("{source}\n{back}\n");
        assert_eq!(layers.wrong_edges(module, &turned, depth).len(), 1, "{back}");
    }
}

#[test]
fn paths_of_every_kind_are_edges_and_nothing_else_is() {
    let source = "\
//! See [`model`](crate::model).
use crate::Error;
use crate::{
    math::{Log2, float}, // crate::search
    rows,
};
use super::near;
use super::super::far::{A, B};

pub(crate) fn f(x: &crate::tree::Span) -> u32 {
    mycrate::g(x)
}

#[cfg(test)]
mod tests {
    use crate::host::{Matrix, flat_model};
}

macro_rules! m { () => { $crate::kernels::dot }; }
#[cfg(all(test, feature = \"std\"))]
use crate::host;
type T = crate::log::T;
";
    let found: Vec<(usize, String)> = edges(source, 2).into_iter().map(|edge| (edge.line, edge.name)).collect();
    let expected = [(2, "Error"), (3, "math"), (3, "rows"), (10, "tree"), (19, "kernels"), (22, "log"), (8, "far")];
    assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
}
