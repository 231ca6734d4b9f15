/* A model in flash and a query: the top classes with their probabilities and intervals. */

#include <stdio.h>

#include "words.h"

static zhat_model model;
static uint32_t scratch[WORDS_SCRATCH_WORDS];

/* What the layer before gives. */
static const float activations[WORDS_DIM] = {0.54f,  -1.26f, -3.05f, 2.18f, -0.6f,  1.0f,  -2.3f,  -0.75f,
                                             -3.08f, -1.39f, -1.98f, 3.8f,  -3.31f, 3.22f, -1.92f, 3.42f};

int main(void) {
  zhat_error error = zhat_open(&model, WORDS_FILE, WORDS_LEN);
  zhat_class top[3];
  zhat_result result;
  if (error == ZHAT_ERROR_NONE)
    error = zhat_classify(&model, activations, WORDS_DIM, 0, scratch, WORDS_SCRATCH_WORDS, top, 3, &result);
  if (error != ZHAT_ERROR_NONE) {
    printf("%s\n", zhat_error_text(error));
    return 1;
  }
  for (unsigned i = 0; i < result.top_len; i++)
    printf("class %u: p %.6f, %.6f to %.6f\n", (unsigned)top[i].id, top[i].p, top[i].lower, top[i].upper);
  printf("%u of %d rows\n", (unsigned)(result.rows + result.nodes), WORDS_CLASSES);
  return 0;
}
