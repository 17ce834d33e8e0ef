#!/usr/bin/env python3
"""Baselines of the training engine, made by Hugging Face transformers and torch.optim on tiny LLaMA
models with random weights.

Run it in an environment that has torch 2.11 (CPU is enough), transformers and safetensors; it takes
a minute:

    python3 tests/baselines/generate.py [--out tests/baselines/llama]

It writes one folder a case, deterministically from SEED (to the last bit on the same CPU and
versions, which the metadata names):

    <case>/config.json           gqa: the old dialect (rope_theta, torch_dtype); the others:
                                 transformers 5's (rope_parameters, dtype)
    <case>/model.safetensors     the weights, fp32, by Hugging Face name; a tied head is stored
                                 once, as the embedding
    <case>/baseline.safetensors
        input_ids         [steps, rows, T] int64   the micro batch of each step; step 0 is the one
                          below
        targets           [steps, rows, T] int64   what position t is to predict (shifted already);
                          -100: prompt or padding, ignored
        logits            [rows, T, V] fp32        of step 0 with the weights above
        loss              [] fp32                  mean over the non-ignored tokens of step 0
        grad.<name>       fp32                     of that loss, every parameter
        <optimizer>.fp32.losses        [steps] fp32   loss before each update, training on the
                                       batches in order
        <optimizer>.fp32.final.<name>  fp32           some parameters after the last update
        <optimizer>.bf16-mixed.losses  [steps] fp32   fp32 master and gradients; forward and
                                       backward on a bf16 copy of the weights
        bf16-mixed.logits, bf16-mixed.grad.<name> bf16  of step 0 in that precision

and optim.safetensors: 100 updates of torch.optim by gradients that are given.
        start             [elements] fp32
        gradients         [updates, elements] fp32   of very different sizes
        <optimizer>.after [updates / 20, elements] fp32   the parameter after each 20th update

Rows are padded on the right; attention is causal and has no other mask, so padding cannot reach a
counted position. <optimizer> is adamw or sgd, as in OPTIMIZERS (torch's defaults otherwise; every
parameter decays), also in the file's metadata.

How near an engine must come: fp32 logits, losses and gradients 1e-5 relative to each tensor's
largest magnitude; fp32 losses of the 20 steps 1e-4 relative; final parameters 1e-4 absolute under
SGD, and under AdamW for all but a few elements, since it divides by a gradient's own magnitude, so
that an element whose gradient is rounding noise moves by the learning rate either way. In
bf16-mixed every engine rounds the bf16 residual stream at other places. What must agree is the
share of torch's own rounding: the way from fp32 to torch's bf16-mixed (see baseline_test.cc).
"""

import argparse
import json
import pathlib

import safetensors.torch
import torch
import transformers

SEED = 20240607
STEPS, ROWS, LENGTH = 20, 2, 16
DISTINCT = 4  # batches, taken in turns, so that there is something to learn
IGNORED = -100
UPDATES, ELEMENTS, KEPT_EVERY = 100, 512, 20

OPTIMIZERS = {
    "adamw": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.01},
    "sgd": {"lr": 0.005, "momentum": 0.9, "weight_decay": 0.01},
}
MAKE = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}

CASES = {
    # Grouped queries: two query heads share each key and value head.
    "gqa": dict(
        vocab_size=300,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=1e-5,
        rope_theta=1e4,
        tie_word_embeddings=False,
    ),
    # One matrix is embedding and head, so its gradient has two parts. An odd vocabulary and a long
    # rotary period.
    "tied": dict(
        vocab_size=301,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=3,
        rms_norm_eps=1e-6,
        rope_theta=1e5,
        tie_word_embeddings=True,
    ),
    # OpenLLaMA 3B's head dimension, which fused attention kernels pad.
    "head_dim_100": dict(
        vocab_size=96,
        hidden_size=200,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        rms_norm_eps=1e-6,
        rope_theta=1e4,
        tie_word_embeddings=False,
    ),
}

