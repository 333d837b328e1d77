"""The promises of the estimator on random problems; MANYVIEW_PROBLEMS says on how many."""

import os

from faults.problems import run


def test_every_promise_is_kept_on_random_problems():
    tally = run(int(os.environ.get("MANYVIEW_PROBLEMS", "20")))
    assert not tally.broken, "\n".join(tally.lines())
