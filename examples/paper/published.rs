//! The paper's own figures: every cell of its four tables, as printed there.

/// μ and σ of a cell, in per cent: the mean of 100·|Ẑ−Z|/Z and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// μ.
    pub mean: f64,
    /// σ; `None` if the paper only says that it is below 0.1.
    pub error: Option<f64>,
}

impl Published {
    /// Formats the cell as the paper does.
    pub fn text(self) -> String {
        match self.error {
            Some(error) => format!("{:.1} ± {error:.1}", self.mean),
            None => format!("{:.1} ± <0.1", self.mean),
        }
    }
}

/// A row of a table: estimator, k, and μ and σ of every column.
type Line<const N: usize> = (&'static str, usize, [(f64, f64); N]);

/// The values of l in the columns of Table 1.
const SAMPLES: [usize; 3] = [1000, 100, 10];
const TABLE1: [Line<3>; 9] = [
    ("Uniform", 0, [(101.8, 3.1), (117.3, 10.4), (97.3, 10.5)]),
    ("MIMPS", 1000, [(0.8, 0.0), (2.7, 0.0), (8.2, 0.1)]),
    ("MIMPS", 100, [(2.4, 0.0), (7.1, 0.1), (16.1, 0.2)]),
    ("MIMPS", 10, [(8.1, 0.1), (17.1, 0.3), (27.4, 0.7)]),
    ("MIMPS", 1, [(28.7, 0.6), (39.3, 2.1), (47.0, 2.7)]),
    ("MINCE", 1000, [(96_285.4, 2124.1), (12_413.0, 363.9), (2527.3, 72.9)]),
    ("MINCE", 100, [(3780.9, 125.8), (667.4, 20.2), (846.5, 5.1)]),
    ("MINCE", 10, [(230.9, 7.9), (330.3, 2.1), (827.1, 5.0)]),
    ("MINCE", 1, [(133.7, 0.8), (317.3, 2.0), (525.2, 3.5)]),
];
/// FMBE in the text beside Table 1: D and μ; σ is below 0.1.
const FEATURES: [(&str, f64); 2] = [("FMBE, D = 10000", 100.0), ("FMBE, D = 50000", 83.8)];
/// Noise of 0, 10, 20 and 30 %.
const TABLE2: [Line<4>; 4] = [
    ("Uniform", 0, [(101.8, 3.1), (103.6, 3.1), (104.1, 3.1), (105.0, 3.1)]),
    ("MIMPS", 1000, [(0.8, 0.0), (0.9, 0.0), (0.9, 0.0), (0.9, 0.0)]),
    ("MINCE", 1, [(230.9, 7.9), (229.9, 7.9), (233.7, 8.0), (231.5, 8.4)]),
    ("FMBE", 0, [(83.8, 0.2), (85.2, 0.2), (85.8, 0.2), (87.1, 0.2)]),
];
/// Nothing missed, rank 1, rank 2, and both.
const TABLE3: [Line<4>; 2] = [
    ("MIMPS", 1000, [(0.8, 0.0), (39.3, 0.2), (6.1, 0.0), (45.0, 0.2)]),
    ("MINCE", 1, [(133.7, 0.8), (133.7, 0.8), (133.7, 0.8), (133.7, 0.8)]),
];

fn cell<const N: usize>(table: &[Line<N>], name: &str, k: Option<usize>, column: usize) -> Option<Published> {
    let line = table.iter().find(|line| line.0 == name && line.1 == k.unwrap_or(0))?;
    line.2.get(column).map(|&(mean, error)| Published { mean, error: Some(error) })
}

/// Returns a cell of Table 1, or of the text beside it.
pub fn table1(estimator: &str, k: Option<usize>, l: Option<usize>) -> Option<Published> {
    if let Some(&(_, mean)) = FEATURES.iter().find(|line| line.0 == estimator) {
        return Some(Published { mean, error: None });
    }
    cell(&TABLE1, estimator, k, SAMPLES.iter().position(|&samples| Some(samples) == l)?)
}

/// Returns the twelve cells of MIMPS in Table 1: k, l and μ.
pub fn mimps() -> impl Iterator<Item = (usize, usize, f64)> {
    let lines = TABLE1.iter().filter(|line| line.0 == "MIMPS");
    lines.flat_map(|line| SAMPLES.iter().zip(line.2).map(|(&l, (mean, _))| (line.1, l, mean)))
}

/// Returns a cell of Table 2 by its column.
pub fn table2(estimator: &str, k: Option<usize>, column: usize) -> Option<Published> {
    // The paper's Table 2 has one of the two sizes.
    let name = if estimator == "FMBE, D = 50000" { "FMBE" } else { estimator };
    cell(&TABLE2, name, k, column)
}

/// Returns a cell of Table 3 by its column, for either treatment of missed rows.
pub fn table3(estimator: &str, k: Option<usize>, column: usize) -> Option<Published> {
    let name = estimator.split_once(',').map_or(estimator, |(name, _)| name);
    cell(&TABLE3, name, k, column)
}

/// A line of Table 4: the sum of |Ẑ−Z| of MIMPS over the contexts, the share of contexts in per cent for which it is
/// nearer to Z than 1 is, and its speed-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedLine {
    /// Σ|Ẑ−Z| of MIMPS.
    pub sum: f64,
    /// %Better.
    pub better: f64,
    /// Speedup.
    pub speed_up: f64,
}

/// Σ|1−Z| over the paper's test contexts.
pub const SUM_OF_ONE: f64 = 352.0;

const TABLE4: [(usize, usize, PublishedLine); 6] = [
    (10, 10, PublishedLine { sum: 1063.5, better: 34.0, speed_up: 18.5 }),
    (10, 100, PublishedLine { sum: 728.5, better: 47.5, speed_up: 13.5 }),
    (50, 10, PublishedLine { sum: 989.5, better: 46.5, speed_up: 16.0 }),
    (50, 100, PublishedLine { sum: 554.0, better: 61.5, speed_up: 13.0 }),
    (100, 10, PublishedLine { sum: 229.0, better: 55.5, speed_up: 14.5 }),
    (100, 100, PublishedLine { sum: 198.5, better: 70.5, speed_up: 10.0 }),
];

/// Returns a line of Table 4.
pub fn table4(k: Option<usize>, l: Option<usize>) -> Option<PublishedLine> {
    TABLE4.iter().find(|line| Some(line.0) == k && Some(line.1) == l).map(|line| line.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_what_their_rows_are_called() {
        let text = |cell: Option<Published>| cell.map(Published::text);
        assert_eq!(text(table1("MINCE", Some(100), Some(10))).as_deref(), Some("846.5 ± 5.1"));
        assert_eq!(text(table1("Uniform", None, Some(1000))).as_deref(), Some("101.8 ± 3.1"));
        assert_eq!(text(table1("FMBE, D = 50000", None, None)).as_deref(), Some("83.8 ± <0.1"));
        assert_eq!(text(table2("FMBE, D = 50000", None, 3)).as_deref(), Some("87.1 ± 0.2"));
        assert_eq!(text(table3("MIMPS, missed rows sampled", Some(1000), 1)).as_deref(), Some("39.3 ± 0.2"));
        assert_eq!((table1("Moments", None, None), table2("MINCE", Some(10), 0)), (None, None));
        assert_eq!(mimps().count(), 12);
        assert_eq!(table4(Some(100), Some(100)).map(|line| line.better), Some(70.5));
    }
}
