"""What the READMEs show is what happens: their Python and their commands run as written, what they name exists."""

import code
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from demos import residual_gradients

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PACKAGES = ("minigrad", "blocks", "demos", "tests")
READMES = [README, *(path for package in PACKAGES for path in sorted((ROOT / package).rglob("README.md")))]
RUN_SHORTER = {
    "claims",
    "outgrow_to_pytorch",
    "real_decoder",
    "real_encoder",
    "gradient_during_training",
    "logit_lens",
    "missing_skip",
    "norm_scale",
    "residual_stream",
    "short_paths",
    "sort_digits",
    "train_on_python_docs",
}  # see tests/demos

each_readme = pytest.mark.parametrize("readme", READMES, ids=lambda path: path.relative_to(ROOT).as_posix())


NEEDING = r"^<!-- needs ([\w ]+) -->\n(```.*?^```\n)"


def runs_here(block):
    return block[2] if all(importlib.util.find_spec(package) for package in block[1].split()) else ""


def fenced(readme, *languages):
    """The texts of a README's blocks in these languages, each with the text block right behind it, or ''.

    A block under `<!-- needs PACKAGE ... -->` is left out where one of these is not installed.
    """
    text = re.sub(NEEDING, runs_here, readme.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    pattern = rf"^```(?:{'|'.join(languages)})\n(.*?)^```\n(?:\s*^```text\n(.*?)^```)?"
    return re.findall(pattern, text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "breakpointhook", lambda *arguments, **named: None)
    return tmp_path


@each_readme
def test_its_python_runs_as_written(readme, empty_folder):
    namespace = {"__name__": "readme"}
    written = ""
    for block, shown in fenced(readme, "python", "py"):
        written += block
        error = re.match(r"(\w+Error): (.*)", shown)
        try:
            exec(compile(block, f"{readme.parent.name}/README.md", "exec"), namespace)
        except Exception as raised:
            if not error or type(raised).__name__ != error[1]:
                raise
            assert error[2] in str(raised)
        else:
            assert not error, f"this should have raised {error[1]}:\n{block}"
    drawn = set(re.findall(r'"(\w+)\.(?:svg|html)"', written))
    assert drawn <= {path.stem for path in empty_folder.iterdir()}  # as .dot where there is nothing to draw with


@each_readme
def test_its_python_can_be_pasted_into_a_prompt(readme, empty_folder, capsys):
    console = code.InteractiveConsole({"__name__": "__main__"})
    errors = []
    console.showtraceback = console.showsyntaxerror = lambda *_, **__: errors.append(sys.exc_info()[1])
    for block, shown in fenced(readme, "python", "py"):
        expected = re.findall(r"\A(\w+Error): ", shown)
        for line in block.splitlines():
            wants_more = console.push(line)
        assert not wants_more, f"the prompt waits for an empty line behind\n{block}"
        assert [type(error).__name__ for error in errors] == expected, f"{errors} from\n{block}"
        errors.clear()


def commands():
    """Each command of a README's shell blocks that runs a module of ours with `python -m`, once."""
    found = {}
    for readme in READMES:
        for block, _ in fenced(readme, "sh"):
            for line in block.splitlines():
                command = line.partition("#")[0].strip()
                if re.match(r"python -m (demos|minigrad)\b", command) and "SCRIPT" not in command:
                    found[command] = None
    return list(found)


@pytest.mark.parametrize("command", commands())
def test_its_commands_run_as_written(command, tmp_path):
    words = shlex.split(command)
    name = words[2].removeprefix("demos.")
    if name in RUN_SHORTER:
        assert (ROOT / "tests" / "demos" / f"test_{name}.py").exists()
        return
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONBREAKPOINT": "0"}
    result = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_two_commands_of_one_line_each():
    lines = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert lines[0].endswith("-m demos.residual_gradients")
    assert lines[1].endswith("-m pytest")


def test_it_is_read_in_two_minutes():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


@each_readme
def test_every_file_it_names_exists(readme):
    text = readme.read_text(encoding="utf-8")
    for target, heading in re.findall(r'(?:\]\(|src=")([^)#"]*)(?:#([^)"]+))?[)"]', text):
        if "://" in target:
            continue
        path = readme.parent / target if target else readme
        assert path.exists(), target
        if heading:
            assert re.search(rf"^#+ {heading.replace('-', '.')}$", path.read_text(encoding="utf-8"), re.M | re.I), (
                heading
            )
    for name in re.findall(r"demos\.(\w+)|demos/(\w+\.py)", text):
        module = name[0] or name[1].removesuffix(".py")
        assert (ROOT / "demos" / f"{module}.py").exists() or (ROOT / "demos" / module / "__main__.py").exists(), module


def test_every_folder_of_the_project_has_a_readme_that_the_first_one_leads_to():
    linked = set(re.findall(r"\]\(([^)#]+README\.md)", README.read_text(encoding="utf-8")))
    assert linked == {path.relative_to(ROOT).as_posix() for path in READMES} - {"README.md"}


def test_output_of_the_main_job_is_quoted_as_it_is(capsys, tmp_path):
    residual_gradients.main(["--picture", str(tmp_path / "picture.dot")])
    printed = capsys.readouterr().out
    quoted = re.search(r"```text\n(Gradient at.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    digits = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")
    for line in quoted.strip().splitlines():
        if line.strip():
            assert digits.sub("#", line.strip()) in digits.sub("#", printed), line
