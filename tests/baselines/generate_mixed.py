#!/usr/bin/env python3
"""What bf16-mixed makes of the models of tests/baselines/llama and families, by Hugging Face
transformers and peft.

Run it where torch, transformers, peft and safetensors are installed; it takes a minute:

    python3 tests/baselines/generate_mixed.py [--out tests/baselines]

For each of these folders it writes, deterministically from SEED (to the last bit on the same CPU
and versions), and so for the folder of its adapters:

    <case>/mixed.safetensors   input_ids, targets [batches, rows, T] int64; images [n, 3, side,
                               side] bf16, which rows take in turns; and, all of a bf16 copy of the
                               weights: losses [batches] fp32, logits of the first batch, and
                               grad.<name> bf16, the mean over the batches, added up in fp32
    <adapters>/mixed.safetensors   losses, logits and grad.<key> of the adapters, which are bf16 too

Two implementations of bf16 round differently wherever they compute, so that on any weights each is
as far from the other as from fp32. Here it is not so, for two reasons. Each weight is a power of
two and 7/16 of a step of bf16 (between), so that in each of them rounding makes it smaller, by
0.34 %. And many rows with one target have a gradient in common, in whose mean the rest is lost.
Batches are small, since torch's LayerNorm adds up its gradients in bf16 on a CPU.
"""

import generate
import generate_lora
import peft
import safetensors.torch
import torch
import transformers

SEED = 20261129
BATCHES, ROWS, LENGTH = 64, 4, 16
PROMPT, TARGET = 3, 3  # positions that are ignored; what all others are to predict
IMAGES = 16
# {the folder of a model: that of its adapters; None: it has none}
LLAMA = {"llama/gqa": "lora/gqa", "llama/tied": "lora/tied", "llama/head_dim_100": None}


def between(tensor):
    """Of the same size and sign, and no number of bf16."""
    bits = tensor.view(torch.int32)
    return ((bits & ~0x7FFFFF) | 0x7000).view(torch.float32)


def load_model(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    return getattr(transformers, config.architectures[0]).from_pretrained(
        folder, dtype=torch.float32
    )


def adapted(model, folder):
    adapters = safetensors.torch.load_file(folder / "adapter_model.safetensors")
    prefix = "base_model.model."
    modules = {key.removeprefix(prefix).split(".lora_")[0] for key in adapters}
    config = peft.LoraConfig(
        r=generate_lora.R,
        lora_alpha=generate_lora.ALPHA,
        lora_dropout=0.0,
        target_modules=sorted(modules),
    )
    model = peft.get_peft_model(model, config)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parameter.data = adapters[name.replace(".default", "")].clone()
    return model


def make_batches(config):
    generator = torch.Generator().manual_seed(SEED)
    words = config.get_text_config().vocab_size
    picture = getattr(config, "image_token_index", None)
    first = PROMPT
    ids = torch.randint(
        3, words - (picture is not None), (BATCHES, ROWS, LENGTH), generator=generator
    )
    targets = torch.full_like(ids, TARGET)
    batches = {"input_ids": ids, "targets": targets}
    if picture is not None:
        first = config.num_query_tokens
        ids[..., :first] = picture
        side = config.vision_config.image_size
        batches["images"] = torch.randn((IMAGES, 3, side, side), generator=generator).bfloat16()
    targets[..., :first] = generate.IGNORED
    return batches


def outcome_of(model, batches):
    """Of a bf16 copy of the weights."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(between(parameter))
    model = model.to(torch.bfloat16).train()
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
    sums = {name: torch.zeros(each.shape) for name, each in trained.items()}
    losses, first_logits = [], None
    for i, (ids, targets) in enumerate(zip(batches["input_ids"], batches["targets"], strict=True)):
        inputs = {"input_ids": ids}
        if "images" in batches:
            inputs["pixel_values"] = batches["images"].roll(-ROWS * i, 0)[:ROWS]
        logits = model(**inputs).logits
        loss = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=generate.IGNORED
        )
        model.zero_grad()
        loss.backward()
        for name, each in trained.items():
            sums[name] += each.grad.float()
        losses.append(loss.detach())
        first_logits = logits if first_logits is None else first_logits
    gradients = {
        "grad." + name.replace(".default", ""): (total / BATCHES).bfloat16()
        for name, total in sums.items()
    }
    return {"losses": torch.stack(losses), "logits": first_logits, **gradients}


def save(folder, tensors):
    tensors = {key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}
    folder.mkdir(parents=True, exist_ok=True)
    versions = [f"{each.__name__} {each.__version__}" for each in (torch, transformers, peft)]
    made_by = ", ".join([*versions, f"seed {SEED}"])
    safetensors.torch.save_file(tensors, folder / "mixed.safetensors", {"made_by": made_by})
    print(f"{folder}: loss {tensors['losses'].mean():.4f}")


def main():
    out = generate.begin(__doc__, "")
    here = generate.pathlib.Path(__file__).parent
    families = sorted(path.name for path in (here / "families").iterdir())
    cases = LLAMA | {f"families/{name}": f"families/{name}/lora" for name in families}
    for case, adapters in cases.items():
        model = load_model(here / case)
        batches = make_batches(model.config)
        save(out / case, {**batches, **outcome_of(model, batches)})
        if adapters:
            model = adapted(load_model(here / case), here / adapters)
            save(out / adapters, outcome_of(model, batches))


if __name__ == "__main__":
    main()
