// A configuration of litgpt finetune_full, as people have them.
#pragma once

namespace trainctl::client {

inline constexpr const char* kFullRecipe = R"(checkpoint_dir: /models/TinyLlama-1.1B
out_dir: out/full
precision: bf16-true
devices: 1
data: {class_path: litgpt.data.JSON, init_args: {json_path: rows.json, val_split_fraction: 0.05}}
train: {global_batch_size: 32, micro_batch_size: 8, lr_warmup_steps: 100, epochs: 1, max_seq_length: 512}
eval: {interval: 25, max_iters: 50}
optimizer: AdamW
)";

}  // namespace trainctl::client
