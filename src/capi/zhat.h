/* zhat: calibrated probabilities for large-vocabulary classifiers, without scoring every class.
 *
 * Memory: the caller has all of it. The model file starts on a word boundary and stays where it is; a zhat_model points
 * into it; scratch memory is an array of ZHAT_SCRATCH_WORDS(classes, dim, node_words) uint32_t, with the numbers
 * that `zhat inspect` prints, or zhat_scratch_words(&model) of them at run time. Nothing is allocated.
 *
 * Threads and interrupts: no function keeps state of its own. An open model is only read and may be shared; scratch
 * memory and results belong to one call at a time.
 */

#ifndef ZHAT_H
#define ZHAT_H

/* Made by cbindgen from src/capi: do not edit. `cargo test --test capi_header -- --ignored` writes it again. */

#include <stddef.h>
#include <stdint.h>

/* Words of scratch memory for zhat_classify, `node_words` of them for nodes of the tree. With fewer the answer is still right,
 * only not as sharp; with too few for any answer there is an error. */
#define ZHAT_SCRATCH_WORDS(classes, dim, node_words) \
  (ZHAT_EXACT_SCRATCH_WORDS(dim) + ((classes) + 31) / 32 + (node_words))

/* Words of scratch memory for zhat_exact. */
#define ZHAT_EXACT_SCRATCH_WORDS(dim) (4 + ((dim) + 3) / 4 * 2)


// The version of this header, `major << 16 | minor << 8 | patch`. Compare it with `zhat_version()`, the version of the
// library.
#define ZHAT_VERSION (((ZHAT_VERSION_MAJOR << 16) | (ZHAT_VERSION_MINOR << 8)) | ZHAT_VERSION_PATCH)

// The first number of the version.
#define ZHAT_VERSION_MAJOR 0

// The second number of the version.
#define ZHAT_VERSION_MINOR 1

// The third number of the version.
#define ZHAT_VERSION_PATCH 0

// The version of the model files that this library reads.
#define ZHAT_FORMAT_VERSION 6

// The number of bytes of a model file that `zhat_file_header` and `zhat_file_len` need.
#define ZHAT_FILE_HEADER_LEN 20

// The size of an open model, in words of a pointer's size.
#define ZHAT_MODEL_WORDS 112

// The most classes that a call returns.
#define ZHAT_MAX_TOP 16

// The result of a function: zero if it succeeded.
enum zhat_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  ZHAT_ERROR_NONE = 0,
  // A pointer is null.
  ZHAT_ERROR_NULL = 1,
  // A pointer is not aligned for its type; a model file has to start on a word boundary.
  ZHAT_ERROR_MISALIGNED = 2,
  // The model was not opened.
  ZHAT_ERROR_NOT_OPEN = 3,
  // The model file is cut short.
  ZHAT_ERROR_TRUNCATED = 4,
  // There are bytes after the end of the model.
  ZHAT_ERROR_TRAILING_BYTES = 5,
  // The bytes are not a zhat model file.
  ZHAT_ERROR_NOT_A_MODEL = 6,
  // The model file is of a version that this library does not read.
  ZHAT_ERROR_VERSION = 7,
  // The checksum does not match: the model file is damaged.
  ZHAT_ERROR_CHECKSUM = 8,
  // The header or the section table of the model file is invalid.
  ZHAT_ERROR_HEADER = 9,
  // A section of the model file is missing, unknown, of the wrong length or of invalid content.
  ZHAT_ERROR_SECTION = 10,
  // The query's length is not the model's dimension.
  ZHAT_ERROR_QUERY_LENGTH = 11,
  // The query holds NaN or an infinity.
  ZHAT_ERROR_QUERY_NOT_FINITE = 12,
  // The query is so large that scores could leave the range of ±4 000 nats.
  ZHAT_ERROR_QUERY_TOO_LARGE = 13,
  // More than `ZHAT_MAX_TOP` classes were requested.
  ZHAT_ERROR_TOP_TOO_LONG = 14,
  // The scratch memory is too small for the model: `zhat_scratch_words` returns how much is enough.
  ZHAT_ERROR_SCRATCH = 15,
  // The model file has no index.
  ZHAT_ERROR_NO_INDEX = 16,
  // The budget is too small to score even one class: `zhat_least_cap` returns the smallest cap.
  ZHAT_ERROR_BUDGET = 17,
  // An error without a code of its own.
  ZHAT_ERROR_OTHER = 18,
  // The model's rows are 4-bit, and the library was built without `rows4`.
  ZHAT_ERROR_FOUR_BIT_ROWS = 19,
  // The class number is not below `zhat_classes`.
  ZHAT_ERROR_NO_SUCH_CLASS = 20,
  // The model file has no names, or no input scale.
  ZHAT_ERROR_ABSENT = 21,
  // The scratch memory does not hold the query of this result any more.
  ZHAT_ERROR_OTHER_QUERY = 22,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum zhat_error zhat_error;
