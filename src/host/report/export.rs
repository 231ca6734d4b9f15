//! Source for firmware: the model, its sizes and its budget as constants, in Rust and in C.

use std::collections::HashSet;

use crate::model::{FORMAT_VERSION, InputScale};
use crate::{Budget, Model, ModelBuf};

/// Returns the text of a `model.rs` that includes the file `model.zhat` beside it.
///
/// ```
/// let text = zhat::host::report::export::rust_module(&zhat::doc_example().model(), "model.zhat");
/// assert!(text.contains("pub const CLASSES: usize = 4;"));
/// ```
pub fn rust_module(model: &Model<'_>, file: &str) -> String {
    let (classes, dim, stride) = (model.classes(), model.dim(), model.rows().stride());
    let all = Budget::new(classes as u32);
    let Budget { cap, epsilon, expand } = model.index().map_or(all, |(_, settings)| settings.budget);
    let words = model.scratch_words();
    let share = f64::from(cap) / classes as f64 * 100.0;
    format!(
        r#"//! A zhat model of {classes} classes in {dim} dimensions. Made by `zhat export-rust`; do not edit.
//!
//! ```ignore
//! mod model;
//!
//! let classifier = zhat::Classifier::new(zhat::Model::from_bytes(model::BYTES)?)?;
//! let mut scratch = model::Scratch::new(); // put it in a static: it is the RAM that a query needs
//! let query = model::Query::new(classifier.model(), &activations)?;
//! let answer: zhat::Prediction<5> = classifier.classify(&query, &mut scratch)?;
//! for (place, ranked) in answer.top.iter().enumerate() {{
//!     let interval = answer.interval(place); // of ranked.p; none where the query is not familiar
//! }}
//! ```

/// The model file, aligned, in flash.
pub static BYTES: &[u8] = zhat::include_model!("{file}");

/// N.
pub const CLASSES: usize = {classes};

/// d: the length of a query.
pub const DIM: usize = {dim};

/// The stored budget: at most {cap} dot products of length d, {share:.1} % of all rows. `Classifier::new` uses it; pass
/// another one to `Classifier::with_budget`.
pub const BUDGET: zhat::Budget = zhat::Budget::new({cap}).with_epsilon({epsilon:?}).with_expand({expand});

/// The words of memory that are enough for any query within the budget.
pub const SCRATCH_WORDS: usize = {words};

/// A query: d, rounded up to whole words.
pub type Query = zhat::QueryBuffer<{stride}>;

/// The memory of a search.
pub type Scratch = zhat::Scratch<SCRATCH_WORDS>;
"#
    )
}

/// Returns the text of `NAME.h` and of `NAME.c`: the model, its sizes and its names for a C or C++ firmware.
///
/// The source holds words, which every compiler aligns. The header defines what the functions of `zhat.h` take, `NAME_FILE`,
/// `NAME_LEN` and `NAME_SCRATCH_WORDS`, and the sizes and the build of the model. It has the scale of int8 activations if the file has
/// it, and the names of the classes as an enum if all of them make identifiers and no two are the same.
///
/// ```
/// let (header, source) = zhat::host::report::export::c_files(&zhat::doc_example(), "digits");
/// assert!(header.contains("#define DIGITS_CLASSES 4\n") && source.contains("#include \"digits.h\""));
/// ```
pub fn c_files(file: &ModelBuf, name: &str) -> (String, String) {
    let name = c_name(name);
    let upper = name.to_uppercase();
    (c_header(&file.model(), &name, &upper), c_source(file.as_bytes(), &name))
}

/// Returns a name that C accepts for what is in the files, and that the files have: `_` in the place of other characters.
///
/// ```
/// assert_eq!(zhat::host::report::export::c_name("next-word"), "next_word");
/// ```
pub fn c_name(name: &str) -> String {
    let name = identifier(name);
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("model_{name}") }
}

