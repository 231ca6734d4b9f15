//! Scratch.
use zhat::host::build::{Plan, Targets, build};
use zhat::host::{Matrix, io, measure};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[2].parse().unwrap();
    let work: f32 = args[3].parse().unwrap();
    let m = io::read_matrix(&args[1], io::ReadOptions { limit: Some(n), ..Default::default() }).unwrap();
    let weights = Matrix::new(m.data().iter().map(|x| x * 0.5).collect(), m.cols()).unwrap();
    let n = weights.rows();
    let queries = weights.reordered(&(0..400).map(|i| (i * (n / 400) + 7) as u32).collect::<Vec<_>>());
    let mut plans = vec![];
    for branching in [16, 32] {
        plans.push(Plan { branching, leaf: 16, ..Default::default() });
    }
    if args.len() > 4 {
        plans.truncate(0);
    }
    let targets = Targets { work, cap: work, plans, ..Default::default() };
    let start = std::time::Instant::now();
    let built =
        build(&weights, &vec![0.0; n], None, &targets, &mut |s| eprintln!("{s:?} {:?}", start.elapsed())).unwrap();
    for t in &built.trials {
        println!(
            "{:?} cap {} eps {:.5} E {} a {:.2} | err {:.4} rec {:.4} work {:.4} max {:.4} cost {:.4} fr {}",
            t.plan,
            t.budget.cap,
            t.budget.epsilon,
            t.budget.expand,
            t.far_factor,
            t.result.error,
            t.result.recall,
            t.result.work,
            t.result.max_work,
            t.result.cost(),
            t.result.frontier
        );
    }
    let model = built.model.model();
    let settings = *model.settings().unwrap();
    let truths = measure::truths(&model, &queries).unwrap();
    let outs = measure::outcomes(&model, &queries, &settings.budget).unwrap();
    let f = settings.far_factor.to_nats();
    let c = outs.len() as f32;
    let err = outs.iter().zip(&truths).map(|(o, t)| (o.log_z(f) - t.log_z).exp_m1().abs()).sum::<f32>() / c;
    let rec = outs.iter().zip(&truths).filter(|(o, t)| o.best >= t.best.score).count() as f32 / c;
    let cov = outs
        .iter()
        .zip(&truths)
        .filter(|(o, t)| {
            let z = o.log_z(f);
            let far = (o.far + f - z).exp();
            (z - t.log_z).abs() <= settings.quantiles[3] * (far + 0.02)
        })
        .count() as f32
        / c;
    let w = outs.iter().map(|o| o.work as f32).sum::<f32>() / c / n as f32;
    println!(
        "QUERIES err {err:.4} rec {rec:.4} cov {cov:.4} work {w:.4} size {} total {:?} form {:?}",
        built.model.len(),
        start.elapsed(),
        model.tree().unwrap()
    );
}
