"""Networks of transformers on text: of two layers in the width of the smallest published model."""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from typing import Any

from population.member import Member, add

VOCABULARY = 4096
_LAYERS = {"num_hidden_layers": 2}
_TOKENS = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_DECODER = {
    **_LAYERS, "hidden_size": 768, "intermediate_size": 2048, "num_attention_heads": 12, "num_key_value_heads": 4,
    "use_cache": False, "max_position_embeddings": 512,
}  # fmt: skip
_EXPERTS = {**_DECODER, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_local_experts": 4}

ENCODERS: Mapping[str, Mapping[str, Any]] = {
    "Albert": {**_LAYERS, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
    "Bert": _LAYERS,
    "BigBird": {**_LAYERS, "attention_type": "original_full"},
    "ConvBert": _LAYERS,
    "Deberta": {**_LAYERS, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "DebertaV2": {
        **_LAYERS, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "share_att_key": True, "position_buckets": 256,
        "norm_rel_ebd": "layer_norm", "position_biased_input": False,
    },
    "DistilBert": {"n_layers": 2},
    "Electra": _LAYERS,
    "Esm": {**_LAYERS, "hidden_size": 320, "num_attention_heads": 20, "intermediate_size": 1280, "mask_token_id": 3,
            "position_embedding_type": "rotary"},
    "FNet": _LAYERS,
    "Funnel": {"block_sizes": [1, 1], "d_model": 256, "n_head": 4, "d_inner": 1024},
    "LayoutLM": _LAYERS,
    "MobileBert": _LAYERS,
    "ModernBert": {**_LAYERS, "cls_token_id": 1, "sep_token_id": 2},
    "MPNet": _LAYERS,
    "Nystromformer": _LAYERS,
    "Roberta": _LAYERS,
    "RoFormer": _LAYERS,
    "SqueezeBert": _LAYERS,
}  # fmt: skip
DECODERS: Mapping[str, Mapping[str, Any]] = {
    "Bloom": {"n_layer": 2, "hidden_size": 512, "n_head": 8, "use_cache": False},
    "CodeGen": {"n_layer": 2, "n_embd": 512, "n_head": 8, "rotary_dim": 32, "use_cache": False},
    "Cohere": _DECODER,
    "Falcon": {**_LAYERS, "hidden_size": 512, "num_attention_heads": 8, "use_cache": False},
    "Gemma": {**_DECODER, "head_dim": 64},
    "Gemma2": {**_DECODER, "head_dim": 64},
    "GPT2": {"n_layer": 2, "use_cache": False},
    "GPTJ": {"n_layer": 2, "n_embd": 512, "n_head": 8, "rotary_dim": 32, "use_cache": False},
    "GPTNeo": {"num_layers": 2, "attention_types": [[["global", "local"], 1]], "hidden_size": 512, "num_heads": 8,
               "use_cache": False},
    "GPTNeoX": {**_LAYERS, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048,
                "use_cache": False},
    "Granite": _DECODER,
    "Llama": _DECODER,
    "Mamba": {**_LAYERS, "hidden_size": 256, "use_cache": False},
    "Mamba2": {**_LAYERS, "hidden_size": 256, "num_heads": 8, "head_dim": 64, "use_cache": False},
    "Mistral": _DECODER,
    "Mixtral": _EXPERTS,
    "Mpt": {"n_layers": 2, "d_model": 512, "n_heads": 8, "use_cache": False},
    "Olmo": _DECODER,
    "OPT": {**_LAYERS, "ffn_dim": 2048, "use_cache": False},
    "Phi": {**_DECODER, "num_key_value_heads": 12},
    "Phi3": _DECODER,
    "Qwen2": _DECODER,
    "Qwen3": {**_DECODER, "head_dim": 64},
    "Qwen3Moe": {**_EXPERTS, "head_dim": 64, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256},
    "RecurrentGemma": {**_LAYERS, "hidden_size": 256, "num_attention_heads": 4, "lru_width": 256,
                       "intermediate_size": 1536, "use_cache": False, "num_hidden_layers": 3},
    "Rwkv": {**_LAYERS, "hidden_size": 256, "use_cache": False},
    "StableLm": _DECODER,
    "Starcoder2": _DECODER,
}  # fmt: skip
PAIRS: Mapping[str, Mapping[str, Any]] = {
    "BartModel": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 512, "encoder_attention_heads": 8,
                  "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048},
    "MarianModel": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 512, "encoder_attention_heads": 8,
                    "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048},
    "PegasusModel": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 512, "encoder_attention_heads": 8,
                     "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048},
    "T5Model": {"num_layers": 2},
}  # fmt: skip
_FORMS = {
    "Bert": ("static", "open", "f16", "int8-dynamic", "int8-qdq"),
    "DistilBert": ("static", "open", "int8-dynamic"),
    "GPT2": ("static", "open", "int8-dynamic"),
    "Llama": ("static", "open", "f16"),
    "Qwen3": ("static", "open", "int8-dynamic"),
    "Roberta": ("static", "open"),
}
_OPEN = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}}


def text(batch: int = 1, length: int = 64) -> Callable[[], dict[str, Any]]:
    """Tokens, with a mask that lets the first be read by all."""

    def inputs() -> dict[str, Any]:
        import torch

        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[:, -3:] = 0
        return {"input_ids": torch.randint(3, VOCABULARY, (batch, length)), "attention_mask": mask}

    return inputs


def configured(kind: str, given: Mapping[str, Any], model: str = "Model", result: int = 0) -> Callable[[], Any]:
    """Builds a model of transformers that gives the plain tensor of a position among its results."""

    def build() -> Any:
        import torch
        import transformers

        config = getattr(transformers, f"{kind}Config")(**given)
        # The fused one is written as the products and the softmax that it is, in a form that all exporters know.
        config._attn_implementation = "eager"
        # Every expert multiplies every token, as exporters need that do not know which tokens go where.
        config._experts_implementation = "batched_mm"

        class Plain(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = getattr(transformers, f"{kind}{model}")(config)

            def forward(self, *inputs: Any, **named: Any) -> Any:
                found = self.model(*inputs, **named)
                return found if isinstance(found, torch.Tensor) else found[result]

        return Plain()

    return build


class _OfText:
    """Builds a model with the arguments `input_ids` and `attention_mask`, or the first of them alone."""

    def __init__(self, build: Callable[[], Any], *, mask: bool):
        self.build, self.mask = build, mask

    def __call__(self) -> Any:
        import torch

        class OfText(torch.nn.Module):
            def __init__(self, model: Any):
                super().__init__()
                self.model = model

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.model(input_ids=input_ids, attention_mask=attention_mask)

        class OfIds(OfText):
            def forward(self, input_ids: Any) -> Any:
                return self.model(input_ids=input_ids)

        return (OfText if self.mask else OfIds)(self.build())


class _OfPair(_OfText):
    """Builds a model with an encoder and a decoder."""

    def __call__(self) -> Any:
        import torch

        class OfPair(torch.nn.Module):
            def __init__(self, model: Any):
                super().__init__()
                self.model = model

            def forward(self, input_ids: Any, decoder_input_ids: Any) -> Any:
                return self.model(input_ids=input_ids, decoder_input_ids=decoder_input_ids, use_cache=False)

        return OfPair(self.build())


def _ids() -> dict[str, Any]:
    return {"input_ids": text()()["input_ids"]}


def _pair() -> dict[str, Any]:
    return {"input_ids": text()()["input_ids"], "decoder_input_ids": text(length=16)()["input_ids"]}


def _decoding() -> dict[str, Any]:
    """A token, and the keys and values of 63 others for each of two layers."""
    import torch

    past = {f"{what}{layer}": torch.randn(1, 4, 63, 64) for layer in range(2) for what in ("key", "value")}
    return {"input_ids": text(length=1)()["input_ids"], **past}


def _decoder_with_cache() -> Any:
    import torch
    import transformers

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = transformers.LlamaConfig(**_DECODER | {"use_cache": True}, **_TOKENS)
            config._attn_implementation = "eager"
            self.model = transformers.LlamaForCausalLM(config)

        def forward(self, input_ids: Any, key0: Any, value0: Any, key1: Any, value1: Any) -> Any:
            cache = transformers.DynamicCache()
            for layer, (key, value) in enumerate(((key0, value0), (key1, value1))):
                cache.update(key, value, layer)
            found = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
            layers = found.past_key_values.layers
            return found.logits, *(tensor for layer in layers for tensor in (layer.keys, layer.values))

    return Decoder()


def _add_all() -> None:
    unmasked = {"FNet", "Mamba", "Mamba2", "Rwkv", "RecurrentGemma"}
    for kind, given in {**ENCODERS, **DECODERS}.items():
        tokens = {"vocab_size": VOCABULARY} if kind == "Mpt" else _TOKENS
        build = _OfText(configured(kind, {**given, **tokens}), mask=kind not in unmasked)
        inputs = _ids if kind in unmasked else text()
        add(kind.lower(), Member(build, inputs, text(2, 37), _OPEN, _FORMS.get(kind, ("static",))))
    for kind, given in PAIRS.items():
        name = kind.removesuffix("Model")
        special = {**_TOKENS, "decoder_start_token_id": 1}
        add(name.lower(), Member(_OfPair(configured(name, {**given, **special}), mask=False), _pair))
    add("llama_decoding", Member(_decoder_with_cache, _decoding))


_add_all()
