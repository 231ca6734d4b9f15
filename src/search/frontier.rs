//! The unopened nodes, the one that is most worth opening first.
//!
//! Children of a node are predicted together, and most of them are never opened. So a family stays together, in the order
//! of the file, and only families are kept in a heap, each by its best child: a child costs one word and two or three
//! instructions, where a heap of nodes would take two words and a walk through it.
//!
//! One piece of memory holds both. Families grow from its start: a word for the first node and how many there are, then a
//! priority for each, [`OPENED`] once it was opened. The lowest five bits of a priority, far below what predictions are good
//! for, say which child it is: to find the best one is then to find the largest number, and where a priority stands says where
//! its family starts. So the heap, which grows from the end, has sixteen bits for each family: where its best child's
//! priority stands.
//!
//! A node that there is no room to open is set aside: it keeps its priority, for the sum over all that was not opened, and
//! gets the number of another child, which says that it is not to be opened. Its family is then in the heap by the best child of
//! those that are left.

use super::counts::{Count, Counts};
use crate::hint::keep_small;
use crate::math::Log2;
pub(crate) use crate::tree::FAMILY;

/// Words of a family before its priorities.
const HEAD: usize = 1;
/// The most words that are used: what sixteen bits count.
pub(super) const MOST_WORDS: usize = 1 << 16;
/// The bits of a priority that say which child it is.
const PLACE: i32 = FAMILY as i32 - 1;
/// The priority of a node that was opened, or that holds nothing.
const OPENED: i32 = i32::MIN;

/// Words that are enough for this many nodes in this many families.
pub(super) const fn words_for(nodes: usize, families: usize) -> usize {
    nodes.saturating_add(families.saturating_mul(HEAD)).saturating_add(heap_words(families))
}

/// Words that a heap of so many families takes.
const fn heap_words(families: usize) -> usize {
    families.div_ceil(2)
}

/// An unopened node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unopened {
    /// Its predicted log-mass, and how much there is to gain by opening it.
    pub priority: Log2,
    pub node: usize,
}

pub(crate) struct Frontier<'a> {
    words: &'a mut [u32],
    /// Words that families take up, and how many families there are.
    used: usize,
    families: usize,
    /// Entries of the heap.
    waiting: usize,
    /// Whether any node was set aside.
    has_set_aside: bool,
    /// Where the heap starts, in halves of words: before those entries that a way down hides.
    heap_end: usize,
    /// How many entries were hidden first.
    held: usize,
    pub(super) counts: Counts,
}

impl<'a> Frontier<'a> {
    /// An empty frontier in this memory.
    pub fn new(words: &'a mut [u32]) -> Self {
        let len = words.len().min(MOST_WORDS);
        let words = words.get_mut(..len).unwrap_or(&mut []);
        Self {
            words,
            used: 0,
            families: 0,
            waiting: 0,
            has_set_aside: false,
            heap_end: 2 * len,
            held: 0,
            counts: Counts::default(),
        }
    }

    /// Words that were needed so far.
    pub fn words_needed(&self) -> usize {
        // The heap is largest when every family waits.
        self.used + heap_words(self.families)
    }

    /// Whether there is room for `count` nodes, with `spare` words left after them.
    #[inline]
    pub fn has_room(&self, count: usize, spare: usize) -> bool {
        // No file has so many nodes that this wraps.
        let parts = count.div_ceil(FAMILY);
        let needed = count.wrapping_add(self.used + spare + parts * HEAD);
        needed.wrapping_mul(2).wrapping_add(self.waiting + parts) <= self.heap_end
    }

    /// Puts `count` nodes from `first` on into the frontier; `fill` writes words as [`Tree::priorities`](crate::tree::Tree::priorities) makes them, and returns the largest.
    /// False, and nothing done, if there is no room for them.
    #[inline]
    pub fn push(&mut self, first: usize, count: usize, fill: impl FnOnce(&mut [i32]) -> i32) -> bool {
        let start = self.used;
        let end = start + HEAD + count;
        if !(1..=FAMILY).contains(&count) || 2 * end + self.waiting + 1 > self.heap_end {
            return false;
        }
        let Some((head, places)) = self.words.get_mut(start..end).and_then(|family| family.split_first_mut()) else {
            return false;
        };
        *head = family_word(first, count);
        let places = bytemuck::try_cast_slice_mut(places).unwrap_or(&mut []);
        let best = fill(places);
        self.used = end;
        self.families += 1;
        self.counts.add(Count::Families, 1);
        if best > OPENED {
            self.waiting += 1;
            self.rise(self.waiting - 1, Entry::of_best(start, best));
        }
        true
    }

