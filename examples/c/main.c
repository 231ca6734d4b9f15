/* The C API: a model in flash, three queries, the top classes with their probabilities and intervals.
 *
 * What it prints is what Rust answers to the same queries, bit for bit: tests/capi.rs compares. */

#include "semihosting.h"
#include "zhat.h"

/* From model.S. */
extern const uint8_t model_file[], model_file_end[];
extern const float queries[], queries_end[];

enum { CLASSES = 500, DIM = 16, NODE_WORDS = 66, TOP = 3, ANY_CLASS = 123 };

static zhat_model model;
static uint32_t scratch[ZHAT_SCRATCH_WORDS(CLASSES, DIM, NODE_WORDS)];
enum { SCRATCH_WORDS = sizeof scratch / sizeof scratch[0] };

static uint32_t bits_of(float x) {
  union { float x; uint32_t bits; } pun = {x};
  return pun.bits;
}

/* The printer knows whole numbers only. */
static uint32_t in_10000(float p) { return (uint32_t)(p * 10000.0f); }

static zhat_error answer(uint32_t number, const float *query) {
  zhat_class top[TOP];
  zhat_result exact, result;
  zhat_error error = zhat_exact(&model, query, DIM, scratch, SCRATCH_WORDS, top, TOP, &exact);
  if (error != ZHAT_ERROR_NONE) return error;
  /* A cap of zero is the budget that is stored in the model. */
  error = zhat_classify(&model, query, DIM, 0, scratch, SCRATCH_WORDS, top, TOP, &result);
  if (error != ZHAT_ERROR_NONE) return error;

  print("query %u: ln Z %x, exact %x, %u rows, %u nodes\n", number, bits_of(result.log_z), bits_of(exact.log_z),
        result.rows, result.nodes);
  for (uint32_t i = 0; i < result.top_len; i++) {
    print("  class %u: p %u in 10000, %u to %u, bits %x\n", top[i].id, in_10000(top[i].p), in_10000(top[i].lower),
          in_10000(top[i].upper), bits_of(top[i].p));
  }
  /* Any other class, from the query that the call has left in the scratch memory. */
  float p = 0;
  error = zhat_probability(&model, scratch, SCRATCH_WORDS, &result, ANY_CLASS, &p);
  if (error != ZHAT_ERROR_NONE) return error;
  print("  class %u: bits %x\n", ANY_CLASS, bits_of(p));
  return ZHAT_ERROR_NONE;
}

static zhat_error run(void) {
  if (zhat_version() != ZHAT_VERSION) return ZHAT_ERROR_OTHER;
  /* A flash partition would be opened by zhat_open_prefix, which finds the end of the file in it. */
  size_t length = (size_t)(model_file_end - model_file);
  if (zhat_file_len(model_file, ZHAT_FILE_HEADER_LEN) != length) return ZHAT_ERROR_TRUNCATED;
  zhat_error error = zhat_open(&model, model_file, length);
  if (error != ZHAT_ERROR_NONE) return error;
  if (zhat_classes(&model) != CLASSES || zhat_dim(&model) != DIM || zhat_scratch_words(&model) > SCRATCH_WORDS) {
    return ZHAT_ERROR_SCRATCH;
  }
  uint32_t number = 0;
  for (const float *query = queries; query < queries_end; query += DIM) {
    error = answer(number++, query);
    if (error != ZHAT_ERROR_NONE) return error;
  }
  return ZHAT_ERROR_NONE;
}

int main(void) {
  zhat_error error = run();
  if (error != ZHAT_ERROR_NONE) print("error: %s\n", zhat_error_text(error));
  return error;
}
