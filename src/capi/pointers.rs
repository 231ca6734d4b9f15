//! Turns pointers into references, with all checks that are possible.

use super::ZhatError;

/// Checks for null and alignment. The caller promises that the memory is there.
fn check<T>(pointer: *const T) -> Result<(), ZhatError> {
    if pointer.is_null() {
        Err(ZhatError::Null)
    } else if !pointer.is_aligned() {
        Err(ZhatError::Misaligned)
    } else {
        Ok(())
    }
}

/// Borrows a value.
///
/// # Safety
/// If the pointer is neither null nor misaligned, it must point to a value that nobody writes to during `'a`.
pub(super) unsafe fn shared<'a, T>(pointer: *const T) -> Result<&'a T, ZhatError> {
    check(pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Borrows `len` values.
///
/// # Safety
/// If the pointer is neither null nor misaligned, it must point to `len` values that nobody writes to during `'a`.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, len: usize) -> Result<&'a [T], ZhatError> {
    check(pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Writes a value without reading or dropping the old one.
///
/// # Safety
/// If it is neither null nor misaligned, there is room for a value that nobody else uses.
pub(super) unsafe fn put<T>(pointer: *mut T, value: T) -> Result<(), ZhatError> {
    check(pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}
