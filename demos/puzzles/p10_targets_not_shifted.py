"""The model that only repeats.

Symptom: The loss of a language model falls to 0 within a few steps; asked to go on, it repeats the last token for ever.
Difficulty: easy
Minutes: 5
Tool: print (look at one pair of input and target)
"""

import numpy as np


def windows(text, length, starts):
    """Inputs and targets for a language model, (B, length) each: a target is the token that comes next."""
    inputs = np.stack([text[start : start + length] for start in starts])
    # right
    targets = np.stack([text[start + 1 : start + length + 1] for start in starts])
    # fault
    # targets = np.stack([text[start : start + length] for start in starts])
    # end
    return inputs, targets


def look():
    text = np.frombuffer(b"the next token", np.uint8)
    inputs, targets = windows(text, 5, [0, 4])
    for given, wanted in zip(inputs, targets, strict=True):
        print("input", repr(bytes(given).decode()), " target", repr(bytes(wanted).decode()))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_equal

HINTS = [
    "Having read 'the n', which letters should the model have said, one after each?",
    "At every place the target is one later than the input.",
    "The slice of the targets starts at start + 1.",
]
ANSWER = "The targets were the inputs themselves, and the token that the model had just read was already the answer."
WRONG = [
    "targets = np.stack([text[start + 2 : start + length + 2] for start in starts])",
    "targets = np.roll(inputs, -1, axis=1)",
    "targets = np.roll(inputs, 1, axis=1)",
]
CLUE = "the target of 'a' is 'a'"


def judge(theirs, rng):
    text = rng.permutation(40)
    starts = rng.integers(0, 20, size=3)
    inputs, targets = theirs.windows(text, 6, starts)
    for name, their, right in zip(("inputs", "targets"), (inputs, targets), windows(text, 6, starts), strict=True):
        must_equal(f"windows: {name}", their, right)


def clue(theirs):
    inputs, targets = theirs.windows(np.frombuffer(b"abcdef", np.uint8), 3, [0])
    return f"the target of {chr(inputs[0, 0])!r} is {chr(targets[0, 0])!r}"
