"""What the README shows is what happens: its Python runs as written, its pictures and demos exist."""

import re
from pathlib import Path

from demos import residual_gradients

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_python_runs_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    namespace = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    drawn = set(re.findall(r'"(\w+)\.(?:svg|html)"', "".join(blocks)))
    assert drawn <= {path.stem for path in tmp_path.iterdir()}  # as .dot where there is nothing to draw with
    assert "skip" in capsys.readouterr().out


def test_two_commands_of_one_line_each():
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith("-m demos.residual_gradients")
    assert commands[1].endswith("-m pytest")


def test_every_file_it_names_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target
    for name in re.findall(r"demos\.(\w+)|demos/(\w+\.py)", README):
        module = name[0] or name[1].removesuffix(".py")
        assert (ROOT / "demos" / f"{module}.py").exists(), module


def test_output_of_the_main_job_is_quoted_as_it_is(capsys, tmp_path):
    residual_gradients.main(["--picture", str(tmp_path / "picture.dot")])
    printed = capsys.readouterr().out
    quoted = re.search(r"```text\n(Gradient at the input of each.*?)```", README, re.DOTALL)[1]
    digits = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")
    for line in quoted.strip().splitlines():
        if line.strip() and "largest difference" not in line and "picture" not in line.lower():
            assert digits.sub("#", line.strip()) in digits.sub("#", printed), line