    /// The node that is most worth opening.
    #[inline]
    pub fn peek(&self) -> Option<Unopened> {
        if self.waiting == 0 {
            return None;
        }
        let best = self.entry(0);
        let (first, _) = first_and_count(*self.words.get(best.family())?);
        Some(Unopened { priority: priority_of(best.priority), node: first + place_of(best.priority) })
    }

    /// Takes out the node that [`Frontier::peek`] shows.
    #[inline]
    pub fn pop(&mut self) {
        self.take_out(false);
    }

    /// Leaves the node that [`Frontier::peek`] shows unopened for good.
    pub fn set_aside(&mut self) {
        self.has_set_aside = true;
        self.take_out(true);
    }

    /// Takes the best node out of the heap; if it stays on the frontier, with another number.
    #[inline(never)]
    fn take_out(&mut self, stays: bool) {
        if self.waiting == 0 {
            return;
        }
        self.counts.add(Count::Pops, 1);
        let entry = self.entry(0);
        let family = entry.family();
        if let Some(place) = self.words.get_mut(entry.at) {
            *place = if stays { entry.priority ^ 1 } else { OPENED } as u32;
        }
        let Some((&head, rest)) = self.words.get(family..self.used).and_then(|words| words.split_first()) else {
            return;
        };
        let places = rest.get(..first_and_count(head).1).unwrap_or(&[]);
        self.counts.add(Count::Siblings, places.len());
        let best = if self.has_set_aside {
            best_of(places)
        } else {
            places.iter().fold(OPENED, |best, &word| best.max(word as i32))
        };
        let entry = if best > OPENED {
            Entry::of_best(family, best)
        } else {
            self.waiting -= 1;
            self.entry(self.waiting)
        };
        self.sink(entry);
    }

    /// Hides all families that wait: until [`Frontier::show_all`] only those that are put in from now on are shown.
    #[cold]
    #[inline(never)]
    pub fn hide(&mut self) {
        if self.heap_end == 2 * self.words.len() {
            self.held = self.waiting;
        }
        self.heap_end -= self.waiting;
        self.waiting = 0;
    }

    /// Puts all families that were hidden, and those that were put in since, into one heap.
    #[cold]
    #[inline(never)]
    pub fn show_all(&mut self) {
        let end = 2 * self.words.len();
        let all = end - self.heap_end + self.waiting;
        // The first that were hidden are a heap.
        (self.heap_end, self.waiting) = (end, self.held.min(all));
        while self.waiting < all {
            self.counts.add(Count::Held, 1);
            self.waiting += 1;
            self.rise(self.waiting - 1, self.entry(self.waiting - 1));
        }
    }

    /// All unopened nodes, in the order in which they were put in.
    pub fn iter(&self) -> impl Iterator<Item = Unopened> {
        self.families().flat_map(|(first, priorities)| {
            let nodes = priorities.iter().enumerate().filter(|&(_, &word)| word != OPENED);
            nodes.map(move |(i, &word)| Unopened { priority: priority_of(word), node: first + i })
        })
    }

    /// The families: the first node, and the words that [`priority_of`] takes; a node that was opened has next to nothing.
    #[inline]
    pub fn families(&self) -> impl Iterator<Item = (usize, &[i32])> {
        let mut rest = self.words.get(..self.used).unwrap_or(&[]);
        core::iter::from_fn(move || {
            let (&head, behind) = rest.split_first()?;
            let (first, count) = first_and_count(head);
            let (priorities, next) = behind.split_at_checked(count)?;
            rest = next;
            Some((first, bytemuck::try_cast_slice(priorities).unwrap_or(&[])))
        })
    }

