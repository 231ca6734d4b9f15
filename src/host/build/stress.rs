//! Queries unlike those of the calibration, made from them: what an answer claims has to hold for these too, wherever they
//! can't be told apart.

use crate::host::{Matrix, generate, linear};

/// The same queries shorter and longer, as another preprocessing or a gain in front would make them.
const FACTORS: [f32; 3] = [0.5, 1.5, 2.0];

/// How much noise there is: more than the queries, where they are few.
const NOISE: usize = 500;

/// A set for each factor, and noise of the same norms.
pub fn all(queries: &Matrix) -> Vec<Matrix> {
    let mut sets: Vec<Matrix> = FACTORS.iter().map(|factor| times(queries, *factor)).collect();
    let directions = generate::directions(queries.rows().max(NOISE), queries.cols(), 1);
    let noise = queries.iter().cycle().zip(directions).flat_map(|(query, direction)| {
        let norm = linear::dot(query, query).sqrt();
        direction.into_iter().map(move |x| x * norm)
    });
    sets.extend(Matrix::new(noise.collect(), queries.cols()));
    sets
}

fn times(queries: &Matrix, factor: f32) -> Matrix {
    let data = queries.data().iter().map(|x| x * factor).collect();
    Matrix { data, cols: queries.cols() }
}
