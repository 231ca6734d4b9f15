//! Hints to the compiler. They change no result.

/// Keeps the compiler for a device from unrolling the loop in whose body this is called. That saves flash and, where a
/// loop has few passes or its copies would not fit the registers, instructions as well.
#[inline(always)]
pub(crate) const fn keep_small() {
    if cfg!(target_os = "none") {
        core::hint::black_box(());
    }
}

/// Marks a branch as seldom taken: the other one becomes the fall-through path.
///
/// `core::hint::cold_path` does the same, but needs Rust 1.95.
#[cold]
#[inline]
pub(crate) fn cold_path() {}
