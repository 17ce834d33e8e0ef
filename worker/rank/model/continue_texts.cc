#include "worker/rank/model/continue_texts.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "common/model/model_description.h"
#include "worker/rank/model/draw_token.h"
#include "worker/rank/ops/kv_cache.h"

namespace trainctl::model {
namespace {

constexpr double kWords = 4294967296.0;  // that a word of Philox has values

// In [0, 1).
double Uniform(int64_t seed, int64_t text, int64_t place) {
  const base::PhiloxWords words =
      base::Philox(static_cast<uint64_t>(seed), base::RandomStream::kContinuation,
                   static_cast<uint32_t>(text), static_cast<uint32_t>(place));
  return (words.word[0] + words.word[1] / kWords) / kWords;
}

int64_t MostNewTokens(const job::ModelShape& shape, const TextStart& text, int64_t wanted) {
  const int64_t most = MostPositions(shape);
  const auto length = static_cast<int64_t>(text.ids.size());
  return most == 0 ? wanted : std::clamp<int64_t>(most - length, 0, wanted);
}

// What is the same for all texts.
struct Work {
  const Model& model;
  const job::ModelShape& shape;
  ops::Context& context;
  const Continuation& continuation;
  const at::Device device;
};

int64_t PositionsOf(const Work& work, const TextStart& text) {
  return static_cast<int64_t>(text.ids.size()) +
         MostNewTokens(work.shape, text, work.continuation.max_new_tokens);
}

// Texts that advance together.
class Texts {
 public:
  // first: the number of the first one among all.
  Texts(const Work& work, std::span<const TextStart> starts, int64_t first)
      : model_(work.model),
        context_(work.context),
        starts_(starts),
        continuation_(work.continuation),
        device_(work.device),
        first_(first),
        most_(MostOf(work.shape, starts, continuation_)),
        cache_(work.shape.layers, Capacities(starts, most_)),
        added_(starts.size()) {}

  std::vector<std::vector<int32_t>> Run() {
    for (size_t text = 0; text < starts_.size(); ++text) {
      if (most_[text] > 0 && !is_stopped_) Advance({text});
    }
    for (int64_t tokens = 1;; ++tokens) {
      if (is_stopped_) return {};
      continuation_.progress(first_ * continuation_.max_new_tokens + tokens * std::ssize(starts_));
      std::vector<size_t> open;
      for (size_t text = 0; text < starts_.size(); ++text) {
        if (IsOpen(text)) open.push_back(text);
      }
      if (open.empty()) return std::move(added_);
      Advance(open);
    }
  }

 private:
  static std::vector<int64_t> MostOf(const job::ModelShape& shape,
                                     std::span<const TextStart> starts,
                                     const Continuation& continuation) {
    std::vector<int64_t> most;
    for (const TextStart& start : starts) {
      CHECK(!start.ids.empty()) << "text " << most.size() << " has no token to go on from";
      most.push_back(MostNewTokens(shape, start, continuation.max_new_tokens));
    }
    return most;
  }

  static std::vector<int64_t> Capacities(std::span<const TextStart> starts,
                                         const std::vector<int64_t>& most) {
    std::vector<int64_t> capacities;
    for (size_t text = 0; text < starts.size(); ++text)
      capacities.push_back(static_cast<int64_t>(starts[text].ids.size()) + most[text]);
    return capacities;
  }

  bool IsOpen(size_t text) const {
    const std::vector<int32_t>& added = added_[text];
    if (std::ssize(added) >= most_[text]) return false;
    return std::ranges::find(continuation_.stops, added.back()) == continuation_.stops.end();
  }

  // What the cache does not hold yet: the whole start, or the last token.
  void Append(size_t text, std::vector<int64_t>* ids, std::vector<ops::TextSpan>* spans) const {
    const std::vector<int32_t>& start = starts_[text].ids;
    const auto length = static_cast<int64_t>(start.size());
    if (added_[text].empty()) {
      ids->insert(ids->end(), start.begin(), start.end());
      spans->push_back({static_cast<int64_t>(text), 0, length});
    } else {
      ids->push_back(added_[text].back());
      spans->push_back({static_cast<int64_t>(text), length + std::ssize(added_[text]) - 1, 1});
    }
  }

  at::Tensor ToDevice(std::vector<int64_t>& values) const {
    return at::from_blob(values.data(), {std::ssize(values)}, at::kLong)
        .to(device_, at::kLong, /*non_blocking=*/false, /*copy=*/true);
  }