FINAL = [
    "model.layers.0.input_layernorm.weight",
    "model.layers.0.mlp.down_proj.weight",
    "model.norm.weight",
]


def randomize(model, generator):
    """Every parameter matters: weights large enough for sharp attention, norms whose weights are
    not all one."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_norm = "norm" in name and name.endswith("weight")
            parameter.copy_(1 + 0.1 * noise if is_norm else 0.12 * noise)
    return model


def make_model(case, generator):
    case = dict(case)
    rope = {"rope_type": "default", "rope_theta": case.pop("rope_theta")}
    config = transformers.LlamaConfig(
        max_position_embeddings=64, bos_token_id=1, eos_token_id=2, rope_parameters=rope, **case
    )
    config.dtype = "float32"
    model = transformers.LlamaForCausalLM._from_config(config, attn_implementation="eager").train()
    return randomize(model, generator)


def make_batches(vocab, generator):
    """Inputs and targets of all steps.

    Each row has a prompt of its own length that is ignored, and, but for the longest, padding.
    """
    ids = torch.randint(3, vocab, (DISTINCT, ROWS, LENGTH + 1), generator=generator)
    inputs, targets = ids[..., :-1].clone(), ids[..., 1:].clone()
    prompts = torch.randint(1, 5, (DISTINCT, ROWS), generator=generator)
    lengths = torch.randint(8, LENGTH + 1, (DISTINCT, ROWS), generator=generator)
    lengths[:, 0] = LENGTH
    position = torch.arange(LENGTH)
    targets[(position < prompts.unsqueeze(-1)) | (position >= lengths.unsqueeze(-1))] = IGNORED
    inputs[position >= lengths.unsqueeze(-1)] = 0
    turns = torch.arange(STEPS) % DISTINCT
    return inputs[turns], targets[turns]


def loss_of(model, inputs, targets):
    logits = model(input_ids=inputs, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED
    )
    return loss, logits


def train_fp32(model, optimizer, inputs, targets):
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss, _ = loss_of(model, inputs[step], targets[step])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def train_bf16_mixed(model, optimizer, inputs, targets):
    """model holds the fp32 masters; each step rewrites a bf16 copy from them and takes its
    gradients back in fp32."""
    compute = (
        type(model)
        ._from_config(model.config, attn_implementation="eager")
        .to(torch.bfloat16)
        .train()
    )
    losses = []
    for step in range(STEPS):
        with torch.no_grad():
            for copy, master in zip(compute.parameters(), model.parameters(), strict=True):
                copy.copy_(master)
        compute.zero_grad()
        loss, _ = loss_of(compute, inputs[step], targets[step])
        loss.backward()
        for copy, master in zip(compute.parameters(), model.parameters(), strict=True):
            master.grad = copy.grad.float()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def bf16_mixed_gradients(model, inputs, targets):
    """Logits and gradients of one step on a bf16 copy of the weights."""
    copy = type(model)._from_config(model.config, attn_implementation="eager")
    copy.load_state_dict(model.state_dict())
    copy = copy.to(torch.bfloat16).train()
    loss, logits = loss_of(copy, inputs[0], targets[0])
    loss.backward()
    tensors = {"bf16-mixed.logits": logits.detach()}
    return tensors | {
        "bf16-mixed.grad." + name: parameter.grad for name, parameter in copy.named_parameters()
    }


def trained(model, name, train, inputs, targets):
    """A copy of the model after STEPS of the optimizer, and the losses."""
    copy = type(model)._from_config(model.config, attn_implementation="eager").train()
    copy.load_state_dict(model.state_dict())
    losses = train(copy, MAKE[name](copy.parameters(), **OPTIMIZERS[name]), inputs, targets)
    return copy, losses


def step_of(model, inputs, targets):
    """Logits, loss and gradients of the first batch, in both precisions."""
    loss, logits = loss_of(model, inputs[0], targets[0])
    loss.backward()
    tensors = {
        "input_ids": inputs,
        "targets": targets,
        "logits": logits.detach(),
        "loss": loss.detach(),
    }
    tensors |= {"grad." + name: parameter.grad for name, parameter in model.named_parameters()}
    return tensors | bf16_mixed_gradients(model, inputs, targets)


def baseline_of(model, inputs, targets):
    tensors = step_of(model, inputs, targets)
    for name in OPTIMIZERS:
        after, tensors[f"{name}.fp32.losses"] = trained(model, name, train_fp32, inputs, targets)
        parameters = dict(after.named_parameters())
        tensors |= {f"{name}.fp32.final.{key}": parameters[key].detach() for key in FINAL}
        _, tensors[f"{name}.bf16-mixed.losses"] = trained(
            model, name, train_bf16_mixed, inputs, targets
        )
    return tensors


def config_of(model):
    """What a hub's config.json says of the model."""
    config = model.config.to_diff_dict() | {
        "architectures": [type(model).__name__],
        "model_type": model.config.model_type,
    }
    config.pop("transformers_version", None)
    return config


