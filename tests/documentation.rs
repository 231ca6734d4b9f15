//! Every public type and constructor has an example in its documentation.
//!
//! The test reads the JSON that rustdoc writes. `./ci.sh host` makes it and names it in `ZHAT_RUSTDOC`.
#![cfg(feature = "std")]

use std::collections::BTreeSet;

use serde_json::Value;

/// The functions for C have their examples on the page of their module and in `examples/c`.
const FOR_C: &str = "src/capi/";

/// The items of the crate, as rustdoc lists them.
struct Crate(Value);

impl Crate {
    fn item(&self, id: &Value) -> &Value {
        &self.0["index"][id.to_string()]
    }

    /// Collects the types that a user can reach from this item: those of modules and of re-exports.
    fn types<'c>(&'c self, id: &Value, visited: &mut BTreeSet<String>, types: &mut Vec<&'c Value>) {
        let item = self.item(id);
        if item.is_null() || !visited.insert(id.to_string()) {
            return;
        }
        match kind(item) {
            "module" => list(&item["inner"]["module"]["items"]).for_each(|id| self.types(id, visited, types)),
            "use" => self.types(&item["inner"]["use"]["id"], visited, types),
            "struct" | "enum" | "trait" if !text(&item["span"]["filename"]).starts_with(FOR_C) => types.push(item),
            _ => {}
        }
    }

    /// Returns the functions of a type apart from those of traits.
    fn functions<'c>(&'c self, of: &'c Value) -> impl Iterator<Item = &'c Value> {
        let inherent = |block: &&Value| block["inner"]["impl"]["trait"].is_null();
        let blocks = list(&of["inner"][kind(of)]["impls"]).map(|id| self.item(id)).filter(inherent);
        let items = blocks.flat_map(|block| list(&block["inner"]["impl"]["items"])).map(|id| self.item(id));
        items.filter(|item| kind(item) == "function")
    }

    /// Returns all code in the documentation.
    fn examples(&self) -> String {
        let items = self.0["index"].as_object().into_iter().flat_map(|items| items.values());
        items.flat_map(|item| text(&item["docs"]).split("```").skip(1).step_by(2)).collect()
    }
}

fn kind(item: &Value) -> &str {
    item["inner"].as_object().and_then(|inner| inner.keys().next()).map_or("", String::as_str)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn has_example(item: &Value) -> bool {
    text(&item["docs"]).contains("```")
}

/// Tells whether a function makes a value of the type that it belongs to: it takes no `self`, and returns `Self`.
fn is_constructor(function: &Value) -> bool {
    let signature = &function["inner"]["function"]["sig"];
    let takes_self = list(&signature["inputs"]).any(|input| input[0] == "self");
    !takes_self && signature["output"].to_string().contains(r#""generic":"Self""#)
}

#[test]
#[ignore = "reads the JSON of rustdoc: ./ci.sh host"]
fn every_type_with_functions_and_every_constructor_has_an_example() {
    let path = std::env::var_os("ZHAT_RUSTDOC").expect("ZHAT_RUSTDOC names the JSON of rustdoc");
    let all = Crate(serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON"));
    let (mut types, mut visited) = (Vec::new(), BTreeSet::new());
    all.types(&all.0["root"], &mut visited, &mut types);
    let examples = all.examples();
    let is_named = |name: &str| examples.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let mut without = Vec::new();
    for item in &types {
        let name = text(&item["name"]);
        let functions: Vec<&Value> = all.functions(item).collect();
        // Plain data, such as the parts of a report, is clear from its fields.
        if !functions.is_empty() && !has_example(item) && !is_named(name) {
            without.push(name.to_owned());
        }
        let constructors = functions.iter().filter(|function| is_constructor(function));
        let bare = constructors.filter(|function| !has_example(function) && !has_example(item));
        without.extend(bare.map(|function| format!("{name}::{}", text(&function["name"]))));
    }
    assert!(types.len() > 50, "only {} types: the format of the JSON has changed", types.len());
    assert!(without.is_empty(), "no example of {}", without.join(", "));
}
