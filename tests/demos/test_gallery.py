"""The gallery is whole, and the README's pictures are from it."""

import re
from pathlib import Path

import pytest

from demos import gallery

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    gallery.main([str(folder), "--format", "dot"])
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_every_picture_is_kept_for_readers_of_the_repository(drawn):
    assert set(drawn) <= {path.stem for path in (ROOT / "demos" / "gallery").iterdir()}


def test_the_pictures_of_the_readme_are_there():
    shown = re.findall(r'src="(demos/gallery/[^"]+)"', (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown and all((ROOT / path).is_file() for path in shown)


def test_before_backward_no_node_has_a_gradient_and_afterwards_every_one(drawn):
    assert "no gradient yet" in drawn["before_backward"]
    assert "no gradient yet" not in drawn["after_backward"]


def test_the_picture_of_the_nan_names_what_made_it(drawn):
    assert "made the first NaN or inf" in drawn["first_nan"]
