#include "common/job/question.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trainctl::job {

std::vector<std::string> QuestionsOf(const std::vector<const JobSpec*>& jobs) {
  struct Question {
    std::string text, names;
    size_t jobs = 0;
  };
  std::vector<Question> questions;
  for (const JobSpec* job : jobs) {
    if (job->notes.empty()) continue;
    auto known = std::ranges::find(questions, job->notes, &Question::text);
    if (known == questions.end()) known = questions.insert(known, {.text = job->notes});
    known->names += (known->jobs++ > 0 ? ", " : "") + job->name;
  }
  std::vector<std::string> texts;
  for (Question& one : questions)
    texts.push_back(one.jobs == jobs.size() ? std::move(one.text) : one.names + ": " + one.text);
  return texts;
}

}  // namespace trainctl::job
