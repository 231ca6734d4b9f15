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


// The version of this header, to compare with `zhat_version()`, that of the library: `major << 16 | minor << 8 | patch`.
#define ZHAT_VERSION (((ZHAT_VERSION_MAJOR << 16) | (ZHAT_VERSION_MINOR << 8)) | ZHAT_VERSION_PATCH)

// The first number of the version.
#define ZHAT_VERSION_MAJOR 0

// The second number of the version.
#define ZHAT_VERSION_MINOR 1

// The third number of the version.
#define ZHAT_VERSION_PATCH 0

// The version of the model files that this library reads.
#define ZHAT_FORMAT_VERSION 6

// The bytes of a model file that `zhat_file_header` and `zhat_file_len` need.
#define ZHAT_FILE_HEADER_LEN 20

// Words of a pointer's size that an open model takes up.
#define ZHAT_MODEL_WORDS 112

// The most classes that a call returns.
#define ZHAT_MAX_TOP 16

// What a function returns: zero if all went well.
enum zhat_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // All went well.
  ZHAT_ERROR_NONE = 0,
  // A pointer is null.
  ZHAT_ERROR_NULL = 1,
  // A pointer is not aligned for what it points to; a model file has to start on a word boundary.
  ZHAT_ERROR_MISALIGNED = 2,
  // The model was not opened.
  ZHAT_ERROR_NOT_OPEN = 3,
  // The model file is cut short.
  ZHAT_ERROR_TRUNCATED = 4,
  // There are bytes after the end of the model.
  ZHAT_ERROR_TRAILING_BYTES = 5,
  // Not a zhat model file.
  ZHAT_ERROR_NOT_A_MODEL = 6,
  // The model file is of a version that this library does not read.
  ZHAT_ERROR_VERSION = 7,
  // The checksum does not match: the model file is damaged.
  ZHAT_ERROR_CHECKSUM = 8,
  // The header or the section table of the model file is invalid.
  ZHAT_ERROR_HEADER = 9,
  // A section of the model file is missing, unknown, of the wrong length or of invalid content.
  ZHAT_ERROR_SECTION = 10,
  // The query has another length than the model's dimension.
  ZHAT_ERROR_QUERY_LENGTH = 11,
  // The query holds NaN or an infinity.
  ZHAT_ERROR_QUERY_NOT_FINITE = 12,
  // The query is so large that scores could leave the range of ±4 000 nats.
  ZHAT_ERROR_QUERY_TOO_LARGE = 13,
  // More classes were asked for than `ZHAT_MAX_TOP`.
  ZHAT_ERROR_TOP_TOO_LONG = 14,
  // The scratch memory is too small for the model: `zhat_scratch_words` says how much is enough.
  ZHAT_ERROR_SCRATCH = 15,
  // The model file has no index.
  ZHAT_ERROR_NO_INDEX = 16,
  // The budget is not enough for a class: `zhat_least_cap` says what is.
  ZHAT_ERROR_BUDGET = 17,
  // None of these.
  ZHAT_ERROR_OTHER = 18,
  // The model's rows are of 4 bits, and the library was built without `rows4`.
  ZHAT_ERROR_FOUR_BIT_ROWS = 19,
  // There is no such class.
  ZHAT_ERROR_NO_SUCH_CLASS = 20,
  // The model file does not hold what was asked for: names, or an input scale.
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

// Yes, no, or that the model was built with too few queries to tell.
enum zhat_answer
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // No.
  ZHAT_ANSWER_NO = 0,
  // Yes.
  ZHAT_ANSWER_YES = 1,
  // The model does not say.
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

// What the first bytes of a model file say about it. Nothing but the magic bytes was checked.
typedef struct zhat_header {
  // The version of the format: this library opens `ZHAT_FORMAT_VERSION` alone.
  uint32_t version;
  // The length of the file in bytes, as it says itself.
  uint32_t len;
  // The checksum of the file, which tells one build of a model from another.
  uint32_t build_id;
} zhat_header;

// How int8 activations are to be read: a value is `(activation - zero_point) * scale`.
typedef struct zhat_input {
  // What a step is worth.
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
  // The lower end of the 95 % interval around it; zero where there is none.
  float lower;
  // The upper end; one where there is none.
  float upper;
} zhat_class;