    /// Moves an entry up from a place at the bottom of the heap.
    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let above = self.entry((at - 1) / 2);
            if above.priority >= entry.priority {
                break;
            }
            self.put(at, above);
            self.counts.add(Count::Rise, 1);
            at = (at - 1) / 2;
        }
        self.put(at, entry);
    }

    /// Moves an entry down from the top of the heap.
    fn sink(&mut self, entry: Entry) {
        let mut at = 0;
        loop {
            let left = 2 * at + 1;
            if left >= self.waiting {
                break;
            }
            let (mut child, mut below) = (left, self.entry(left));
            if left + 1 < self.waiting {
                let right = self.entry(left + 1);
                if right.priority > below.priority {
                    (child, below) = (left + 1, right);
                }
            }
            if entry.priority >= below.priority {
                break;
            }
            self.put(at, below);
            self.counts.add(Count::Sink, 1);
            at = child;
        }
        self.put(at, entry);
    }

    #[inline]
    fn entry(&self, at: usize) -> Entry {
        let heap: &[u16] = bytemuck::try_cast_slice(self.words).unwrap_or(&[]);
        let at = heap.get(self.heap_end.wrapping_sub(at + 1)).map_or(0, |&at| usize::from(at));
        Entry { priority: self.words.get(at).map_or(OPENED, |&word| word as i32), at }
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        let heap: &mut [u16] = bytemuck::try_cast_slice_mut(self.words).unwrap_or(&mut []);
        if let Some(place) = heap.get_mut(self.heap_end.wrapping_sub(at + 1)) {
            *place = entry.at as u16;
        }
    }
}

/// The first node of a family, and how many there are, in one word.
#[inline]
fn family_word(first: usize, count: usize) -> u32 {
    (first as u32) << FAMILY.ilog2() | (count as u32).wrapping_sub(1)
}

#[inline]
fn first_and_count(word: u32) -> (usize, usize) {
    ((word >> FAMILY.ilog2()) as usize, (word as usize % FAMILY) + 1)
}

/// The priority without the number of its child.
#[inline]
pub(crate) fn priority_of(word: i32) -> Log2 {
    Log2::from_bits(word & !PLACE)
}

#[inline]
fn place_of(word: i32) -> usize {
    (PLACE - (word & PLACE)) as usize
}

/// The best of a family's words without those of nodes that were set aside.
#[inline(never)]
fn best_of(places: &[u32]) -> i32 {
    let mut best = OPENED;
    for (child, &word) in places.iter().enumerate() {
        keep_small();
        if place_of(word as i32) == child {
            best = best.max(word as i32);
        }
    }
    best
}

/// What an entry of the heap stands for: the priority of a family's best child, and where it stands.
#[derive(Clone, Copy)]
struct Entry {
    priority: i32,
    at: usize,
}

impl Entry {
    /// The best child of the family that starts there.
    #[inline]
    fn of_best(family: usize, priority: i32) -> Self {
        Self { priority, at: family + HEAD + place_of(priority) }
    }

