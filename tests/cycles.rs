//! What `./ci.sh cycles` measured: the plugin's prices against those counted by hand, and a query's cycles against limits.
#![cfg(feature = "std")]

use std::{env, fs};

use serde_json::Value;

/// The sums of the regions that a program marked, in the order of their numbers.
fn regions(name: &str) -> Vec<Value> {
    let folder = env::var("ZHAT_CYCLES").expect("the folder that ./ci.sh cycles writes to");
    let path = format!("{folder}/{name}.json");
    let text = fs::read_to_string(&path).expect(&path);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    lines.filter(|line| line.get("calls").is_some()).collect()
}

fn number(region: &Value, field: &str) -> u64 {
    region[field].as_u64().expect(field)
}

#[test]
#[ignore = "./ci.sh cycles measures what it looks at"]
fn the_plugin_says_what_was_counted_by_hand() {
    let source = include_str!("../ci/cycles/by_hand.s");
    let by_hand: Vec<Vec<u64>> = source
        .lines()
        .filter_map(|line| line.split_once("@= "))
        .map(|(_, counts)| {
            counts
                .split([':', ' '])
                .map_while(|word| match word {
                    "" => Some(None),
                    word => word.parse().ok().map(Some),
                })
                .flatten()
                .take(4) // what follows is the reason
                .collect()
        })
        .collect();
    let fields = ["region", "cycles", "words", "lines"];
    let priced: Vec<Vec<u64>> =
        regions("by_hand").iter().map(|region| fields.map(|field| number(region, field)).to_vec()).collect();
    assert_eq!(priced, by_hand);
    assert_eq!(priced.len(), 15);
}

/// Program, region, and the most cycles that a mean query may take: without wait states, and with flash like an STM32F4's.
const LIMITS: [(&str, u64, u64, u64); 3] =
    [("next_word", 1, 68_000, 82_500), ("next_word", 2, 1_065_000, 1_320_000), ("keywords", 1, 69_500, 83_000)];

#[test]
#[ignore = "./ci.sh cycles measures what it looks at"]
fn queries_keep_to_their_cycles() {
    for (name, number_of_region, limit, limit_f4) in LIMITS {
        let regions = regions(name);
        let region = regions.iter().find(|region| number(region, "region") == number_of_region).expect(name);
        let calls = number(region, "calls");
        let (cycles, f4) = (number(region, "cycles") / calls, number(region, "f4") / calls);
        assert!(cycles <= limit, "{name}, region {number_of_region}: {cycles} cycles, more than {limit}");
        let f4 = cycles + f4;
        assert!(f4 <= limit_f4, "{name}, region {number_of_region}: {f4} cycles like STM32F4, more than {limit_f4}");
    }
}
