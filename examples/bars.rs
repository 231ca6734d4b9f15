//! Scratch.
use zhat::host::build::{Stage, Targets, build};
use zhat::host::{Matrix, io, measure};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = &args[1];
    let work: f32 = args[2].parse().unwrap();
    let cap: f32 = args[3].parse().unwrap();
    let read = |name: &str| io::read_matrix(format!("{dir}/{name}.npy"), Default::default()).unwrap();
    let weights = read("weights");
    let bias = io::read_vector(format!("{dir}/bias.npy"), Default::default()).unwrap();
    let calibration = read("calibration");
    let queries = read("queries");
    let targets = Targets { work, cap, ..Default::default() };
    let start = std::time::Instant::now();
    let built =
        build(&weights, &bias, Some(&calibration), &targets, &mut |s: Stage| eprintln!("{s:?} {:?}", start.elapsed()))
            .unwrap();
    println!("built in {:?}", start.elapsed());
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
    println!("chosen {:?} {:?} {:?}", built.plan, built.expected, built.model.model().settings());
    println!("size {}", built.model.len());
    let model = built.model.model();
    let settings = *model.settings().unwrap();
    let truths = measure::truths(&model, &queries).unwrap();
    let ct = measure::truths(&model, &calibration).unwrap();
    let seen: std::collections::HashSet<u32> = ct.iter().map(|t| t.best.class).collect();
    let outs = measure::outcomes(&model, &queries, &settings.budget).unwrap();
    let n = outs.len() as f32;
    let f = settings.far_factor.to_nats();
    let (mut err, mut rec, mut work, mut maxw, mut cov, mut un, mut unrec) = (0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0);
    let mut fr = 0;
    let mut width = 0.0;
    for (o, t) in outs.iter().zip(&truths) {
        let z = o.log_z(f);
        err += (z - t.log_z).exp_m1().abs() / n;
        let hit = o.best >= t.best.score;
        rec += f32::from(hit as u8) / n;
        work += o.work as f32 / n;
        maxw = maxw.max(o.work);
        fr = fr.max(o.unopened);
        let far = (o.far + f - z).exp();
        let m = settings.quantiles[3] * (far + 0.02);
        width += m / n;
        cov += f32::from(((z - t.log_z).abs() <= m) as u8) / n;
        if !seen.contains(&t.best.class) {
            un += 1.0;
            unrec += f32::from(hit as u8);
        }
    }
    let nn = weights.rows() as f32;
    println!(
        "QUERIES err {err:.4} rec {rec:.4} work {:.4} max {:.4} cov95 {cov:.4} width {width:.4} unseen {un} rec {:.4} frontier {fr}",
        work / nn,
        maxw as f32 / nn,
        unrec / un
    );
    let classifier = zhat::Classifier::new(model).unwrap();
    let mut memory = Box::new(zhat::Scratch::<313, 4096>::new());
    let (mut bad, mut wid, mut badtop, mut tw) = (0, 0.0, 0, 0.0);
    for (q, t) in queries.iter().zip(&truths) {
        let q = zhat::QueryBuffer::<128>::new(&model, q).unwrap();
        let (lo, hi) = classifier.certified_log_z(&q, &mut memory).unwrap();
        if !(lo <= t.log_z && t.log_z <= hi) {
            bad += 1;
        }
        wid += (hi - lo) / n;
        let (top, w) = classifier.certain_top::<1, 313, 4096>(&q, &mut memory).unwrap();
        if top[0].score != t.best.score {
            badtop += 1;
        }
        tw += w.row_equivalents() as f32 / n / weights.rows() as f32;
    }
    println!("CERTIFIED violations {bad} mean width {wid} nats; branch and bound wrong {badtop} work {tw}");
    // float
    let mut dz = 0.0;
    let mut dp = 0.0;
    for ((q, o), _t) in queries.iter().zip(&outs).zip(&truths) {
        let u: Vec<f32> =
            weights.iter().zip(&bias).map(|(w, b)| w.iter().zip(q).map(|(a, b)| a * b).sum::<f32>() + b).collect();
        let mx = u.iter().cloned().fold(f32::MIN, f32::max);
        let lz = mx + u.iter().map(|x| (x - mx).exp()).sum::<f32>().ln();
        dz += (o.log_z(f) - lz).exp_m1().abs() / n;
        dp += ((o.best.to_nats() - o.log_z(f)).exp() - (mx - lz).exp()).abs() / n;
    }
    println!("float: err {dz:.4} dp {dp:.5}");
    let _ = Matrix::new(vec![], 1);
}
