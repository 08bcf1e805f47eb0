"""The terminal stepper: ``python -m minigrad.step SCRIPT.py [ARGUMENTS]``.

The script runs unchanged. Each time that a backward pass has run the rule of one op, it stops and asks what to do;
`help` lists the commands. Commands may also come from a pipe; when they end, the script runs on to its end.
"""

import argparse
import cmd
import io
import linecache
import os
import re
import runpy
import sys

import numpy as np

from minigrad.backprop import topological_order
from minigrad.debugging.break_at import consumes_leaf, no_such_op
from minigrad.debugging.explain import explain
from minigrad.debugging.find import is_called
from minigrad.debugging.reporting import amount, docstring_of, input_names, is_bad, made_at, name_of, result_name
from minigrad.op import Op
from minigrad.recording import LIBRARY_FILES
from minigrad.watching import Watcher

SHORT = {"n": "next", "b": "back", "c": "continue", "p": "print", "w": "where", "d": "draw", "e": "explain"}
SHORT |= {"q": "quit", "h": "help", "?": "help"}
LIT = "#d7191c"


class Quit(BaseException):
    """Leave the script, whatever it catches."""


CATCHES_ALL = re.compile(r"\s*except\s*(:|.*\bBaseException\b)")


def leave_on(frame, event, _):
    """A trace function for the script's frames: at an `except` that would catch a Quit, raise it again.

    So a `finally` still runs, and what stands behind that `except` does not.
    """
    if event == "line" and CATCHES_ALL.match(linecache.getline(frame.f_code.co_filename, frame.f_lineno)):
        raise Quit
    return leave_on


