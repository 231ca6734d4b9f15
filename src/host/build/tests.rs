use nalgebra::DMatrix;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::choose::Judge;
use super::cluster::{self, Metric};
use super::pipeline::{Quantised, with_budget};
use super::*;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::{self, Spectrum};
use crate::host::{Compensation, measure};
use crate::model::{Bits, Budget};

fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    (0..n).map(|_| (0..4).map(|_| cluster::uniform(&mut rng) as f32 - 0.5).sum::<f32>()).collect()
}

/// Rows around a few centres, with queries that vary much more in some directions than in others.
fn layer(rows: usize, d: usize, queries: usize) -> (Matrix, Vec<f32>, Matrix) {
    let (centres, own) = (noise(9 * d, 1), noise(rows * d, 2));
    let weights = (0..rows * d).map(|i| 2.0 * centres[i / d % 9 * d + i % d] + own[i]).collect();
    let raw = noise(queries * d, 3);
    let stretched = (0..queries * d).map(|i| raw[i] * 4.0 / (1.0 + (i % d) as f32) + 0.5).collect();
    let matrix = |data| Matrix::new(data, d).expect("whole rows");
    (matrix(weights), noise(rows, 4), matrix(stretched))
}

fn quantised(weights: &Matrix, biases: &[f32], compensation: Option<&Compensation>) -> QuantisedRows {
    let exponent = quantise::scale_exponent(quantise::peak(weights.data()), Bits::Eight) + 2;
    QuantisedRows::round(weights, biases, exponent, compensation, Bits::Eight)
}

#[test]
fn every_row_is_in_one_leaf_and_nodes_cover_their_children() {
    let (weights, _, _) = layer(1000, 7, 1);
    for (branching, leaf) in [(2, 2), (8, 16), (32, 8), (4, 2000)] {
        let hierarchy = Hierarchy::build(&weights, branching, leaf, 5);
        let mut order = hierarchy.order.clone();
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(i, &point)| i == point as usize));
        let leaves: usize = hierarchy.spans.iter().filter(|span| span.is_leaf()).map(|span| span.rows).sum();
        assert_eq!(leaves, 1000);
        for (node, span) in hierarchy.spans.iter().enumerate().filter(|(_, span)| !span.is_leaf()) {
            // A thin node under it gave way to its leaves.
            assert!(span.children <= branching * 4 * leaf);
            assert!(node < hierarchy.top || span.rows > 4 * leaf);
            let children = &hierarchy.spans[span.first_child..][..span.children];
            assert_eq!(children.iter().map(|child| child.rows).sum::<usize>(), span.rows);
            assert_eq!(children[0].first_row, span.first_row);
        }
        assert!(hierarchy.spans.iter().filter(|span| span.is_leaf()).all(|span| span.rows <= leaf));
    }
}

#[test]
fn clusters_are_tighter_than_chance() {
    let (weights, _, _) = layer(900, 8, 1);
    let owner = cluster::cluster(weights.data(), 8, 9, 3);
    let spread = |owner: &[u32]| -> f64 {
        (0..9u32)
            .map(|k| {
                let members: Vec<usize> = (0..900).filter(|&i| owner[i] == k).collect();
                let mean = |j: usize| {
                    members.iter().map(|&i| f64::from(weights.row(i)[j])).sum::<f64>() / members.len() as f64
                };
                (0..8)
                    .map(|j| members.iter().map(|&i| (f64::from(weights.row(i)[j]) - mean(j)).powi(2)).sum::<f64>())
                    .sum::<f64>()
            })
            .sum()
    };
    let chance: Vec<u32> = (0..900).map(|i| i / 100).collect();
    assert!(spread(&owner) < 0.5 * spread(&chance));
}

#[test]
fn moments_of_inner_nodes_are_those_of_their_rows() {
    let (weights, biases, queries) = layer(400, 6, 200);
    let moment = spectrum::second_moment(&linear::with_ones(&queries));
    let spectrum = Spectrum::of(&linear::with_ones(&queries));
    let rows = quantised(&weights, &biases, None);
    let hierarchy = Hierarchy::build(&Metric::new(None, 0.0).all(&rows), 4, 8, 2);
    let rows = rows.reordered(&hierarchy.order);
    for (fit, span) in nodes::moments(&rows, &hierarchy, &spectrum).iter().zip(&hierarchy.spans) {
        let own = rows.augmented(span.first_row, span.rows);
        let n = span.rows as f64;
        let mean: Vec<f64> = (0..7).map(|j| own.chunks(7).map(|row| f64::from(row[j])).sum::<f64>() / n).collect();
        let variance: f64 = own
            .chunks(7)
            .map(|row| {
                let off = DMatrix::from_fn(7, 1, |j, _| f64::from(row[j]) - mean[j]);
                (off.transpose() * &moment * off)[(0, 0)]
            })
            .sum::<f64>()
            / n;
        assert!((f64::from(fit.variance) - variance).abs() < 1e-4 * variance.max(0.1), "{} {variance}", fit.variance);
        assert!(fit.vector.iter().zip(&mean).all(|(&w, m)| (f64::from(w) - m).abs() < 1e-5));
        assert!((f64::from(fit.bias) - mean[6] - n.ln()).abs() < 1e-4);
    }
}