def save_folder(folder, model, config, tensors, made_by):
    """The model as a hub's folder, and the tensors as its baseline, which are returned."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {key: parameter.detach() for key, parameter in model.named_parameters()}
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    tensors = {key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}
    # One key, since safetensors writes several in no fixed order.
    safetensors.torch.save_file(tensors, folder / "baseline.safetensors", {"made_by": made_by})
    return tensors


def write_folder(folder, model, config, tensors, made_by):
    check(folder, save_folder(folder, model, config, tensors, made_by))


def config_in_dialect(model, old_dialect):
    config = config_of(model)
    config |= {key: getattr(model.config, key) for key in CASES["gqa"] if key != "rope_theta"}
    if old_dialect:
        config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
        config["torch_dtype"] = config.pop("dtype")
    return config


def write_case(folder, name, case):
    generator = torch.Generator().manual_seed(SEED)
    model = make_model(case, generator)
    inputs, targets = make_batches(case["vocab_size"], generator)
    tensors = baseline_of(model, inputs, targets)
    origin = {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "seed": SEED,
        "optimizers": OPTIMIZERS,
    }
    config = config_in_dialect(model, old_dialect=name == "gqa")
    write_folder(folder, model, config, tensors, json.dumps(origin))
    print(
        f"{folder}: loss {tensors['loss']:.4f}, after {STEPS} steps",
        *(f"{o} {tensors[o + '.fp32.losses'][-1]:.4f}" for o in OPTIMIZERS),
    )


def write_optimizers(path):
    """Updates by given gradients: an optimizer alone, without a model's rounding."""
    generator = torch.Generator().manual_seed(SEED)
    start = torch.randn(ELEMENTS, generator=generator)
    sizes = 10 ** torch.empty(ELEMENTS).uniform_(-6, 1, generator=generator)
    gradients = torch.randn(UPDATES, ELEMENTS, generator=generator) * sizes
    tensors = {"start": start, "gradients": gradients}
    for name in OPTIMIZERS:
        parameter = torch.nn.Parameter(start.clone())
        optimizer = MAKE[name]([parameter], **OPTIMIZERS[name])
        after = []
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
            after.append(parameter.detach().clone())
        tensors[f"{name}.after"] = torch.stack(after[KEPT_EVERY - 1 :: KEPT_EVERY])
    safetensors.torch.save_file(tensors, path, {"torch": torch.__version__})


def check(folder, tensors):
    """What was written is what a stranger reads: transformers loads the folder and gets the stored
    logits."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32
    )
    with torch.no_grad():
        logits = model(input_ids=tensors["input_ids"][0], use_cache=False).logits
    torch.testing.assert_close(logits, tensors["logits"], rtol=1e-6, atol=1e-6)


def begin(description, name):
    """The folder that --out names. From here on torch gives the same bits each time."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / name)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    return parser.parse_args().out


def main():
    out = begin(__doc__, "llama")
    for name, case in CASES.items():
        write_case(out / name, name, case)
    write_optimizers(out / "optim.safetensors")


if __name__ == "__main__":
    main()
