//! Holds the bounds of `Budget::most_instructions` and `most_cycles` against the worst queries that are found.
//!
//! ```text
//! cargo run --release --features std --example bound -- write FOLDER [fast]   makes odd trees, looks for their worst queries
//! cargo run --release --features std --example bound -- check FOLDER          compares what they took with the bounds
//! ```
//!
//! In between QEMU runs the device's half of this file for each `NAME.job` of the folder, with the plugin of `ci/cycles`, which writes
//! instructions and cycles of each query to `NAME.each`. The host looks for queries by counting what a search does
//! (`zhat::internal::counts_of`), with all the memory that there is and with less: zeros, damped rows, noise, ties, and steps
//! from the worst of those to worse ones.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::entry;

/// The best classes that are asked for.
#[cfg(target_os = "none")]
const K: usize = 8;

#[cfg(target_os = "none")]
mod on_device {
    #![allow(unsafe_code)]

    use core::hint::black_box;

    use cortex_m_semihosting::{nr, syscall};
    use zhat::{Budget, Classifier, Model, QueryBuffer};

    use super::K;
    use super::support::{mark, say};

    /// Room for a model and for the columns of a query.
    static mut FILE: [u32; 700_000] = [0; 700_000];
    static mut SCRATCH: [u32; 80_000] = [0; 80_000];
    const DIM: usize = 1024;

    /// The job, which the host's half writes.
    const JOB: &str = concat!(env!("ZHAT_JOB"), "\0");

    struct File(usize);

    impl File {
        fn open() -> Option<Self> {
            // SAFETY: the path ends with a zero, and its length is without it.
            let file = unsafe { syscall!(OPEN, JOB.as_ptr(), nr::open::R_BINARY, JOB.len() - 1) };
            (file != usize::MAX).then_some(Self(file))
        }

        /// Fills words; false if the file has fewer.
        fn read(&self, words: &mut [u32]) -> bool {
            // SAFETY: as many bytes as the words have.
            words.is_empty() || unsafe { syscall!(READ, self.0, words.as_mut_ptr(), 4 * words.len()) } == 0
        }
    }

    pub fn run() -> Result<(), &'static str> {
        let file = File::open().ok_or("there is no job")?;
        // SAFETY: used here alone, and this function is called once.
        let (room, scratch) = unsafe { (&mut *(&raw mut FILE), &mut *(&raw mut SCRATCH)) };
        let mut head = [0; 1];
        let bytes = if file.read(&mut head) { head[0] as usize } else { return Err("the job is empty") };
        let words = room.get_mut(..bytes.div_ceil(4)).ok_or("the model is too large")?;
        if !file.read(words) {
            return Err("the model is cut off");
        }
        let bytes = bytemuck::cast_slice(words).get(..bytes).ok_or("the model is cut off")?;
        let model = Model::from_bytes(bytes).map_err(|_| "the model is refused")?;
        let mut query = QueryBuffer::<DIM>::empty();
        let (mut columns, mut query_head, mut answers, mut mixed) = ([0u32; DIM], [0; 4], 0, 0u32);
        let columns = columns.get_mut(..model.dim()).ok_or("too many columns")?;
        while file.read(&mut query_head) && file.read(columns) {
            let [cap, epsilon, expand, words] = query_head;
            let budget = Budget::new(cap).with_epsilon(f32::from_bits(epsilon)).with_expand(expand);
            let scratch = scratch.get_mut(..words as usize).ok_or("too much memory")?;
            let values: &[f32] = bytemuck::cast_slice(columns);
            mark!(1);
            let answer = query
                .set(&model, black_box(values))
                .and_then(|()| Classifier::new(model)?.with_budget(budget)?.classify::<K>(&query, scratch));
            let answer = black_box(answer);
            mark!(0);
            let answer = answer.map_err(|_| "a query is refused")?;
            answers += 1;
            mixed = mixed.rotate_left(1) ^ answer.log_z().to_bits();
        }
        say!("{answers} answers, mixed {mixed:#010x}");
        Ok(())
    }
}

#[cfg(target_os = "none")]
use on_device::run;

#[cfg(all(not(target_os = "none"), feature = "std"))]
#[path = "support/worst.rs"]
mod worst;

#[cfg(all(not(target_os = "none"), feature = "std"))]
use worst::run;

#[cfg(all(not(target_os = "none"), not(feature = "std")))]
fn run() -> Result<(), &'static str> {
    Err("the host's half needs the feature std")
}

entry!(run);
