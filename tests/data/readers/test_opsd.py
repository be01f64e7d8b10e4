"""OPSD's generations."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.opsd import from_record, parts
from opd_widgets.errors import ReadError

FIRST = {"step": 99, "prompt": "user\n2+3?", "completion": "5<|im_end|>", "source": "on_policy"}


def test_a_step():
    one, two = from_record({"step": 100, "num_samples": 2, "generations": [FIRST, {"prompt": "p", "completion": ""}]})
    assert (one.prompt_text, one.response_text, one.step) == ("user\n2+3?", "5<|im_end|>", 99)
    assert (one.metadata, one.status, one.text_source) == ({"source": "on_policy"}, "unknown", "text")
    assert (two.response_text, two.step) == ("", 100)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"prompt": "p", "output_text": "x"}, r"found no 'completion' in \['prompt', 'output_text'\]"),
        ({"prompt": "p", "completion": 5}, "found completion of type int"),
        ("text", "generation of type str"),
    ],
)
def test_a_broken_generation_costs_that_one(second, said):
    good, broken = parts({"step": 1, "generations": [FIRST, second]})
    assert len(from_record(good)) == 1
    with pytest.raises(ReadError, match=said):
        from_record(broken)
