//! 4-bit dot products without special instructions, and the oracle of the other kernels.

use super::{BLOCK, GROUP, WORD, before, four_bits, to_word};
use crate::hint::keep_small;
use crate::kernels::BY_WORDS;

/// Computes the dot product of a row with the query. Words that the row does not have are zero.
#[inline]
pub fn dot(row: &[i16], query: &[i16]) -> i32 {
    if BY_WORDS {
        return sum(row, query.as_chunks().0.iter().copied(), query.len());
    }
    let (odd, even) = query.split_at(query.len() / 2);
    let fours = odd.as_chunks().0.iter().zip(even.as_chunks().0);
    sum(row, fours.map(|(&[a, b], &[c, d])| [a, b, c, d]), query.len())
}

/// Adds the products of four columns at a time, given the odd values of the query and then the even ones.
#[inline]
fn sum(row: &[i16], query: impl Iterator<Item = [i16; 4]>, stride: usize) -> i32 {
    let mut words = row.as_chunks().0.iter();
    let mut next = || words.next().map_or(0, |&pair| to_word(pair));
    let mut at = before(stride);
    // If the first columns begin inside a group or a word, these are its scale and numbers.
    let mut scales = if at == 0 { 0 } else { next() << 16 << (at / GROUP * 4) };
    let mut word = if at.is_multiple_of(WORD) { 0 } else { next() << WORD };
    let (mut sum, mut total) = (0i32, 0i32);
    for [odd_0, odd_1, even_0, even_1] in query {
        keep_small();
        if at.is_multiple_of(WORD) {
            if at.is_multiple_of(BLOCK) {
                scales = next() << 16;
            }
            word = next();
        }
        for [low, high] in [[odd_0, odd_1], [even_0, even_1]] {
            let product = |n: i32, value: i16| n.wrapping_mul(value.into());
            sum = sum.wrapping_add(product(four_bits(word << 16), low)).wrapping_add(product(four_bits(word), high));
            word <<= 4;
        }
        at += 4;
        if at.is_multiple_of(GROUP) {
            // The sum has 20 bits, here as in the kernels that have it 4096 times.
            total = total.wrapping_add((sum << 12 >> 4).wrapping_mul(four_bits(scales)));
            sum = 0;
            scales <<= 4;
        }
    }
    total
}
