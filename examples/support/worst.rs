//! The host's half of the example `bound`.

use std::error::Error;
use std::fs;
use std::path::Path;

use zhat::host::build::{Correction, Plan, Targets, build};
use zhat::host::{Kind, Layer};
use zhat::internal::{Count, counts_of, cycles_of};
use zhat::{Budget, Model, QueryBuffer, scratch_words};

type Done<T = ()> = Result<T, Box<dyn Error>>;

/// The widest query.
const DIM: usize = 1024;
/// Queries that are kept of each cell: those that take the most.
const KEPT: usize = 3;

/// Layers: classes, columns, children of a node, rows of a leaf, links of a row.
const LAYERS: [(usize, usize, usize, usize, usize); 20] = [
    (20_000, 4, 32, 16, 6),
    (8_000, 8, 16, 16, 8),
    (4_000, 20, 32, 16, 8),
    (3_000, 64, 16, 8, 8),
    (8_192, 64, 32, 16, 8),
    (2_000, 12, 2, 2, 4),
    (1_500, 32, 2, 8, 8),
    (1_000, 16, 256, 4, 8),
    (6_000, 16, 512, 32, 8),
    (1_000, 128, 8, 8, 8),
    (5_000, 64, 32, 1, 12),
    (700, 256, 16, 16, 0),
    (12_000, 32, 64, 32, 8),
    (3_000, 5, 4, 64, 16),
    (300, 512, 4, 4, 4),
    (2_500, 100, 33, 12, 8),
    (10_000, 24, 64, 16, 6),
    (900, 8, 3, 3, 32),
    (4_000, 96, 16, 24, 4),
    (600, 40, 1024, 1, 8),
];
/// Those of them that `fast` tries.
const FAST: [usize; 4] = [0, 3, 5, 12];

/// Budgets of a layer.
const BUDGETS: usize = 30;

struct Cell {
    budget: Budget,
    words: usize,
}

pub fn run() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder), &(0..LAYERS.len()).collect::<Vec<_>>(), 1),
        ["write", folder, "fast"] => write(Path::new(folder), &FAST, 5),
        ["check", folder] => check(Path::new(folder)),
        _ => Err("bound write FOLDER [fast], bound check FOLDER".into()),
    }
}

/// Makes the jobs.
fn write(folder: &Path, layers: &[usize], step: usize) -> Done {
    fs::create_dir_all(folder)?;
    for &which in layers {
        let (classes, dim, branching, leaf, links) = LAYERS[which];
        let layer = Layer::generate(classes, dim, which as u64 + 1);
        let plan = Plan { branching, leaf, links, correction: Correction::None, ..Plan::default() };
        let targets = Targets { plans: vec![plan], always_index: true, work: 0.6, cap: 1.0, ..Targets::default() };
        let file = build(&layer.weights, &layer.biases, None, &targets, &mut |_| ())?.model;
        let model = file.model();
        println!(
            "{which}: {classes} x {dim}, {} nodes, {} at the top",
            model.tree().map_or(0, |t| t.len()),
            model.tree().map_or(0, |t| t.top())
        );
        let mut job = (model.len() as u32).to_le_bytes().to_vec();
        job.extend_from_slice(&file);
        job.resize(job.len().next_multiple_of(4), 0);
        let mut counts = String::new();
        for number in (0..BUDGETS).step_by(step) {
            for (cell, query, counted) in worst_of(&model, &layer, number)? {
                let Budget { cap, epsilon, expand, .. } = cell.budget;
                let head = [cap, epsilon.to_bits(), expand, cell.words as u32];
                job.extend(head.iter().flat_map(|word| word.to_le_bytes()));
                job.extend(query.iter().flat_map(|value| value.to_le_bytes()));
                let counted: Vec<String> = counted.iter().map(u32::to_string).collect();
                let kept =
                    [classes, dim, cap as usize, expand as usize, links, cell.words].map(|n| n.to_string()).join(" ");
                counts += &format!("{kept} {epsilon} {}\n", counted.join(" "));
            }
        }
        fs::write(folder.join(format!("{which}.job")), job)?;
        fs::write(folder.join(format!("{which}.counts")), counts)?;
    }
    Ok(())
}

