"""The config.json of each model that generate.py makes a folder of, as its authors publish it."""

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "initializer_range": 0.02,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "torch_dtype": "float16",
}
LLAMA_3 = {
    **LLAMA,
    "mlp_bias": False,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "bos_token_id": 128000,
    "eos_token_id": 128001,
    "torch_dtype": "bfloat16",
}
QWEN_2 = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_act": "silu",
    "attention_dropout": 0.0,
    "vocab_size": 151936,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "use_sliding_window": False,
    "initializer_range": 0.02,
    "bos_token_id": 151643,
    "eos_token_id": 151643,
    "torch_dtype": "bfloat16",
}
QWEN_3 = {
    **QWEN_2,
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "attention_bias": False,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "rope_scaling": None,
    "sliding_window": None,
    "eos_token_id": 151645,
}
MISTRAL = {
    "architectures": ["MistralForCausalLM"],
    "model_type": "mistral",
    "hidden_act": "silu",
    "attention_dropout": 0.0,
    "vocab_size": 32768,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1000000.0,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "initializer_range": 0.02,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "torch_dtype": "bfloat16",
}
OPT = {
    "architectures": ["OPTForCausalLM"],
    "model_type": "opt",
    "_remove_final_layer_norm": False,
    "activation_dropout": 0.0,
    "activation_function": "relu",
    "attention_dropout": 0.0,
    "do_layer_norm_before": True,
    "dropout": 0.1,
    "layerdrop": 0.0,
    "init_std": 0.02,
    "vocab_size": 50272,
    "max_position_embeddings": 2048,
    "pad_token_id": 1,
    "bos_token_id": 2,
    "eos_token_id": 2,
    "prefix": "</s>",
    "torch_dtype": "float16",
}


def sizes(layers, hidden, intermediate, heads, kv_heads):
    return {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
    }


def llama3_scaling(factor):
    return {
        "factor": factor,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    }


SHAPES = {
    "TinyLlama-1.1B": {**LLAMA, **sizes(22, 2048, 5632, 32, 4)},
    "open_llama_3b": {**LLAMA, **sizes(26, 3200, 8640, 32, 32), "rms_norm_eps": 1e-6},
    "open_llama_7b": {**LLAMA, **sizes(32, 4096, 11008, 32, 32), "rms_norm_eps": 1e-6},
    "open_llama_13b": {**LLAMA, **sizes(40, 5120, 13824, 40, 40), "rms_norm_eps": 1e-6},
    "CodeLlama-7b": {
        **LLAMA,
        **sizes(32, 4096, 11008, 32, 32),
        "vocab_size": 32016,
        "max_position_embeddings": 16384,
        "rope_theta": 1000000.0,
    },
    "Llama-3.2-1B": {
        **LLAMA_3,
        **sizes(16, 2048, 8192, 32, 8),
        "head_dim": 64,
        "tie_word_embeddings": True,
        "rope_scaling": llama3_scaling(32.0),
    },
    "Llama-3.1-8B": {
        **LLAMA_3,
        **sizes(32, 4096, 14336, 32, 8),
        "rope_scaling": llama3_scaling(8.0),
    },
    "Qwen2.5-0.5B": {
        **QWEN_2,
        **sizes(24, 896, 4864, 14, 2),
        "max_position_embeddings": 32768,
        "max_window_layers": 24,
        "sliding_window": 32768,
        "tie_word_embeddings": True,
    },
    "Qwen2.5-7B": {
        **QWEN_2,
        **sizes(28, 3584, 18944, 28, 4),
        "vocab_size": 152064,
        "max_position_embeddings": 131072,
        "max_window_layers": 28,
        "sliding_window": 131072,
        "tie_word_embeddings": False,
    },
    "Qwen3-0.6B": {
        **QWEN_3,
        **sizes(28, 1024, 3072, 16, 8),
        "max_window_layers": 28,
        "tie_word_embeddings": True,
    },
    "Qwen3-8B": {
        **QWEN_3,
        **sizes(36, 4096, 12288, 32, 8),
        "max_window_layers": 36,
        "tie_word_embeddings": False,
    },
    "Mistral-7B-v0.3": {**MISTRAL, **sizes(32, 4096, 14336, 32, 8)},
    "opt-2.7b": {
        **OPT,
        "num_hidden_layers": 32,
        "hidden_size": 2560,
        "word_embed_proj_dim": 2560,
        "ffn_dim": 10240,
        "num_attention_heads": 32,
    },
}
