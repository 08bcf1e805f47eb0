"""Files, notebooks, limits: what `draw` leaves behind."""

import os
import re
import stat
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import numpy as np
import pytest

import blocks
from minigrad import Graph, Tensor, draw, scope
from minigrad.drawing import NoRendererError, RendererError
from minigrad.drawing.stepper.layout import layouts
from minigrad.files import write_whole


@pytest.fixture
def y():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    return x * x


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        ("svg", b"<?xml"),
        ("png", b"\x89PNG"),
        ("PNG", b"\x89PNG"),
        ("dot", b"digraph"),
        ("gv", b"digraph"),
        ("mmd", b"flowchart TB"),
        ("txt", b"n0  x"),
    ],
)
def test_the_suffix_names_the_format_and_just_that_file_is_written(renderer, tmp_path, y, suffix, start):
    picture = draw(y, tmp_path / f"graph.{suffix}")
    assert files(tmp_path) == [f"graph.{suffix}"]
    assert picture.path == tmp_path / f"graph.{suffix}"
    assert picture.path.read_bytes().startswith(start)


@pytest.mark.parametrize("renderer", ["dot"], indirect=True)
def test_a_pdf_from_graphviz_itself(renderer, tmp_path, y):
    assert draw(y, tmp_path / "graph.pdf").path.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("renderer", ["graphviz-pure"], indirect=True)
def test_a_pdf_without_graphviz_says_what_to_install(renderer, tmp_path, y):
    with pytest.warns(UserWarning, match=r"no pdf: install Graphviz .* Wrote .*graph\.dot"):
        draw(y, tmp_path / "graph.pdf")
    assert files(tmp_path) == ["graph.dot"]


def test_without_a_renderer_the_dot_is_written_and_one_line_says_how_to_get_one(no_renderer, tmp_path, y):
    with pytest.warns(UserWarning, match=r"pip install graphviz-pure.*Wrote .*graph\.dot instead") as warned:
        picture = draw(y, tmp_path / "graph.svg")
    assert len(warned) == 1
    assert "\n" not in str(warned[0].message)
    assert warned[0].filename == __file__
    assert files(tmp_path) == ["graph.dot"]
    assert picture.path.read_text(encoding="utf-8") == Graph(y).to_dot() + "\n"


def test_without_a_renderer_texts_work_and_the_svg_raises_one_clear_error(no_renderer, y):
    picture = draw(y)
    assert picture.dot().startswith("digraph")
    assert picture.mermaid().startswith("flowchart")
    with pytest.raises(NoRendererError, match="pip install graphviz-pure"):
        picture.svg()


def test_a_program_that_is_not_there_is_named(monkeypatch, y):
    monkeypatch.setenv("GRAPHVIZ_DOT", "/no/such/dot")
    with pytest.raises(NoRendererError, match=r"\$GRAPHVIZ_DOT is '/no/such/dot'"):
        draw(y).svg()


def test_a_program_that_fails_is_quoted(monkeypatch, tmp_path, y):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho out of ink >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("GRAPHVIZ_DOT", str(program))
    with pytest.raises(RuntimeError, match=r"exit code 3\): out of ink"):
        draw(y, tmp_path / "graph.svg")
    assert files(tmp_path) == ["dot"]


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_a_program_that_draws_nothing_whole_is_one_clear_error(broken_program, tmp_path, y, format):
    with pytest.raises(RendererError, match=f"{broken_program} (drew no whole {format}|cannot be run: )"):
        draw(y, tmp_path / f"graph.{format}")
    assert files(tmp_path) == []


@pytest.mark.parametrize("format", ["png", "pdf"])
def test_an_svg_is_no_png(monkeypatch, tmp_path, y, format):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho '<svg></svg>'\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("GRAPHVIZ_DOT", str(program))
    with pytest.raises(RendererError, match=rf"no whole {format} \(exit code 1\): <svg></svg>"):
        draw(y, tmp_path / f"graph.{format}")
    assert files(tmp_path) == ["dot"]


def test_a_notebook_with_a_broken_program_gets_the_text_and_the_reason(broken_program, y):
    bundle = draw(y)._repr_mimebundle_()
    assert set(bundle) == {"text/plain"}
    assert "multiply" in bundle["text/plain"]
    assert str(broken_program) in bundle["text/plain"]