/// Compares what QEMU counted with the bounds: none may be above its bound, and none of the bounds much above the worst.
fn check(folder: &Path) -> Done {
    /// The most that a bound may be of the worst query that was found.
    const LOOSE: f64 = 1.6;
    let (mut cells, mut broken, mut loose) = (0, 0, 0);
    for which in 0..LAYERS.len() {
        let Ok(job) = fs::read(folder.join(format!("{which}.job"))) else { continue };
        let word = |at: usize| job.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
        let bytes = word(0) as usize;
        let file = zhat::model::ModelBuf::from_bytes(&job[4..4 + bytes])?;
        let model = file.model();
        let Ok(counted) = fs::read_to_string(folder.join(format!("{which}.each"))) else { continue };
        // By budget: the most instructions and cycles that were counted.
        let mut worst: Vec<(Budget, [u64; 2])> = Vec::new();
        let (mut at, step) = (4 + bytes.next_multiple_of(4), 16 + 4 * model.dim());
        for line in counted.lines() {
            let numbers: Vec<u64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
            let budget = Budget::new(word(at)).with_epsilon(f32::from_bits(word(at + 4))).with_expand(word(at + 8));
            at += step;
            let now = [numbers[1], numbers[2]];
            match worst.iter_mut().find(|(other, _)| *other == budget) {
                Some((_, most)) => *most = [most[0].max(now[0]), most[1].max(now[1])],
                None => worst.push((budget, now)),
            }
        }
        for (budget, most) in worst {
            let bound = [budget.most_instructions(&model), budget.most_cycles(&model)];
            let ratio = [0, 1].map(|i| bound[i] as f64 / most[i] as f64);
            (cells, broken) = (cells + 1, broken + usize::from(ratio[0] < 1.0 || ratio[1] < 1.0));
            loose += usize::from(ratio[0] > LOOSE || ratio[1] > LOOSE);
            println!(
                "{which}: {} x {}, cap {}, epsilon {}, links of {}: {} instructions, bound {:.2} times that; {} cycles, {:.2}",
                model.classes(),
                model.dim(),
                budget.cap,
                budget.epsilon,
                budget.expand,
                most[0],
                ratio[0],
                most[1],
                ratio[1]
            );
        }
    }
    println!("{cells} cells: {broken} above their bounds, {loose} of the bounds more than {LOOSE} times the worst");
    if broken > 0 { Err("a query took more than its bound".into()) } else { Ok(()) }
}

/// The budgets that are tried: caps from the least one up, with and without a tolerance and links.
fn budget(model: &Model<'_>, number: usize) -> Budget {
    let least = model.least_cap() as f32;
    let most = (0.5 * model.classes() as f32).min(3000.0).max(least + 1.0);
    let cap = least * (most / least).powf(number as f32 / (BUDGETS - 1) as f32);
    let [epsilon, expand] = [[0.0, 8.0], [0.003, 8.0], [0.0, 0.0], [0.02, 3.0], [0.0, 4.0]][number % 5];
    Budget::new(cap as u32).with_epsilon(epsilon).with_expand(expand as u32)
}

/// A query, where it is the worst, and what is counted of it.
type Worst = (Cell, Vec<f32>, [u32; Count::ALL]);

