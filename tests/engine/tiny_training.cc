#include "tests/engine/tiny_training.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <exception>
#include <future>
#include <mutex>
#include <thread>

#include "tests/engine/counting_communicator.h"
#include "worker/rank/model/model.h"

namespace trainctl::engine_test {
namespace {

constexpr int64_t kLength = 16;
constexpr int64_t kSeed = 11;

// Weights by parameter, the same for every rank.
std::vector<at::Tensor> InitialWeights(const ops::ParameterTable& table) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(kSeed);
  std::vector<at::Tensor> weights;
  for (const ops::ParamSpec& spec : table.params) {
    const at::Tensor noise = at::empty(spec.shape, at::kFloat).normal_(0, 0.08, generator);
    weights.push_back(spec.init == ops::Init::kOnes ? noise + 1 : noise);
  }
  return weights;
}

struct Rows {
  at::Tensor inputs, targets;  // [steps · global, length]
  at::Tensor images = {};      // [steps · global, 3, side, side]; none: there are no pictures
};

void AddPictures(const job::ImageShape& shape, at::Generator generator, Rows* rows) {
  rows->images = at::empty({rows->inputs.size(0), 3, shape.side, shape.side}, at::kFloat)
                     .normal_(0, 1, generator);
  rows->inputs.narrow(1, 0, shape.queries).fill_(shape.token);
  rows->targets.narrow(1, 0, shape.queries).fill_(-100);
}

Rows RandomRows(int64_t rows, const job::ModelShape& shape) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(kSeed + 1);
  const at::Tensor tokens =
      at::empty({rows, kLength + 1}, at::kLong).random_(0, shape.vocab, generator);
  Rows result{tokens.narrow(1, 0, kLength).contiguous(), tokens.narrow(1, 1, kLength).contiguous()};
  for (int64_t row = 0; row < rows; ++row) result.targets[row].narrow(0, 0, row % 7).fill_(-100);
  if (shape.image) AddPictures(*shape.image, generator, &result);
  return result;
}

