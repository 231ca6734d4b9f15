//! Queries unlike those of the calibration, made from them: what an answer claims has to hold for these too, wherever they
//! can't be told apart.

use crate::host::{Matrix, generate, linear};

/// The same queries shorter and longer, as another preprocessing or a gain in front would make them.
const FACTORS: [f32; 3] = [0.5, 1.5, 2.0];

/// How much noise there is: more than the queries, where they are few.
const NOISE: usize = 500;

/// Returns sets that the intervals of familiar queries are made wide enough for: one for each factor, and noise of the
/// queries' norms.
pub fn unlike(queries: &Matrix) -> Vec<Matrix> {
    let mut sets: Vec<Matrix> = FACTORS.iter().map(|factor| times(queries, *factor)).collect();
    let directions = generate::directions(queries.rows().max(NOISE), queries.cols(), 1);
    let noise = queries.iter().cycle().zip(directions).flat_map(|(query, direction)| {
        let norm = norm(query);
        direction.into_iter().map(move |x| x * norm)
    });
    sets.extend(Matrix::new(noise.collect(), queries.cols()));
    sets
}

/// Returns sets that are nearer to the queries, of the same norms: queries with as much noise, means of two queries, and
/// queries with their deviations from the mean in other columns. To widen all intervals for them would cost too much: what
/// is familiar gets stricter instead.
pub fn doubtful(queries: &Matrix) -> Vec<Matrix> {
    let (rows, cols) = (queries.rows(), queries.cols());
    let directions = generate::directions(rows, cols, 2);
    let noisy = queries.iter().zip(directions).flat_map(|(query, direction)| {
        let norm = norm(query);
        of_norm(norm, query.iter().zip(direction).map(|(x, y)| x + norm * y).collect())
    });
    // Neighbours in a recording are alike: the other one is half of all queries away.
    let others = queries.iter().cycle().skip(rows / 2);
    let mixed = queries
        .iter()
        .zip(others)
        .flat_map(|(query, other)| of_norm(norm(query), query.iter().zip(other).map(|(x, y)| x + y).collect()));
    let mut mean = vec![0.0; cols];
    for query in queries.iter() {
        mean.iter_mut().zip(query).for_each(|(mean, x)| *mean += x / rows as f32);
    }
    let turned = queries.iter().flat_map(|query| {
        let deviation = |column: usize| query[(column + cols / 2) % cols] - mean[(column + cols / 2) % cols];
        of_norm(norm(query), (0..cols).map(|column| mean[column] + deviation(column)).collect())
    });
    let sets = [noisy.collect(), mixed.collect(), turned.collect::<Vec<f32>>()];
    sets.into_iter().filter_map(|data| Matrix::new(data, cols)).collect()
}

fn norm(query: &[f32]) -> f32 {
    linear::dot(query, query).sqrt()
}

/// Returns values with another norm.
fn of_norm(wanted: f32, mut values: Vec<f32>) -> Vec<f32> {
    let own = norm(&values);
    let factor = if own > 0.0 { wanted / own } else { 0.0 };
    values.iter_mut().for_each(|x| *x *= factor);
    values
}

fn times(queries: &Matrix, factor: f32) -> Matrix {
    let data = queries.data().iter().map(|x| x * factor).collect();
    Matrix { data, cols: queries.cols() }
}
