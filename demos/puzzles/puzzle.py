"""A puzzle: one file that holds the right program, the fault, the hints and the judge.

The file runs as it stands, and is right. The learner's copy is made from it: the text up to the line `# Teacher`, in
which what stands between `# right` and `# fault` gives way to the commented lines between `# fault` and `# end`. So the
copy cannot drift from the solution. Behind `# Teacher` come

    HINTS         tips, from the faintest to the plainest
    ANSWER        what was wrong, and why the symptom followed
    WRONG         other texts for the place of the fault, none of which is a cure (the tests try them)
    judge(theirs, rng)    raises `Wrong` unless the learner's module computes the right thing
    clue(theirs)  what the tool named in the docstring shows for a module, as text
    CLUE          what stands in that text while the fault is there, and does not once it is cured
"""

import importlib
import importlib.util
import re
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np

from minigrad import Tensor

FOLDER = Path(__file__).parent
PLACE = re.compile(r"^( *)# right\n(.*?)^ *# fault\n(.*?)^ *# end\n", re.MULTILINE | re.DOTALL)
FIELDS = ("Symptom", "Difficulty", "Minutes", "Tool")


class Wrong(Exception):  # noqa: N818  (a verdict on the learner's program, not a failure of ours)
    """What still differs in a learner's program, in words."""


class Puzzle:
    """One puzzle, read from its file.

    Attributes:
        number, name: as in `p03_inverted_mask.py`.
        title, symptom, difficulty, minutes, tool: from the docstring.
        right: the module itself, whose program has no fault.
    """

    def __init__(self, path):
        self.path = path
        number, self.name = re.fullmatch(r"p(\d+)_(\w+)", path.stem).groups()
        self.number = int(number)
        self.text = path.read_text(encoding="utf-8")
        self.right = importlib.import_module(f"demos.puzzles.{path.stem}")
        lines = self.right.__doc__.strip().splitlines()
        self.title = lines[0].rstrip(".")
        fields = dict(re.findall(r"^(\w+): (.*(?:\n +.*)*)", self.right.__doc__, re.MULTILINE))
        self.symptom, self.difficulty, self.minutes, self.tool = (" ".join(fields[f].split()) for f in FIELDS)

    def program(self, replacement=None):
        """The learner's part of the file, with the fault in its place, or with `replacement` there."""
        program = self.text.split("\n# Teacher\n")[0].rstrip() + "\n"
        indent, _, fault = PLACE.search(program).groups()
        if replacement is None:
            replacement = re.sub(r"^ *# ?", "", fault, flags=re.MULTILINE)
        replacement = textwrap.indent(textwrap.dedent(replacement).strip("\n"), indent) + "\n"
        return PLACE.sub(lambda match: replacement, program)

    def solution(self):
        """The lines that cure the fault."""
        return textwrap.dedent(PLACE.search(self.text).group(2))

    def judge(self, theirs, seed=None):
        """Raise `Wrong` unless the module `theirs` is right, for random inputs and random gradients from above."""
        rng = np.random.default_rng(seed)
        try:
            for _ in range(3):
                self.right.judge(theirs, rng)
        except Wrong:
            raise
        except Exception as error:
            raise Wrong(f"it fails with {type(error).__name__}: {error}") from error


def all_puzzles():
    """All puzzles by number."""
    puzzles = [Puzzle(path) for path in sorted(FOLDER.glob("p*_*.py"))]
    return {puzzle.number: puzzle for puzzle in puzzles}


def load(path):
    """A learner's file as a module; its line numbers are those of the file."""
    spec = importlib.util.spec_from_file_location(f"learner_{Path(path).stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that its classes can be found and copied
    # Compiled here: the cached copy of an import outlives an edit of the same length within the same second.
    exec(compile(Path(path).read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    return module


def load_text(text):
    """A program given as text, as a module."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(text, encoding="utf-8")
        return load(path)


def must_agree(what, theirs, ours, *inputs, rng):
    """Compare two functions of tensors: their values, and their gradients from a random gradient above.

    Args:
        what: what messages call the function.
        inputs: arrays; those of a floating type get a gradient, others are handed on as they are.

    Raises:
        Wrong: says what differs, where, what came and what is right.
    """
    results = []
    upstream = None
    for function in (theirs, ours):
        given = [
            Tensor(a, requires_grad=True, name=f"input {i}") if is_floating(a) else a for i, a in enumerate(inputs)
        ]
        y = function(*given)
        if not isinstance(y, Tensor):
            raise Wrong(f"{what} should return a tensor; it returned {type(y).__name__}")
        if upstream is None:
            upstream = rng.normal(size=y.shape)
        elif y.shape != upstream.shape:
            raise Wrong(f"{what} has shape {upstream.shape}; right is {y.shape}")
        y.backward(upstream)
        results.append([y.data, *(np.zeros(t.shape) if t.grad is None else t.grad for t in given if is_tensor(t))])
    names = ["its value", *(f"its gradient at input {i}" for i, a in enumerate(inputs) if is_floating(a))]
    for name, their, right in zip(names, *results, strict=True):
        must_equal(f"{what}: {name}", their, right)


def must_equal(what, theirs, right):
    """Raise `Wrong` unless two arrays agree to 1e-9; name the first entry that does not."""
    theirs, right = np.asarray(theirs), np.asarray(right)
    if theirs.shape != right.shape:
        raise Wrong(f"{what} has shape {theirs.shape}; right is {right.shape}")
    apart = ~np.isclose(theirs, right, rtol=1e-9, atol=1e-9, equal_nan=True)
    if apart.any():
        index = tuple(int(i) for i in np.argwhere(apart)[0])
        raise Wrong(
            f"{what} differs at {apart.sum()} of {apart.size} entries, first at {index}: "
            f"{theirs[index]:.6g} came, {right[index]:.6g} is right"
        )


def is_floating(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def is_tensor(value):
    return isinstance(value, Tensor)