#else
typedef int32_t zhat_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Yes, no, or unknown: the model was built with too few queries, the cap is smaller than the stored one, or the scratch
// memory was too small for the search (`overflowed`).
enum zhat_answer
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // No.
  ZHAT_ANSWER_NO = 0,
  // Yes.
  ZHAT_ANSWER_YES = 1,
  // Unknown.
  ZHAT_ANSWER_UNKNOWN = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum zhat_answer zhat_answer;
#else
typedef int32_t zhat_answer;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An open model: pointers into the model file. Its fields are private.
//
// It may be copied; the model file has to stay where it is.
typedef struct zhat_model {
  size_t state;
  size_t parts[ZHAT_MODEL_WORDS];
} zhat_model;

// The version, length and build of a model file, from its first bytes. Nothing but the magic bytes was checked.
typedef struct zhat_header {
  // The version of the format. This library opens only `ZHAT_FORMAT_VERSION`.
  uint32_t version;
  // The length of the file in bytes, as its header states it.
  uint32_t len;
  // The checksum of the file, which tells one build of a model from another.
  uint32_t build_id;
} zhat_header;

// The scale of int8 activations: a value is `(activation - zero_point) * scale`.
typedef struct zhat_input {
  // The value of one step.
  float scale;
  // The activation that stands for zero. For uint8 activations it is 128 more.
  int8_t zero_point;
} zhat_input;

// A class with its probability.
typedef struct zhat_class {
  // The class, from zero on.
  uint32_t id;
  // Its probability.
  float p;
  // The lower end of the 95 % interval around it; zero if there is no interval.
  float lower;
  // The upper end; one if there is no interval.
  float upper;
} zhat_class;

// The answer to a query apart from the top classes, and its cost.
typedef struct zhat_result {
  // ln Z.
  float log_z;
  // Yes if the query is like those that the model was calibrated with. Only then do the classes have intervals, and only
  // with the stored budget.
  zhat_answer familiar;
  // Yes if the energy is above the model's threshold for inputs that belong to no class.
  zhat_answer rejected;
  // −ln Z: large if the input is unlike everything the layer was trained on.
  float energy;
  // The far share: the part of Z that was predicted and not scored.
  float far_share;
  // The number of rows scored.
  uint32_t rows;
  // The number of nodes of the tree predicted.
  uint32_t nodes;
  // The number of bytes of weights read.
  uint32_t bytes;
  // The number of classes written. Fewer than `top_len` only if fewer rows were scored.
  uint32_t top_len;
  // 1 if the scratch memory was too small for all nodes that the budget would have reached, 0 otherwise. The answer is
  // within the budget, but its error was not measured, and there are no intervals.
  uint32_t overflowed;
  // Z in full and a hash of the query, for `zhat_probability` only.
  uint32_t whole[4];
} zhat_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the text of an error for any number: static, and with a zero at the end.
const char *zhat_error_text(int32_t error);

// Returns the version of the library: `ZHAT_VERSION` of the header that belongs to it.
uint32_t zhat_version(void);

// Opens a model file and checks all of it, checksum included. After an error the model is closed, even if it was open
// before.
//
// # Safety
// `model` points to room for a model, `bytes` to `len` bytes that stay as they are while the model is in use.
zhat_error zhat_open(struct zhat_model *model,
                     const uint8_t *bytes,
                     size_t len);

// Opens a model file without the checks that read all of its content, for a file that `zhat_open` accepted before. A
// damaged file gives wrong answers, but no access outside of it: classes are always below `zhat_classes`.
//
// # Safety
// As `zhat_open`.
zhat_error zhat_open_trusted(struct zhat_model *model,
                             const uint8_t *bytes,
                             size_t len);

// Opens the model file at the start of a flash partition of `len` bytes, and checks all of it as `zhat_open` does.
// Bytes after the file are not read, and erased flash is an error.
//
// # Safety
// As `zhat_open`.
zhat_error zhat_open_prefix(struct zhat_model *model,
                            const uint8_t *bytes,
                            size_t len);

// Opens the model file at the start of a flash partition of `len` bytes as `zhat_open_trusted` does, if
// `zhat_open_prefix` accepted it before.
//
// # Safety
// As `zhat_open`.
zhat_error zhat_open_prefix_trusted(struct zhat_model *model,
                                    const uint8_t *bytes,
                                    size_t len);

// Reads version, length and build of a model file from its first bytes. `len` must be at least `ZHAT_FILE_HEADER_LEN`;
// the bytes need not be aligned, and they mean the same in every version of the format.
//
// # Safety
// `bytes` points to `len` bytes, `header` to room for a header.
zhat_error zhat_file_header(const uint8_t *bytes,
                            size_t len,
                            struct zhat_header *header);

