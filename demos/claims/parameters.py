"""Two thirds of a block's weights are in the feed-forward network; depth adds blocks, width squares them.

A block of width d, with a hidden layer of 4d, has 4d^2 + 4d parameters in attention, 8d^2 + 5d in the feed-forward
network, and 4d in its norms. The run counts the parameters of blocks that it builds, and compares them with the
formula. With the formula it then counts a model that is too large to build here: GPT-2 small has 124,439,808
parameters, as published.

Source: Radford et al. 2019, table 2, and the released weights.
"""

from collections import Counter

from blocks import LanguageModel, TransformerBlock
from demos.claims import holds

GPT_2_SMALL = {"vocab_size": 50257, "max_length": 1024, "n_blocks": 12, "d": 768}


def run():
    for d in (8, 16, 32):
        counted, formula = by_part(TransformerBlock(d, 2, 4 * d)), block_formula(d)
        shares = ", ".join(f"{part} {n / sum(counted.values()):.1%}" for part, n in counted.items())
        holds(f"width {d:2}: {sum(counted.values()):6,} parameters: {shares}", counted == formula)
    ratio = sum(block_formula(1536).values()) / sum(block_formula(768).values())
    holds(f"twice as wide is {ratio:.2f} times as many", 3.9 < ratio < 4)
    share = block_formula(768)["feed_forward"] / sum(block_formula(768).values())
    holds(f"at width 768 the feed-forward network has {share:.1%} of a block", 0.66 < share < 0.67)

    small = {"vocab_size": 11, "max_length": 6, "n_blocks": 3, "d": 8}
    model = LanguageModel(11, 6, 3, 8, 2, 32)
    built = sum(parameter.size for parameter in model.parameters())
    holds(f"a whole model of 3 blocks, built: {built:,}", built == model_formula(**small))
    whole = model_formula(**GPT_2_SMALL)
    holds(f"GPT-2 small by the same formula: {whole:,}", whole == 124_439_808)


def by_part(block):
    """How many parameters are in attention, in the feed-forward network, and in the norms."""
    counts = Counter()
    for name, parameter in block.named_parameters():
        part = name.split(".")[0]
        counts["norms" if part.endswith("norm") else part] += parameter.size
    return counts


def block_formula(d):
    return Counter(attention=4 * d**2 + 4 * d, feed_forward=8 * d**2 + 5 * d, norms=4 * d)


def model_formula(vocab_size, max_length, n_blocks, d):
    """Token and position embeddings, the blocks, and the final norm; the scores use the token embedding again."""
    return (vocab_size + max_length) * d + n_blocks * sum(block_formula(d).values()) + 2 * d
