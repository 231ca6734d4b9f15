//! Opening a model, and what it says of itself.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use super::error::code;
use super::{ZhatError, pointers};
use crate::model::{Budget, FORMAT_VERSION, FileHeader, Model};

/// The version of this header, to compare with `zhat_version()`, that of the library: `major << 16 | minor << 8 | patch`.
pub const ZHAT_VERSION: u32 = ZHAT_VERSION_MAJOR << 16 | ZHAT_VERSION_MINOR << 8 | ZHAT_VERSION_PATCH;

/// The first number of the version.
pub const ZHAT_VERSION_MAJOR: u32 = 0;

/// The second number of the version.
pub const ZHAT_VERSION_MINOR: u32 = 1;

/// The third number of the version.
pub const ZHAT_VERSION_PATCH: u32 = 0;

/// The version of the model files that this library reads.
pub const ZHAT_FORMAT_VERSION: u32 = 6;

/// The bytes of a model file that `zhat_file_header` and `zhat_file_len` need.
pub const ZHAT_FILE_HEADER_LEN: usize = 20;

// Literals, as cbindgen reads no others.
const _: () = {
    assert!(ZHAT_VERSION_MAJOR == number(env!("CARGO_PKG_VERSION_MAJOR")));
    assert!(ZHAT_VERSION_MINOR == number(env!("CARGO_PKG_VERSION_MINOR")));
    assert!(ZHAT_VERSION_PATCH == number(env!("CARGO_PKG_VERSION_PATCH")));
    assert!(ZHAT_FORMAT_VERSION == FORMAT_VERSION as u32);
    assert!(ZHAT_FILE_HEADER_LEN == FileHeader::LEN);
};

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("no number"),
    }
}

/// Returns the version of the library, as `ZHAT_VERSION` of the header that it came with.
#[unsafe(no_mangle)]
pub extern "C" fn zhat_version() -> u32 {
    ZHAT_VERSION
}

/// Words of a pointer's size that an open model takes up.
pub const ZHAT_MODEL_WORDS: usize = 112;

/// Marks an open model; memory that starts as zeros does not have it.
const OPEN: usize = 0x7a68_6174;
const CLOSED: usize = 0;

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

/// Opens a model file and checks all of it, checksum included. After an error no model is open, whatever was before.
///
/// # Safety
/// `model` points to room for a model, `bytes` to `len` bytes that stay as they are while the model is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_bytes) })
}

/// Opens a model file without reading all of its content, for a file that `zhat_open` accepted before. A damaged one gives
/// wrong answers, nothing worse: classes are always below `zhat_classes`.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_trusted(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_bytes_trusted) })
}

/// Opens the model file at the start of a flash partition of `len` bytes, and checks all of it as `zhat_open` does. What
/// follows the file is not read, and erased flash is an error.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_prefix(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_prefix) })
}

/// Opens the model file at the start of a flash partition of `len` bytes as `zhat_open_trusted` does, after `zhat_open_prefix`
/// accepted it once.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_prefix_trusted(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_prefix_trusted) })
}

/// What the first bytes of a model file say about it. Nothing but the magic bytes was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ZhatHeader {
    /// The version of the format: this library opens `ZHAT_FORMAT_VERSION` alone.
    pub version: u32,
    /// The length of the file in bytes, as it says itself.
    pub len: u32,
    /// The checksum of the file, which tells one build of a model from another.
    pub build_id: u32,
}

/// Reads version, length and build of a model file from its first `len` bytes: `ZHAT_FILE_HEADER_LEN` are enough, on any boundary,
/// and these bytes mean the same in every version of the format.
///
/// # Safety
/// `bytes` points to `len` bytes, `header` to room for a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_file_header(bytes: *const u8, len: usize, header: *mut ZhatHeader) -> ZhatError {
    let read = || {
        // SAFETY: the caller's promise.
        let FileHeader { version, len, build_id } = FileHeader::read(unsafe { pointers::slice(bytes, len) }?)?;
        // SAFETY: the caller's promise.
        unsafe { pointers::put(header, ZhatHeader { version: version.into(), len, build_id }) }
    };
    code(read())
}

/// Returns the length of the model file whose first `len` bytes these are; zero if they are none of a file that this library
/// reads. The length is what the file says itself, and may be more than there is: `zhat_open_prefix` checks it.
///
/// # Safety
/// `bytes` is null or points to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_file_len(bytes: *const u8, len: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pointers::slice(bytes, len) }.ok().and_then(|prefix| Model::file_len(prefix).ok()).unwrap_or(0)
}

