"""Names that are syntax somewhere: in DOT, in its labels, in svg, in Mermaid. They must come out as they went in."""

import re
from xml.etree import ElementTree

import pytest

from minigrad import Graph, Parameter, Tensor, draw, residual_add, scope, write_stepper
from minigrad.drawing.colors import KINDS
from minigrad.drawing.labels import clean
from minigrad.drawing.view import kind_shown

HOSTILE = [
    "\\",
    'a\\"',
    '"',
    '\\" shape=box color=red] # "=12',
    "<lambda>",
    "<lambda> <map>",
    "<> <>",
    "<b>bold</b>",
    "</TD></TR></TABLE>",
    "layer:0",
    "a:b:c",
    "{a|b}",
    "\\N gradient",
    "\\G \\L \\l \\r \\E \\T \\H",
    "node",
    "graph",
    "subgraph",
    "strict digraph",
    "n0",
    "cluster_b0",
    "a -> b; c",
    "two\nlines",
    "carriage\rreturn",
    "tab\there",
    "nul\0",
    "bell\a",
    "\ud800",
    "\ufffe",
    "&amp;",
    "&#92;N",
    "&lt;",
    "& < >",
    "%3",
    "// comment",
    "/* comment */",
    "# comment",
    "日本語",
    "😀 👨‍👩‍👧",
    "é",
    "]",
    "]]>",
    "--> x",
    "end",
    "`x`",
    " ",
    "'",
    "x" * 10_000,
    "\\" * 999,
]


SVG = "{http://www.w3.org/2000/svg}"


def hostile_graph(name):
    """The name in every place that takes one: input, parameter, result, scope, label of a residual."""
    x = Tensor([1.0, 2.0], requires_grad=True, name=name)
    w = Parameter([3.0, 4.0], name=name)
    with scope(name):
        y = residual_add(x, x * w, name)
    z = y.sum()
    z.name = name
    return Graph(z)


def drawn(root, id):
    """The first line of text in a node or cluster of an svg; runs of spaces count as one."""
    group = next(element for element in root.iter(f"{SVG}g") if element.get("id") == id)
    return " ".join((next(group.iter(f"{SVG}text")).text or "").split())


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_adds_nothing_to_the_graph(parsed, name):
    graph = hostile_graph(name)
    picture = parsed(draw(graph, title=name, meanings={"red": name}).dot())
    assert sorted(picture.names) == ["cluster_b0", *(node.id for node in graph.nodes)]
    assert sorted(picture.edges) == [edge.id for edge in graph.edges]
    assert {node["color"] for node in picture.nodes.values()} == {
        KINDS[kind_shown(node)].border for node in graph.nodes
    }
    assert {node["shape"] for node in picture.nodes.values()} == {"box"}


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_drawn_as_it_is(renderer, name):
    graph = hostile_graph(name)
    root = ElementTree.fromstring(draw(graph).svg())
    expected = " ".join(clean(name).split())
    named = [node.id for node in graph.nodes if node.name == name]
    assert len(named) == 4
    for id in (*named, "b0"):
        assert drawn(root, id) == expected
    titles = [value for element in root.iter() for key, value in element.attrib.items() if key.endswith("}title")]
    assert any(title.startswith(clean(name, 200)) for title in titles)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_quoted_in_mermaid(name):
    lines = draw(hostile_graph(name)).mermaid().splitlines()
    labels = [line for line in lines if '["' in line]
    assert len(labels) == 6
    for line in labels:
        assert re.fullmatch(r'\s*(subgraph )?[nb]\d+\["[^"`<>\\]*"\](:::\w+)?', line.replace("<br>", " ")), line


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_stays_on_its_line_in_text(name):
    assert len(draw(hostile_graph(name)).text().splitlines()) == 6


def test_any_name_is_drawn_as_it_is(renderer):
    hypothesis = pytest.importorskip("hypothesis", reason="pip install hypothesis")
    strategies = hypothesis.strategies

    @hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
    @hypothesis.given(strategies.text(strategies.characters(), min_size=1, max_size=30))
    def check(name):
        graph = hostile_graph(name)
        root = ElementTree.fromstring(draw(graph).svg())
        groups = [element.get("class", "").split()[0] for element in root.iter(f"{SVG}g") if element.get("class")]
        assert [groups.count(kind) for kind in ("node", "edge", "cluster")] == [5, 5, 1]
        assert drawn(root, "n0") == " ".join(clean(name).split())

    check()


@pytest.mark.parametrize("name", [5, 2.5])
def test_a_name_that_is_no_text_is_shown_as_text(name, tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.name = y.name = name
    loss = y.sum()
    picture = draw(loss)
    for text in (picture.dot(), picture.mermaid(), picture.text()):
        assert str(name) in text
    assert write_stepper(loss, tmp_path / "page.html").exists()
