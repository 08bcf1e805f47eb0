"""The debugger contract with debugpy, spoken to in its protocol as VS Code does it."""

import inspect
from pathlib import Path

import pytest

from minigrad import backprop
from minigrad.ops.softmax import Softmax

pytest.importorskip("debugpy", reason="needs debugpy: pip install debugpy")

from tests.minigrad.debugging.dap import Client

DEBUGGEE = Path(__file__).with_name("debuggee.py")
HERE = DEBUGGEE.read_text(encoding="utf-8").splitlines().index("    loss.backward()") + 1
RULE_FILE, RULE_LINE = inspect.getsourcefile(Softmax), inspect.getsourcelines(Softmax.backward)[1] + 1


@pytest.fixture
def client():
    client = Client()
    yield client
    client.close()


def ours(frames):
    """(file, function) of the frames above the user's, the innermost first."""
    names = [(Path(frame["source"]["path"]).name, frame["name"].rpartition(".")[2]) for frame in frames]
    return names[: names.index((DEBUGGEE.name, "main"))]


UNDER_BACKWARD = [("backprop.py", "backprop"), ("tensor.py", "backward")]


def test_step_into_reaches_a_rule_within_three_frames(client):
    client.launch(DEBUGGEE, lines=[(DEBUGGEE, HERE)])
    frames = client.stopped()
    while ours(frames) != UNDER_BACKWARD:
        frames = client.go("stepIn")
    lines = inspect.getsource(backprop).splitlines()
    while "op.backward(" not in lines[frames[0]["line"] - 1]:
        frames = client.go("next")  # what a person does who does not care how the order is found
    frames = client.go("stepIn")
    assert ours(frames) == [("reductions.py", "backward"), *UNDER_BACKWARD]


def test_a_function_breakpoint_on_the_backward_of_an_op_class(client):
    """debugpy knows functions by their bare name, so the class goes into the condition."""
    client.launch(DEBUGGEE, functions=[{"name": "backward", "condition": "type(self).__name__ == 'Softmax'"}])
    assert ours(client.stopped()) == [("softmax.py", "backward"), *UNDER_BACKWARD]


def test_a_breakpoint_on_a_line_of_a_rule_and_what_the_variables_pane_shows(client):
    client.launch(DEBUGGEE, lines=[(RULE_FILE, RULE_LINE)])
    frames = client.stopped()
    assert ours(frames) == [("softmax.py", "backward"), *UNDER_BACKWARD]

    before = client.variables(frames[0])
    assert before["self"]["value"] == "<op block.attention.softmax((2, 3))>"
    assert before["grad_y"]["value"].startswith("array([[")
    op = client.inside(before["self"]["variablesReference"])
    assert op["path"]["value"] == "'block.attention.softmax'"
    assert op["inputs"]["value"] == "(<Tensor 'x', (2, 3), float64, requires_grad, mean=2.5, norm=7.416>,)"
    assert op["y"]["value"].startswith("array([[0.09003057")
    assert op["location"]["value"].startswith(f"'{DEBUGGEE}:")

    after = client.variables(client.go("next")[0])
    assert after["grad_x"]["value"].startswith("array([[")


def test_break_at_stops_before_the_rule_and_one_step_enters_it(client):
    client.launch(DEBUGGEE)
    frames = client.stopped()
    assert ours(frames) == UNDER_BACKWARD
    assert client.variables(frames[0])["op"]["value"] == "<op block.attention.softmax((2, 3))>"
    assert ours(client.go("stepIn")) == [("softmax.py", "backward"), *UNDER_BACKWARD]

    assert ours(client.go("continue"))[0] == ("op.py", "__call__")
    assert ours(client.go("stepIn"))[0] == ("softmax.py", "forward")


def test_what_goes_over_the_skip_and_into_the_branch_are_plain_local_names(client):
    client.launch(DEBUGGEE, functions=[{"name": "backward", "condition": "type(self).__name__ == 'ResidualAdd'"}])
    frames = client.stopped()
    assert ours(frames)[0] == ("residual.py", "backward")
    client.go("next")  # from the line of `def` to the first of the rule
    after = client.variables(client.go("next")[0])
    assert after["grad_skip"]["value"].startswith("array([[") and after["grad_branch"]["value"].startswith("array([[")
