#include "worker/rank/files/check_weights.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "worker/rank/files/tensor_text.h"

namespace trainctl::files {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// Tensors as an error names them: how many, and the first few.
class NamedTensors {
 public:
  explicit NamedTensors(std::string what) : what_(std::move(what)) {}

  void Add(const std::string& name) {
    if (++count_ <= kMostNamed) names_ += " " + ShownName(name);
  }
  bool empty() const { return count_ == 0; }
  // "; 45 missing: model.norm.weight …", or "".
  std::string Text() const {
    if (empty()) return "";
    return "; " + std::to_string(count_) + " " + what_ + ":" + names_ +
           (count_ > kMostNamed ? " …" : "");
  }

 private:
  static constexpr int64_t kMostNamed = 4;

  const std::string what_;
  int64_t count_ = 0;
  std::string names_;
};

base::Status CheckTensor(const WeightFiles& weights, const job::FileTensor& expected,
                         const TensorInfo& found) {
  const auto fault = [&](const std::string& what) {
    return base::Error{base::Code::kInvalid,
                       weights.PathOf(expected.name) + ": weight " + expected.name + what};
  };
  if (found.shape != expected.shape) {
    return fault(" has shape " + ShapeText(found.shape) + ": config.json makes it " +
                 ShapeText(expected.shape));
  }
  if (found.dtype != DType::kF32 && found.dtype != DType::kF16 && found.dtype != DType::kBF16) {
    return fault(" is of type " + std::string(Name(found.dtype)) + ": expected F32, F16 or BF16");
  }
  return base::Ok{};
}

constexpr std::string_view kHead = "lm_head.weight", kEmbedding = "embed_tokens.weight";

// A tensor that lies in memory twice, as torch saves tied ones, is not read.
bool HaveEqualBytes(const WeightFiles& weights, const std::string& one, const std::string& other) {
  const auto& runs = weights.Runs(one);
  const bool are_equal = std::ranges::equal(
      runs, weights.Runs(other), [](std::span<const std::byte> a, std::span<const std::byte> b) {
        return a.size() == b.size() && (a.data() == b.data() || std::ranges::equal(a, b));
      });
  weights.Release(one);
  weights.Release(other);
  return are_equal;
}

base::Status CheckTiedHead(const WeightFiles& weights,
                           const std::vector<job::FileTensor>& expected) {
  const auto head = std::ranges::find_if(
      weights.names(), [](const std::string& name) { return name.ends_with(kHead); });
  const auto embedding = std::ranges::find_if(
      expected, [](const job::FileTensor& tensor) { return tensor.name.ends_with(kEmbedding); });
  if (head == weights.names().end() || embedding == expected.end()) return base::Ok{};
  const TensorInfo &a = *weights.Find(*head), &b = *weights.Find(embedding->name);
  if (a.dtype == b.dtype && a.shape == b.shape && HaveEqualBytes(weights, *head, embedding->name))
    return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     weights.PathOf(*head) + ": weight " + *head + " is another than " +
                         embedding->name +
                         ", and config.json ties them (tie_word_embeddings): with false there, "
                         "both are trained; without " +
                         *head + " in the file, one"};
}

}  // namespace

base::Status CheckWeights(const WeightFiles& weights, const std::vector<job::FileTensor>& expected,
                          bool tied_head) {
  std::set<std::string_view> known;
  NamedTensors missing("missing"), superfluous("superfluous");
  for (const job::FileTensor& tensor : expected) {
    known.insert(tensor.name);
    const TensorInfo* found = weights.Find(tensor.name);
    if (found == nullptr) {
      missing.Add(tensor.name);
    } else if (auto checked = CheckTensor(weights, tensor, *found); !checked) {
      return checked;
    }
  }
  for (const std::string& name : weights.names()) {
    const bool is_tolerated =
        name.ends_with("rotary_emb.inv_freq") || (tied_head && name.ends_with(kHead));
    if (!is_tolerated && !known.contains(name)) superfluous.Add(name);
  }
  if (missing.empty() && superfluous.empty())
    return tied_head ? CheckTiedHead(weights, expected) : base::Ok{};
  return base::Error{base::Code::kInvalid,
                     weights.directory() +
                         ": the weights do not fit the model that config.json describes" +
                         missing.Text() + superfluous.Text()};
}

}  // namespace trainctl::files
