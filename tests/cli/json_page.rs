//! The tables of src/guide/json.md, and whether an output is what they say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Fields and their types, by the heading that they stand under: `zhat eval`, or the name of a part.
pub struct Page {
    tables: BTreeMap<String, BTreeMap<String, String>>,
    /// Fields that had a value in some output.
    seen: BTreeSet<(String, String)>,
}

impl Page {
    pub fn read() -> Self {
        let mut tables: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut heading = String::new();
        for line in include_str!("../../src/guide/json.md").lines() {
            if let Some(text) = line.strip_prefix("## `").or_else(|| line.strip_prefix("### ")) {
                heading = text.trim_end_matches("`").trim_end_matches(" --json").to_owned();
            }
            if let Some(row) = line.strip_prefix("| `") {
                let mut cells = row.split('|');
                let (field, kind) = (cells.next().unwrap().trim(), cells.next().unwrap().trim());
                let before = tables
                    .entry(heading.clone())
                    .or_default()
                    .insert(field.trim_end_matches('`').to_owned(), kind.to_owned());
                assert_eq!(before, None, "{heading} has {field} twice");
            }
        }
        Self { tables, seen: BTreeSet::new() }
    }

    /// That the object has the fields of the table under this heading, no more and no less.
    pub fn expect(&mut self, heading: &str, value: &Value) {
        let table = self.tables.get(heading).unwrap_or_else(|| panic!("no table {heading}")).clone();
        let object = value.as_object().unwrap_or_else(|| panic!("{heading} is no object: {value}"));
        let printed: Vec<&String> = object.keys().collect();
        let mut documented: Vec<&String> = table.keys().collect();
        documented.sort();
        assert_eq!(printed, documented, "of {heading}, on the left what is printed, on the right what the page has");
        for (field, kind) in &table {
            if self.fits(kind, &object[field], &format!("{heading}: {field}")) {
                self.seen.insert((heading.to_owned(), field.clone()));
            }
        }
    }

    /// Whether there is a value, which is of this type.
    fn fits(&mut self, kind: &str, value: &Value, place: &str) -> bool {
        if let Some(kind) = kind.strip_suffix(" or null") {
            return !value.is_null() && self.fits(kind, value, place);
        }
        if let Some(kind) = kind.strip_prefix("list of ") {
            let list = value.as_array().unwrap_or_else(|| panic!("{place} is no list: {value}"));
            return list.iter().filter(|value| self.fits(kind, value, place)).count() > 0;
        }
        match kind {
            "number" => assert!(value.is_number(), "{place} is no number: {value}"),
            "text" => assert!(value.is_string(), "{place} is no text: {value}"),
            "yes or no" => assert!(value.is_boolean(), "{place} is neither: {value}"),
            part => self.expect(part, value),
        }
        true
    }

    /// That every field under these headings, and of all parts that they have, had a value in some output.
    pub fn expect_all_seen(&self, headings: &[&str]) {
        let mut open: Vec<&str> = headings.to_vec();
        let mut known = BTreeSet::new();
        while let Some(heading) = open.pop() {
            for (field, kind) in &self.tables[heading] {
                let place = (heading.to_owned(), field.clone());
                assert!(self.seen.contains(&place), "{heading}: no output had a value for {field}");
                let part = kind.trim_start_matches("list of ").trim_end_matches(" or null");
                if self.tables.contains_key(part) && known.insert(part) {
                    open.push(part);
                }
            }
        }
    }
}