// Returns the length of the model file that starts with these `len` bytes; zero if they are not from a file that this
// library reads. The length is the one in the header, and may be more than there is: `zhat_open_prefix` checks it.
//
// # Safety
// `bytes` is null or points to `len` bytes.
size_t zhat_file_len(const uint8_t *bytes,
                     size_t len);

// Returns the number of classes; zero if the model is null or was not opened.
//
// # Safety
// `model` is null or points to a model, or to zeros.
size_t zhat_classes(const struct zhat_model *model);

// Returns the dimension of a query; zero if the model is null or was not opened.
//
// # Safety
// As `zhat_classes`.
size_t zhat_dim(const struct zhat_model *model);

// Returns the smallest cap that `zhat_classify` takes, apart from zero; zero if the model is null or was not opened.
//
// # Safety
// As `zhat_classes`.
uint32_t zhat_least_cap(const struct zhat_model *model);

// Returns the number of words of scratch memory that are enough for any query within the stored budget; zero if the
// model is null or was not opened.
//
// # Safety
// As `zhat_classes`.
size_t zhat_scratch_words(const struct zhat_model *model);

// Returns the number of words of scratch memory that are enough for any query within `cap` rows and nodes, for a cap
// other than the stored one; zero if the model is null or was not opened.
//
// # Safety
// As `zhat_classes`.
size_t zhat_scratch_words_for(const struct zhat_model *model,
                              uint32_t cap);

// Returns the largest `cap` for `zhat_classify` with which no query takes more than `limit` instructions of a Cortex-M4, with up to
// eight classes asked for. Zero if that is not enough for a class, or if the model is null or was not opened. It looks at the whole
// tree: ask once.
//
// # Safety
// As `zhat_classes`.
uint32_t zhat_cap_for_instructions(const struct zhat_model *model,
                                   uint32_t limit);

// Returns the largest `cap` for `zhat_classify` with which no query takes more than `limit` cycles of a Cortex-M4 without wait states:
// see `zhat_cap_for_instructions`.
//
// # Safety
// As `zhat_classes`.
uint32_t zhat_cap_for_cycles(const struct zhat_model *model,
                             uint32_t limit);

// Returns the checksum of the model's file, which tells one build of a model from another; zero if the model is null or was not
// opened.
//
// # Safety
// As `zhat_classes`.
uint32_t zhat_build_id(const struct zhat_model *model);

// Gets the scale of the int8 activations of a quantised network; `ZHAT_ERROR_ABSENT` if the model file has none.
//
// # Safety
// `model` points to a model, or to zeros; `input` to room for a scale.
zhat_error zhat_input_scale(const struct zhat_model *model,
                            struct zhat_input *input);

// Gets the name of a class: `len` bytes of UTF-8 in the model file, without a zero at the end. `ZHAT_ERROR_ABSENT` if the file
// has no names.
//
// # Safety
// `model` points to a model, or to zeros; `name` to room for a pointer, `len` to room for a length.
zhat_error zhat_name(const struct zhat_model *model,
                     uint32_t id,
                     const char **name,
                     size_t *len);

// Finds the top classes with estimated probabilities, within a budget of `cap` rows and nodes. Zero stands for the
// stored budget, the only one with intervals. If the model has no index, all rows are scored.
//
// # Safety
// `model` points to a model, or to zeros; `query` to `query_len` floats; `scratch` to `scratch_words` words, `top` to
// room for `top_len` classes (or is null where that is zero) and `result` to room for a result. The last three overlap
// with nothing, and nobody else uses them during the call.
zhat_error zhat_classify(const struct zhat_model *model,
                         const float *query,
                         size_t query_len,
                         uint32_t cap,
                         uint32_t *scratch,
                         size_t scratch_words,
                         struct zhat_class *top,
                         size_t top_len,
                         struct zhat_result *result);

// Classifies a query in int8, as TFLite and CMSIS-NN output it: a value is `(query[i] - zero_point) * scale`.
// Otherwise as `zhat_classify`.
//
// # Safety
// As `zhat_classify`, with `query_len` bytes.
zhat_error zhat_classify_i8(const struct zhat_model *model,
                            const int8_t *query,
                            size_t query_len,
                            float scale,
                            int8_t zero_point,
                            uint32_t cap,
                            uint32_t *scratch,
                            size_t scratch_words,
                            struct zhat_class *top,
                            size_t top_len,
                            struct zhat_result *result);

// Classifies a query in uint8: a value is `(query[i] - zero_point) * scale`. Otherwise as `zhat_classify`.
//
// # Safety
// As `zhat_classify`, with `query_len` bytes.
zhat_error zhat_classify_u8(const struct zhat_model *model,
                            const uint8_t *query,
                            size_t query_len,
                            float scale,
                            uint8_t zero_point,
                            uint32_t cap,
                            uint32_t *scratch,
                            size_t scratch_words,
                            struct zhat_class *top,
                            size_t top_len,
                            struct zhat_result *result);

