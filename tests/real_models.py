"""The two real models, each read once for all tests; a test without their packages is skipped, and says why."""

from functools import cache

import pytest

from blocks.pretrained import load_gguf, load_sentence_encoder
from demos import _models


def minilm_folder():
    return where(_models.minilm_folder)


def smollm2_file():
    return where(_models.smollm2_file)


def where(find):
    try:
        return find()
    except SystemExit as what_to_install:
        pytest.skip(str(what_to_install))


@cache
def minilm():
    return load_sentence_encoder(minilm_folder())


@cache
def smollm2():
    return load_gguf(smollm2_file())