def test_a_whole_svg_counts_even_if_the_program_complains(monkeypatch, tmp_path, y):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho '<svg viewBox=\"0 0 1 1\"></svg>'\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("GRAPHVIZ_DOT", str(program))
    assert draw(y).svg().rstrip().endswith("</svg>")


@pytest.mark.parametrize("name", ["graph", "graph.jpeg", "graph.svg.zip", "svg"])
def test_another_suffix_is_refused_with_those_there_are(tmp_path, y, name):
    with pytest.raises(ValueError, match=r"ends in \.svg, \.png"):
        draw(y, tmp_path / name)
    assert files(tmp_path) == []


def test_a_folder_must_be_there(tmp_path, y):
    with pytest.raises(FileNotFoundError, match="no folder"):
        draw(y, tmp_path / "missing" / "graph.dot")
    (tmp_path / "graph.dot").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        draw(y, tmp_path / "graph.dot")


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "graph.svg"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "not bytes")
    assert files(tmp_path) == ["graph.svg"]
    assert path.read_bytes() == b"old"


def test_a_notebook_gets_the_svg_and_the_text(renderer, y):
    bundle = draw(y)._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "text/plain"}
    root = ElementTree.fromstring(bundle["image/svg+xml"])
    assert root.get("viewBox")
    assert "max-width:100%" in root.get("style")


def test_a_notebook_without_a_renderer_gets_the_text(no_renderer, y):
    bundle = draw(y)._repr_mimebundle_()
    assert set(bundle) == {"text/plain"}
    assert "multiply" in bundle["text/plain"]
    assert "pip install graphviz-pure" in bundle["text/plain"]


def test_show_prints_in_a_terminal_and_displays_in_a_notebook(y, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    draw(y).show()
    assert "multiply" in capsys.readouterr().out

    shown = []
    display = types.SimpleNamespace(display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(display=display))
    picture = draw(y)
    picture.show()
    assert shown == [picture]
    assert capsys.readouterr().out == ""


def test_ids_in_the_svg_are_those_of_the_graph(renderer, y):
    graph = Graph(y)
    root = ElementTree.fromstring(draw(graph).svg())
    ids = {element.get("id") for element in root.iter()}
    assert {item.id for item in (*graph.nodes, *graph.edges)} <= ids


def test_tooltips_tell_name_shape_numbers_and_the_user_s_line(renderer):
    x = Tensor([3.0, 4.0], requires_grad=True, name="x")
    y = x * 2.0  # the line that the tooltip names
    line = y.op.lineno
    root = ElementTree.fromstring(draw(y).svg())
    tips = [value for element in root.iter() for key, value in element.attrib.items() if key.endswith("}title")]
    tip = next(tip for tip in tips if tip.startswith("multiply"))
    assert f"diagram/test_picture.py:{line}" in tip
    assert "(2,) float64: mean 7" in tip
    assert "no gradient yet" in tip


@pytest.mark.parametrize(
    "options", [{"values": "number"}, {"values": True}, {"direction": "up"}, {"flow": "sideways"}, {"depth": -1}]
)
def test_an_option_that_does_not_exist_is_refused(y, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        draw(y, **options)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"depth": "a"}, "depth is a whole number, or None for everything; got 'a'"),
        ({"depth": 1.5}, "depth is a whole number, or None for everything; got 1.5"),
        ({"limit": "a"}, "limit is a whole number, or None for everything; got 'a'"),
        ({"highlight": "red"}, r"highlight is a dict like \{tensor: 'red'\}; got 'red'"),
        ({"meanings": "red"}, r"meanings is a dict like \{'red': 'the first NaN'\}; got 'red'"),
    ],
)
def test_an_option_of_another_type_is_refused_with_what_is_wanted(y, options, wanted):
    with pytest.raises(TypeError, match=wanted):
        draw(y, **options)


def test_a_whole_number_of_numpy_is_one(y):
    assert len(draw(y, depth=np.int64(1), limit=np.int64(10)).view.items) == 2


@pytest.mark.parametrize("color", [5, None, ["red"]])
def test_a_colour_that_is_no_word_is_refused(y, color):
    with pytest.raises(ValueError, match="a colour is one of red"):
        draw(y, highlight={y: color})


def test_a_colour_that_does_not_exist_is_refused(y):
    with pytest.raises(ValueError, match="a colour is one of red"):
        draw(y, highlight={y: "reddish"})


