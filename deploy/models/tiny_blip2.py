"""The tiny BLIP-2 that generate.py makes: its config.json, its tensors as transformers names them,
and the files of its processor. Nothing is dropped out, so that others compute the same losses."""

from shapes import BLIP2_QFORMER, BLIP2_VISION, OPT, SHAPES

VOCABULARY, QUERIES, SIDE = 512, 4, 28
PICTURE = VOCABULARY - 1  # the id of "<image>"
BEGIN, END = 0, 1

CONFIG = {
    **SHAPES["blip2-opt-2.7b"],
    "image_token_index": PICTURE,
    "num_query_tokens": QUERIES,
    "initializer_range": 0.1,
    "vision_config": {
        **BLIP2_VISION,
        "hidden_size": 32,
        "image_size": SIDE,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "patch_size": 7,
    },
    "qformer_config": {
        **BLIP2_QFORMER,
        "attention_probs_dropout_prob": 0.0,
        "encoder_hidden_size": 32,
        "hidden_dropout_prob": 0.0,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
    },
    "text_config": {
        **OPT,
        "dropout": 0.0,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 128,
        "pad_token_id": PICTURE,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "prefix": "<|begin|>",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "word_embed_proj_dim": 64,
        "ffn_dim": 128,
        "num_attention_heads": 4,
        "torch_dtype": "float32",
    },
}

CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073]
CLIP_DEVIATION = [0.26862954, 0.26130258, 0.27577711]

FILES = {
    "config.json": CONFIG,
    "preprocessor_config.json": {
        "image_processor_type": "BlipImageProcessor",
        "processor_class": "Blip2Processor",
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": CLIP_MEAN,
        "image_std": CLIP_DEVIATION,
        "resample": 3,
        "rescale_factor": 1 / 255,
        "size": {"height": SIDE, "width": SIDE},
    },
    "processor_config.json": {"processor_class": "Blip2Processor", "num_query_tokens": QUERIES},
    "tokenizer_config.json": {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|begin|>",
        "eos_token": "<|end|>",
        "model_max_length": 128,
    },
}


def linear(name, rows, columns):
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def norm(name, size):
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


def vision_shapes(config):
    hidden, ffn, patch = config["hidden_size"], config["intermediate_size"], config["patch_size"]
    shapes = {
        "embeddings.class_embedding": (1, 1, hidden),
        "embeddings.position_embedding": (1, 1 + (config["image_size"] // patch) ** 2, hidden),
        "embeddings.patch_embedding.weight": (hidden, 3, patch, patch),
        "embeddings.patch_embedding.bias": (hidden,),
    }
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layers.{layer}."
        shapes |= norm(name + "layer_norm1", hidden) | norm(name + "layer_norm2", hidden)
        shapes |= linear(name + "self_attn.qkv", 3 * hidden, hidden)
        shapes |= linear(name + "self_attn.projection", hidden, hidden)
        shapes |= linear(name + "mlp.fc1", ffn, hidden) | linear(name + "mlp.fc2", hidden, ffn)
    return shapes | norm("post_layernorm", hidden)


def attention_shapes(name, hidden, source):
    return {
        **linear(name + ".attention.query", hidden, hidden),
        **linear(name + ".attention.key", hidden, source),
        **linear(name + ".attention.value", hidden, source),
        **linear(name + ".output.dense", hidden, hidden),
        **norm(name + ".output.LayerNorm", hidden),
    }


def qformer_shapes(config):
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    shapes = norm("layernorm", hidden)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}."
        shapes |= attention_shapes(name + "attention", hidden, hidden)
        if layer % config["cross_attention_frequency"] == 0:
            source = config["encoder_hidden_size"]
            shapes |= attention_shapes(name + "crossattention", hidden, source)
        shapes |= linear(name + "intermediate_query.dense", ffn, hidden)
        shapes |= linear(name + "output_query.dense", hidden, ffn)
        shapes |= norm(name + "output_query.LayerNorm", hidden)
    return shapes


def text_shapes(config):
    hidden, ffn = config["hidden_size"], config["ffn_dim"]
    positions = config["max_position_embeddings"] + 2  # OPT's first two stand for padding
    shapes = {
        "embed_tokens.weight": (config["vocab_size"], hidden),
        "embed_positions.weight": (positions, hidden),
    }
    for layer in range(config["num_hidden_layers"]):
        name = f"layers.{layer}."
        for matrix in ("q_proj", "k_proj", "v_proj", "out_proj"):
            shapes |= linear(name + "self_attn." + matrix, hidden, hidden)
        shapes |= linear(name + "fc1", ffn, hidden) | linear(name + "fc2", hidden, ffn)
        for each in ("self_attn_layer_norm", "final_layer_norm"):
            shapes |= norm(name + each, hidden)
    return shapes | norm("final_layer_norm", hidden)


def tensor_shapes():
    vision, qformer, text = (CONFIG[part + "_config"] for part in ("vision", "qformer", "text"))
    parts = {
        "vision_model.": vision_shapes(vision),
        "qformer.": qformer_shapes(qformer),
        "language_model.model.decoder.": text_shapes(text),
    }
    named = {first + name: shape for first, part in parts.items() for name, shape in part.items()}
    return {
        "query_tokens": (1, QUERIES, qformer["hidden_size"]),
        **named,
        **linear("language_projection", text["hidden_size"], qformer["hidden_size"]),
    }
