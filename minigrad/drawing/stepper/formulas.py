"""The mathematics of a docstring, such as `dL/dx = dL/dy * y (1 - y)`, as MathML.

A formula is a tree of lists, `["msup", ["mi", "x"], ["mn", "2"]]`: the name of a MathML element, then its children.
The page builds its elements one by one from that, so no text is ever read as markup.
"""

import inspect
import re

TOKEN = re.compile(
    r"""
    (?P<space>\s*)
    (?: (?P<derivative>d[A-Za-z]/d[A-Za-z]\w*)
      | (?P<number>\d[\d.]*(?:e-?\d+)?)
      | (?P<word>[^\W\d_][\w']*)
      | (?P<sign>\.\.\.|[<>!=]=|\S) )
    """,
    re.VERBOSE,
)
NAMES = {"pi": "π"}
SIGNS = {"*": "·", "-": "\N{MINUS SIGN}", "<=": "≤", ">=": "≥", "!=": "≠", "...": "…"}
CLOSING = {"(": ")", "[": "]"}
APPLIED = {"cos", "exp", "ln", "mean", "sin", "sum", "tanh"}  # functions that are written without a bracket
PROSE = {"and", "else", "for", "if", "in", "is", "of", "or", "over", "where", "which", "with"}


def formulas_and_notes(docstring):
    """An op's docstring taken apart: equations as formulas, the rest as notes.

    >>> formulas, notes = formulas_and_notes('''y = 2 x;   dL/dx = 2 dL/dy.
    ...
    ... Doubling is linear.''')
    >>> len(formulas), notes
    (2, ['Doubling is linear.'])
    """
    formulas, notes = [], []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "").partition(">>>")[0]):
        sentence = []
        for part in re.split(r"(?<=[;,.:])(?:\s{2,}|\n(?=\S+ = )|\s(?=[A-Z]))", paragraph.strip()):
            statement = " ".join(part.split())
            if is_formula(statement):
                formulas.append(mathml(statement.rstrip(";,.:")))
            elif statement:
                sentence.append(statement)
        if sentence:
            notes.append(" ".join(sentence))
    return formulas, notes


def is_formula(text):
    """Whether a text starts as an equation, and is no sentence with an equation in it.

    >>> is_formula("dL/dx = dL/dy where x > 0, else 0"), is_formula("Constants have slope 0, so dL/dx = 0")
    (True, False)
    """
    return re.match(r"(with )?\S+ = ", text, re.IGNORECASE) is not None


def mathml(text):
    """A formula as a MathML tree. Nothing is an error: what has no structure is shown as it is written.

    >>> mathml("y = x^2 / 3")
    ['math', ['mi', 'y'], ['mo', '='], ['mfrac', ['msup', ['mi', 'x'], ['mn', '2']], ['mn', '3']]]
    """
    return ["math", *Parser(text.replace("`", "")).sequence()]


class Parser:
    """Reads a formula from left to right.

    sequence:  terms, and signs and words of prose between them
    term:      factors side by side, as in `2 x (1 - y)`; a slash puts all of them over the next factor
    factor:    an atom, with its powers
    atom:      a name, a number, a derivative, a bracket, a root
    """

    def __init__(self, text):
        self.tokens = [(match["space"], match.lastgroup, match[match.lastgroup]) for match in TOKEN.finditer(text)]
        self.tokens.reverse()  # so that the next one is the last

    @property
    def next(self):
        return self.tokens[-1][2] if self.tokens else None

    def take(self):
        return self.tokens.pop()[2]

    def sequence(self, end=None):
        found = []
        while self.next not in (None, end):
            if self.starts_factor():
                found += self.term()
            elif self.next in PROSE:
                found.append(["mtext", f"\N{NO-BREAK SPACE}{self.take()}\N{NO-BREAK SPACE}"])
            else:
                found.append(sign(self.take()))
        return found

    def term(self):
        factors = [self.factor()]
        while self.next == "/" or self.starts_factor():
            if self.next == "/":
                slash = sign(self.take())
                above = unbracketed(row(factors))
                factors = [["mfrac", above, unbracketed(self.signed())] if self.tokens else row([*factors, slash])]
            else:
                if self.has_gap():
                    factors.append(["mspace"])
                factors.append(self.factor())
        return factors

    def starts_factor(self):
        """Whether a name, number or opening bracket comes next."""
        if not self.tokens or self.next in PROSE:
            return False
        return self.tokens[-1][1] != "sign" or self.next in CLOSING

    def has_gap(self):
        """Whether a space stands before the next token; mathematics itself puts none between factors."""
        return self.tokens[-1][0] != ""

    def factor(self):
        factor = self.atom()
        while self.next == "^":
            caret = sign(self.take())
            factor = ["msup", factor, unbracketed(self.signed())] if self.tokens else row([factor, caret])
        return factor

    def signed(self):
        """What stands under a slash or in an exponent: an atom, `-x`, or `ln x`; any other sign stands for itself."""
        if self.next == "-":
            minus = sign(self.take())
            return row([minus, self.atom()]) if self.tokens else minus
        if self.next in APPLIED:
            function = self.atom()
            return row([function, ["mspace"], self.factor()]) if self.starts_factor() else function
        return self.atom() if self.starts_factor() else sign(self.take())

    def atom(self):
        kind = self.tokens[-1][1]
        text = self.take()
        if kind == "derivative":
            above, below = text.split("/")
            return ["mfrac", ["mi", f"∂{above[1:]}"], row([["mo", "∂"], name(below[1:])])]
        if kind == "number":
            return ["mn", text]
        if text == "sqrt" and self.next == "(":
            return ["msqrt", unbracketed(self.atom())]
        return name(text) if kind == "word" else self.bracket(text)

    def bracket(self, opening):
        inside = self.sequence(end=CLOSING[opening])
        if self.tokens:
            return ["mrow", sign(opening), *inside, sign(self.take())]
        return row([sign(opening), *inside])


def row(parts):
    return parts[0] if len(parts) == 1 else ["mrow", *parts]


def sign(text):
    return ["mo", SIGNS.get(text, text)]


def name(text):
    """A name, with its index if it has one: `x_i`, `x1`."""
    match = re.fullmatch(r"([^\W_]+)_(\w)|([A-Za-z])(\d+)", text)
    if match is None:
        return ["mi", NAMES.get(text, text)]
    stem, index = filter(None, match.groups())
    return ["msub", ["mi", stem], ["mi", index]]


def unbracketed(part):
    """A numerator, denominator, exponent or root needs no round brackets."""
    if part[0] == "mrow" and part[1] == ["mo", "("] and part[-1] == ["mo", ")"]:
        return row(part[2:-1])
    return part
