//! Hints to the compiler. They change no result.

/// In the body of a loop: a compiler for a device does not copy it four times. That saves flash and, where a loop goes round
/// a few times only or its copies would not fit the registers, instructions as well.
#[inline(always)]
pub(crate) const fn keep_small() {
    if cfg!(target_os = "none") {
        core::hint::black_box(());
    }
}

/// In a branch that is seldom taken: the other one is laid out as the straight way through.
///
/// `core::hint::cold_path` does the same and asks for Rust 1.95.
#[cold]
#[inline]
pub(crate) fn cold_path() {}
