/* zhat for C++11 and later: a thin layer over zhat.h, without exceptions, allocation or anything to clean up. */

#ifndef ZHAT_HPP
#define ZHAT_HPP

#include "zhat.h"

#if defined(__has_include) && __cplusplus >= 202002L
#if __has_include(<span>)
#include <span>
#define ZHAT_HAS_SPAN
#endif
#endif

namespace zhat {

/* Returns an error in words. */
inline const char *text(zhat_error error) { return zhat_error_text(static_cast<int32_t>(error)); }

/* The answer to a query: the top K classes, best first, and what zhat_result says. */
template <size_t K>
struct Answer {
  static_assert(K <= ZHAT_MAX_TOP, "more classes than a call returns");

  zhat_error error;
  zhat_result result;
  zhat_class classes[K];

  /* Tells whether there is an answer. */
  explicit operator bool() const { return error == ZHAT_ERROR_NONE; }

  const zhat_class *begin() const { return classes; }
  const zhat_class *end() const { return classes + result.top_len; }
  size_t size() const { return result.top_len; }
  const zhat_class &operator[](size_t place) const { return classes[place]; }

  bool is_familiar() const { return result.familiar == ZHAT_ANSWER_YES; }
  bool is_rejected() const { return result.rejected == ZHAT_ANSWER_YES; }
};

/* Memory for the search: WORDS are the NAME_SCRATCH_WORDS that `zhat export-c` wrote. */
template <size_t WORDS>
struct Scratch {
  uint32_t words[WORDS];
};

/* A model, open or not. Its file has to stay where it is. Several tasks may ask one that is open. */
class Model {
 public:
  /* Opens a model file and checks all of it. */
  zhat_error open(const uint8_t *file, size_t length) { return zhat_open(&model_, file, length); }

  /* Opens a file that open() accepted before, without reading all of it. */
  zhat_error open_trusted(const uint8_t *file, size_t length) { return zhat_open_trusted(&model_, file, length); }

  /* Opens the file at the start of a flash partition. */
  zhat_error open_prefix(const uint8_t *flash, size_t length) { return zhat_open_prefix(&model_, flash, length); }

  size_t classes() const { return zhat_classes(&model_); }
  size_t dim() const { return zhat_dim(&model_); }
  size_t scratch_words() const { return zhat_scratch_words(&model_); }
  uint32_t build_id() const { return zhat_build_id(&model_); }
  const zhat_model &c() const { return model_; }

  /* Finds the top K classes within a budget of `cap` rows and nodes; of the stored one by default. */
  template <size_t K, size_t WORDS>
  Answer<K> classify(const float *query, size_t length, Scratch<WORDS> &scratch, uint32_t cap = 0) const {
    Answer<K> answer = {};
    answer.error =
        zhat_classify(&model_, query, length, cap, scratch.words, WORDS, answer.classes, K, &answer.result);
    return answer;
  }

  /* The same of a query in int8. */
  template <size_t K, size_t WORDS>
  Answer<K> classify(const int8_t *query, size_t length, float scale, int8_t zero_point, Scratch<WORDS> &scratch,
                     uint32_t cap = 0) const {
    Answer<K> answer = {};
    answer.error = zhat_classify_i8(&model_, query, length, scale, zero_point, cap, scratch.words, WORDS,
                                    answer.classes, K, &answer.result);
    return answer;
  }

  /* Finds the top K classes with every row scored. */
  template <size_t K, size_t WORDS>
  Answer<K> exact(const float *query, size_t length, Scratch<WORDS> &scratch) const {
    Answer<K> answer = {};
    answer.error = zhat_exact(&model_, query, length, scratch.words, WORDS, answer.classes, K, &answer.result);
    return answer;
  }

#ifdef ZHAT_HAS_SPAN
  zhat_error open(std::span<const uint8_t> file) { return open(file.data(), file.size()); }

  template <size_t K, size_t WORDS>
  Answer<K> classify(std::span<const float> query, Scratch<WORDS> &scratch, uint32_t cap = 0) const {
    return classify<K>(query.data(), query.size(), scratch, cap);
  }

  template <size_t K, size_t WORDS>
  Answer<K> exact(std::span<const float> query, Scratch<WORDS> &scratch) const {
    return exact<K>(query.data(), query.size(), scratch);
  }
#endif

 private:
  zhat_model model_ = {};
};

}  // namespace zhat

#endif