fn c_header(model: &Model<'_>, name: &str, upper: &str) -> String {
    let (classes, dim, len) = (model.classes(), model.dim(), model.len());
    let cap = model.index().map_or(classes as u32, |(_, settings)| settings.budget.cap);
    let scratch = model.query_words() + model.scratch_words();
    let (build, words) = (model.build_id(), len.div_ceil(size_of::<u32>()));
    let mut more = String::new();
    if let Some(InputScale { scale, zero_point }) = model.input_scale() {
        // Rust prints as many digits as it takes to read the same number back.
        more += &format!(
            "\n/* A value is (activation - ZERO_POINT) * SCALE: for zhat_classify_i8. */\n\
             #define {upper}_INPUT_SCALE {scale:e}f\n#define {upper}_INPUT_ZERO_POINT ({zero_point})\n"
        );
    }
    if let Some(names) = c_names(model) {
        more += &format!("\n/* The classes. */\nenum {name}_class {{\n");
        for (class, own) in names.iter().enumerate() {
            more += &format!("  {upper}_{own} = {class},\n");
        }
        more += "};\n";
    }
    format!(
        r#"/* A zhat model of {classes} classes in {dim} dimensions. Made by `zhat export-c`; do not edit.
 *
 *   static zhat_model model;
 *   static uint32_t scratch[{upper}_SCRATCH_WORDS];
 *   zhat_class top[5];
 *   zhat_result result;
 *   zhat_error error = zhat_open(&model, {upper}_FILE, {upper}_LEN);
 *   error = zhat_classify(&model, activations, {upper}_DIM, 0, scratch, {upper}_SCRATCH_WORDS, top, 5, &result);
 */
#ifndef {upper}_H
#define {upper}_H

#include "zhat.h"

#if ZHAT_FORMAT_VERSION != {FORMAT_VERSION}
#error "zhat.h reads another version of the model file: run zhat export-c of its release"
#endif

/* Tells this build of the model from any other: zhat_build_id. */
#define {upper}_BUILD_ID 0x{build:08x}u

/* The number of classes, and the length of a query. */
#define {upper}_CLASSES {classes}
#define {upper}_DIM {dim}

/* The most dot products that a query takes within the stored budget. */
#define {upper}_CAP {cap}

/* Words of memory that are enough for any query within it. */
#define {upper}_SCRATCH_WORDS {scratch}

/* The model file, in flash. */
#define {upper}_LEN {len}
#define {upper}_FILE ((const uint8_t *){name}_words)
{more}
#ifdef __cplusplus
extern "C" {{
#endif

extern const uint32_t {name}_words[{words}];

#ifdef __cplusplus
}}
#endif

#endif
"#
    )
}

fn c_source(bytes: &[u8], name: &str) -> String {
    let words = bytes.chunks(size_of::<u32>()).map(|bytes| {
        let mut word = [0; size_of::<u32>()];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    });
    let mut text = format!(
        "/* Made by `zhat export-c`; do not edit. */\n#include \"{name}.h\"\n\n\
         #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n\
         #error \"zhat reads its little-endian model file in place\"\n#endif\n\n\
         const uint32_t {name}_words[{}] = {{",
        words.len()
    );
    for (at, word) in words.enumerate() {
        let gap = if at % 8 == 0 { "\n " } else { "" };
        text += &format!("{gap} 0x{word:08x},");
    }
    text + "\n};\n"
}

/// Returns the names of the classes as identifiers, if they make any and all are different.
fn c_names(model: &Model<'_>) -> Option<Vec<String>> {
    let names = model.names()?;
    let own = |class| {
        let name = names.get(class)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
        (!name.is_empty() && name.chars().all(is_plain)).then(|| identifier(name).to_uppercase())
    };
    let own: Vec<String> = (0..model.classes()).map(own).collect::<Option<_>>()?;
    // What the header defines itself.
    const TAKEN: [&str; 10] =
        ["H", "FILE", "LEN", "CAP", "DIM", "CLASSES", "BUILD_ID", "SCRATCH_WORDS", "INPUT_SCALE", "INPUT_ZERO_POINT"];
    let mut seen: HashSet<&str> = TAKEN.into();
    own.iter().all(|own| seen.insert(own)).then_some(own)
}

/// Returns a name with `_` in the place of what C does not allow in one.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
