"""Every question that a kind of random cases may ask, a few times: hypothesis draws too few to be sure of each."""

import pytest
from threadpoolctl import threadpool_limits

from tests.reliability.kinds.table import KINDS

ASKED = [(kind, word) for kind in KINDS for word in dict.fromkeys(kind.choices.get("ask", ()))]


@pytest.mark.parametrize(("kind", "word"), ASKED, ids=lambda part: getattr(part, "name", part))
def test_every_question_of_a_kind(kind, word):
    """The first numbers whose case asks it, as ``make fuzz`` has them."""
    cases = [case for case in map(kind.case, range(120)) if case.ask == word][:6]
    assert len(cases) == 6
    with threadpool_limits(1):
        for case in cases:
            kind.check(case)
