"""Match equity tables: Kazaross-XG2, files, the extension, and a table of our own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.met import (
    LONGEST_MATCH,
    MatchEquityTable,
    default_met,
    extended,
    load_met,
    met_document,
)
from agent.met_model import FIRST_TURN_EDGE, computed_met
from engine.errors import ConfigError


def test_c22_crawford_and_post_crawford_are_different_rows() -> None:
    """The score after the Crawford game was looked up in the Crawford row."""
    met = default_met()
    assert met.name == "Kazaross-XG2"
    crawford = [met.mwc(away, 1) for away in (2, 3, 4, 5)]
    assert crawford == pytest.approx([0.3226, 0.2492, 0.1856, 0.1582], abs=5e-5)
    post = [met.mwc(away, 1, post_crawford=True) for away in (2, 3, 4, 5)]
    assert post == pytest.approx([0.4880, 0.3226, 0.3100, 0.1901], abs=5e-5)
    for away in (2, 3, 4, 5):
        for over in (False, True):
            leader = met.mwc(1, away, post_crawford=over)
            assert leader + met.mwc(away, 1, post_crawford=over) == pytest.approx(1, abs=1e-12)


def test_chances_fit_together() -> None:
    """Both sides' chances add up to 1, and a point more is never worse; also where extended."""
    met = extended(default_met(), 40)
    for own in range(1, 41):
        for opp in range(1, 41):
            chance = met.mwc(own, opp)
            assert chance + met.mwc(opp, own) == pytest.approx(1, abs=1e-9)
            if own < 40:
                assert chance >= met.mwc(own + 1, opp)
        assert met.mwc(own, own) == pytest.approx(0.5, abs=1e-9)
    assert (np.diff(met.post) <= 0).all()


def test_a_side_that_needs_nothing_has_won() -> None:
    met = default_met()
    assert met.mwc(0, 7) == met.mwc(-3, 1, post_crawford=True) == 1
    assert met.mwc(7, 0) == 0
    with pytest.raises(ConfigError, match="both sides have won"):
        met.mwc(0, -1)


def test_the_extension_continues_the_table() -> None:
    """What the first 15 rows continue to, against the rows that follow in the table."""
    met = default_met()
    start = MatchEquityTable("start", met.pre[:15, :15], met.post[:15])
    continued = extended(start, 25)
    assert continued.name == "start, extended"
    assert np.abs(continued.pre - met.pre).max() < 0.0026
    assert np.abs(continued.post - met.post).max() < 0.002
    np.testing.assert_array_equal(continued.pre[:15, :15], start.pre)
    assert met.mwc(30, 28) == extended(met, 30).mwc(30, 28)
    assert extended(met, 25) is met
    with pytest.raises(ConfigError, match=f"up to {LONGEST_MATCH}"):
        met.mwc(LONGEST_MATCH + 1, 3)


def test_a_tiny_table_is_extended_too() -> None:
    tiny = MatchEquityTable("one point", np.array([[0.5]]), np.array([0.5]))
    assert tiny.mwc(5, 3) == pytest.approx(1 - tiny.mwc(3, 5))
    assert 0.2 < tiny.mwc(5, 3) < 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pre": [[0.5, 0.7], [0.4, 0.5]]}, r"1-away/2-away, 0\.7 and 0\.4, do not add up"),
        ({"pre": [[0.5, 1.7], [-0.7, 0.5]]}, "not between 0 and 1"),
        ({"pre": [[0.5]]}, r"shape \(1, 1\)"),
        ({"pre": [[0.5, 0.7]]}, r"shape \(1, 2\)"),
        ({"pre": [[0.5, "a"], [0.3, 0.5]]}, "not made of numbers"),
        ({"pre": 0.5}, "2 levels of lists"),
        ({"post": [0.4, 0.5]}, "begins with 0.4"),
        ({"post": [0.5, float("nan")]}, "not between 0 and 1"),
    ],
    ids=["sum", "range", "small", "oblong", "text", "number", "dmp", "nan"],
)
def test_wrong_tables_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    good = {"name": "mine", "pre": [[0.5, 0.7], [0.3, 0.5]], "post": [0.5, 0.48]}
    path = tmp_path / "met.json"
    path.write_text(json.dumps(good))
    assert load_met(path).mwc(2, 1) == pytest.approx(0.3)
    path.write_text(json.dumps(good | change))
    with pytest.raises(ConfigError, match=message):
        load_met(path)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "met.json"
    with pytest.raises(ConfigError, match="cannot be read"):
        load_met(path)
    path.write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_met(path)
    path.write_text("[1]")
    with pytest.raises(ConfigError, match="not an object with 'pre' and 'post'"):
        load_met(path)


def test_files_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "met.json"
    table = computed_met(0.2, 5)
    path.write_text(json.dumps(met_document(table)))
    again = load_met(path)
    assert again.name == table.name == "computed, gammon rate 0.2"
    np.testing.assert_allclose(again.pre, table.pre, atol=1e-6)
    np.testing.assert_allclose(again.post, table.post, atol=1e-6)


def test_a_computed_table_by_hand() -> None:
    """Without gammons: the Crawford row and the first scores after it follow by hand."""
    table = computed_met(0.0, 4)
    post_2 = 0.5 - FIRST_TURN_EDGE / 2  # the leader drops when the trailer has begun well
    assert table.post[1] == pytest.approx(post_2)
    assert table.post[2] == pytest.approx(0.25)  # doubled, 2 points: one away each
    assert table.mwc(2, 1) == pytest.approx(0.25)  # half of one away each
    assert table.mwc(3, 1) == pytest.approx(post_2 / 2)
    assert table.mwc(3, 2) == pytest.approx(1 - table.mwc(2, 3))
    with_gammons = computed_met(0.26, 4)
    assert with_gammons.mwc(2, 1) == pytest.approx(0.5 * (0.74 * 0.5 + 0.26))


def test_a_computed_table_is_near_the_rollouts() -> None:
    """As docs/cube.md says: with 26 % gammons at most 0.016 from Kazaross-XG2, rms 0.005."""
    table, rolled_out = computed_met(0.26), default_met()
    off = np.abs(table.pre - rolled_out.pre)
    assert off.max() < 0.0165
    assert np.sqrt((off**2).mean()) < 0.0055
    assert np.abs(table.post - rolled_out.post).max() < 0.009
    np.testing.assert_allclose(table.pre + table.pre.T, 1)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_gammon_rates_out_of_range(rate: float) -> None:
    with pytest.raises(ConfigError, match="gammon rate"):
        computed_met(rate, 3)
