#!/usr/bin/env python3
"""What Hugging Face transformers' greedy generate makes of a few prompts, in fp32, with the tiny
models beside this file: tests/baselines/continuations.json.

Run it where torch, transformers, peft and safetensors are installed; it takes seconds:

    python3 tests/baselines/generate_continuations.py

Of each case, a folder of this one:

    stops      ids that end a text: two that the model itself comes to soon
    penalty    the repetition_penalty of penalized_tokens
    texts      prompt, and the new tokens of the plain model and of the one with peft's adapters
               (tokens, lora_tokens; the latter only where there is <lora>); picture: of
               baseline.safetensors' images, the row whose picture the prompt's placeholders are
               for. penalized_tokens: the plain model's with repetition_penalty

Prompts and continuations reach beyond the windows and into all ranges of the rotary scalings. Each
text begins with a model that has seen no longer one.
"""

import json
import pathlib

import generate_families
import generate_lora
import peft
import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).parent
LLAMA = {"llama/gqa": "lora/gqa", "llama/tied": "lora/tied", "llama/head_dim_100": None}
FAMILIES = {f"families/{name}": f"families/{name}/lora" for name in generate_families.CASES}
BLIP2 = "families/blip2"
LENGTHS = [3, 11, 20]
NEW = 30
PENALTY = 1.3


def targets_of(case):
    if case.startswith("llama/"):
        return generate_lora.CASES[case.split("/")[1]]
    return generate_families.targets_of(generate_families.CASES[case.split("/")[1]][0])


def model_of(case, lora):
    model = generate_lora.adapted(HERE / case, targets_of(case) if lora else ["q_proj"])
    if not lora:
        return model.unload().eval()
    adapters = safetensors.torch.load_file(HERE / lora / "adapter_model.safetensors")
    peft.set_peft_model_state_dict(model, adapters)
    return model.eval()


def continue_text(model, prompt, stops, settings, **inputs):
    ids = torch.tensor([prompt])
    if not inputs:
        model(input_ids=ids[:, :1])  # a dynamic rotation forgets the longer texts before this one
    out = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=NEW,
        eos_token_id=stops or None,
        pad_token_id=0,
        **settings,
        **inputs,
    )[0].tolist()
    return out[len(prompt) :] if out[: len(prompt)] == prompt else out


def without_stops(model):
    """Whatever the model's own ids are, only those that are given end a text."""
    for part in (model, getattr(model, "language_model", None)):
        if part is not None and part.generation_config is not None:
            part.generation_config.eos_token_id = None
    return model


def stop_of(tokens, free):
    """One that the last text does not come to, where there is such a one."""
    return next((token for token in tokens[5:] if token not in free), tokens[12])


def case_of(prompts, model, lora_model, pictures=None):
    def tokens(of, i, stops, **settings):
        inputs = {} if pictures is None else {"pixel_values": pictures[i : i + 1]}
        return continue_text(of, prompts[i], stops, settings, **inputs)

    without_stops(model)
    free = [tokens(model, i, []) for i in range(len(prompts))]
    stops = [stop_of(free[0], free[-1]), stop_of(free[1], free[-1])]
    texts = []
    for i, prompt in enumerate(prompts):
        text = {"prompt": prompt, "tokens": tokens(model, i, stops)}
        text["penalized_tokens"] = tokens(model, i, stops, repetition_penalty=PENALTY)
        if pictures is not None:
            text["picture"] = i
        if lora_model is not None:
            text["lora_tokens"] = tokens(without_stops(lora_model), i, stops)
        texts.append(text)
    print([len(text["tokens"]) for text in texts], stops)
    return {"stops": stops, "penalty": PENALTY, "texts": texts}


def decoder_case(case, lora):
    ids = safetensors.torch.load_file(HERE / case / "baseline.safetensors")["input_ids"]
    flat = ids.flatten().tolist()
    prompts = [flat[length : 2 * length] for length in LENGTHS]
    return case_of(prompts, model_of(case, None), model_of(case, lora) if lora else None)


def blip2_case():
    folder = HERE / BLIP2
    batch = safetensors.torch.load_file(folder / "baseline.safetensors")
    model = transformers.Blip2ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    queries = model.config.num_query_tokens
    rows = batch["input_ids"][0]
    prompts = [row[: queries + 1 + 2 * i].tolist() for i, row in enumerate(rows)]
    return case_of(prompts, model.eval(), None, batch["images"][0])


def main():
    torch.set_num_threads(1)
    cases = {case: decoder_case(case, lora) for case, lora in {**LLAMA, **FAMILIES}.items()}
    cases[BLIP2] = blip2_case()
    made_by = f"transformers {transformers.__version__}, torch {torch.__version__}"
    out = HERE / "continuations.json"
    out.write_text(json.dumps({"made_by": made_by, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