unsafe fn open(
    model: *mut ZhatModel,
    bytes: *const u8,
    len: usize,
    open: fn(&'static [u8]) -> Result<Model<'static>, crate::Error>,
) -> Result<(), ZhatError> {
    // First of all, so that no model that was opened before answers after an error. The state is the first field.
    // SAFETY: the caller's promise.
    unsafe { pointers::put(model.cast(), CLOSED)? };
    // SAFETY: the caller's promise; 'static stands for as long as the model is in use.
    let opened = open(unsafe { pointers::slice(bytes, len) }?)?;
    // SAFETY: the caller's promise.
    unsafe { pointers::put(model, ZhatModel::new(opened)) }
}

/// Returns the number of classes; zero if the model is null or was not opened.
///
/// # Safety
/// `model` is null or points to a model, or to zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_classes(model: *const ZhatModel) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, Model::classes)
}

/// Returns the dimension of a query; zero if the model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_dim(model: *const ZhatModel) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, Model::dim)
}

/// Returns the least cap that `zhat_classify` takes, other than zero; zero if the model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_least_cap(model: *const ZhatModel) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, |model| model.least_cap() as u32)
}

/// Returns the words of scratch memory that are enough for any query within the budget that is stored in the model; zero if the
/// model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_scratch_words(model: *const ZhatModel) -> usize {
    // SAFETY: the caller's promise.
    let model = unsafe { pointers::shared(model) }.and_then(ZhatModel::model);
    model.map_or(0, |model| model.query_words() + model.scratch_words())
}

/// Returns the words of scratch memory that are enough for any query within `cap` rows and nodes: `zhat_scratch_words` for a cap
/// that is not the stored one. Zero if the model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_scratch_words_for(model: *const ZhatModel, cap: u32) -> usize {
    // SAFETY: the caller's promise.
    let model = unsafe { pointers::shared(model) }.and_then(ZhatModel::model);
    model.map_or(0, |model| model.query_words() + model.scratch_words_for(&Budget::new(cap)))
}

/// Returns the largest `cap` for `zhat_classify` with which no query takes more than `limit` instructions of a Cortex-M4, with up to
/// eight classes asked for. Zero if that is not enough for a class, or if the model is null or was not opened. It looks at the whole
/// tree: ask once.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_cap_for_instructions(model: *const ZhatModel, limit: u32) -> u32 {
    // SAFETY: the caller's promise.
    let model = unsafe { pointers::shared(model) }.and_then(ZhatModel::model);
    let budget = model.ok().and_then(|model| Budget::for_instructions(model, limit.into()).ok());
    budget.map_or(0, |budget| budget.cap)
}

/// Returns the largest `cap` for `zhat_classify` with which no query takes more than `limit` cycles of a Cortex-M4 without wait states:
/// see `zhat_cap_for_instructions`.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_cap_for_cycles(model: *const ZhatModel, limit: u32) -> u32 {
    // SAFETY: the caller's promise.
    let model = unsafe { pointers::shared(model) }.and_then(ZhatModel::model);
    let budget = model.ok().and_then(|model| Budget::for_cycles(model, limit.into()).ok());
    budget.map_or(0, |budget| budget.cap)
}

/// Returns the checksum of the model's file, which tells one build of a model from another; zero if the model is null or was not
/// opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_build_id(model: *const ZhatModel) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, Model::build_id)
}

/// How int8 activations are to be read: a value is `(activation - zero_point) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ZhatInput {
    /// What a step is worth.
    pub scale: f32,
    /// The activation that stands for zero. For uint8 activations it is 128 more.
    pub zero_point: i8,
}

/// Gets the scale of the int8 activations of a quantised network; `ZHAT_ERROR_ABSENT` if the model file has none.
///
/// # Safety
/// `model` points to a model, or to zeros; `input` to room for a scale.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_input_scale(model: *const ZhatModel, input: *mut ZhatInput) -> ZhatError {
    let get = || {
        // SAFETY: the caller's promise.
        let found = unsafe { pointers::shared(model)?.model()? }.input_scale().ok_or(ZhatError::Absent)?;
        // SAFETY: the caller's promise.
        unsafe { pointers::put(input, ZhatInput { scale: found.scale, zero_point: found.zero_point }) }
    };
    code(get())
}

/// Gets the name of a class: `len` bytes of UTF-8 in the model file, without a zero at the end. `ZHAT_ERROR_ABSENT` if the file
/// has no names.
///
/// # Safety
/// `model` points to a model, or to zeros; `name` to room for a pointer, `len` to room for a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_name(
    model: *const ZhatModel,
    id: u32,
    name: *mut *const c_char,
    len: *mut usize,
) -> ZhatError {
    let get = || {
        // SAFETY: the caller's promise.
        let names = unsafe { pointers::shared(model)?.model()? }.names().ok_or(ZhatError::Absent)?;
        let found = names.get(id as usize).ok_or(ZhatError::NoSuchClass)?;
        // SAFETY: the caller's promise.
        unsafe {
            pointers::put(name, found.as_ptr().cast())?;
            pointers::put(len, found.len())
        }
    };
    code(get())
}