/// The worst queries of a budget that are found, each with the memory with which it is so.
fn worst_of(model: &Model<'_>, layer: &Layer, number: usize) -> Done<Vec<Worst>> {
    let budget = budget(model, number);
    let dim = model.dim();
    let mut random = Random(number as u64 + 77);
    let scale = layer.queries(Kind::LanguageModel, 20, 5).iter().map(norm).sum::<f32>() / 20.0;
    let mut queries: Vec<Vec<f32>> = vec![vec![0.0; dim]];
    let [like, sure] = [Kind::LanguageModel, Kind::Classifier].map(|kind| layer.queries(kind, 24, number as u64));
    for factor in [0.001, 0.01, 0.05, 0.1, 0.3, 1.0, 3.0] {
        for values in like.iter().step_by(3).chain(sure.iter().step_by(6)) {
            queries.push(values.iter().map(|x| x * factor).collect());
        }
        for _ in 0..4 {
            queries.push(random.direction(dim, scale * factor));
        }
        let mut axis = vec![0.0; dim];
        axis[random.below(dim)] = factor * scale;
        queries.push(axis);
    }
    let least = (0..).map(|i| i * 8).find(|&words| fits(model, &budget, words)).unwrap_or(0);
    let enough = model.scratch_words_for(&budget).max(least);
    let memories = [0.0, 0.1, 0.4, 0.7, 1.0f32].map(|share| least + (share * (enough - least) as f32) as usize);
    let mut found: Vec<(u64, usize, Vec<f32>, [u32; Count::ALL])> = Vec::new();
    let mut buffer = Box::new(QueryBuffer::<DIM>::empty());
    let mut memory = vec![0; enough.max(scratch_words(model.classes(), 4))];
    let mut price = |values: &[f32], words: usize| -> Done<(u64, [u32; Count::ALL])> {
        buffer.set(model, values)?;
        let counts = counts_of::<8>(model, &budget, &buffer, &mut memory[..words])?;
        Ok((cycles_of(model, &counts), counts))
    };
    for query in &queries {
        for words in memories {
            let (cost, counts) = price(query, words)?;
            found.push((cost, words, query.clone(), counts));
        }
    }
    found.sort_by_key(|found| std::cmp::Reverse(found.0));
    // Steps from the worst to worse ones.
    for start in 0..3 {
        let (mut cost, words, mut query, _) = found[start].clone();
        let mut width = 0.5;
        for _ in 0..60 {
            let step = random.direction(dim, width * norm(&query).max(0.01 * scale));
            let next: Vec<f32> = query.iter().zip(&step).map(|(x, s)| x + s).collect();
            let (worse, counts) = price(&next, words)?;
            if worse > cost {
                (cost, query) = (worse, next.clone());
                found.push((worse, words, next, counts));
            } else {
                width = (width * 0.95f32).max(0.01);
            }
        }
    }
    found.sort_by_key(|found| std::cmp::Reverse(found.0));
    // The worst, the worst with all the memory, and any, to see how far the counts tell the time.
    let mut kept: Vec<_> = found.iter().take(KEPT - 1).cloned().collect();
    kept.extend(found.iter().find(|found| found.1 == enough).cloned());
    kept.push(found[random.below(found.len())].clone());
    Ok(kept.into_iter().map(|(_, words, query, counts)| (Cell { budget, words }, query, counts)).collect())
}

fn fits(model: &Model<'_>, budget: &Budget, words: usize) -> bool {
    let mut memory = vec![0; words];
    let mut query = QueryBuffer::<DIM>::empty();
    query.set(model, &vec![0.0; model.dim()]).is_ok() && counts_of::<8>(model, budget, &query, &mut memory).is_ok()
}

fn norm(values: &[f32]) -> f32 {
    values.iter().map(|x| x * x).sum::<f32>().sqrt()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (((self.next() + 1.0) * 0.5 * limit as f32) as usize).min(limit - 1)
    }

    fn direction(&mut self, dim: usize, length: f32) -> Vec<f32> {
        let values: Vec<f32> = (0..dim).map(|_| self.next() + self.next() + self.next()).collect();
        let factor = length / norm(&values).max(1e-12);
        values.iter().map(|x| x * factor).collect()
    }
}
