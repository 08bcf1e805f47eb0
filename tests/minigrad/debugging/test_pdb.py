"""The debugger contract with the real pdb, driven through a pipe as a person would type."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minigrad.ops.softmax import Softmax

DEBUGGEE = Path(__file__).with_name("debuggee.py")
HERE = DEBUGGEE.read_text(encoding="utf-8").splitlines().index("    loss.backward()") + 1
RULE_FILE, RULE_LINE = inspect.getsourcefile(Softmax), inspect.getsourcelines(Softmax.backward)[1] + 1
PROMPT = "(Pdb) "
# Up to Python 3.12 pdb stops behind breakpoint(), on the line that calls the rule; later on breakpoint() itself.
STEPS_INTO_THE_RULE = 1 if sys.version_info < (3, 13) else 2


class Pdb:
    """A program under pdb; each command returns what pdb said to it."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONBREAKPOINT": ""},
        )
        self.said = self.until_prompt()

    def until_prompt(self):
        said = ""
        while not said.endswith(PROMPT):
            character = self.process.stdout.read(1)
            assert character, f"the program ended: {said}"
            said += character
        return said.removesuffix(PROMPT)

    def __call__(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.said = self.until_prompt()
        return self.said

    def place(self):
        """File and function at which it stands."""
        file, function = re.findall(r"^> (.+)\(\d+\)(.+?)\(\)", self.said, re.MULTILINE)[-1]
        return Path(file), function

    def line(self):
        """The line at which it stands."""
        return re.findall(r"^-> (.+)$", self.said, re.MULTILINE)[-1]

    def stack(self):
        """(file, function) of each frame, the outermost first."""
        return re.findall(r"^[> ] (\S.*)\(\d+\)(\S+?)\(\)", self("where"), re.MULTILINE)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def pdb():
    """pdb at the program's first backward(), before it is called."""
    session = Pdb("-m", "pdb", str(DEBUGGEE))
    session(f"break {DEBUGGEE}:{HERE}")
    session("continue")
    yield session
    session.close()


def functions_under_the_user(session):
    frames = [(Path(file).name, function) for file, function in session.stack()]
    user = max(i for i, (file, _) in enumerate(frames) if file == DEBUGGEE.name)
    return frames[user + 1 :]


def test_step_into_reaches_a_rule_within_three_frames(pdb):
    for _ in range(500):
        pdb("step")
        if pdb.place()[0].parent.name == "ops":
            break
    assert functions_under_the_user(pdb) == [
        ("tensor.py", "backward"),
        ("backprop.py", "backprop"),
        ("reductions.py", "backward"),
    ]


def test_the_recipe_of_the_guide_reaches_the_first_rule_within_20_commands(pdb):
    """step; return out of first_gradient; in backprop, next as far as the line that runs a rule, and step into it."""
    n_commands = 0
    while pdb.place()[0].parent.name != "ops":
        command = "step"
        if "--Call--" in pdb.said and pdb.place()[1] == "first_gradient":
            command = "return"
        elif "--Call--" not in pdb.said and pdb.place()[1] == "backprop" and "op.backward(" not in pdb.line():
            command = "next"
        pdb(command)
        n_commands += 1
        assert n_commands <= 20
    assert functions_under_the_user(pdb)[-1] == ("reductions.py", "backward")


def test_a_breakpoint_on_an_op_class(pdb):
    assert "Breakpoint" in pdb("break Softmax.backward")
    pdb("continue")
    assert pdb.place() == (Path(RULE_FILE), "backward")
    assert functions_under_the_user(pdb)[-1] == ("softmax.py", "backward")


def test_a_breakpoint_on_a_line_of_a_rule(pdb):
    pdb(f"break {RULE_FILE}:{RULE_LINE}")
    pdb("continue")
    assert pdb.place() == (Path(RULE_FILE), "backward")


def test_what_the_rule_shows(pdb):
    pdb("break Softmax.backward")
    pdb("continue")
    assert pdb("p self").strip() == "<op block.attention.softmax((2, 3))>"
    assert pdb("p self.inputs").strip() == ("(<Tensor 'x', (2, 3), float64, requires_grad, mean=2.5, norm=7.416>,)")
    assert "0.09003057" in pdb("p self.y")  # saved by forward, under the docstring's name
    assert "array(" in pdb("p grad_y")
    pdb("return")
    assert "array(" in pdb("p grad_x")


def test_break_at_stops_before_the_rule_so_that_one_step_enters_it():
    session = Pdb(str(DEBUGGEE))
    try:
        assert session.place()[1] == "backprop"
        assert "block.attention.softmax" in session("p op")
        for _ in range(STEPS_INTO_THE_RULE):
            session("step")
        assert session.place() == (Path(RULE_FILE), "backward")
        assert "array(" in session("p grad_y")
    finally:
        session.close()


def test_break_at_stops_before_forward_so_that_one_step_enters_it():
    session = Pdb(str(DEBUGGEE))
    try:
        session("continue")
        assert session.place()[1] == "__call__"
        assert "<op attention.softmax((2, 3))>" in session("p self")
        for _ in range(STEPS_INTO_THE_RULE):
            session("step")
        assert session.place() == (Path(RULE_FILE), "forward")
    finally:
        session.close()
