"""Columns of texts in a training: what they count beside the others, and what is said of them."""

from ...io.encoding.fit import text_columns, text_encoders, weigh_by_labels


def weigh(encoder, X, y):
    """Rows, and the encoder, with texts weighed by labels; the choice, and notes on it."""
    X, weighing = weigh_by_labels(encoder, X, y)
    if weighing is None:
        return X, None, []
    ratio, areas = weighing
    told = f"texts count {_times(ratio)} all other columns together"
    if ratio == 1.0:
        told += f" (held-out area {areas[1.0]:.3f}; no other weight is clearly better)"
    else:
        told += f" (held-out area {areas[ratio]:.3f}, {areas[1.0]:.3f} if they counted the same)"
    return X, weighing, [told]


def weights_tried(encoder, X, weighing):
    """What columns of the rows would be multiplied with by every choice there was."""
    if weighing is None:
        return (1.0,)
    from ...model_selection.weighing import multipliers

    columns = text_columns(encoder, X.shape[1])
    taken = multipliers(columns, weighing.ratio)
    return [multipliers(columns, ratio) / taken for ratio in weighing.areas]


def text_facts(encoder, schema, weighing):
    """What a model keeps of its columns of texts, plain values only; None without any."""
    encoders = text_encoders(encoder, schema)
    if not encoders:
        return None
    return {
        "columns": {
            name: {"unit": texts.unit_, "words": len(texts.words())}
            for name, texts in encoders.items()
        },
        "weight": 1.0 if weighing is None else weighing.ratio,
        "areas": None
        if weighing is None
        else [{"weight": ratio, "area": area} for ratio, area in weighing.areas.items()],
    }


def _times(ratio):
    if ratio == 1.0:
        return "as much as"
    return f"{ratio:g} times as much as" if ratio > 1.0 else f"1/{1.0 / ratio:g} as much as"
