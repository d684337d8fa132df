"""Cases of attentions, with masks, caches and rotations."""

from typing import Any

import numpy as np

from vendor_cases.case import Array, Case, Makers, Random, maybe, pick, reals

CASES = Makers()


def _mask(random: Random, batch: int, rows: int, columns: int) -> Array | None:
    """Nothing, or a mask that leaves each row something to look at."""
    match int(random.integers(5)):
        case 0:
            return None
        case 1:
            return random.integers(1, columns + 1, batch).astype(np.int32)
        case 2:
            starts = random.integers(0, columns, batch)
            ends = starts + 1 + random.integers(0, columns - starts)
            return np.concatenate([ends, starts]).astype(np.int32)
        case 3:
            mask = random.random((batch, columns)) < 0.7
            mask[:, 0] = True
            return mask.astype(np.int32)
        case _:
            mask = random.random((batch, rows, columns)) < 0.7
            mask[:, :, 0] = True
            return mask.astype(np.int32)


@CASES.of("Attention")
def attention(random: Random, name: str) -> Case:
    batch, rows, heads, head = pick(random, 1, 2), pick(random, 1, 4, 17), pick(random, 1, 2), pick(random, 4, 8)
    values, width = pick(random, head, head, 2 * head), pick(random, 8, 12)
    past_rows = pick(random, 0, 0, 3) if values == head else 0
    columns = heads * (2 * head + values)
    past = reals(random, 2, batch, heads, past_rows, head) if past_rows else None
    total = rows + past_rows
    bias = maybe(random, reals(random, pick(random, 1, batch), pick(random, 1, heads), rows, total))
    attributes: dict[str, Any] = {"num_heads": heads, "unidirectional": pick(random, 0, 1)}
    if values != head or random.random() < 0.3:
        attributes["qkv_hidden_sizes"] = [heads * head, heads * head, heads * values]
    if random.random() < 0.3:
        attributes["scale"] = 0.4
    if random.random() < 0.3:
        attributes["mask_filter_value"] = -100.0
    weights, mask = reals(random, width, columns, scale=0.3), _mask(random, batch, rows, total)
    operands = [reals(random, batch, rows, width), weights, reals(random, columns), mask, past, bias]
    return Case(name, operands, attributes, frozenset({1, 2}), outputs=(1, 1) if past_rows else (1,))


@CASES.of("MultiHeadAttention")
def multi_head(random: Random, name: str) -> Case:
    batch, rows, heads, head = pick(random, 1, 2), pick(random, 2, 4, 17), pick(random, 1, 2), pick(random, 4, 8)
    new, past_rows = rows, 0
    form = pick(random, "apart", "apart", "cross", "packed", "packed keys", "cached")
    width = heads * head
    query: Array = reals(random, batch, rows, width)
    key: Array | None
    value: Array | None
    bias = maybe(random, reals(random, 3 * width)) if form in ("apart", "cached") else None
    match form:
        case "apart":
            key, value = reals(random, batch, rows, width), reals(random, batch, rows, width)
        case "cached":
            past_rows = 3
            key, value = reals(random, batch, rows, width), reals(random, batch, rows, width)
        case "cross":
            new = 5
            key, value = reals(random, batch, heads, new, head), reals(random, batch, heads, new, head)
        case "packed":
            query, key, value = reals(random, batch, rows, heads, 3, head), None, None
        case _:
            new = 5
            key, value = reals(random, batch, new, heads, 2, head), None
    total = new + past_rows
    past = [reals(random, batch, heads, past_rows, head) if past_rows else None for _ in range(2)]
    mask = _mask(random, batch, rows, total)
    if mask is not None and mask.ndim == 1:
        mask = None
    added = maybe(random, reals(random, pick(random, 1, batch), pick(random, 1, heads), rows, total))
    attributes: dict[str, Any] = {"num_heads": heads}
    if form in ("apart", "cached"):
        attributes["unidirectional"] = pick(random, 0, 1)
    outputs = (1, 1, 1) if past_rows else (1,)
    return Case(name, [query, key, value, bias, mask, added, *past], attributes, frozenset({3}), outputs=outputs)


def _angles(random: Random, places: int, half: int) -> tuple[Array, Array]:
    angles = random.uniform(0, 3, (places, half))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


@CASES.of("RotaryEmbedding")
def rotary(random: Random, name: str) -> Case:
    batch, rows, heads, head = pick(random, 1, 2), pick(random, 1, 3), pick(random, 1, 2), pick(random, 8, 16)
    part = random.random() < 0.4
    half = head // 4 if part else head // 2
    attributes: dict[str, Any] = {"interleaved": pick(random, 0, 1)}
    if part:
        attributes |= {"num_heads": heads, "rotary_embedding_dim": 2 * half}
    flat = part or random.random() < 0.5
    x = reals(random, batch, rows, heads * head) if flat else reals(random, batch, heads, rows, head)
    places = pick(random, np.array([2], np.int64), random.integers(0, 8, (batch, rows)))
    return Case(name, [x, places, *_angles(random, 8, half)], attributes, frozenset({2, 3}))


@CASES.of("GroupQueryAttention")
def group_query(random: Random, name: str) -> Case:
    batch, shared, group, head = pick(random, 1, 2), pick(random, 1, 2), pick(random, 1, 2), 16
    heads = shared * group
    form = pick(random, "prompt", "step", "step", "shared buffer", "chunk")
    rows = {"prompt": 4, "chunk": 2}.get(form, 1)
    past_rows = {"prompt": 0, "shared buffer": 8, "chunk": 5}.get(form, 5)
    total = rows + (0 if form == "prompt" else 5)
    lengths = np.full(batch, total - 1, np.int32)
    if form == "prompt" or batch == 2:
        lengths[0] -= pick(random, 0, 1, 2)
    packed = random.random() < 0.3
    if packed:
        query, key, value = reals(random, batch, rows, (heads + 2 * shared) * head), None, None
    else:
        query = reals(random, batch, rows, heads * head)
        key, value = (reals(random, batch, rows, shared * head) for _ in range(2))
    past = [reals(random, batch, shared, past_rows, head) for _ in range(2)]
    attributes: dict[str, Any] = {"num_heads": heads, "kv_num_heads": shared}
    tables: list[Array | None] = [None, None]
    if random.random() < 0.5:
        attributes |= {"do_rotary": 1, "rotary_interleaved": pick(random, 0, 1)}
        tables = [*_angles(random, 16, head // 2)]
    choices = {"softcap": 5.0, "local_window_size": pick(random, 2, 3), "smooth_softmax": 1, "scale": 0.3}
    attributes |= {key: value for key, value in choices.items() if random.random() < 0.3}
    if form == "prompt" and "local_window_size" in attributes:
        # Of rows that are padding onnxruntime reads scores that it has not written.
        lengths[:] = total - 1
    bias = reals(random, 1, 1, rows, total) if random.random() < 0.2 else None
    sink = reals(random, heads) if random.random() < 0.2 and "smooth_softmax" not in attributes else None
    operands = [query, key, value, *past, lengths, np.array([total], np.int32).reshape(()), *tables, None, bias, sink]
    return Case(name, operands, attributes, frozenset({6, 7, 8}), outputs=(1, 1, 1))
