//! `zhat inspect`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use zhat::host::report::describe::Description;

use super::output::{Table, WHAT_FOR, bytes, count, maybe, percent, print, print_json, warnings};
use super::{Outcome, inputs};

/// Show what is in a model file and what a device needs for it
#[derive(Args)]
#[command(after_help = "Example:
  zhat inspect model.zhat
  zhat inspect model.zhat --json | jq .needs.ram")]
pub struct Inspect {
    /// The model file
    model: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub fn run(&self) -> Outcome {
        let file = inputs::model(&self.model)?;
        let description = Description::of(&file.model());
        if self.json {
            return print_json(&description);
        }
        print(&format!("{}\n{}", self.model.display(), text(&description)))
    }
}

fn text(d: &Description) -> String {
    let mut text = format!(
        "format {}, {} classes, {} dimensions, {} bits a weight{}\n\n",
        d.model.format_version,
        d.model.classes,
        d.model.dim,
        d.model.bits,
        if d.names { ", with names" } else { "" }
    );
    let mut table = Table::new(&["section", "kind", "bytes", "share", WHAT_FOR]);
    for section in &d.sections {
        let share = percent(section.bytes as f32 / d.model.bytes as f32);
        let kind = section.kind.to_string();
        table.row(vec![section.name.into(), kind, count(section.bytes as u64), share, section.purpose.into()]);
    }
    table.row(vec!["file".into(), String::new(), count(d.model.bytes as u64), bytes(d.model.bytes)]);
    let _ = writeln!(text, "{}", table.render());
    match &d.tree {
        Some(tree) => {
            let _ = writeln!(
                text,
                "tree      {} nodes ({} at the top), {} levels, up to {} children; {} leaves of {:.1} rows, {} at most",
                tree.nodes, tree.top, tree.depth, tree.branching, tree.leaves, tree.leaf_rows_mean, tree.leaf_rows_max
            );
            let _ = writeln!(text, "links     {} a row, at {} rows", d.model.links, count(d.model.linked as u64));
            let _ = writeln!(
                text,
                "budget    a cap of {} rows ({}), epsilon {}, links of {} rows followed",
                d.model.cap,
                percent(d.model.cap as f32 / d.model.classes as f32),
                d.model.epsilon,
                d.model.expand
            );
        }
        None => text += "tree      none: every query scores all rows\n",
    }
    let _ = writeln!(text, "norms     {:.3} to {:.3}, mean {:.3}", d.norms.min, d.norms.max, d.norms.mean);
    let _ = writeln!(
        text,
        "biases    {:.3} to {:.3}, mean {:.3}, in steps of {:.1e}",
        d.biases.min, d.biases.max, d.biases.mean, d.bias_step
    );
    if let Some(input) = &d.input {
        let _ = writeln!(text, "inputs    int8, scale {}, zero point {}", input.scale, input.zero_point);
    }
    let _ = writeln!(text, "scores    divided by a temperature of {}", d.model.temperature);
    if let (Some(m), Some(kind)) = (&d.measured, d.layer) {
        let _ = writeln!(
            text,
            "layer     {kind}: mean p of the best class {:.3}, scores spread by {:.2} nats",
            m.top_p_mean, m.score_spread
        );
        let _ = writeln!(
            text,
            "measured  error {}, recall {}, coverage {}, work {} (largest seen {}) on {} queries held out",
            percent(m.err_mean),
            percent(m.recall_at_1),
            maybe(m.coverage95),
            percent(m.work_mean),
            percent(m.work_max),
            m.queries
        );
    } else {
        text += "layer     flat or confident? built without queries to tell\n";
    }
    match &d.trust {
        Some(trust) => {
            let _ = writeln!(
                text,
                "interval  ln p ± q·(far share + 0.05·(1 − p) + 0.001), q = {:.3} for the first class, {:.3} for others; \
                 measured on {} queries",
                trust.margins[0], trust.margins[1], trust.queries
            );
            let _ = writeln!(
                text,
                "reject    above an energy of {:.3}, as {} of the queries held out are",
                trust.reject_energy,
                percent(trust.reject_rate)
            );
        }
        None => text += "interval  none: built with too few queries to measure it\n",
    }
    let needs = &d.needs;
    let _ = writeln!(
        text,
        "needs     {} of flash, {} of RAM ({} words of scratch memory, {} of them for nodes)",
        bytes(needs.flash),
        bytes(needs.ram),
        needs.scratch_words,
        needs.frontier
    );
    let mean = needs.instructions_mean.map_or(String::new(), |mean| format!("about {} mean, ", count(mean)));
    let _ = writeln!(
        text,
        "Cortex-M4 {mean}{} at most for any query, {} for all rows (instructions a query); at most {} cycles without wait states",
        count(needs.instructions_max),
        count(needs.instructions_exact),
        count(needs.cycles_max)
    );
    text + &warnings(&d.warnings)
}
