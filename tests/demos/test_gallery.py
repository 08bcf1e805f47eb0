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
    return {path.stem: path.read_text() for path in folder.iterdir()}


def test_the_pictures_kept_are_those_that_the_demo_draws(drawn):
    assert {path.stem for path in (ROOT / "demos" / "gallery").iterdir()} == set(drawn)


def test_the_pictures_of_the_readme_are_in_the_gallery(drawn):
    shown = re.findall(r"\]\(demos/gallery/(\w+)\.png\)", (ROOT / "README.md").read_text())
    assert set(shown) <= set(drawn)


def test_before_backward_no_node_has_a_gradient_and_afterwards_every_one(drawn):
    assert "no gradient yet" in drawn["before_backward"]
    assert "no gradient yet" not in drawn["after_backward"]


def test_the_picture_of_the_nan_names_what_made_it(drawn):
    assert "made the first NaN or inf" in drawn["first_nan"]
