//! From pointers to references: what can be checked about a pointer is checked here.

use super::ZhatError;

/// Null and alignment; that the memory is there is the caller's word.
fn check<T>(pointer: *const T) -> Result<(), ZhatError> {
    if pointer.is_null() {
        Err(ZhatError::Null)
    } else if !pointer.is_aligned() {
        Err(ZhatError::Misaligned)
    } else {
        Ok(())
    }
}

/// # Safety
/// If it is neither null nor misaligned, it points to a value that nobody writes to during `'a`.
pub(super) unsafe fn shared<'a, T>(pointer: *const T) -> Result<&'a T, ZhatError> {
    check(pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// # Safety
/// If it is neither null nor misaligned, it points to `len` values that nobody writes to during `'a`.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, len: usize) -> Result<&'a [T], ZhatError> {
    check(pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Writes a value, whatever was there.
///
/// # Safety
/// If it is neither null nor misaligned, there is room for a value that nobody else uses.
pub(super) unsafe fn put<T>(pointer: *mut T, value: T) -> Result<(), ZhatError> {
    check(pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}