void RunRank(const TinyRun& run, const job::ModelShape& shape, comm::Communicator& gang,
             TinyResult& result, std::mutex& mutex) {
  CountingCommunicator comm(gang);
  const c10::NoGradGuard no_grad;
  at::set_num_threads(1);  // tiny products: threads would only wait for each other
  const model::ModelOptions options{.max_length = kLength,
                                    .checkpoint_every = run.job.activation_checkpointing,
                                    .lora = run.job.lora,
                                    .quantize = run.job.quantize.has_value(),
                                    .freeze = run.job.freeze};
  const auto model = model::MakeModel(shape, options).value().release();
  const std::unique_ptr<model::Model> owned(model);
  const auto strategy =
      strategy::MakeStrategy(model->parameters(), {.job = run.job,
                                                   .accumulation = run.accumulation,
                                                   .holds_gradients = run.holds_gradients,
                                                   .comm = &comm});
  const std::vector<at::Tensor> weights = InitialWeights(model->parameters());
  for (size_t param = 0; param < weights.size(); ++param) {
    for (const ops::ParamPiece& piece : model->parameters().params[param].pieces) {
      strategy->SetRows(static_cast<ops::ParamId>(param), piece.row,
                        weights[param].narrow(0, piece.row, piece.rows));
    }
  }
  strategy->FinishLoading();
  if (run.begin) run.begin(*strategy, comm);

  const int64_t batches = run.devices * run.accumulation;
  const Rows rows = RandomRows(run.steps * batches * run.micro, shape);
  for (int64_t step = run.first_step; step < run.steps; ++step) {
    const at::Tensor step_targets =
        rows.targets.narrow(0, step * batches * run.micro, batches * run.micro);
    const auto tokens = static_cast<double>((step_targets >= 0).sum().item<int64_t>());
    const at::Tensor sums = at::zeros({batches}, at::kDouble);
    strategy->BeginStep(step, 1e-3, false);
    for (int64_t micro_step = 0; micro_step < run.accumulation; ++micro_step) {
      strategy->BeginMicroStep(micro_step);
      if (run.before_last_forward && micro_step + 1 == run.accumulation)
        run.before_last_forward(*strategy);
      const int64_t k = micro_step * run.devices + comm.rank();
      const int64_t first = (step * batches + k) * run.micro;
      ops::Tape tape(true);
      ops::Context context{
          tape,
          *strategy,
          ops::AtenKernels(),
          model->norm_eps(),
          run.job.deterministic,
          {.seed = kSeed, .samples = at::arange(first, first + run.micro), .length = kLength}};
      model->Loss(context,
                  {.rows = run.micro,
                   .length = kLength,
                   .inputs = rows.inputs.narrow(0, first, run.micro).reshape({-1}),
                   .targets = rows.targets.narrow(0, first, run.micro).reshape({-1}),
                   .loss_sum = sums[k],
                   .grad_scale = 1 / tokens,
                   .images = shape.image ? rows.images.narrow(0, first, run.micro) : at::Tensor()});
      tape.Backward();
    }
    const at::Tensor norm = strategy->FinishStep();
    if (run.after_step) run.after_step(step + 1, *strategy, comm);
    if (comm.world_size() > 1) comm.Wait(comm.AllReduce(sums));
    if (comm.rank() != 0) continue;
    double sum = 0;
    for (int64_t k = 0; k < batches; ++k) sum += sums[k].item<double>();
    result.losses.push_back(sum / tokens);
    result.norms.push_back(norm.defined() ? norm.item<double>() : std::nan(""));
  }
  if (comm.rank() == 0) {
    result.held = strategy->Held();
    result.all_gathers = comm.all_gathers();
    result.reduce_scatters = comm.reduce_scatters();
  }
  for (size_t param = 0; param < weights.size(); ++param) {
    const at::Tensor value =
        strategy->GetRows(static_cast<ops::ParamId>(param)).clone();  // a collective under fsdp
    const std::lock_guard lock(mutex);
    for (const ops::ParamPiece& piece : model->parameters().params[param].pieces) {
      const at::Tensor rows_of_piece = value.narrow(0, piece.row, piece.rows);
      const auto [place, added] = result.weights.emplace(piece.name, rows_of_piece);
      if (!added && !at::equal(place->second, rows_of_piece)) result.ranks_agree = false;
    }
  }
}

}  // namespace

job::ModelShape TinyShape() {
  return {.layers = 2,
          .hidden = 32,
          .intermediate = 48,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .vocab = 40,
          .max_positions = 64};
}

job::ModelShape TinyBlip2() {
  job::ModelShape shape = TinyShape();
  shape.family = "blip-2";
  shape.kv_heads = shape.heads;
  shape.tied_head = true;
  shape.dropout = 0.2;
  shape.image = {.side = 12,
                 .patch = 4,
                 .token = shape.vocab - 1,
                 .vision_layers = 2,
                 .vision_hidden = 24,
                 .vision_intermediate = 40,
                 .vision_heads = 3,
                 .queries = 3,
                 .qformer_layers = 3,
                 .qformer_hidden = 32,
                 .qformer_intermediate = 48,
                 .qformer_heads = 4,
                 .qformer_dropout = 0.1,
                 .qformer_attention_dropout = 0.1};
  return shape;
}

void InGang(int64_t world_size, const std::function<void(comm::Communicator&)>& body) {
  std::promise<std::string> address;
  const std::shared_future<std::string> published = address.get_future().share();
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  std::mutex mutex;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto comm =
            comm::Join({.rank = rank,
                        .world_size = world_size,
                        .timeout_seconds = 30,
                        .publish = [&](const std::string& blob) { address.set_value(blob); },
                        .await_blob = [&] { return published.get(); }});
        body(*comm);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

TinyResult Train(const TinyRun& run, const job::ModelShape& shape) {
  TinyRun resolved = run;
  if (run.job.strategy == job::StrategyKind::kAuto) {
    resolved.job.strategy = run.devices > 1 ? job::StrategyKind::kDdp : job::StrategyKind::kSingle;
  }
  TinyResult result;
  std::mutex mutex;
  InGang(run.devices,
         [&](comm::Communicator& comm) { RunRank(resolved, shape, comm, result, mutex); });
  return result;
}

}  // namespace trainctl::engine_test
