"""Cases on which comparable tools went wrong, by id. The other ids are in tests/test_cases.py."""

import inspect
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import blocks
from minigrad import Graph, Parameter, Tensor, draw, scope
from minigrad.drawing import NoRendererError
from tests.minigrad.drawing.conftest import texts

SVG = "{http://www.w3.org/2000/svg}"


def named(name):
    return Tensor([1.0, 2.0], requires_grad=True, name=name)


def svg_of(tensor, **options):
    return ElementTree.fromstring(draw(tensor, **options).svg())


def texts_of(root, id):
    group = next(element for element in root.iter(f"{SVG}g") if element.get("id") == id)
    return [element.text for element in group.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("\\", id="VIZ-01 a backslash"),
        pytest.param('a\\"', id="VIZ-01 a backslash and a quote"),
        pytest.param('\\" shape=box color=red] # "=12', id="VIZ-02"),
        pytest.param("<lambda>", id="VIZ-03"),
        pytest.param("<lambda> <map>", id="VIZ-03 two"),
        pytest.param("<> <>", id="VIZ-03 empty"),
        pytest.param("\\N gradient", id="VIZ-09"),
    ],
)
def test_names_are_shown_as_they_are(renderer, name):
    x = named(name)
    root = svg_of(x * x)
    assert texts_of(root, "n0")[0] == name
    assert [element.get("class") for element in root.iter(f"{SVG}g")].count("node input") == 1
    colors = {element.get("stroke") for element in root.iter()}
    assert "red" not in colors


def test_viz_05_a_colon_makes_no_phantom_node(parsed):
    x = named("layer:0")
    y = x.exp()
    y.name = "b"
    picture = parsed(Graph(y).to_dot())
    assert [texts(node)[0] for node in picture.nodes.values()] == ["layer:0", "b"]
    assert [picture.ends(edge) for edge in picture.edges.values()] == [("n0", "n1")]


def test_viz_11_without_a_renderer_there_is_text_and_one_clear_error(no_renderer):
    picture = draw(named("x").exp())
    assert "digraph" in picture.dot()
    assert "exp" in picture._repr_mimebundle_()["text/plain"]
    with pytest.raises(NoRendererError, match=r"no Graphviz program .* pip install graphviz-pure"):
        picture.svg()


@pytest.mark.parametrize("name", ["g.png", "g.svg"])
def test_viz_12_just_the_named_file_is_written(renderer, tmp_path, name):
    draw(named("x").exp(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert b"digraph" not in (tmp_path / name).read_bytes()


def test_viz_15_a_scope_is_a_box(renderer):
    x = named("x")
    for name in ("Block 0", "Block 0", "Block 1"):
        with scope(name):
            x = x.exp()
        x = x.tanh()
    root = svg_of(x)
    clusters = [element.get("id") for element in root.iter(f"{SVG}g") if element.get("class") == "cluster"]
    assert [texts_of(root, id) for id in clusters] == [["Block 0"], ["Block 0"], ["Block 1"]]


def test_viz_19_a_large_graph_is_grouped_with_a_warning_and_text_has_no_limit():
    model = blocks.Stack(12, d_model=4, n_heads=2, d_ff=8, norm="pre", rng=0)
    graph = Graph(model(named("x").reshape(1, 2) @ np.ones((2, 4))))
    with pytest.warns(UserWarning, match="limit=None draws all"):
        picture = draw(graph, limit=50)
    assert picture.dot().count(" ops, 16 parameters (") == 12
    assert Graph(graph.output).to_dot().count(" -> ") == len(graph.edges)
    assert inspect.signature(draw).parameters["limit"].default == 1500


def test_viz_21_two_tensors_of_one_name_are_two_nodes_in_every_process():
    program = (
        "from minigrad import Graph, Tensor\n"
        "w1, w2 = (Tensor(3.0, requires_grad=True, name='w') for _ in range(2))\n"
        "print(Graph(w1 * w2).to_dot())\n"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].count(b"<B>w</B>") == 2


def test_viz_22_a_notebook_shows_the_svg_at_the_width_of_its_page(renderer):
    bundle = draw(named("x").exp())._repr_mimebundle_()
    root = ElementTree.fromstring(bundle["image/svg+xml"])
    assert root.get("viewBox")
    assert "max-width:100%;height:auto" in root.get("style")


def test_viz_23_a_result_says_its_name_and_that_it_is_a_scalar(parsed):
    loss = named("x").sum()
    assert texts(parsed(Graph(loss).to_dot()).nodes["n1"])[:2] == ["sum", "scalar"]
    loss.name = "loss"
    assert texts(parsed(Graph(loss).to_dot()).nodes["n1"])[:2] == ["loss", "sum  scalar"]


def test_dbg_09_a_gradient_that_was_not_computed_is_never_0(parsed):
    x = Parameter([2.0], name="x")
    h = x * x
    y = h.exp()

    def said(tensor):
        return texts(parsed(Graph(y).to_dot()).nodes[Graph(y).node_of[tensor].id])

    assert all("no gradient yet" in said(tensor) for tensor in (x, h, y))
    for _ in y.backprop([1.0]):
        break  # after one step
    assert "gradient" in said(y)
    assert all("no gradient yet" in said(tensor) for tensor in (x, h))


def test_eng_04_a_long_chain_becomes_text():
    y = x = Tensor(1.0, requires_grad=True)
    for _ in range(10_000):
        y = y + x
    graph = Graph(y)
    assert graph.to_dot().count(" -> ") == 20_000
    assert len(draw(graph, limit=None).mermaid().splitlines()) > 30_000
    assert len(draw(graph, limit=None).text().splitlines()) == 10_001


def test_eng_13_a_lone_leaf_is_one_node(parsed):
    x = Tensor(7.0, requires_grad=True, name="x")
    x.backward()
    picture = parsed(Graph(x).to_dot())
    assert list(picture.nodes) == ["n0"]
    assert picture.edges == {}
    assert texts(picture.nodes["n0"]) == ["x", "input  scalar", "value", "7.00", "gradient", "1.00"]
