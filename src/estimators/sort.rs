//! Items in order, without a way to panic: what the standard library's sorts leave in a firmware.
//!
//! Heap sort (Williams, 1964): n·log₂ n steps whatever the order was, and no memory.

/// Puts the items in order.
pub(super) fn sort<T: Copy>(items: &mut [T], is_before: impl Fn(&T, &T) -> bool) {
    heap(items, &is_before);
    // The last in the order goes behind the others.
    for end in (1..items.len()).rev() {
        let Some((last, heap)) = items.get_mut(..=end).and_then(<[T]>::split_last_mut) else {
            return;
        };
        if let Some(top) = heap.first_mut() {
            core::mem::swap(top, last);
        }
        sink(heap, &is_before);
    }
}

/// Puts every item behind its children in the order: the last of all is on top.
pub(super) fn heap<T: Copy>(items: &mut [T], is_before: &impl Fn(&T, &T) -> bool) {
    for at in (0..items.len() / 2).rev() {
        sink_from(items, at, is_before);
    }
}

/// Moves the item on top of a heap down to its place.
pub(super) fn sink<T: Copy>(heap: &mut [T], is_before: &impl Fn(&T, &T) -> bool) {
    sink_from(heap, 0, is_before);
}

/// Moves the item at a place down past every child that comes after it.
fn sink_from<T: Copy>(heap: &mut [T], mut at: usize, is_before: &impl Fn(&T, &T) -> bool) {
    let Some(&item) = heap.get(at) else {
        return;
    };
    loop {
        let left = 2 * at + 1;
        let Some(&first) = heap.get(left) else {
            break;
        };
        let (child, later) = match heap.get(left + 1) {
            Some(&second) if is_before(&first, &second) => (left + 1, second),
            _ => (left, first),
        };
        if !is_before(&item, &later) {
            break;
        }
        put(heap, at, later);
        at = child;
    }
    put(heap, at, item);
}

fn put<T>(heap: &mut [T], at: usize, item: T) {
    if let Some(place) = heap.get_mut(at) {
        *place = item;
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
            sort(&mut numbers, |a, b| a < b);
            prop_assert_eq!(numbers, expected);
        }
    }
}