def test_only_a_tensor_can_be_drawn():
    with pytest.raises(TypeError, match="got ndarray"):
        draw(np.ones(2))


@pytest.fixture(scope="module")
def stack():
    model = blocks.Stack(12, d_model=4, n_heads=2, d_ff=8, norm="pre", rng=0)
    return Graph(model(Tensor(np.ones((3, 4)), requires_grad=True, name="x")))


def test_a_picture_above_the_limit_is_closed_and_says_so(stack):
    with pytest.warns(UserWarning, match=r"closed at depth 1: .* limit=None draws all"):
        picture = draw(stack, limit=20)
    assert len(picture.view.items) == 14
    assert "limit=None draws all" in picture.dot()
    assert "limit=None draws all" in picture.text()


def test_the_limit_can_be_lifted(stack):
    assert len(draw(stack, limit=None).view.items) == len(stack.nodes)


def test_a_flat_graph_above_the_limit_is_text_but_no_picture(tmp_path):
    y = Tensor(1.0, requires_grad=True)
    for _ in range(30):
        y = y.tanh()
    picture = draw(y, tmp_path / "graph.dot", limit=20)
    assert files(tmp_path) == ["graph.dot"]
    with pytest.raises(ValueError, match=r"31 nodes.*limit=None"):
        picture.svg()
    assert picture._repr_mimebundle_() == {"text/plain": repr(picture)}


def test_the_text_is_the_same_in_another_process():
    program = (
        "from minigrad import Tensor, Graph, scope\n"
        "w1, w2 = Tensor(3.0, requires_grad=True, name='w'), Tensor(3.0, requires_grad=True, name='w')\n"
        "y = (w1 * w2).tanh()\n"
        "y.backward()\n"
        "print(Graph(y).to_dot())\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8", check=True
        ).stdout
        for _ in range(2)
    }
    assert len(runs) == 1


def test_drawing_changes_nothing():
    block, x = blocks.lesson_block()
    with scope("mine"):
        loss = block(x).sum()
    loss.backward()
    before = {id(node.tensor): (node.tensor.data.copy(), node.tensor.grad) for node in Graph(loss).nodes}
    draw(loss).dot()
    for node in Graph(loss).nodes:
        data, grad = before[id(node.tensor)]
        np.testing.assert_array_equal(node.tensor.data, data)
        assert node.tensor.grad is grad


def test_several_outputs_are_one_picture():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    outputs = [x.exp(), x.tanh()]
    picture = draw(outputs)
    assert picture.text().count("input") == 1 and len(picture.view.items) == 3
    assert picture.dot() == draw(Graph(outputs)).dot()


def test_without_a_depth_so_much_is_opened_as_can_be_read_and_it_says_so():
    model = blocks.Stack(6, d_model=4, n_heads=1, d_ff=4, rng=0)
    y = model(Tensor(np.ones((2, 4)), requires_grad=True))
    picture = draw(y)
    assert 10 < len(picture.view.items) <= 100
    assert "depth=2, since all" in picture.dot() and 'expand="blocks.' in picture.text()
    assert len(draw(y, limit=None).view.items) == len(Graph(y).nodes) and len(draw(y, depth=9).view.items) > 100
    opened = picture.view.note.split('expand="')[1].split('"')[0]
    assert draw(y, expand=opened).view.note is None


