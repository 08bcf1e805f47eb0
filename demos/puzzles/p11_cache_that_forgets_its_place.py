"""Generation that goes astray after the first new token.

Symptom: The model's first new token is right, whatever the prompt. With a cache of keys and values the later ones
    differ from those without it.
Difficulty: medium
Minutes: 10
Tool: print (the logits with and without the cache, token by token)
"""

import numpy as np

from minigrad import Tensor, embedding, softmax


def logits_of_last(tokens, weights, cache):
    """The logits of the last token, (V,). `cache` holds the keys and values of the tokens that were read before.

    Args:
        tokens: the new tokens alone.
        weights: tables "tokens" (V, d) and "positions" (N, d), and matrices "query", "key", "value" (d, d).
        cache: a dict with "keys" and "values", arrays (T, d); it grows by the new tokens.
    """
    seen = len(cache["keys"])
    # right
    places = np.arange(seen, seen + len(tokens))
    # fault
    # places = np.arange(len(tokens))
    # end
    x = embedding(weights["tokens"], tokens) + embedding(weights["positions"], places)
    cache["keys"] = np.concatenate([cache["keys"], (x @ weights["key"]).data])
    cache["values"] = np.concatenate([cache["values"], (x @ weights["value"]).data])
    query = x[-1] @ weights["query"]
    attention = softmax(Tensor(cache["keys"]) @ query / query.size**0.5)
    return weights["tokens"] @ (x[-1] + attention @ cache["values"])


def new_cache(d):
    return {"keys": np.zeros((0, d)), "values": np.zeros((0, d))}


def random_weights(rng, V=7, N=10, d=4):
    names = {"tokens": V, "positions": N, "query": d, "key": d, "value": d}
    return {name: Tensor(rng.normal(size=(rows, d))) for name, rows in names.items()}


def look():
    weights = random_weights(np.random.default_rng(0))
    tokens, cache = [3, 1, 4, 1, 5], new_cache(4)
    for n, token in enumerate(tokens):
        with_cache = logits_of_last(np.array([token]), weights, cache).data
        without = logits_of_last(np.array(tokens[: n + 1]), weights, new_cache(4)).data
        print(f"after {n + 1} tokens the logits differ by", np.abs(with_cache - without).max().round(6))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_equal

HINTS = [
    "After one token nothing differs. What is new with the second?",
    "With the cache only the new token is given. At which place does it stand in the text?",
    "Places go on where the cache ends.",
]
ANSWER = "Every new token was put at place 0 again. With a cache the places go on from the tokens that were seen."
WRONG = [
    "places = np.arange(seen + len(tokens))[: len(tokens)]",
    "places = np.full(len(tokens), seen)",
    "places = np.arange(seen + 1, seen + len(tokens) + 1)",
]
CLUE = "after 2 tokens: apart"


def judge(theirs, rng):
    weights = random_weights(rng)
    tokens = rng.integers(7, size=6)
    their_cache, cache = new_cache(4), new_cache(4)
    for part in (tokens[:3], tokens[3:4], tokens[4:]):
        theirs_here = theirs.logits_of_last(part, weights, their_cache).data
        must_equal("the logits with a cache", theirs_here, logits_of_last(part, weights, cache).data)


def clue(theirs):
    weights, cache, lines = random_weights(np.random.default_rng(0)), new_cache(4), []
    for n in (1, 2):
        with_cache = theirs.logits_of_last(np.array([n]), weights, cache).data
        without = theirs.logits_of_last(np.arange(1, n + 1), weights, new_cache(4)).data
        lines.append(f"after {n} tokens: {'alike' if np.allclose(with_cache, without) else 'apart'}")
    return "\n".join(lines)