fn labels<'a>(quantised: &'a Quantised, queries: &'a Matrix, links: usize, targets: &'a Targets) -> QueryLabels<'a> {
    let tops = links::top_rows(&quantised.rows, queries, targets.tunables.top_rows);
    QueryLabels::new(quantised, queries, tops, links, &targets.tunables)
}

/// The mean error of a plan where everything is prediction but the first leaf.
fn error_of(weights: &Matrix, biases: &[f32], queries: &Matrix, correction: Correction) -> f32 {
    let targets = Targets { work: 0.0, cap: 0.0, ..Targets::default() };
    let quantised = Quantised::new(weights, biases, queries, true, Bits::Eight);
    let parts = Parts::new(weights, Some(queries), 1);
    let plan = Plan { branching: 8, correction, links: 0, ..Plan::TAUGHT };
    let labels = labels(&quantised, parts.learn.as_ref().expect("enough queries"), 1, &targets);
    let tree = quantised.cluster(&plan, 1);
    let near = tree.nearest(1);
    let linked = tree.fit(queries, Some(&labels)).link(&plan, Some(&labels), &near, &targets.tunables);
    let judge = Judge::new(&targets, &quantised, &parts.tune, None).expect("valid");
    judge.try_index(&linked).expect("valid").trial.result.error
}

#[test]
fn what_queries_teach_holds_for_other_queries() {
    let (weights, biases, queries) = layer(600, 6, 900);
    let error = |correction| error_of(&weights, &biases, &queries, correction);
    let (full, none) = (error(Correction::Full), error(Correction::None));
    assert!(full < 0.8 * none, "{full} {none}");
}

#[test]
fn the_least_cap_is_enough_for_the_costliest_way_down() {
    let (weights, _, _) = layer(1000, 7, 1);
    let hierarchy = Hierarchy::build(&weights, 8, 16, 5);
    let mut worst = 0;
    for leaf in hierarchy.spans.iter().filter(|span| span.is_leaf()) {
        let above = |span: &&crate::tree::Span| {
            !span.is_leaf() && (span.first_row..span.first_row + span.rows).contains(&leaf.first_row)
        };
        let way: usize = hierarchy.spans.iter().filter(above).map(|span| span.children).sum();
        worst = worst.max(way + leaf.rows);
    }
    assert!(hierarchy.least_cap() >= hierarchy.top + worst);
}