// The answer to a query apart from the top classes, and what it cost.
typedef struct zhat_result {
  // ln Z.
  float log_z;
  // Whether the query is like those that the model was measured with. Only then do the classes have intervals.
  zhat_answer familiar;
  // Whether the energy is above the model's threshold for inputs that are none of the classes.
  zhat_answer rejected;
  // −ln Z: large where the input is like nothing the layer was trained on.
  float energy;
  // The share of the probability that was not scored but predicted.
  float far_share;
  // Rows scored.
  uint32_t rows;
  // Nodes of the tree predicted.
  uint32_t nodes;
  // Bytes of weights read.
  uint32_t bytes;
  // How many classes were written: fewer than asked for only if fewer rows were scored.
  uint32_t top_len;
  // 1 if the scratch memory had no room for all nodes that the budget would have reached: the answer is right, but not as
  // sharp as with `zhat_scratch_words`. 0 otherwise.
  uint32_t overflowed;
  // For `zhat_probability` alone: Z and the norm of the query, in full.
  uint32_t whole[4];
} zhat_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns an error in words: text that ends with a zero and lasts forever, for any number.
const char *zhat_error_text(int32_t error);

// Returns the version of the library, as `ZHAT_VERSION` of the header that it came with.
uint32_t zhat_version(void);

// Opens a model file and checks all of it, checksum included. After an error no model is open, whatever was before.
//
// # Safety
// `model` points to room for a model, `bytes` to `len` bytes that stay as they are while the model is in use.
zhat_error zhat_open(struct zhat_model *model,
                     const uint8_t *bytes,
                     size_t len);

// Opens a model file without reading all of its content, for a file that `zhat_open` accepted before. A damaged one gives
// wrong answers, nothing worse: classes are always below `zhat_classes`.
//
// # Safety
// As `zhat_open`.
zhat_error zhat_open_trusted(struct zhat_model *model,
                             const uint8_t *bytes,
                             size_t len);

// Opens the model file at the start of a flash partition of `len` bytes, and checks all of it as `zhat_open` does. What
// follows the file is not read, and erased flash is an error.
//
// # Safety
// As `zhat_open`.
zhat_error zhat_open_prefix(struct zhat_model *model,
                            const uint8_t *bytes,
                            size_t len);

// Opens the model file at the start of a flash partition of `len` bytes as `zhat_open_trusted` does, after `zhat_open_prefix`
// accepted it once.
//
// # Safety
// As `zhat_open`.
zhat_error zhat_open_prefix_trusted(struct zhat_model *model,
                                    const uint8_t *bytes,
                                    size_t len);

// Reads version, length and build of a model file from its first `len` bytes: `ZHAT_FILE_HEADER_LEN` are enough, on any boundary,
// and these bytes mean the same in every version of the format.
//
// # Safety
// `bytes` points to `len` bytes, `header` to room for a header.
zhat_error zhat_file_header(const uint8_t *bytes,
                            size_t len,
                            struct zhat_header *header);

// Returns the length of the model file whose first `len` bytes these are; zero if they are none of a file that this library
// reads. The length is what the file says itself, and may be more than there is: `zhat_open_prefix` checks it.
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

// Returns the least cap that `zhat_classify` takes, other than zero; zero if the model is null or was not opened.
//
// # Safety
// As `zhat_classes`.
uint32_t zhat_least_cap(const struct zhat_model *model);

// Returns the words of scratch memory that are enough for any query within the budget that is stored in the model; zero if the
// model is null or was not opened.
//
// # Safety
// As `zhat_classes`.
size_t zhat_scratch_words(const struct zhat_model *model);

// Returns the words of scratch memory that are enough for any query within `cap` rows and nodes: `zhat_scratch_words` for a cap
// that is not the stored one. Zero if the model is null or was not opened.
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

// Finds the top classes with estimated probabilities, within a budget of `cap` rows and nodes; zero for the budget that is
// stored in the model, which the intervals were measured with. A model without an index has all rows scored.
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

// `zhat_classify` for a query in int8, as TFLite and CMSIS-NN have it: a value is `(query[i] - zero_point) * scale`.
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

// `zhat_classify` for a query in uint8: a value is `(query[i] - zero_point) * scale`.
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

// `zhat_classify` for a query in int16: a value is `query[i] * scale`.
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

// `zhat_exact` for a query in int8, as `zhat_classify_i8` takes it.
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

// `zhat_exact` for a query in uint8, as `zhat_classify_u8` takes it.
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

// `zhat_exact` for a query in int16, as `zhat_classify_i16` takes it.
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

// Gets the probability of any class for the query of the last call, by one more dot product: `scratch` is the memory of that call,
// with nothing written to it since, and `result` is its result. `ZHAT_ERROR_OTHER_QUERY` if the memory holds another query, as far
// as can be told.
//
// A model that was built without `--lookup` is searched for the row of the class: four instructions for each class.
//
// # Safety
// `model` points to a model, or to zeros; `scratch` to `scratch_words` words that were handed to `zhat_classify` or `zhat_exact`,
// `result` to what that call wrote, and `p` to room for a float.
zhat_error zhat_probability(const struct zhat_model *model,
                            const uint32_t *scratch,
                            size_t scratch_words,
                            const struct zhat_result *result,
                            uint32_t id,
                            float *p);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZHAT_H */
