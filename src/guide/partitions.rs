//! Two flash partitions for a model: one is in use while the other is written. Whenever the power fails, the next start
//! finds the old model or the new one, whole.
//!
//! A partition holds the model file from its first byte on, and a record in its last block. The record is erased first and written
//! last, after the file passed all checks, so a partition without a valid record is not used, whatever it holds.

use zhat::model::FileHeader;
use zhat::{Error, Model};

/// A memory-mapped flash partition. The driver of your part implements it.
pub trait Flash {
    /// The driver's error.
    type Error;
    /// The number of bytes that are erased together. The partition is a multiple of it.
    const BLOCK: usize;
    /// Erases the block at this offset: all bytes become 0xff.
    fn erase_block(&mut self, at: usize) -> Result<(), Self::Error>;
    /// Writes bytes to erased flash.
    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), Self::Error>;
    /// Returns the whole partition, which starts on a word boundary.
    fn bytes(&self) -> &[u8];
}

/// Says why an update was given up. The model in use is unchanged.
#[derive(Debug)]
pub enum Refused<E> {
    /// The flash failed.
    Flash(E),
    /// The file does not fit beside the record.
    TooLong,
    /// The file is damaged, cut short, or of another format version.
    Model(Error),
}

/// Returns the partition with the newest complete model. Call it at every start, then open that partition with
/// [`Model::from_prefix_trusted`]: all checks were made before its record was written.
pub fn newest<F: Flash>(partitions: &[F; 2]) -> Option<usize> {
    match [sequence(&partitions[0]), sequence(&partitions[1])] {
        // The difference of the numbers counts, as they may have wrapped.
        [Some(a), Some(b)] => Some(usize::from(b.wrapping_sub(a).cast_signed() > 0)),
        [Some(_), None] => Some(0),
        [None, Some(_)] => Some(1),
        [None, None] => None,
    }
}

/// A new model on its way into the partition that is not in use.
pub struct Update<'f, F> {
    partition: &'f mut F,
    sequence: u32,
    written: usize,
}

impl<'f, F: Flash> Update<'f, F> {
    /// Starts to replace the content of `free`, while the model in `used` stays in use.
    pub fn start(used: &F, free: &'f mut F) -> Result<Self, Refused<F::Error>> {
        // The record goes first: from now on the rest of the partition does not count.
        let record = record_at(free);
        free.erase_block(record).map_err(Refused::Flash)?;
        let sequence = sequence(used).map_or(0, |number| number.wrapping_add(1));
        Ok(Self { partition: free, sequence, written: 0 })
    }

    /// Writes the next block of the file; only the last one may be shorter than [`Flash::BLOCK`].
    pub fn push(&mut self, block: &[u8]) -> Result<(), Refused<F::Error>> {
        if block.len() > F::BLOCK || self.written + F::BLOCK > record_at(self.partition) {
            return Err(Refused::TooLong);
        }
        self.partition.erase_block(self.written).map_err(Refused::Flash)?;
        self.partition.write(self.written, block).map_err(Refused::Flash)?;
        self.written += F::BLOCK;
        Ok(())
    }

    /// Checks the file in flash, and makes it the one that the next start uses.
    pub fn finish(self) -> Result<(), Refused<F::Error>> {
        let build_id = Model::from_prefix(self.partition.bytes()).map_err(Refused::Model)?.build_id();
        // Longer than its three words, as some parts write no less at a time.
        let mut record = [0xff; 32];
        for (place, word) in record.chunks_exact_mut(4).zip([self.sequence, build_id, seal(self.sequence, build_id)]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let at = record_at(self.partition);
        self.partition.write(at, &record).map_err(Refused::Flash)
    }
}

/// Returns the offset of the record, which has a block of its own.
fn record_at<F: Flash>(partition: &F) -> usize {
    partition.bytes().len() - F::BLOCK
}

/// Returns the number of the update that filled a partition, if it was finished and its record belongs to the file in
/// the partition.
fn sequence<F: Flash>(partition: &F) -> Option<u32> {
    let bytes = partition.bytes();
    let words = bytes.get(record_at(partition)..)?.as_chunks().0;
    let [sequence, build_id, found] = *words.first_chunk()?;
    let [sequence, build_id, found] = [sequence, build_id, found].map(u32::from_le_bytes);
    let is_whole = found == seal(sequence, build_id) && FileHeader::read(bytes).ok()?.build_id == build_id;
    is_whole.then_some(sequence)
}

/// Computes a seal that tells a record from erased flash and from half a record.
fn seal(sequence: u32, build_id: u32) -> u32 {
    (sequence ^ build_id.rotate_left(16)).wrapping_mul(0x9e37_79b1) ^ 0x5a48_4154
}
