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
//! If memory or budget run short, the search needs nodes that are not on top of the heap. It then gives up the heap and keeps
//! one entry of it: the best node of those needed, found by looking through all of them.

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
    /// Entries of the heap, while there is one.
    waiting: usize,
    has_heap: bool,
}

impl<'a> Frontier<'a> {
    /// An empty frontier in this memory.
    pub fn new(words: &'a mut [u32]) -> Self {
        let len = words.len().min(MOST_WORDS);
        Self { words: words.get_mut(..len).unwrap_or(&mut []), used: 0, families: 0, waiting: 0, has_heap: true }
    }

    /// Words that were needed so far.
    pub fn words_needed(&self) -> usize {
        // The heap is largest when every family waits.
        self.used + heap_words(self.families)
    }

    /// Tells whether there is room for `count` nodes, with `spare` words left after them.
    #[inline]
    pub fn has_room(&self, count: usize, spare: usize) -> bool {
        // No file has so many nodes that this wraps.
        let parts = count.div_ceil(FAMILY);
        let needed = count.wrapping_add(parts * HEAD + heap_words(self.waiting + parts));
        (self.used + spare).wrapping_add(needed) <= self.words.len()
    }

    /// Puts `count` nodes from `first` on into the frontier; `fill` writes words as [`Tree::priorities`](crate::tree::Tree::priorities) makes them, and returns the largest.
    /// False, and nothing done, if there is no room for them.
    #[inline]
    pub fn push(&mut self, first: usize, count: usize, fill: impl FnOnce(&mut [i32]) -> i32) -> bool {
        let start = self.used;
        let end = start + HEAD + count;
        if !(1..=FAMILY).contains(&count) || end + heap_words(self.waiting + 1) > self.words.len() {
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
    pub fn pop(&mut self) {
        if self.waiting == 0 {
            return;
        }
        let entry = self.entry(0);
        let family = entry.family();
        if let Some(opened) = self.words.get_mut(entry.at) {
            *opened = OPENED as u32;
        }
        let Some((&head, rest)) = self.words.get(family..self.used).and_then(|words| words.split_first()) else {
            return;
        };
        let places = rest.get(..first_and_count(head).1).unwrap_or(&[]);
        let best = places.iter().fold(OPENED, |best, &word| best.max(word as i32));
        if best > OPENED {
            self.sink(Entry::of_best(family, best));
        } else {
            self.waiting -= 1;
            self.sink(self.entry(self.waiting));
        }
    }

    /// Tells whether there still is a heap, with the best node on top.
    #[inline]
    pub fn has_heap(&self) -> bool {
        self.has_heap
    }

    /// Gives up the heap: from now on it is [`Frontier::choose`] that puts a node on top.
    #[cold]
    pub fn drop_heap(&mut self) {
        self.waiting = 0;
        self.has_heap = false;
    }

    /// Puts the best of the nodes that are wanted on top; false, and no node there, if there is none. Looks at every node: for
    /// a frontier without a heap.
    #[cold]
    pub fn choose(&mut self, is_wanted: impl Fn(&Self, usize) -> bool) -> bool {
        let mut best = Entry { priority: OPENED, at: 0 };
        let mut start = 0;
        for (first, words) in self.families() {
            start += HEAD;
            for (i, &word) in words.iter().enumerate() {
                if word > best.priority && is_wanted(self, first + i) {
                    best = Entry { priority: word, at: start + i };
                }
            }
            start += words.len();
        }
        self.waiting = usize::from(best.priority > OPENED);
        self.put(0, best);
        self.waiting > 0
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
            at = child;
        }
        self.put(at, entry);
    }

    #[inline]
    fn entry(&self, at: usize) -> Entry {
        let heap: &[u16] = bytemuck::try_cast_slice(self.words).unwrap_or(&[]);
        let at = heap.get(heap.len().wrapping_sub(at + 1)).map_or(0, |&at| usize::from(at));
        Entry { priority: self.words.get(at).map_or(OPENED, |&word| word as i32), at }
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        let heap: &mut [u16] = bytemuck::try_cast_slice_mut(self.words).unwrap_or(&mut []);
        let len = heap.len();
        if let Some(place) = heap.get_mut(len.wrapping_sub(at + 1)) {
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

/// An entry of the heap: the priority of a family's best child, and the place of that priority.
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

    /// Returns the place where its family starts.
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

    #[test]
    fn without_a_heap_the_best_of_those_wanted_comes_out() {
        let mut words = [0; 40];
        let mut frontier = Frontier::new(&mut words);
        assert!(push(&mut frontier, 0, &[320, 640, 960]) && push(&mut frontier, 3, &[64, 96, 32]));
        frontier.drop_heap();
        assert!(frontier.peek().is_none() && frontier.iter().count() == 6);
        let take_best = |frontier: &mut Frontier<'_>, is_wanted: fn(&Frontier<'_>, usize) -> bool| {
            let is_there = frontier.choose(is_wanted);
            let best = frontier.peek();
            assert_eq!(is_there, best.is_some());
            frontier.pop();
            best.map(|unopened| unopened.node)
        };
        assert_eq!(take_best(&mut frontier, |_, node| node > 9), None);
        assert_eq!(take_best(&mut frontier, |_, node| node != 2 && node != 1), Some(0));
        assert_eq!(take_best(&mut frontier, |_, node| node > 2), Some(4));
        assert!(push(&mut frontier, 6, &[992]));
        assert_eq!(take_best(&mut frontier, |_, _| true), Some(6));
        assert_eq!(frontier.iter().map(|unopened| unopened.node).collect::<Vec<_>>(), [1, 2, 3, 5]);
        while take_best(&mut frontier, |_, _| true).is_some() {}
        assert_eq!(frontier.iter().count(), 0);
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