// Classifies a query in int16: a value is `query[i] * scale`. Otherwise as `zhat_classify`.
//
// # Safety
// As `zhat_classify`, with `query_len` numbers of 16 bits.
zhat_error zhat_classify_i16(const struct zhat_model *model,
                             const int16_t *query,
                             size_t query_len,
                             float scale,
                             uint32_t cap,
                             uint32_t *scratch,
                             size_t scratch_words,
                             struct zhat_class *top,
                             size_t top_len,
                             struct zhat_result *result);

// Finds the top classes with their exact probabilities: every row is scored. `ZHAT_EXACT_SCRATCH_WORDS(dim)` words of
// scratch memory are enough.
//
// # Safety
// As `zhat_classify`.
zhat_error zhat_exact(const struct zhat_model *model,
                      const float *query,
                      size_t query_len,
                      uint32_t *scratch,
                      size_t scratch_words,
                      struct zhat_class *top,
                      size_t top_len,
                      struct zhat_result *result);

// Finds the exact probabilities for a query in int8, as `zhat_classify_i8` takes it. Otherwise as `zhat_exact`.
//
// # Safety
// As `zhat_classify_i8`.
zhat_error zhat_exact_i8(const struct zhat_model *model,
                         const int8_t *query,
                         size_t query_len,
                         float scale,
                         int8_t zero_point,
                         uint32_t *scratch,
                         size_t scratch_words,
                         struct zhat_class *top,
                         size_t top_len,
                         struct zhat_result *result);

// Finds the exact probabilities for a query in uint8, as `zhat_classify_u8` takes it. Otherwise as `zhat_exact`.
//
// # Safety
// As `zhat_classify_u8`.
zhat_error zhat_exact_u8(const struct zhat_model *model,
                         const uint8_t *query,
                         size_t query_len,
                         float scale,
                         uint8_t zero_point,
                         uint32_t *scratch,
                         size_t scratch_words,
                         struct zhat_class *top,
                         size_t top_len,
                         struct zhat_result *result);

// Finds the exact probabilities for a query in int16, as `zhat_classify_i16` takes it. Otherwise as `zhat_exact`.
//
// # Safety
// As `zhat_classify_i16`.
zhat_error zhat_exact_i16(const struct zhat_model *model,
                          const int16_t *query,
                          size_t query_len,
                          float scale,
                          uint32_t *scratch,
                          size_t scratch_words,
                          struct zhat_class *top,
                          size_t top_len,
                          struct zhat_result *result);

// Gets the probability of any class for the query of the last call, with one more dot product. `scratch` is the memory
// of that call, with nothing written to it since, and `result` is its result. Returns `ZHAT_ERROR_OTHER_QUERY` if the
// memory is known to hold another query.
//
// If the model was built without `--lookup`, this searches for the row of the class: four instructions for each class.
//
// # Safety
// `model` points to a model, or to zeros; `scratch` to `scratch_words` words that were handed to `zhat_classify` or `zhat_exact`,
// `result` to the result of that call, and `p` to room for a float.
zhat_error zhat_probability(const struct zhat_model *model,
                            const uint32_t *scratch,
                            size_t scratch_words,
                            const struct zhat_result *result,
                            uint32_t id,
                            float *p);

// Finds how many of the classes that a call returned are in the set that holds the true class for this share of the inputs:
// the first `len` of `top`, and `more` is 1 if there are others, or 0. `ZHAT_ERROR_ABSENT` if there is no such set: the model was
// built without sets, has none of this level, or the query is not like those that they were measured with.
//
// # Safety
// `model` points to a model, or to zeros; `top` and `result` to what `zhat_classify` or `zhat_exact` wrote for it (`top` may be
// null where no class was asked for), `len` and `more` to room for a number.
zhat_error zhat_set(const struct zhat_model *model,
                    const struct zhat_class *top,
                    const struct zhat_result *result,
                    float level,
                    uint32_t *len,
                    uint32_t *more);

// Finds whether the query of the last call is one of the classes at all, by what was learnt from examples that are none: `scratch`
// is the memory of that call, with nothing written to it since, `top` and `result` are what it wrote. `ZHAT_ERROR_ABSENT` if the
// model was built without such examples, or no class was asked for. `ZHAT_ANSWER_UNKNOWN` if the call had another budget than what was
// measured.
//
// # Safety
// As `zhat_probability` and `zhat_set`; `known` points to room for an answer.
zhat_error zhat_is_known(const struct zhat_model *model,
                         const uint32_t *scratch,
                         size_t scratch_words,
                         const struct zhat_class *top,
                         const struct zhat_result *result,
                         zhat_answer *known);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZHAT_H */