    /// Where its family starts.
    #[inline]
    fn family(&self) -> usize {
        self.at.wrapping_sub(HEAD + place_of(self.priority))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::numbered;

    fn push(frontier: &mut Frontier<'_>, first: usize, family: &[i32]) -> bool {
        frontier.push(first, family.len(), |places| {
            let words = family.iter().enumerate().map(|(child, &bits)| numbered(Log2::from_bits(bits), child));
            places.iter_mut().zip(words).for_each(|(place, word)| *place = word);
            places.iter().copied().max().unwrap_or(OPENED)
        })
    }

    proptest! {
        #[test]
        fn nodes_come_out_in_the_order_of_their_priorities(
            families in prop::collection::vec(prop::collection::vec((-50..50i32).prop_map(|x| x * 32), 1..9), 1..30),
            pops in 0..40usize,
        ) {
            let mut words = [0; 400];
            let mut frontier = Frontier::new(&mut words);
            let mut truth = Vec::new();
            let mut first = 0;
            for family in &families {
                prop_assert!(push(&mut frontier, first, family));
                truth.extend(family.iter().enumerate().map(|(i, &priority)| (priority, first + i)));
                first += family.len();
                // Openings in between, as a search does them.
                if first % 3 == 0 {
                    let best = frontier.peek().unwrap();
                    prop_assert_eq!(Some(best.priority.to_bits()), truth.iter().map(|&(priority, _)| priority).max());
                    truth.retain(|&(_, node)| node != best.node);
                    frontier.pop();
                }
            }
            for _ in 0..pops.min(truth.len()) {
                let best = frontier.peek().unwrap();
                prop_assert_eq!(Some(best.priority.to_bits()), truth.iter().map(|&(priority, _)| priority).max());
                truth.retain(|&(_, node)| node != best.node);
                frontier.pop();
            }
            let left: Vec<(i32, usize)> = frontier.iter().map(|node| (node.priority.to_bits(), node.node)).collect();
            prop_assert_eq!(left, truth);
        }
    }

    proptest! {
        /// Nodes that are set aside never come out, and keep their priorities; what a way down takes does not disturb the order.
        #[test]
        fn what_is_set_aside_stays_and_is_not_shown_again(
            families in prop::collection::vec(prop::collection::vec((-50..50i32).prop_map(|x| x * 32), 1..33), 1..20),
            steps in prop::collection::vec(0..4u8, 1..60),
        ) {
            let mut words = [0; 1000];
            let mut frontier = Frontier::new(&mut words);
            // Priority, node, and whether it is set aside.
            let mut truth = Vec::new();
            let mut first = 0;
            for family in &families {
                prop_assert!(push(&mut frontier, first, family));
                truth.extend(family.iter().enumerate().map(|(i, &priority)| (priority, first + i, false)));
                first += family.len();
            }
            for step in steps {
                let best = truth.iter().filter(|known| !known.2).map(|&(priority, ..)| priority).max();
                prop_assert_eq!(frontier.peek().map(|best| best.priority.to_bits()), best);
                let Some(next) = frontier.peek() else { break };
                let place = truth.iter().position(|known| known.1 == next.node).unwrap();
                match step {
                    0 => {
                        truth[place].2 = true;
                        frontier.set_aside();
                    }
                    1 => {
                        // Two families whose best children are taken while all others are hidden.
                        truth.remove(place);
                        frontier.pop();
                        frontier.hide();
                        for family in [[64, 9600, -320], [32, 960, -32]] {
                            prop_assert!(push(&mut frontier, first, &family));
                            prop_assert_eq!(frontier.peek().map(|best| best.node), Some(first + 1));
                            frontier.pop();
                            frontier.hide();
                            truth.extend([(family[0], first, false), (family[2], first + 2, false)]);
                            first += 3;
                        }
                        frontier.show_all();
                    }
                    _ => {
                        truth.remove(place);
                        frontier.pop();
                    }
                }
            }
            let left: Vec<(i32, usize)> = frontier.iter().map(|node| (node.priority.to_bits(), node.node)).collect();
            let truth: Vec<(i32, usize)> = truth.iter().map(|&(priority, node, _)| (priority, node)).collect();
            prop_assert_eq!(left, truth);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let mut words = [0; 7];
        let mut frontier = Frontier::new(&mut words);
        assert!(frontier.peek().is_none());
        frontier.pop();
        assert!(!push(&mut frontier, 0, &[0; 8]));
        assert!(push(&mut frontier, 0, &[32, 64, 96]));
        assert_eq!(frontier.words_needed(), 5);
        assert!(frontier.has_room(1, 0) && !frontier.has_room(1, 1) && !frontier.has_room(2, 0));
        assert!(!push(&mut frontier, 3, &[9, 9]));
        assert_eq!(frontier.peek(), Some(Unopened { priority: Log2::from_bits(96), node: 2 }));
        assert_eq!(frontier.iter().count(), 3);
    }

    #[test]
    fn of_large_memory_it_uses_what_sixteen_bits_count() {
        let mut words = vec![0; MOST_WORDS + 100];
        let mut frontier = Frontier::new(&mut words);
        let mut families = 0;
        // Each better than all before it.
        while push(&mut frontier, families * FAMILY, &[32 * families as i32; FAMILY]) {
            families += 1;
        }
        assert!((MOST_WORDS - 2 * FAMILY..=MOST_WORDS).contains(&frontier.words_needed()));
        for family in (0..families).rev() {
            let best = frontier.peek().map(|best| best.node);
            assert_eq!(best, Some(family * FAMILY));
            (0..FAMILY).for_each(|_| frontier.pop());
        }
        assert!(frontier.peek().is_none());
    }
}
