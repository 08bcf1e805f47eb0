"""Plant wrong rules in every op, one at a time, and see whether the tests notice.

Run it with `python -m tests.mutation`; it prints ops, mutants and survivors. A mutant is an op whose rule has one
fault: a sign, a factor, an axis, a transpose. First gradcheck is asked, then the stored numbers of another engine, and
for what is left the whole suite. Name ops to look at them alone: `python -m tests.mutation Softmax Matmul`.
"""

import ast
import copy
import inspect
import os
import sys
import textwrap
from typing import NamedTuple

import numpy as np

from minigrad import Op, Tensor, arrays, backprop, gradcheck
from tests.differences import gradients as gradients_of
from tests.minigrad.ops.uses import USES, all_classes, all_ops, reference

REFERENCE = reference()
SUITE = ["-q", "-x", "-p", "no:cacheprovider", "--ignore", "tests/minigrad/test_gradcheck.py"]
SUITE += ["--ignore", "tests/minigrad/drawing", "--ignore", "tests/minigrad/debugging"]
SUITE += ["tests/test_cases.py", "tests/minigrad", "tests/blocks"]


class Mutant(NamedTuple):
    """A changed function or method: `owner.name` is to be replaced by `function`."""

    op: str
    fault: str
    owner: object
    name: str
    function: object


def mutants_of(op):
    """All mutants of an op's class: of its methods, and of the rule that it has from another class, if it has none."""
    names = vars(sys.modules[op.__module__])
    methods = {name: op for name, method in vars(op).items() if inspect.isfunction(method) and name != "__init__"}
    methods.setdefault("backward", next(kind for kind in op.__mro__ if "backward" in vars(kind)))
    found = []
    for name, owner in methods.items():
        if owner is not Op:  # as with Reduction, which leaves the rule to others
            found += mutants_of_function(op.__name__, owner, name, vars(owner)[name], names)
    return found


def mutants_of_helpers(module):
    """All mutants of the functions that ops of one module share; public functions only call an op."""
    found = []
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not calls_an_op(function):
            found += mutants_of_function(module.__name__, module, name, function, vars(module))
    return found


def calls_an_op(function):
    return any(name in all_ops() for name in function.__code__.co_names)


def mutants_of_function(label, owner, name, function, names):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found = []
    for number, place in enumerate(ast.walk(tree.body[0])):
        for fault, change in faults(place, in_rule=name == "backward"):
            twin = copy.deepcopy(tree)
            target = list(ast.walk(twin.body[0]))[number]
            changed = change(target)
            if ast.unparse(changed) == ast.unparse(target):
                continue
            Replace(target, changed, owner).visit(twin)
            code = compile(ast.fix_missing_locations(twin), f"<{fault}>", "exec")
            made = {}
            exec(code, names, made)
            line = ast.unparse(changed)
            found.append(Mutant(label, f"{name}, line {place.lineno}: {fault}: {line}", owner, name, made[name]))
    return found


class Replace(ast.NodeTransformer):
    """Put `changed` in the place of `target`; and say super() in full, since the method is compiled alone."""

    def __init__(self, target, changed, owner):
        self.target, self.changed, self.owner = target, changed, owner

    def visit(self, node):
        if node is self.target:
            return self.changed
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            return ast.parse(f"super({self.owner.__name__}, self)", mode="eval").body
        return self.generic_visit(node)


