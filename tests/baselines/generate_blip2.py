#!/usr/bin/env python3
"""Baselines of BLIP-2 with OPT, made by Hugging Face transformers and peft on a tiny model with
random weights.

Run it where torch, transformers, peft and safetensors are installed; it takes seconds:

    python3 tests/baselines/generate_blip2.py [--out tests/baselines/families/blip2]

It writes, deterministically from SEED, what generate_families.py writes of a case, with

    <case>/baseline.safetensors   beside its tensors: images [steps, rows, 3, side, side] fp32; the
                                  rows begin with as many ids of the picture as there are queries
    <case>/lora                   of every linear layer of all parts, the projection's included
"""

import generate
import generate_lora
import peft
import safetensors.torch
import torch
import transformers

SEED = 20261123
QUERIES, VOCAB, SIDE = 4, 150, 28
PICTURE = VOCAB - 1
TARGETS = ["q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2", "qkv", "projection"]
TARGETS += ["query", "key", "value", "dense", "language_projection"]

VISION = dict(
    hidden_size=48,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    image_size=SIDE,
    patch_size=7,
)
# Its first and its third layer attend to the picture.
QFORMER = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=3,
    num_attention_heads=4,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
TEXT = dict(
    model_type="opt",
    vocab_size=VOCAB,
    hidden_size=48,
    ffn_dim=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
    word_embed_proj_dim=48,
    dropout=0.0,
    bos_token_id=1,
    eos_token_id=2,
)


def make_model(generator):
    config = transformers.Blip2Config(
        vision_config=VISION,
        qformer_config=QFORMER,
        text_config=TEXT,
        num_query_tokens=QUERIES,
        image_token_index=PICTURE,
    )
    config.dtype = "float32"
    model = transformers.Blip2ForConditionalGeneration._from_config(
        config, attn_implementation="eager"
    ).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_norm = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_(1 + 0.1 * noise if is_norm else 0.12 * noise)
    return model


def make_batch(generator):
    inputs, targets = generate.make_batches(PICTURE, generator)
    inputs, targets = inputs[:1], targets[:1]
    inputs[..., :QUERIES] = PICTURE
    targets[..., : QUERIES - 1] = generate.IGNORED
    images = torch.randn((1, generate.ROWS, 3, SIDE, SIDE), generator=generator)
    return inputs, targets, images


def loss_of(model, inputs, targets, images):
    dtype = next(model.parameters()).dtype
    logits = model(pixel_values=images[0].to(dtype), input_ids=inputs[0]).logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), targets[0].flatten(), ignore_index=generate.IGNORED
    )
    loss.backward()
    return loss.detach(), logits.detach()


def gradients(model, prefix):
    return {prefix + name: parameter.grad for name, parameter in model.named_parameters()}


def step_of(model, batch):
    loss, logits = loss_of(model, *batch)
    copy = type(model)._from_config(model.config, attn_implementation="eager")
    copy.load_state_dict(model.state_dict())
    copy = copy.to(torch.bfloat16).train()
    _, mixed_logits = loss_of(copy, *batch)
    inputs, targets, images = batch
    return {
        "input_ids": inputs,
        "targets": targets,
        "images": images,
        "logits": logits,
        "loss": loss,
        "bf16-mixed.logits": mixed_logits,
        **gradients(model, "grad."),
        **gradients(copy, "bf16-mixed.grad."),
    }


def adapted(base):
    model = transformers.Blip2ForConditionalGeneration.from_pretrained(
        base, attn_implementation="eager", dtype=torch.float32
    )
    config = peft.LoraConfig(
        r=generate_lora.R, lora_alpha=generate_lora.ALPHA, lora_dropout=0.0, target_modules=TARGETS
    )
    model = peft.get_peft_model(model, config)
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model


def write_lora(base, folder, batch):
    model = adapted(base)
    loss, logits = loss_of(model, *batch)
    tensors = {"logits": logits, "loss": loss}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            tensors["grad." + name.replace(".default", "")] = parameter.grad
    model.save_pretrained(folder, save_embedding_layers=False)
    for name in ("README.md", "adapter_config.json"):
        (folder / name).unlink(missing_ok=True)
    with torch.no_grad():
        merged = model.merge_and_unload()
        tensors["merged"] = merged(pixel_values=batch[2][0], input_ids=batch[0][0]).logits
    tensors = {key: tensor.clone().contiguous() for key, tensor in tensors.items()}
    made_by = f"peft {peft.__version__}, seed {SEED}"
    safetensors.torch.save_file(tensors, folder / "baseline.safetensors", {"made_by": made_by})
    print(f"{folder}: loss {loss:.4f}")


def main():
    out = generate.begin(__doc__, "families/blip2")
    generator = torch.Generator().manual_seed(SEED)
    model = make_model(generator)
    batch = make_batch(generator)
    tensors = step_of(model, batch)
    origin = f"torch {torch.__version__}, transformers {transformers.__version__}, seed {SEED}"
    generate.save_folder(out, model, generate.config_of(model), tensors, origin)
    print(f"{out}: loss {tensors['loss']:.4f}")
    write_lora(out, out / "lora", batch)


if __name__ == "__main__":
    main()