class Prompt(Watcher, cmd.Cmd):
    """The prompt, and the steps of the present pass that have been made so far.

    Attributes:
        output: the tensor from which the pass started.
        results: the tensors of its graph that an op made, one for each step.
        steps: the steps of the pass; `position` is the one that is shown.
        wanted: the name that `continue NAME` runs on to; None if there is none.
        skips_pass: whether `continue` runs on to the next pass.
        has_quit: whether `quit` was typed.
    """

    prompt = "(step) "

    def __init__(self):
        is_closed = sys.stdin is None or sys.stdin.closed
        super().__init__(stdin=io.StringIO() if is_closed else sys.stdin)  # without input the script runs to its end
        self.use_rawinput = self.stdin.isatty()
        self.has_quit = False
        self.output, self.results, self.steps, self.position = None, [], [], 0
        self.wanted, self.skips_pass, self.is_running_on = None, False, False
        self.n_passes = 0

    # What the engine calls

    def before_forward(self, op):
        if self.has_quit:
            raise Quit  # the script has caught the first one
        return False

    def before_pass(self, output):
        if self.has_quit:
            raise Quit
        self.output, self.steps, self.skips_pass = output, [], False
        self.results = [tensor for tensor in topological_order(output) if tensor.op is not None]
        self.n_passes += 1

    def after_backward(self, step):
        self.steps.append(step)
        if self.is_running_on or self.skips_pass:
            return
        if self.wanted and not is_called(step.op, step.tensor.name, self.wanted):
            return
        self.wanted = None
        self.position = len(self.steps) - 1
        self.show()
        self.cmdloop()

    # What is shown

    @property
    def step(self):
        return self.steps[self.position]

    def say(self, text):
        print(text, file=self.stdout)

    def show(self):
        """The step in a few lines."""
        op, y = self.step.op, result_name(self.step.op)
        if self.position == 0:
            self.say(f"\nPass {self.n_passes}: backward from {name_of(self.output)}, {len(self.results):,} ops")
            if is_bad(self.output.data):
                self.say("It starts from a value that is not finite: run the script's forward and backward inside")
                self.say("`with minigrad.detect_anomaly():` to learn which op made the first NaN or inf.")
        self.say(f"step {self.position + 1:,} of {len(self.results):,}: {op.path}")
        self.say("\n".join(f"    {line}" for line in docstring_of(op) if line))
        self.say(f"    in   dL/d{y} {amount(self.step.grad_output)}")
        for name, x, grad_x in zip(input_names(op), op.inputs, self.step.grad_inputs, strict=True):
            self.say(f"    out  dL/d{name} {'none' if grad_x is None else amount(grad_x)}, to {name_of(x)}")
        if self.position + 1 == len(self.results):
            self.say("    the last step of this pass")

    # What the user types

    def precmd(self, line):
        if not self.use_rawinput and line != "EOF":
            self.say(line)  # a transcript should show what was piped in
        word, _, rest = line.strip().partition(" ")
        return f"{SHORT.get(word, word)} {rest}".strip()

    def default(self, line):
        self.say(f"there is no command {line.split()[0]!r}; help lists those that there are")

    def do_next(self, _):
        """Go on to the next step."""
        if self.position + 1 == len(self.steps):
            return True
        self.position += 1
        return self.show()

    def do_back(self, _):
        """Show the step before again. What has been computed stays computed."""
        if self.position == 0:
            return self.say("this is the first step of the pass")
        self.position -= 1
        return self.show()

    def complete_continue(self, text, line, begin, end):
        """The names of this pass that begin with what was typed, for Tab; cmd completes behind the last blank."""
        typed = line[:end].split(" ")[-1]
        names = {name for tensor in self.results for name in (tensor.op.path, tensor.op.name, tensor.name) if name}
        return sorted(name[len(typed) - len(text) :] for name in names if name.startswith(typed))

    complete_c = complete_continue

    def complete_print(self, text, line, begin, end):
        return sorted(name for name in self.names_at_hand() if name.startswith(text))

    complete_p = complete_print

    def completenames(self, text, *ignored):
        return [name for name in dict.fromkeys(SHORT.values()) if name.startswith(text)]

    def do_continue(self, name):
        """Run on to the next backward pass, or with a NAME to the next op of this name.

        A name is an op's path, the end of one (softmax), or the name of a tensor; * stands for all (blocks.1.*)."""
        if not name:
            self.skips_pass = True
            return True
        if not any(is_called(tensor.op, tensor.name, name) for tensor in self.results):
            names = {name for tensor in self.results for name in (tensor.op.path, tensor.name) if name}
            consumers = {tensor.op.path for tensor in self.results if consumes_leaf(tensor.op, name)}
            return self.say(f"not in this pass: {no_such_op(name, names, consumers)}")
        for position in range(self.position + 1, len(self.steps)):
            step = self.steps[position]
            if is_called(step.op, step.tensor.name, name):
                self.position = position
                return self.show()
        self.wanted = name
        return True

    def do_print(self, expression):
        """Show the names at hand, or the value of an EXPRESSION such as grad_x, y.shape or abs(grad_x).max()."""
        names = self.names_at_hand()
        if not expression:
            for name, value in names.items():
                self.say(f"    {name:<12} {amount(value) if isinstance(value, np.ndarray) else repr(value)}")
            return
        try:
            self.say(eval(expression, {"np": np}, names))  # the user's own process, as in any debugger
        except Exception as error:
            self.say(f"{type(error).__name__}: {error}; print alone lists the names at hand")

    def names_at_hand(self):
        """The op's saved attributes, its inputs, its result, and the gradients, as its docstring calls them."""
        step, op = self.step, self.step.op
        names = {"tensor": step.tensor, "op": op, "loss": self.output}
        names |= {name: value for name, value in vars(op).items() if name not in Op.__annotations__}
        inputs, y = input_names(op), result_name(op)
        names |= {y: step.tensor.data, f"grad_{y}": step.grad_output}
        if not all(name.isidentifier() for name in inputs):  # one name for all of them, as xs in *xs
            (rest,) = {name.partition("[")[0] for name in inputs}
            return names | {rest: [x.data for x in op.inputs], f"grad_{rest}": step.grad_inputs}
        names |= {name: x.data for name, x in zip(inputs, op.inputs, strict=True)}
        return names | {f"grad_{name}": grad_x for name, grad_x in zip(inputs, step.grad_inputs, strict=True)}

    def do_where(self, _):
        """Show the line of the script that made this op, and those around it."""
        op = self.step.op
        self.say(made_at(op))
        for number in range(max(1, op.lineno - 3), op.lineno + 4):
            line = linecache.getline(op.filename, number)
            if line:
                self.say(f"{number:5} {'->' if number == op.lineno else '  '} {line.rstrip()}")

    def do_draw(self, path):
        """Draw the graph with this op lit, into step.svg or another FILE (svg, png, pdf, dot)."""
        from minigrad.drawing import draw  # noqa: PLC0415  (only who asks for a picture waits for it)

        try:
            picture = draw(
                self.output, path or "step.svg", highlight={self.step.tensor: LIT}, meanings={LIT: "this step"}
            )
        except (OSError, ValueError) as error:
            return self.say(f"{type(error).__name__}: {error}")
        return self.say(f"wrote {picture.path}")

    def do_explain(self, _):
        """Explain this op's gradient: its contributions, what it delivers, and a check of its rule."""
        self.say(explain(self.step.tensor, self.output))

    def do_quit(self, _):
        """Leave the script here."""
        self.has_quit = True
        frame = sys._getframe()
        while frame is not None and frame.f_code is not main.__code__:
            if frame.f_code.co_filename not in LIBRARY_FILES:
                frame.f_trace = leave_on
            frame = frame.f_back
        linecache.checkcache()
        sys.settrace(leave_on)
        raise Quit

    def do_help(self, name):
        """List the commands, or say more about one of them."""
        if name:
            return super().do_help(SHORT.get(name, name))
        for command in dict.fromkeys(SHORT.values()):
            first_line = getattr(self, f"do_{command}").__doc__.splitlines()[0]
            self.say(f"    {command:<10}{first_line}")
        return self.say("The first letter is enough; an empty line repeats the last command.")

    def do_EOF(self, _):  # noqa: N802  (the name that cmd calls)
        self.is_running_on = True
        self.say("")
        return True

    def farewell(self):
        if self.n_passes == 0:
            return "The script ended without a backward pass."
        if self.wanted:
            return f"The script ended before another op called {self.wanted!r} came."
        return f"The script ended after {self.n_passes:,} backward pass{'es' * (self.n_passes > 1)}."


def main():
    parser = argparse.ArgumentParser(
        prog="python -m minigrad.step", description="Step through the backward passes of a script, in a terminal."
    )
    parser.add_argument("script", help="a Python file that calls backward()")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script finds in sys.argv")
    rest.required = False  # or the message about a missing script would ask for them too
    options = parser.parse_args()
    if not os.path.isfile(options.script):
        parser.error(f"there is no file {options.script!r}")

    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    prompt, tracing = Prompt(), sys.gettrace()
    try:
        with prompt:
            runpy.run_path(options.script, run_name="__main__")
    except Quit:
        return
    finally:
        sys.settrace(tracing)
    if not prompt.has_quit:
        print(prompt.farewell())
