//! Numbers in ascending order, without a way to panic: what the standard library's sorts leave in a firmware.
//!
//! Heap sort (Williams, 1964): n·log₂ n steps whatever the order was, and no memory.

/// Puts the numbers in ascending order.
pub(super) fn ascending(numbers: &mut [u32]) {
    // Every number not below its children, from the last that has any; then the largest goes after the others.
    for at in (0..numbers.len() / 2).rev() {
        sink(numbers, at);
    }
    for end in (1..numbers.len()).rev() {
        let Some((last, heap)) = numbers.get_mut(..=end).and_then(<[u32]>::split_last_mut) else {
            return;
        };
        if let Some(largest) = heap.first_mut() {
            core::mem::swap(largest, last);
        }
        sink(heap, 0);
    }
}

/// Moves the number at a place down past every larger child.
fn sink(heap: &mut [u32], mut at: usize) {
    let Some(&number) = heap.get(at) else {
        return;
    };
    loop {
        let left = 2 * at + 1;
        let Some(&first) = heap.get(left) else {
            break;
        };
        let (child, larger) = match heap.get(left + 1) {
            Some(&second) if second > first => (left + 1, second),
            _ => (left, first),
        };
        if number >= larger {
            break;
        }
        put(heap, at, larger);
        at = child;
    }
    put(heap, at, number);
}

fn put(heap: &mut [u32], at: usize, number: u32) {
    if let Some(place) = heap.get_mut(at) {
        *place = number;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_order_of_the_standard_library(mut numbers in prop::collection::vec(0..50u32, 0..80)) {
            let mut expected = numbers.clone();
            expected.sort_unstable();
            ascending(&mut numbers);
            prop_assert_eq!(numbers, expected);
        }
    }
}
