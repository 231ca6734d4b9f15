//! Opens a model and reads its properties.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use super::error::code;
use super::{ZhatError, pointers};
use crate::model::{Budget, FORMAT_VERSION, FileHeader, Model};

/// The version of this header, `major << 16 | minor << 8 | patch`. Compare it with `zhat_version()`, the version of the
/// library.
pub const ZHAT_VERSION: u32 = ZHAT_VERSION_MAJOR << 16 | ZHAT_VERSION_MINOR << 8 | ZHAT_VERSION_PATCH;

/// The first number of the version.
pub const ZHAT_VERSION_MAJOR: u32 = 0;

/// The second number of the version.
pub const ZHAT_VERSION_MINOR: u32 = 1;

/// The third number of the version.
pub const ZHAT_VERSION_PATCH: u32 = 0;

/// The version of the model files that this library reads.
pub const ZHAT_FORMAT_VERSION: u32 = 6;

/// The number of bytes of a model file that `zhat_file_header` and `zhat_file_len` need.
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

/// Returns the version of the library: `ZHAT_VERSION` of the header that belongs to it.
#[unsafe(no_mangle)]
pub extern "C" fn zhat_version() -> u32 {
    ZHAT_VERSION
}

/// The size of an open model, in words of a pointer's size.
pub const ZHAT_MODEL_WORDS: usize = 112;

/// The state of an open model; zeroed memory does not have it.
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
        // SAFETY: only `new` sets this state, so this model was made by it or is a copy.
        Ok(unsafe { &*self.parts.as_ptr().cast::<Model<'static>>() })
    }
}

/// Opens a model file and checks all of it, checksum included. After an error the model is closed, even if it was open
/// before.
///
/// # Safety
/// `model` points to room for a model, `bytes` to `len` bytes that stay as they are while the model is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_bytes) })
}

/// Opens a model file without the checks that read all of its content, for a file that `zhat_open` accepted before. A
/// damaged file gives wrong answers, but no access outside of it: classes are always below `zhat_classes`.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_trusted(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_bytes_trusted) })
}

/// Opens the model file at the start of a flash partition of `len` bytes, and checks all of it as `zhat_open` does.
/// Bytes after the file are not read, and erased flash is an error.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_prefix(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_prefix) })
}

/// Opens the model file at the start of a flash partition of `len` bytes as `zhat_open_trusted` does, if
/// `zhat_open_prefix` accepted it before.
///
/// # Safety
/// As `zhat_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_open_prefix_trusted(model: *mut ZhatModel, bytes: *const u8, len: usize) -> ZhatError {
    // SAFETY: the caller's promise.
    code(unsafe { open(model, bytes, len, Model::from_prefix_trusted) })
}

/// The version, length and build of a model file, from its first bytes. Nothing but the magic bytes was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ZhatHeader {
    /// The version of the format. This library opens only `ZHAT_FORMAT_VERSION`.
    pub version: u32,
    /// The length of the file in bytes, as its header states it.
    pub len: u32,
    /// The checksum of the file, which tells one build of a model from another.
    pub build_id: u32,
}

/// Reads version, length and build of a model file from its first bytes. `len` must be at least `ZHAT_FILE_HEADER_LEN`;
/// the bytes need not be aligned, and they mean the same in every version of the format.
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

/// Returns the length of the model file that starts with these `len` bytes; zero if they are not from a file that this
/// library reads. The length is the one in the header, and may be more than there is: `zhat_open_prefix` checks it.
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
    // Closed first, so that after an error no earlier model answers. The state is the first field.
    unsafe { pointers::put(model.cast(), CLOSED)? };
    // SAFETY: the caller's promise; 'static stands for the time during which the model is in use.
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

/// Returns the smallest cap that `zhat_classify` takes, apart from zero; zero if the model is null or was not opened.
///
/// # Safety
/// As `zhat_classes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zhat_least_cap(model: *const ZhatModel) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { pointers::shared(model) }.and_then(ZhatModel::model).map_or(0, |model| model.least_cap() as u32)
}

/// Returns the number of words of scratch memory that are enough for any query within the stored budget; zero if the
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

/// Returns the number of words of scratch memory that are enough for any query within `cap` rows and nodes, for a cap
/// other than the stored one; zero if the model is null or was not opened.
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

/// The scale of int8 activations: a value is `(activation - zero_point) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ZhatInput {
    /// The value of one step.
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