#[test]
fn compensated_rounding_keeps_scores_closer() {
    let (weights, biases, queries) = layer(300, 16, 400);
    let augmented = linear::with_ones(&queries);
    let compensation = Compensation::new(&queries).expect("positive");
    let squared_error = |rows: &QuantisedRows| -> f64 {
        let exact = linear::with_column(&weights, |i| biases[i]);
        let truth = linear::times_transposed(augmented.data(), exact.data(), 17);
        let rounded = linear::times_transposed(augmented.data(), &rows.augmented(0, rows.len()), 17);
        truth.iter().zip(&rounded).map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let plain = squared_error(&quantised(&weights, &biases, None));
    let better = squared_error(&quantised(&weights, &biases, Some(&compensation)));
    assert!(better < 0.75 * plain, "{better} {plain}");
}

#[test]
fn four_bits_need_their_errors_made_up_for() {
    let (weights, biases, queries) = layer(300, 40, 600);
    let augmented = linear::with_ones(&queries);
    let exponent = quantise::scale_exponent(quantise::peak(weights.data()), Bits::Four);
    let squared_error = |how: Option<&Compensation>| -> f64 {
        let rows = QuantisedRows::round(&weights, &biases, exponent, how, Bits::Four);
        let exact = linear::with_column(&weights, |i| biases[i]);
        let truth = linear::times_transposed(augmented.data(), exact.data(), 41);
        let rounded = linear::times_transposed(augmented.data(), &rows.augmented(0, rows.len()), 41);
        truth.iter().zip(&rounded).map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let plain = squared_error(None);
    let natural = squared_error(Compensation::new(&queries).as_ref());
    let ordered = squared_error(Compensation::by_importance(&queries).as_ref());
    assert!(natural < 0.5 * plain && ordered < 0.5 * plain, "{plain} {natural} {ordered}");
}

#[test]
fn links_are_other_rows_each_once() {
    let (weights, biases, queries) = layer(200, 6, 100);
    let rows = quantised(&weights, &biases, None);
    let metric = Metric::new(None, 0.0);
    let hierarchy = Hierarchy::build(&metric.all(&rows), 8, 8, 2);
    let near = links::nearest(&rows, &metric, &hierarchy, 6);
    let together = links::high_together(200, &links::top_rows(&rows, &queries, 12), 6);
    for together in [None, Some(&together.lists[..])] {
        let links = links::links(&hierarchy.order, together, &near, None, 6).list;
        assert_eq!(links.len(), 200 * 6);
        for (row, links) in links.chunks(6).enumerate() {
            let mut sorted = links.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert!(sorted.len() == 6 && !links.contains(&(row as u32)) && links.iter().all(|&to| to < 200));
        }
    }
}

#[test]
fn the_nearest_row_is_linked() {
    let mut weights = noise(100 * 5, 8);
    // Row 50 is row 3, a little longer.
    for j in 0..5 {
        weights[50 * 5 + j] = weights[3 * 5 + j] * 1.1;
    }
    let weights = Matrix::new(weights, 5).expect("whole rows");
    let rows = quantised(&weights, &[0.0; 100], None);
    let metric = Metric::new(None, 0.0);
    let hierarchy = Hierarchy::build(&metric.all(&rows), 8, 8, 2);
    let near = links::nearest(&rows, &metric, &hierarchy, 3);
    let links = links::links(&hierarchy.order, None, &near, None, 3).list;
    let place = |point: u32| hierarchy.order.iter().position(|&p| p == point).expect("a row");
    assert_eq!(links[place(3) * 3] as usize, place(50));
    assert_eq!(links[place(50) * 3] as usize, place(3));
}

#[test]
fn links_are_at_the_rows_that_queries_reach_most() {
    let (weights, biases, queries) = layer(900, 8, 600);
    let plans = vec![Plan { branching: 8, leaf: 8, links: 3, ..Plan::TAUGHT }];
    let linked = |linked: Option<f32>| {
        let targets =
            Targets { work: 0.2, cap: 0.2, linked, always_index: true, plans: plans.clone(), ..Targets::default() };
        build(&weights, &biases, Some(&queries), &targets, &mut |_| {}).expect("a model")
    };
    let file = linked(Some(0.25)).model;
    let model = file.model();
    let links = model.links().expect("links");
    assert_eq!((links.per_row(), links.rows()), (3, 225));
    // The best class of nearly every query has some: those that it has not are the best of no other.
    let best = |query: &[f32]| {
        let query = crate::QueryBuffer::<8>::new(&model, query).expect("a query");
        let class = crate::exact::<1>(&model, &query).expect("an answer").top[0].class;
        model.row_of_class(class as usize).expect("a row")
    };
    let taught = queries.iter().take(queries.rows() * 8 / 10);
    let with_links = taught.clone().filter(|query| !links.of(best(query)).is_empty()).count();
    assert!(with_links * 100 > 98 * taught.count(), "{with_links}");
    let everywhere = linked(Some(1.0));
    assert_eq!(everywhere.model.model().links().map(|links| links.rows()), Some(900));
    // Left open, as few as do no harm.
    let chosen = linked(None);
    let (few, all) = (chosen.index.expect("an index"), everywhere.index.expect("an index"));
    assert!(few.plan.links == 0 || few.plan.linked <= 1.0);
    assert!(few.expected.error <= 1.08 * all.expected.error, "{few:?} {all:?}");
}

/// Rows without clusters, which a tree cannot find, and links at random, so that what is found is found by those that are laid.
#[test]
fn rows_that_a_search_misses_are_found_once_they_are_linked() {
    let weights = Matrix::new(noise(3000 * 24, 8).into_iter().map(|x| 2.0 * x).collect(), 24).expect("whole rows");
    let targets = Targets::default();
    let like = parts::stand_ins(&weights, 500, 1);
    let quantised = Quantised::new(&weights, &[0.0; 3000], &like, false, Bits::Eight);
    let any: Vec<Vec<u32>> = (0..3000).map(|row| (0..6).map(|i| (row + 17 * i + 1) % 3000).collect()).collect();
    let plan = Plan::default();
    let mut linked = quantised.cluster(&plan, 1).fit(&like, None).link(&plan, None, &any, &targets.tunables);
    let settings = with_budget(Budget { cap: 150, epsilon: 0.0, expand: 4 });
    let missed = |linked: &Linked<'_>| -> usize {
        let draft = linked.draft(settings).unwrap();
        let truths = measure::truths(&draft.model(), &like).unwrap();
        let found = measure::outcomes(&draft.model(), &like, &settings.budget).unwrap();
        found.iter().zip(&truths).filter(|(found, truth)| found.best < truth.best.score).count()
    };
    let before = missed(&linked);
    let probes = LinkProbe::all(&linked, settings, None, Some(&like), &targets).unwrap();
    linked.reach(settings, &probes, &targets.tunables).unwrap();
    let after = missed(&linked);
    assert!(before >= 20 && 4 * after <= before, "{before} and {after} of {}", like.rows());
}
