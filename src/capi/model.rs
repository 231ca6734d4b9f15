//! Opening a model, and what it says of itself.

use core::mem::MaybeUninit;

use super::error::code;
use super::{ZhatError, pointers};
use crate::model::Model;

/// Words of a pointer's size that an open model takes up.
pub const ZHAT_MODEL_WORDS: usize = 112;

/// Marks an open model; memory that starts as zeros does not have it.
const OPEN: usize = 0x7a68_6174;

/// An open model: pointers into the model file. Its fields are private.
///
/// It may be copied; the model file has to stay where it is.
#[repr(C)]
pub struct ZhatModel {
    state: usize,
    parts: MaybeUninit<[usize; ZHAT_MODEL_WORDS]>,
}

const _: () =
    assert!(size_of::<Model<'static>>() <= size_of::<[usize; ZHAT_MODEL_WORDS]>(), "ZHAT_MODEL_WORDS is too small");
const _: () = assert!(align_of::<Model<'static>>() <= align_of::<usize>());

impl ZhatModel {
    fn new(model: Model<'static>) -> Self {
        let mut parts = MaybeUninit::<[usize; ZHAT_MODEL_WORDS]>::uninit();
        // SAFETY: large enough and aligned, as asserted above.
        unsafe { parts.as_mut_ptr().cast::<Model<'static>>().write(model) };
        Self { state: OPEN, parts }
    }

    pub(super) fn model(&self) -> Result<&Model<'static>, ZhatError> {
        if self.state != OPEN {
            return Err(ZhatError::NotOpen);
        }
        // SAFETY: whatever is open was made by `new`, or is a copy of it.
        Ok(unsafe { &*self.parts.as_ptr().cast::<Model<'static>>() })
    }
}

/// Opens a model file and checks all of it, checksum included.
///
/// # Safety
/// `model` points to room for a model, `bytes` to `len` bytes that stay as they are while the model is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_bytes) })
}

/// The same without reading all of the content, for a file that `zhat_open` accepted before: a damaged one gives wrong
/// answers, nothing worse.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_trusted(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_bytes_trusted) })
}

unsafe fn open(
    model: *mut ZhatModel,
    bytes: *const u8,
    len: usize,
    open: fn(&'static [u8]) -> Result<Model<'static>, crate::Error>,
) -> Result<(), ZhatError> {
    // SAFETY: the caller's promise; 'static stands for as long as the model is in use.
    let opened = open(unsafe { pointers::slice(bytes, len) }?)?;
    // SAFETY: the caller's promise.
    unsafe { pointers::put(model, ZhatModel::new(opened)) }
}

/// The number of classes; zero if the model is null or was not opened.
///
/// # Safety
/// `model` is null or points to a model, or to zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_classes(model: *const ZhatModel) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, Model::classes)
}

/// The dimension of a query; zero if the model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_dim(model: *const ZhatModel) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, Model::dim)
}

/// The least cap that `zhat_classify` takes, other than zero; zero if the model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_least_cap(model: *const ZhatModel) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, |model| model.least_cap() as u32)
}

/// Words of scratch memory that are enough for any query within the budget that is stored in the model; zero if the model is
/// null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_scratch_words(model: *const ZhatModel) -> usize {
    // SAFETY: the caller's promise.
    let model = unsafe { pointers::shared(model) }.and_then(ZhatModel::model);
    model.map_or(0, |model| model.query_words() + model.scratch_words())
}
