/* As main.c, in C++. */

#include <stdio.h>

#include "words.h"
#include "zhat.hpp"

static zhat::Model model;
static zhat::Scratch<WORDS_SCRATCH_WORDS> scratch;

static const float activations[WORDS_DIM] = {0.54f,  -1.26f, -3.05f, 2.18f, -0.6f,  1.0f,  -2.3f,  -0.75f,
                                             -3.08f, -1.39f, -1.98f, 3.8f,  -3.31f, 3.22f, -1.92f, 3.42f};

int main() {
  zhat_error error = model.open(WORDS_FILE, WORDS_LEN);
  if (error != ZHAT_ERROR_NONE) {
    printf("%s\n", zhat::text(error));
    return 1;
  }
  auto answer = model.classify<3>(activations, WORDS_DIM, scratch);
  for (const zhat_class &one : answer)
    printf("class %u: p %.6f, %.6f to %.6f\n", (unsigned)one.id, one.p, one.lower, one.upper);
  printf("%u of %d rows\n", (unsigned)(answer.result.rows + answer.result.nodes), WORDS_CLASSES);
  return answer ? 0 : 1;
}