def faults(node, in_rule):
    """What can be wrong at one place of a rule, as pairs of a word and a function that changes the syntax tree."""
    found = []
    if isinstance(node, ast.Return) and in_rule:
        found += faults_of_result(node)
    if isinstance(node, ast.BinOp):
        found += faults_of_operation(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        found.append(("sign", lambda n: n.operand))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found += faults_of_call(node)
    if isinstance(node, ast.keyword) and node.arg == "axis":
        found.append(("axis", lambda n: ast.keyword("axis", ast.Constant(0))))
        found.append(("axis", lambda n: ast.keyword("axis", ast.Constant(None))))
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr == "T":
        found.append(("transpose", lambda n: n.value))
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr == "inverse":
        found.append(("transpose", lambda n: expression("tuple(np.argsort(OLD))", n)))
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and "-1]" in ast.unparse(node):
        found.append(("order", lambda n: n.value))
    if isinstance(node, ast.Compare):
        found.append(("condition", lambda n: expression("~(np.asarray(OLD))", n)))
    return found


def faults_of_result(node):
    """A gradient with the wrong sign or size, or none at all; one of several at a time."""
    found = []
    for fault, factor in (("sign", -1), ("factor", 2), ("lost", 0)):
        if isinstance(node.value, ast.Tuple):
            text = f"(None if OLD is None else {factor} * OLD)"
            for i in range(len(node.value.elts)):
                found.append((fault, lambda n, i=i, text=text: ast.Return(with_part(n.value, i, text))))
        else:
            text = f"tuple(None if g is None else {factor} * g for g in OLD)"
            found.append((fault, lambda n, text=text: ast.Return(expression(text, n.value))))
    return found


def with_part(parts, i, text):
    return ast.Tuple([*parts.elts[:i], expression(text, parts.elts[i]), *parts.elts[i + 1 :]], ast.Load())


def faults_of_operation(node):
    if isinstance(node.op, (ast.Mult, ast.MatMult)):
        return [("factor", lambda n: n.left), ("factor", lambda n: n.right)]
    if isinstance(node.op, (ast.Div, ast.Pow)):
        return [("factor", lambda n: n.left)]
    if isinstance(node.op, ast.Add):
        return [("sign", lambda n: ast.BinOp(n.left, ast.Sub(), n.right)), ("term", lambda n: n.left)]
    if isinstance(node.op, ast.Sub):
        return [("sign", lambda n: ast.BinOp(n.left, ast.Add(), n.right)), ("term", lambda n: n.left)]
    return []


def faults_of_call(node):
    name = node.func.attr
    if name in ("swapaxes", "transpose", "moveaxis", "flip"):
        return [("transpose", lambda n: n.args[0] if ast.unparse(n.func.value) == "np" else n.func.value)]
    if name == "where" and len(node.args) == 3:
        return [("sides", lambda n: ast.Call(n.func, [n.args[0], n.args[2], n.args[1]], []))]
    if name == "unreduced":
        return [("axis", lambda n: n.args[0])]
    return []


def expression(text, old):
    """The expression `text` with `old` in the place of the name OLD."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node):
            return copy.deepcopy(old) if node.id == "OLD" else node

    return Fill().visit(ast.parse(text, mode="eval").body)


class Planted:
    """A context in which a mutant is in the place of what it was made from, wherever that was imported to."""

    def __init__(self, mutant):
        self.mutant = mutant
        self.original = vars(mutant.owner)[mutant.name]
        self.places = [mutant.owner]
        if inspect.ismodule(mutant.owner):
            ours = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("minigrad", "blocks")]
            self.places = [place for place in (*ours, Tensor) if vars(place).get(mutant.name) is self.original]

    def __enter__(self):
        for place in self.places:
            setattr(place, self.mutant.name, self.mutant.function)

    def __exit__(self, *error):
        for place in self.places:
            setattr(place, self.mutant.name, self.original)


def uses_of(label):
    """The uses that could notice: those of the op, of all ops that are built on it, or of all ops of the module."""
    ops = all_ops()
    return [name for name, use in USES.items() if label in labels_of(ops[use.op])] or list(USES)


def labels_of(op):
    return {op.__module__, *(kind.__name__ for kind in op.__mro__)}


def is_noticed(check, names):
    """True if `check` fails for any of the uses; a mutant may also crash."""
    for name in names:
        try:
            with np.errstate(all="ignore"):
                check(name)
        except Exception:
            return True
    return False


def check_gradients(name):
    gradcheck(USES[name].function, *REFERENCE[name]["inputs"])


def check_numbers(name):
    numbers = REFERENCE[name]
    value, grads = gradients_of(USES[name].function, numbers["inputs"], numbers["weights"][0])
    for got, expected in zip([value, *grads], [*numbers["value"], *numbers["grads"]], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12, strict=True)


def suite_notices():
    """Run the tests in a child process that has the mutant; True if they fail."""
    child = os.fork()
    if child == 0:
        import pytest  # noqa: PLC0415 (in the child alone)

        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os._exit(int(pytest.main(SUITE)))
    return os.waitpid(child, 0)[1] != 0


def verdict(mutant):
    """Who notices the mutant first: gradcheck, numbers, suite, or nobody."""
    names = uses_of(mutant.op)
    with Planted(mutant):
        if is_noticed(check_gradients, names):
            return "gradcheck"
        if is_noticed(check_numbers, names):
            return "numbers"
        return "suite" if suite_notices() else "nobody"


def all_mutants(chosen=()):
    """All mutants by label; of the ops that were chosen, or of everything."""
    ops = {name: op for name, op in all_classes().items() if not chosen or name in chosen}
    found = {name: mutants_of(op) for name, op in ops.items()}
    if not chosen:
        modules = sorted({op.__module__ for op in ops.values()} | {backprop.__name__, arrays.__name__})
        found |= {module: mutants_of_helpers(sys.modules[module]) for module in modules}
    return {label: mutants for label, mutants in found.items() if mutants}


def main(chosen):
    survivors = []
    print(f"{'':28}{'mutants':>8}{'gradcheck':>11}{'numbers':>9}{'suite':>7}{'survive':>9}")
    totals = np.zeros(5, int)
    for label, mutants in all_mutants(chosen).items():
        verdicts = [verdict(mutant) for mutant in mutants]
        row = [len(mutants), *(verdicts.count(who) for who in ("gradcheck", "numbers", "suite", "nobody"))]
        totals += row
        print("{:28}{:8}{:11}{:9}{:7}{:9}".format(label, *row), flush=True)
        survivors += [mutant for mutant, who in zip(mutants, verdicts, strict=True) if who == "nobody"]
    print("{:28}{:8}{:11}{:9}{:7}{:9}".format("all", *totals))
    if totals[3] and suite_notices():
        print("the suite fails without any fault too, so its column says nothing")
    for mutant in survivors:
        print(f"survives: {mutant.op}.{mutant.fault}")
    return len(survivors)


if __name__ == "__main__":
    main(sys.argv[1:])
