"""The step-through page in a real browser: what it shows, and how it is used."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from blocks import Stack, lesson_block
from minigrad import Graph, Parameter, Tensor, mse_loss, scope, where, write_stepper
from minigrad.backprop import topological_order
from minigrad.drawing.diagram.renderer import find_renderer
from minigrad.drawing.stepper.sources import saved_arrays

selenium = pytest.importorskip("selenium", reason="drives the browser: pip install selenium")
from selenium.webdriver import ActionChains, Chrome, ChromeOptions, Keys  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402

MINUS = "\N{MINUS SIGN}"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        not (CHROMIUM and CHROMEDRIVER), reason="needs a browser: install chromium and chromium-driver (chromedriver)"
    ),
    pytest.mark.skipif(not find_renderer(), reason="needs a Graphviz program: pip install graphviz-pure"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(CHROMEDRIVER))
    yield driver
    driver.quit()


class Page:
    """A page that is open in a browser."""

    def __init__(self, browser, path, hash="", size=(1280, 800), scheme="light"):
        self.browser = browser
        self.uri = Path(path).as_uri()
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600},
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(self.uri + hash)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def click(self, id):
        self.one(f"#{id}").click()

    @property
    def step(self):
        """The number in the address, once it is seen that status and panel say the same."""
        number = int(self.browser.current_url.rpartition("#step=")[2])
        status = self.one("#status").text
        assert status.startswith(f"Step {number} of ")
        assert self.one("#panel h2").text in status
        assert self.one("#slider").get_attribute("value") == str(number)
        return number

    @property
    def title(self):
        return self.one("#panel h2").text

    @property
    def focused(self):
        return self.browser.switch_to.active_element

    def go(self, number):
        self.js("location.hash = arguments[0]", f"#step={number}")

    def show_level(self, level):
        """Choose a picture by its place in the list."""
        self.all("#level option")[level].click()

    def arrays(self):
        """The arrays of the panel as they are read out number by number, and what the cells of tables show."""
        return self.js(
            """
            return Array.from(document.querySelectorAll("#panel figure"), (figure) => {
              const cells = figure.querySelector("[tabindex]");
              const read = [];
              cells?.focus();
              for (let text = null; cells && text !== figure.querySelector(".readout").textContent; ) {
                text = figure.querySelector(".readout").textContent;
                read.push(text);
                cells.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
              }
              cells?.blur();
              const shown = Array.from(figure.querySelectorAll("td"), (cell) => cell.textContent);
              const power = figure.querySelector("caption")?.textContent ?? null;
              return { text: figure.textContent, read, shown, power };
            });
            """
        )

    def quiet(self):
        """Whether nothing went wrong: no error, nothing refused by the policy, nothing fetched."""
        return self.browser.get_log("browser") == []


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    block, x = lesson_block("pre")
    loss = mse_loss(block(x), np.roll(x.data, -1, axis=0))
    return loss, write_stepper(loss, tmp_path_factory.mktemp("lesson") / "lesson.html")


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_step_of_the_lessons_block_shows_the_numbers_of_the_engine(browser, tmp_path, norm):
    block, x = lesson_block(norm)
    loss = mse_loss(block(x), np.roll(x.data, -1, axis=0))
    page = Page(browser, write_stepper(loss, tmp_path / "lesson.html"))
    loss.backward()  # only now: the page made its gradients itself

    tensors = [node.tensor for node in Graph(loss).nodes]
    expected = [forward_arrays(tensor) for tensor in tensors] + backward_arrays(loss)
    for number, arrays in enumerate(expected, start=1):
        assert page.step == number
        shown = page.arrays()
        assert len(shown) == len(arrays), f"step {number}"
        for figure, array in zip(shown, arrays, strict=True):
            if array is None:
                assert "nothing" in figure["text"]
            else:
                check_numbers(figure, array)
        if number < len(expected):
            page.press(Keys.ARROW_RIGHT)
    assert page.one("#next").get_attribute("disabled")
    assert page.quiet()


def forward_arrays(tensor):
    return [x.data for x in tensor.op.inputs] + [tensor.data] if tensor.op else [tensor.data]


def backward_arrays(loss):
    """What each step back shows: what comes in, part by part, what the rule saved, what is delivered, and sums."""
    sums, steps = {}, []
    order = topological_order(loss)
    inputs = {tensor: True for tensor in order if tensor.is_leaf and not isinstance(tensor, Parameter)}
    for tensor in [*(tensor for tensor in order if tensor not in inputs), *inputs]:  # what was asked about comes last
        if tensor.grad is None:
            continue
        parts = [(i == 0 and y.op.name == "residual_add", y.op.grad_inputs[i]) for y, i in readers(tensor, order)]
        branch = [grad for is_skip, grad in parts if not is_skip]
        arrays = [grad for _, grad in parts] if len(parts) > 1 else []
        arrays += [sum(branch)] if 1 < len(branch) < len(parts) else []
        arrays += [tensor.grad, *(saved_arrays(tensor.op).values() if tensor.op else ())]
        for x, grad in zip(tensor.op.inputs, tensor.op.grad_inputs, strict=True) if tensor.op else ():
            arrays.append(grad)
            if grad is not None:
                sums[x] = sums[x] + grad if x in sums else grad
                if sums[x] is not grad:
                    arrays.append(sums[x])
        steps.append(arrays)
    return steps


def readers(tensor, order):
    """The arrows that delivered to a tensor, in the order of the pass, as pairs of a result and the input of its op."""
    return [
        (y, i)
        for y in order
        if y.op and y.op.grad_inputs
        for i, x in enumerate(y.op.inputs)
        if x is tensor and y.op.grad_inputs[i] is not None
    ]


def check_numbers(figure, array):
    """Read out, a number is the engine's to the last bit; in a cell it is rounded."""
    places = [place.rpartition(" ") for place in figure["read"]]
    read = [float(number.replace("Infinity", "inf")) for _, _, number in places]
    np.testing.assert_array_equal(read, array.ravel())
    if array.ndim:
        indices = [place.rstrip(" =") for place, _, _ in places]
        assert indices == [str(list(index)) for index in np.ndindex(array.shape)]
    power = float(figure["power"].split()[-1].replace(MINUS, "-")) if figure["power"] else 1.0
    for text, value in zip(figure["shown"], array.ravel().tolist(), strict=bool(figure["shown"])):
        number = float(text.replace(MINUS, "-").replace("∞", "inf"))
        if not np.isfinite(value):
            np.testing.assert_equal(number, value)
        else:
            decimals = len(text.partition(".")[2])
            assert abs(number - value / power) <= 0.5001 * 10.0**-decimals, (text, value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5e-9, -2.25e-8], [0.0, 1e-30]]),
        np.array([3.0e7, -1.0, 0.5]),
        np.array([np.nan, np.inf, -np.inf, 0.25]),
        np.array([1.0, -1.0, 12.0]),
        np.array([0.00123456, -0.5]),
        np.array([5e-324, 0.0]),
        np.array(-0.1),
        np.arange(12.0).reshape(2, 3, 2) / 7,
    ],
    ids=str,
)
def test_numbers_of_any_size_can_be_read(browser, tmp_path, array):
    x = Tensor(array, requires_grad=True, name="x")
    page = Page(browser, write_stepper((x * 1.0).sum(), tmp_path / "x.html"), "#step=1")
    [figure] = page.arrays()
    check_numbers(figure, array)
    assert len(figure["shown"]) == array.size


