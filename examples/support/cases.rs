//! Queries with the answers that the host computed. `make_models` writes them.
//!
//! Little-endian, without padding: the number of cases and the dimension (u32 each), then for each case the query's
//! scale (f32), its values (dimension × i8), the bits of ln Z (u32), and [`TOP`] times a class and the bits of its
//! probability (u32 each).

/// The number of classes in each answer.
pub const TOP: usize = 5;

const HEADER: usize = 8;
const WORD: usize = 4;

/// A query and its answer.
pub struct Case<'a> {
    /// The query's values, in steps of `scale`.
    pub query: &'a [i8],
    pub scale: f32,
    pub answer: Answer,
}

/// The bits of an answer, by which answers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The bits of ln Z.
    pub log_z: u32,
    /// Class and bits of the probability.
    pub top: [(u32, u32); TOP],
}

impl Answer {
    /// Takes the bits of a prediction.
    pub fn of<const K: usize>(prediction: &zhat::Prediction<K>) -> Self {
        let top = |rank: usize| prediction.top.get(rank).map_or((u32::MAX, 0), |best| (best.class, best.p.to_bits()));
        Self { log_z: prediction.log_z().to_bits(), top: core::array::from_fn(top) }
    }
}

/// Reads the cases in a file. An error if they have another dimension, or the file another length than it states.
pub fn read(bytes: &[u8], dim: usize) -> Result<impl Iterator<Item = Case<'_>>, &'static str> {
    let Some((header, cases)) = bytes.split_at_checked(HEADER) else {
        return Err("the queries have no header");
    };
    let len = (2 + 2 * TOP) * WORD + dim;
    let count = word(header, 0) as usize;
    if word(header, WORD) as usize != dim || count.checked_mul(len) != Some(cases.len()) {
        return Err("the queries are not those of the model");
    }
    Ok(cases.chunks_exact(len).map(move |case| parse(case, dim)))
}

/// Reads a file of queries alone: for each its scale (f32) and its values (dimension × i8). An error if it is not a
/// whole number of queries.
pub fn queries(bytes: &[u8], dim: usize) -> Result<impl Iterator<Item = (f32, &[i8])>, &'static str> {
    let len = WORD + dim;
    if !bytes.len().is_multiple_of(len) {
        return Err("the queries are not those of the model");
    }
    Ok(bytes
        .chunks_exact(len)
        .map(|query| (f32::from_bits(word(query, 0)), bytemuck::cast_slice(query.get(WORD..).unwrap_or(&[])))))
}

fn parse(case: &[u8], dim: usize) -> Case<'_> {
    let after_scale = case.get(WORD..).unwrap_or(&[]);
    let (query, answer) = after_scale.split_at_checked(dim).unwrap_or((&[], &[]));
    let top = |rank: usize| (word(answer, (1 + 2 * rank) * WORD), word(answer, (2 + 2 * rank) * WORD));
    Case {
        query: bytemuck::cast_slice(query),
        scale: f32::from_bits(word(case, 0)),
        answer: Answer { log_z: word(answer, 0), top: core::array::from_fn(top) },
    }
}

/// Reads the word at an offset; zero after the end, where no caller reads.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + WORD).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Encodes the cases as a file.
#[cfg(not(target_os = "none"))]
pub fn write(cases: &[Case<'_>], dim: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |bits: u32| bytes.extend_from_slice(&bits.to_le_bytes());
    put(cases.len() as u32);
    put(dim as u32);
    for Case { query, scale, answer } in cases {
        bytes.extend_from_slice(&scale.to_bits().to_le_bytes());
        bytes.extend_from_slice(bytemuck::cast_slice(query));
        let top = answer.top.iter().flat_map(|&(class, p)| [class, p]);
        bytes.extend([answer.log_z].into_iter().chain(top).flat_map(u32::to_le_bytes));
    }
    bytes
}
