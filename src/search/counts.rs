//! How often a search does what takes time: counted on a host, where worst queries are looked for. A device counts nothing.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Nodes that were predicted three at a time, and those left over, singly.
    NodesByThree,
    /// See `NodesByThree`.
    NodesSingly,
    /// Families, or parts of large ones.
    Families,
    /// Levels that families went up in the heap.
    Rise,
    /// Levels that families went down in it.
    Sink,
    /// Nodes that were taken out of it.
    Pops,
    /// Children that were looked at for the best one that is left.
    Siblings,
    /// Nodes that were set aside.
    SetAside,
    /// Families of a way down to the first row that enter the heap with the others.
    Held,
    /// Leaves that were opened.
    Leaves,
    /// Words of marks that their rows have.
    Words,
    /// Reads of consecutive rows.
    Runs,
    /// Rows of leaves that were scored three at a time, and those left over, singly.
    RowsByThree,
    /// See `RowsByThree`.
    RowsSingly,
    /// Sums of the scores that have come together.
    Sums,
    /// Rows whose links were followed.
    Follows,
    /// Links of those rows.
    Links,
    /// Reads of rows that links led to.
    Linked,
    /// Those rows, by three.
    LinkedByThree,
    /// Those rows, singly.
    LinkedSingly,
    /// Scores that were high enough for a list.
    HighScores,
}

impl Count {
    /// How many things are counted.
    pub const ALL: usize = Self::HighScores as usize + 1;

    /// Each of them, in order.
    #[cfg(feature = "std")]
    pub(super) const EACH: [Self; Self::ALL] = [
        Self::NodesByThree,
        Self::NodesSingly,
        Self::Families,
        Self::Rise,
        Self::Sink,
        Self::Pops,
        Self::Siblings,
        Self::SetAside,
        Self::Held,
        Self::Leaves,
        Self::Words,
        Self::Runs,
        Self::RowsByThree,
        Self::RowsSingly,
        Self::Sums,
        Self::Follows,
        Self::Links,
        Self::Linked,
        Self::LinkedByThree,
        Self::LinkedSingly,
        Self::HighScores,
    ];
}

/// The counts of a search; nothing on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    #[cfg(feature = "std")]
    numbers: [u32; Count::ALL],
}

impl Counts {
    /// Counts something that was done so many times.
    #[inline(always)]
    pub(super) fn add(&mut self, count: Count, times: usize) {
        #[cfg(feature = "std")]
        {
            self.numbers[count as usize] += times as u32;
        }
        #[cfg(not(feature = "std"))]
        let _ = (count, times);
    }

    /// Counts dot products of consecutive rows: three at a time, and then one by one.
    #[inline(always)]
    pub(super) fn add_rows(&mut self, by_three: Count, singly: Count, rows: usize) {
        self.add(by_three, rows / 3);
        self.add(singly, rows % 3);
    }

    /// The sum of both.
    #[inline(always)]
    pub(super) fn with(&self, other: &Self) -> Self {
        #[cfg(feature = "std")]
        return Self { numbers: core::array::from_fn(|i| self.numbers[i] + other.numbers[i]) };
        #[cfg(not(feature = "std"))]
        {
            let _ = other;
            *self
        }
    }

    /// The numbers, in the order of [`Count`].
    #[cfg(feature = "std")]
    pub(crate) fn numbers(&self) -> [u32; Count::ALL] {
        self.numbers
    }
}