def test_buttons(browser, lesson):
    page = Page(browser, lesson[1])
    total = int(page.one("#slider").get_attribute("max"))
    for button, step in [
        ("next", 2),
        ("next", 3),
        ("previous", 2),
        ("last", total),
        ("previous", total - 1),
        ("first", 1),
    ]:
        page.click(button)
        assert page.step == step
    page.click("play")
    assert page.one("#play").text == "Pause"
    page.click("play")
    assert page.one("#play").text == "Play"
    forward = page.title
    page.click("turn")
    assert page.title == forward and page.one(".phase").text == "backward"


def test_play_stops_at_the_end(browser, lesson):
    page = Page(browser, lesson[1], "#step=99999")
    page.press(Keys.ARROW_LEFT)
    before = page.step
    page.js("const tick = setInterval; window.setInterval = (act) => tick(act, 0)")
    page.press(Keys.SPACE)
    page.js("return new Promise((done) => setTimeout(done, 1000))")
    assert page.step == before + 1
    assert page.one("#play").text == "Play"


def test_keyboard_alone(browser, lesson):
    """Step, jump, read a number, choose a node and open a box, each without a mouse and with the focus to be seen."""
    page = Page(browser, lesson[1], "#step=1")
    page.press(Keys.END)
    last = page.step
    page.press(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert page.step == 2

    page.press("/")
    assert page.focused.get_attribute("id") == "jump"
    page.press("block.attention.softmax", Keys.ENTER)
    assert page.title == "block.attention.softmax"
    in_forward = page.step
    page.press("t")
    assert in_forward < page.step < last
    assert page.title == "block.attention.softmax"

    page.js("document.getElementById('first').focus()")
    stops = []
    for _ in range(60):
        page.press(Keys.TAB)
        stop = page.focused
        if stop.tag_name == "body" or stop.get_attribute("id") == "first":
            break  # once around
        stops.append(stop.get_attribute("id") or stop.get_attribute("class") or stop.tag_name)
        if stop.tag_name == "g":
            assert (
                page.js("return getComputedStyle(arguments[0].querySelector('rect')).strokeDasharray", stop) != "none"
            )
        else:
            assert page.js("return getComputedStyle(arguments[0]).outlineStyle", stop) != "none"
    else:
        pytest.fail(f"the Tab key never leaves the page: {stops}")
    assert {"slider", "jump", "level", "numbers"} <= set(stops)
    assert sum("item" in stop for stop in stops) == 1  # one stop for the graph; the arrow keys go on from there


def test_the_graph_by_keyboard(browser, lesson):
    page = Page(browser, lesson[1])
    page.show_level(1)
    page.js("document.querySelector('[data-id=n0]').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    box = page.focused
    assert "closed" in box.get_attribute("class")
    label = box.get_attribute("aria-label")
    assert page.one("#hint").is_displayed()
    page.press(Keys.ENTER)
    opened = page.focused
    assert opened.get_attribute("aria-expanded") == "true"
    page.press(Keys.ENTER)
    assert page.focused.get_attribute("aria-label") == label
    page.press(Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.focused.get_attribute("data-id") == "n0"
    page.press(Keys.ENTER)
    assert page.title == "x"
    assert page.quiet()


def test_a_link_to_a_step_works_both_ways(browser, lesson):
    page = Page(browser, lesson[1], "#step=12")
    assert page.step == 12
    page.press(Keys.ARROW_RIGHT)
    assert page.browser.current_url.endswith("#step=13")
    page.go(20)
    assert page.step == 20
    for nonsense in ("#step=0", "#step=-3", "#step=x", "#", "#step=1e9"):
        page.js("location.hash = arguments[0]", nonsense)
        assert page.step == 1
    page.go(10**9)
    assert page.step == int(page.one("#slider").get_attribute("max"))


def test_current_node_and_its_arrows_are_lit(browser, lesson):
    loss, path = lesson
    page = Page(browser, path)
    page.show_level(3)
    graph = Graph(loss)
    for number, node in enumerate(graph.nodes, start=1):
        page.go(number)
        assert [item.get_attribute("data-id") for item in page.all(".item.current")] == [node.id]
        assert len(page.all(".arrow.lit")) == len(node.op.inputs if node.op else ())
    walked = [step.op for step in loss.backprop()]
    page.go(len(graph.nodes) + 1)
    seen = []
    for number in range(len(graph.nodes) + 1, 1 + int(page.one("#slider").get_attribute("max"))):
        page.go(number)
        if page.all("#panel pre"):  # an op, and no leaf
            seen.append((page.title.partition(" #")[0], len(page.all(".arrow.lit"))))
    assert seen == [(op.path, sum(x.requires_grad for x in op.inputs)) for op in walked]


def test_skip_and_branch_are_told_apart(browser, lesson):
    page = Page(browser, lesson[1])
    assert len(page.all(".arrow.skip")) == len(page.all(".arrow.branch")) == 2
    skip, branch = (
        page.js(
            "const { stroke, strokeWidth } = getComputedStyle(document.querySelector(arguments[0])); "
            "return [parseFloat(strokeWidth), stroke]",
            f".{way} .shaft",
        )
        for way in ("skip", "branch")
    )
    assert skip[0] > branch[0]
    assert skip[1] != branch[1]
    page.press("/", "block.feed_forward_residual", Keys.ENTER)
    assert [mark.text for mark in page.all("#panel .way")] == ["skip", "branch"]


def test_hover_tells_of_a_node_and_a_click_goes_to_it(browser, lesson):
    page = Page(browser, lesson[1])
    item = page.one("[data-id=n0]")
    ActionChains(browser).move_to_element(item).perform()
    hint = page.one("#hint")
    assert hint.is_displayed()
    assert hint.text.startswith("x\n(3, 4) float64")
    page.press(Keys.END)
    ActionChains(browser).move_to_element(page.one("h1")).move_to_element(item).perform()
    assert "gradient: mean" in page.one("#hint").text
    item.click()
    assert page.title == "x"


def test_hover_on_a_number_reads_it_out(browser, lesson):
    loss, path = lesson
    page = Page(browser, path, "#step=1")
    x = Graph(loss).nodes[0].tensor
    ActionChains(browser).move_to_element(page.all("#panel td")[5]).perform()
    assert page.one("#panel .readout").text == f"[1, 1] = {x.data[1, 1]}"


def test_hover_on_a_colour_reads_its_number_out(browser, tmp_path):
    x = Tensor(np.random.default_rng(0).normal(size=(2, 10, 10)), requires_grad=True, name="x")
    page = Page(browser, write_stepper(x.sum(), tmp_path / "x.html"), "#step=1")
    canvas = page.one("#panel canvas")
    cell = canvas.size["height"] / 20
    at = (3.5 * cell - canvas.size["width"] / 2, 12.5 * cell - canvas.size["height"] / 2)  # row 12, column 3
    ActionChains(browser).move_to_element_with_offset(canvas, *map(int, at)).perform()
    assert page.one("#panel .readout").text == f"[1, 2, 3] = {x.data[1, 2, 3]}"
    page.go(2)
    page.go(1)
    [figure] = page.arrays()
    assert [float(text.rpartition(" ")[2]) for text in figure["read"]] == x.data.ravel().tolist()


def test_boxes_open_and_close(browser, lesson):
    page = Page(browser, lesson[1])
    page.show_level(1)
    closed = {item.get_attribute("aria-label").split(",")[0]: item for item in page.all(".item.closed")}
    assert set(closed) == {"attention_norm", "attention", "feed_forward_norm", "feed_forward"}
    n_items = len(page.all(".item"))
    closed["attention"].click()
    assert len(page.all(".item")) > n_items
    [attention] = [box for box in page.all(".box") if box.text == "attention"]
    ActionChains(browser).move_to_element(attention.find_element(By.TAG_NAME, "text")).click().perform()
    assert len(page.all(".item")) == n_items
    page.press("/", "block.attention.softmax", Keys.ENTER)
    assert "attention" in page.one(".item.current").get_attribute("aria-label")


def test_without_a_renderer_a_list_takes_the_place_of_the_picture(browser, tmp_path, monkeypatch):
    block, x = lesson_block("pre")
    loss = mse_loss(block(x), np.roll(x.data, -1, axis=0))
    monkeypatch.delenv("GRAPHVIZ_DOT", raising=False)
    with monkeypatch.context() as patch:
        patch.setattr("minigrad.drawing.diagram.renderer.shutil.which", lambda *args, **options: None)
        written = write_stepper(loss, tmp_path / "list.html")
    page = Page(browser, written)
    assert not page.all("svg")
    buttons = page.all("#outline button")
    assert [button.get_attribute("data-id") for button in buttons] == [node.id for node in Graph(loss).nodes]
    assert [box.text for box in page.all("#outline summary")][:3] == ["block", "attention_norm", "attention"]
    assert page.one("#outline [aria-current]").text == "x"
    [softmax] = [button for button in buttons if button.text == "softmax"]
    softmax.click()
    assert page.title == "block.attention.softmax"
    assert page.quiet()


def test_names_cannot_inject_anything(browser, tmp_path):
    hostile = '</script><script>document.title = "owned"</script><!-- <img src=x onerror=alert(1)>'
    x = Tensor([1.0, 2.0], requires_grad=True, name=hostile)
    with scope(hostile), scope('"><svg onload=alert(1)>'):
        y = (x * x).sum()
    page = Page(browser, write_stepper(y, tmp_path / "hostile.html", title=hostile), "#step=1")
    assert page.one("h1").text == hostile
    assert page.title == hostile
    assert page.browser.title == hostile.strip()
    assert not page.all("img, svg svg, main script")
    assert len(page.all("script")) == 2
    for _ in range(6):
        page.press(Keys.ARROW_RIGHT)
    assert page.step == 6
    assert page.quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_page(browser, lesson, scheme):
    page = Page(browser, lesson[1], size=(390, 844), scheme=scheme)
    last = int(page.one("#slider").get_attribute("max"))
    for step in range(1, last + 1):
        page.go(step)
        assert page.js("return document.documentElement.scrollWidth") <= 390, f"step {step}"


def test_schemes_differ_and_text_stands_out_in_both(browser, lesson):
    grounds = []
    for scheme in ("light", "dark"):
        page = Page(browser, lesson[1], "#step=40", scheme=scheme)
        ground, text = page.js(
            "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
        )
        grounds.append(ground)
        assert contrast(ground, text) > 7
    assert grounds[0] != grounds[1]


def contrast(one, other):
    """Contrast of two colours, from 1 to 21 (WCAG 2, relative luminance)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    channels = [int(part) / 255 for part in color.strip("rgb()").split(", ")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_step_of_a_large_graph_changes_little(browser, tmp_path):
    """The picture is not drawn anew, and what is written grows with what changes, not with the graph."""
    stack = Stack(2, d_model=16, n_heads=4, d_ff=64, norm="pre", causal=True, rng=0)
    x = Tensor(np.random.default_rng(0).normal(size=(8, 16)), requires_grad=True, name="x")
    loss = (stack(x) ** 2).mean()
    page = Page(browser, write_stepper(loss, tmp_path / "stack.html"), "#step=1")
    page.js("window.drawing = document.querySelector('svg'); window.touched = []")
    page.js(
        """
        const isChange = ({ target, attributeName: name, oldValue }) => !name || target.getAttribute(name) !== oldValue;
        const observer = new MutationObserver((records) => window.touched.push(records.filter(isChange).length));
        observer.observe(drawing, { subtree: true, childList: true, attributes: true, attributeOldValue: true });
        """
    )
    nodes = len(Graph(loss).nodes)
    assert nodes > 80
    for _ in range(40):
        page.press(Keys.ARROW_RIGHT)
    assert page.js("return document.querySelector('svg') === drawing")
    assert max(page.js("return touched")) < 40
    assert len(page.all("#panel *")) < 2_000


def test_where_a_gradient_ends_is_seen_and_said(browser, tmp_path):
    x = Tensor([1.0, -1.0], requires_grad=True, name="x")
    h = (x * 2).detach()
    h.name = "h"
    given = Tensor([3.0, 4.0], name="given")
    page = Page(browser, write_stepper((x * h * given).sum(), tmp_path / "cut.html"))
    assert page.one(".item.cut").text.startswith("h")
    assert page.one(".item.unwanted").text.startswith("given")
    page.one(".item.cut").click()
    assert re.search(r"Cut off by detach\(\) of multiply, at .*test_page_in_browser.py:\d+", page.one("#panel").text)
    page.one(".item.unwanted").click()
    assert "requires_grad is False" in page.one("#panel").text
    page.press("/", "multiply", Keys.ENTER, "t")
    assert "nothing: it requires no gradient" in page.one("#panel").text
    assert page.quiet()


def test_a_nan_is_seen_where_it_begins(browser, tmp_path):
    x = Tensor([1.0, -1.0], requires_grad=True, name="x")
    with np.errstate(invalid="ignore"):
        loss = (x * 2).log().exp().sum()
    page = Page(browser, write_stepper(loss, tmp_path / "nan.html"))
    first = next(node.id for node in Graph(loss).nodes if np.isnan(node.tensor.data).any())
    page.go(len(Graph(loss).nodes))
    assert page.all(".item.spoiled")[0].get_attribute("data-id") == first
    page.press("/", "log", Keys.ENTER)
    assert "NaN" in page.one("#status").text
    assert "NaN" in page.all("#panel table")[1].text


def test_the_inf_of_a_mask_is_no_lead_and_a_key_goes_from_nan_to_nan(browser, tmp_path):
    scores = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="scores")
    masked = where(np.tri(2, dtype=bool), scores, -np.inf)
    with np.errstate(all="ignore"):
        loss = (masked.softmax() * scores).sum() + (scores - scores).log().sum()
        page = Page(browser, write_stepper(loss, tmp_path / "mask.html"))
    count = len(Graph(loss).nodes)
    page.press("/", "where", Keys.ENTER)
    assert "NaN" not in page.one("#status").text
    assert [cell.text for cell in page.all("td.given-inf")] == [f"{MINUS}∞"] * 2
    assert page.all("td.not-finite") == []
    page.go(1)
    for name in ("log", "sum", "add"):
        page.press("n")
        assert page.title.startswith(name)
        assert "NaN or inf" in page.one("#status").text
    assert page.step == count
    page.press("N")
    assert page.step > count
    assert "NaN or inf" in page.one("#status").text
    page.press(Keys.END)
    page.press("n")
    assert page.one("#status").text.startswith("No NaN")


@pytest.mark.parametrize(("number", "says"), [(0.0, "all 0"), (np.nan, "all NaN"), (np.inf, "0, NaN or inf")])
def test_an_array_without_a_scale_says_what_is_in_it(browser, tmp_path, number, says):
    x = Tensor(np.full((3, 20), number), requires_grad=True, name="x")
    page = Page(browser, write_stepper(x.exp().sum(), tmp_path / "zeros.html"))
    page.go(1)
    assert page.one("#panel .scale").text == says


def test_what_the_picture_calls_a_node_is_in_its_panel(browser, tmp_path):
    x = Tensor([1.0], requires_grad=True, name="x")
    page = Page(browser, write_stepper(x.exp().exp().exp(), tmp_path / "names.html"))
    names = [name.text for name in page.all("#picture .item .name")]
    assert sorted(names) == ["exp", "exp #2", "exp #3", "x"]
    for item, name in zip(page.all("#picture .item"), names, strict=True):
        item.click()
        assert page.title == name


def residual_steps(page):
    return [page.js("return STEPS.findIndex((s) => s.meets)") + 1, page.js("return STEPS.length")]


def test_a_residual_says_how_much_took_which_way(browser, lesson):
    page = Page(browser, lesson[1])
    at_residual, last = residual_steps(page)
    page.go(at_residual)
    text = page.one("#panel .meets").text
    assert "Both ways meet again at" in text and "skip norm" in text and "branch norm" in text
    page.go(last)
    assert page.title == "x"
    captions = " ".join(figure.text for figure in page.all("#panel figcaption"))
    assert "skip" in captions and "of the sum, norm" in captions


def test_an_entry_of_a_delivered_gradient_shows_what_it_was_made_of(browser, tmp_path):
    x = Tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], requires_grad=True, name="x")
    w = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True, name="w")
    page = Page(browser, write_stepper((x.softmax() @ w).norm(), tmp_path / "a.html"))
    lit = """
        const figures = [...document.querySelectorAll("#panel figure")];
        const cell = figures[arguments[0]].querySelectorAll("td")[arguments[1]];
        cell.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
        return figures.map((figure) =>
          [...figure.querySelectorAll("td")].flatMap((td, i) => td.classList.contains("read") ? [i] : []));
    """
    page.go(page.js("return STEP_OF.backward.get(STEPS.find((s) => DATA.nodes[s.node].path === 'matmul').node)") + 1)
    assert page.js(lit, 3, 1)[:3] == [[0, 1], [], [2, 3]]  # dL/dx[0, 1]: row 0 of dL/dz, and row 1 of w
    assert page.js(lit, 4, 3)[:3] == [[1, 3], [1, 4], []]  # dL/dw[1, 1]: its column 1, and column 1 of x
    page.go(page.js("return STEP_OF.backward.get(STEPS.find((s) => DATA.nodes[s.node].path === 'softmax').node)") + 1)
    assert page.js(lit, 2, 4)[:2] == [[3, 4, 5], [3, 4, 5]]  # the row


def test_steps_of_parameters_can_be_passed_over(browser, lesson):
    page = Page(browser, lesson[1])
    page.one("#parameters").click()
    kinds = []
    for _ in range(page.js("return STEPS.length")):
        page.click("next") if page.one("#next").is_enabled() else None
        kinds.append(page.js("return DATA.nodes[STEPS[Number(by('slider').value) - 1].node].kind"))
    assert "parameter" not in kinds and page.title == "x" and page.step == page.js("return STEPS.length")


def test_in_the_frame_of_a_notebook(browser, lesson, tmp_path):
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!doctype html><title>n</title>{lesson[1]._repr_html_()}", encoding="utf-8")
    page = Page(browser, outer)
    browser.switch_to.frame(page.one("iframe"))
    page.click("last")
    assert page.one("#status").text.startswith("Step 7") and page.title == "x"
    page.one("#panel a.node").click()  # a link to another step stays in the frame
    assert page.title != "x" and page.one("#status").text.startswith("Step")
    browser.switch_to.default_content()
    assert browser.current_url == page.uri and page.quiet()


def test_tokens_stand_beside_the_rows(browser, tmp_path):
    block, x = lesson_block("pre")
    page = Page(browser, write_stepper(block(x).sum(), tmp_path / "a.html", labels=["the", "cat", "<b>"]))
    assert [head.text for head in page.all("#panel th[scope=row]")] == ["the", "cat", "<b>"]
    page.go(page.js("return STEPS.findIndex((s) => DATA.nodes[s.node].path.endsWith('softmax'))") + 1)
    assert [head.text for head in page.all("#panel figure:last-of-type th[scope=col]")][:3] == ["the", "cat", "<b>"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_to_mend(browser, lesson, scheme, width):
    selenium_axe = pytest.importorskip("axe_core_python.selenium", reason="pip install axe-core-python")
    page = Page(browser, lesson[1], size=(width, 844), scheme=scheme)
    for place in (1, *residual_steps(page)):
        page.go(place)
        found = selenium_axe.Axe().run(browser)["violations"]
        assert [(one["id"], [node["html"][:90] for node in one["nodes"][:3]]) for one in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_arrays_are_in_view_and_text_is_large_enough(browser, lesson, scheme):
    page = Page(browser, lesson[1], size=(390, 844), scheme=scheme)
    page.go(residual_steps(page)[0])
    assert page.js(
        "return document.querySelector('#panel figure .numbers').getBoundingClientRect().bottom < innerHeight"
    )
    smallest = """
        const scale = document.querySelector("#picture svg").getBoundingClientRect().width / DATA.pictures.find(
          (p) => p.size[0] === document.querySelector("#picture svg").viewBox.baseVal.width).size[0];
        return Math.min(...[...document.querySelectorAll("body *")]
          .filter((e) => e.childElementCount === 0 && e.textContent.trim() && e.getClientRects().length)
          .map((e) => parseFloat(getComputedStyle(e).fontSize) * (e.closest("svg") ? scale : 1)));
    """
    assert page.js(smallest) >= 11