def test_a_program_that_hangs_is_stopped(monkeypatch, tmp_path):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("GRAPHVIZ_DOT", str(program))
    monkeypatch.setenv("MINIGRAD_RENDERER_TIMEOUT", "0.2")
    with pytest.raises(RendererError, match=r"not done after 0\.2 seconds.*MINIGRAD_RENDERER_TIMEOUT"):
        draw(Tensor(1.0), tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()
    monkeypatch.setenv("MINIGRAD_RENDERER_TIMEOUT", "soon")
    with pytest.raises(RendererError, match="should be a number of seconds"):
        draw(Tensor(1.0), tmp_path / "a.svg")


def test_viz_b_threads_that_write_to_names_that_begin_alike(tmp_path):
    paths = [tmp_path / f"{'a' * 60}{n}.svg" for n in range(8)]

    def write(n):
        for _ in range(20):
            write_whole(paths[n], str(n).encode() * 2000)
            assert paths[n].read_bytes() == str(n).encode() * 2000

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert files(tmp_path) == sorted(path.name for path in paths)


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX; run it on Linux or macOS")
def test_viz_c_links_modes_and_devices_stay_what_they_are(tmp_path):
    (tmp_path / "target").mkdir()
    target, link = tmp_path / "target" / "graph.svg", tmp_path / "link.svg"
    link.symlink_to(target)
    write_whole(link, b"first")  # the target does not exist yet
    target.chmod(0o600)
    write_whole(link, b"second")
    assert link.is_symlink()
    assert target.read_bytes() == b"second"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    fresh, plain = tmp_path / "fresh.svg", tmp_path / "plain.svg"
    write_whole(fresh, b"")
    plain.write_bytes(b"")
    assert fresh.stat().st_mode == plain.stat().st_mode
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write_whole(pipe, b"third")
        assert read.result(10) == b"third"
    assert files(tmp_path / "target") == ["graph.svg"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


GARBAGE_JSON = [
    '{"bb": 5}',
    '{"bb": "0,0,1"}',
    '{"bb": "0,0,nan,inf"}',
    '{"bb": "0,0,9,9", "objects": 3}',
    '{"bb":' + "[" * 100_000 + "}",
]
GARBAGE_JSON += ['{"bb": "0,0,9,9", "objects": [[]]}', '{"bb": "0,0,9,9", "edges": [{"id": 1, "pos": null}]}', "{} {}"]


@pytest.mark.skipif(os.name != "posix", reason="the program that prints garbage is a shell script")
@pytest.mark.parametrize("garbage", GARBAGE_JSON, ids=range(len(GARBAGE_JSON)))
def test_viz_d_a_layout_that_is_garbage_is_one_clear_error(monkeypatch, tmp_path, y, garbage):
    printing(monkeypatch, tmp_path, garbage.encode())
    with pytest.raises(RendererError, match=r"gave no layout of \d graphs|drew no whole json"):
        layouts(Graph(y.sum()), {})


@pytest.mark.skipif(os.name != "posix", reason="the program that prints garbage is a shell script")
def test_viz_d_an_svg_that_is_no_text_is_one_clear_error(monkeypatch, tmp_path, y):
    printing(monkeypatch, tmp_path, b"<svg>\xff\xfe</svg>")
    with pytest.raises(RendererError, match="drew no whole svg"):
        draw(y, tmp_path / "graph.svg")
    assert not (tmp_path / "graph.svg").exists()
    assert "drew no whole svg" in draw(y)._repr_mimebundle_()["text/plain"]


def printing(monkeypatch, folder, content):
    """A program in the place of `dot` that prints this."""
    (folder / "content").write_bytes(content)
    program = folder / "dot"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\ncat '{folder / 'content'}'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("GRAPHVIZ_DOT", str(program))


def drawn_size(svg):
    root = ElementTree.fromstring(svg.encode())
    scale = float(re.search(r"scale\(([\d.]+)", svg).group(1))
    sizes = {float(text.get("font-size")) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    return float(root.get("width")), float(root.get("height")), scale * min(sizes)


@pytest.mark.parametrize(("size", "direction"), [((1280, 720), "TB"), ((1280, 720), "LR"), ((700, 1400), "TB")])
def test_a_slide_can_be_read(renderer, size, direction):
    block, x = blocks.lesson_block("post")
    y = block(x)
    (y * y).sum().backward()
    width, height, smallest = drawn_size(draw(y, depth=1, size=size, direction=direction).svg())
    assert width <= size[0] + 1 and height <= size[1] + 1 and smallest >= 14


def test_a_slide_on_which_too_much_is_asked_for_says_so(renderer):
    y = Tensor([1.0], requires_grad=True)
    for _ in range(60):
        y = y.tanh()
    with pytest.warns(UserWarning, match="at 300 x 200 pixels the smallest text has"):
        draw(y, size=(300, 200))
    with pytest.raises(ValueError, match=r"size is \(width, height\) in pixels"):
        draw(y, size=1280)


def test_from_side_to_side_the_data_goes_as_asked(y):
    assert "rankdir=RL" in draw(y, direction="LR", flow="backward").dot()
    assert "rankdir=LR" in draw(y, direction="LR").dot() and "rankdir=TB" in draw(y, flow="backward").dot()


def test_fonts_of_an_svg_have_one_of_the_same_widths_to_fall_back_on(renderer, y):
    assert set(re.findall('font-family="([^"]*)"', draw(y).svg())) == {"Helvetica,Arial,sans-serif"}
