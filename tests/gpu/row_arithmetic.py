"""What a row of training.py holds by arithmetic, and its pictures where it has some."""

import json
import random

from host_site import TOP

BYTES = {
    "bf16-true": (2, 2),
    "32-true": (4, 4),
    "bf16-mixed": (6, 4),
}  # parameters with copies, and each of AdamW's two moments


def has_pictures(job):
    return job["data"]["format"] == "captions"


def random_captions(path, rows):
    """The shipped pictures, each with a caption that is long enough to be cut."""
    pictures = sorted((TOP / "deploy/data/captions").glob("*.png"))
    source = random.Random(7)
    with path.open("w") as lines:
        for row in range(rows):
            words = " ".join(f"{source.randrange(10**6)}" for _ in range(60))
            picture = pictures[row % len(pictures)]
            lines.write(json.dumps({"image": str(picture), "text": words}) + "\n")


def parameters(model):
    """How many a shape of deploy/models has."""
    c = json.loads((TOP / "deploy/models" / model / "config.json").read_text())
    h, f, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    kv, d = c.get("num_key_value_heads", heads), c.get("head_dim", h // heads)
    block = h * d * (2 * heads + 2 * kv) + 3 * h * f + 2 * h
    return (
        c["num_hidden_layers"] * block
        + c["vocab_size"] * h * (1 if c.get("tie_word_embeddings") else 2)
        + h
    )


def arithmetic(model, devices, job):
    """(bytes of parameters, of AdamW's moments) that a rank of a full fine-tuning holds; none where
    it holds others too."""
    if (
        "lora" in job
        or "offload_optimizer" in job
        or "fsdp_unit" in job
        or has_pictures(job)
        or job["optimizer"]["name"] != "adamw"
    ):
        return None
    weight, moment = BYTES[job["precision"]]
    held = parameters(model) / (devices if job.get("strategy") == "fsdp" else 1)
    return held * weight, held * 2 * moment