  void Advance(const std::vector<size_t>& texts) {
    std::vector<int64_t> ids, last_rows;
    std::vector<ops::TextSpan> spans;
    for (const size_t text : texts) {
      Append(text, &ids, &spans);
      last_rows.push_back(std::ssize(ids) - 1);
    }
    const at::Tensor image = added_[texts[0]].empty() ? starts_[texts[0]].image : at::Tensor();
    cache_.Begin(std::move(spans), device_);
    const MicroBatch batch{.rows = 1,
                           .length = std::ssize(ids),
                           .inputs = ToDevice(ids),
                           .images = image.defined() ? image.unsqueeze(0) : at::Tensor(),
                           .cache = &cache_};
    const at::Tensor logits = model_.Logits(context_, batch, ToDevice(last_rows));
    const at::Tensor chosen = Choose(texts, Penalized(texts, logits));
    continuation_.agree(chosen);
    const at::Tensor host = chosen.cpu();
    is_stopped_ = host.const_data_ptr<int64_t>()[0] == Continuation::kStop;
    if (is_stopped_) return;
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<int32_t>& added = added_[texts[i]];
      added.push_back(static_cast<int32_t>(host.const_data_ptr<int64_t>()[i]));
      continuation_.grown(static_cast<size_t>(first_) + texts[i], added, !IsOpen(texts[i]));
    }
  }

  // logits [texts, V] → the same, or new ones in fp32
  at::Tensor Penalized(const std::vector<size_t>& texts, const at::Tensor& logits) const {
    const double penalty = continuation_.repetition_penalty;
    if (penalty == 1) return logits;
    at::Tensor penalized = logits.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<int32_t>& start = starts_[texts[i]].ids;
      std::vector<int64_t> ids(start.begin(), start.end());
      ids.insert(ids.end(), added_[texts[i]].begin(), added_[texts[i]].end());
      const at::Tensor had = ToDevice(ids);
      at::Tensor row = penalized[static_cast<int64_t>(i)];
      const at::Tensor before = row.index_select(0, had);
      row.scatter_(0, had, at::where(before < 0, before * penalty, before / penalty));
    }
    return penalized;
  }

  // logits [texts, V] → [texts] int64
  at::Tensor Choose(const std::vector<size_t>& texts, const at::Tensor& logits) const {
    if (continuation_.temperature == 0) return at::argmax(logits, 1);
    const at::Tensor probabilities =
        at::softmax(logits.cpu().to(at::kDouble) / continuation_.temperature, 1);
    const std::span all(probabilities.const_data_ptr<double>(),
                        static_cast<size_t>(probabilities.numel()));
    const size_t tokens = all.size() / texts.size();
    std::vector<int64_t> chosen;
    for (size_t i = 0; i < texts.size(); ++i) {
      const int64_t place = std::ssize(added_[texts[i]]);
      chosen.push_back(
          DrawToken(all.subspan(i * tokens, tokens), continuation_.limits,
                    Uniform(continuation_.seed, first_ + static_cast<int64_t>(texts[i]), place)));
    }
    return ToDevice(chosen);
  }

  const Model& model_;
  ops::Context& context_;
  const std::span<const TextStart> starts_;
  const Continuation& continuation_;
  const at::Device device_;
  const int64_t first_;
  const std::vector<int64_t> most_;  // new tokens, by text
  ops::KvCache cache_;
  std::vector<std::vector<int32_t>> added_;  // by text
  bool is_stopped_ = false;
};

}  // namespace

int64_t MostPositions(const job::ModelShape& shape) {
  return job::Describe(shape).learns_positions ? shape.max_positions : 0;
}

std::vector<std::vector<int32_t>> ContinueTexts(const Model& model, const job::ModelShape& shape,
                                                ops::Context& context,
                                                const std::vector<TextStart>& texts,
                                                const Continuation& continuation,
                                                at::Device device) {
  const Work work{model, shape, context, continuation, device};
  const int64_t most = continuation.positions_at_once;
  std::vector<std::vector<int32_t>> added;
  for (size_t first = 0; first < texts.size(); first = added.size()) {
    int64_t positions = PositionsOf(work, texts[first]);
    size_t end = first + 1;
    for (; end < texts.size(); ++end) {
      positions += PositionsOf(work, texts[end]);
      if (most > 0 && positions > most) break;
    }
    const std::span<const TextStart> together = std::span(texts).subspan(first, end - first);
    std::vector<std::vector<int32_t>> some =
        Texts(work, together, static_cast<int64_t>(first)).Run();
    if (some.empty()) return {};
    std::ranges::move(some, std::back_inserter(added));
  }
  return added;
}

}  // namespace trainctl::model
