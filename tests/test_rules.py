"""engine.rules: switches and their values, presets, mixes as text, errors that name everything."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import START, pip_count
from engine.errors import ConfigError, NardiError
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, LONG_NARDI, PRESETS, Rules, parse_rules
from engine.scoring import KINDS
from engine.variant import LONG, SHORT, variant_of
from tests.long_positions import constructed_turns
from tests.reference_long import half_turned

VALUES: dict[str, list[object]] = {
    "hit_and_hide": ["allow", "ban"],
    "hit_then_bear_off": ["allow", "ban_hitter", "ban_home_hit"],
    "end_rule": ["no_draw", "last_chance_draw"],
    "scoring": ["oin_mars_koks_123", "oin_mars_12", "mars_homemars_koks_1234"],
    "cube": [True, False],
    "progression": ["geometric", "arithmetic"],
    "cube_cap": [64, None, 1, 2, 1024, 1 << 30],
    "mars_with_cube": [True, False],
    "jacoby": [False, True],
    "beaver": [False, True],
    "auto_doubles": [0, 1, 3, None],
    "match_to": [None, 1, 7, 25],
    "crawford": [True, False],
}
"""The values of every switch of short nardi, the default first."""
LONG_VALUES: dict[str, list[object]] = {
    "head_exception": ["classic", "seed_list", "principle", "none"],
    "block_rule": ["opp_ahead", "always", "none"],
    "block_check": ["step", "turn"],
    "opening_dice_played": [False, True],
}
"""The same of the switches of long nardi alone."""


def some_rules() -> st.SearchStrategy[Rules]:
    return st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(values) for name, values in VALUES.items()}
    ).map(lambda switches: INTERNATIONAL.replace(**switches))


def test_there_is_a_switch_for_every_rule_and_the_defaults_are_international() -> None:
    assert {f.name for f in dataclasses.fields(Rules)} == {"game", *VALUES, *LONG_VALUES}
    for name, values in (VALUES | LONG_VALUES).items():
        assert getattr(INTERNATIONAL, name) == values[0]
    assert INTERNATIONAL.game == "short"
    assert Rules() == INTERNATIONAL


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in VALUES.items() for value in values]
)
def test_every_value_is_accepted_alone(name: str, value: object) -> None:
    rules = INTERNATIONAL.replace(**{name: value})
    assert getattr(rules, name) == value
    assert rules.as_dict()[name] == value
    others = {key: v for key, v in rules.as_dict().items() if key != name}
    assert others == {key: v for key, v in INTERNATIONAL.as_dict().items() if key != name}


def test_presets_differ_from_the_default_in_what_they_are_named_for() -> None:
    def differences(rules: Rules) -> dict[str, object]:
        default = INTERNATIONAL.as_dict()
        return {key: v for key, v in rules.as_dict().items() if v != default[key]}

    assert set(PRESETS) == {"international", "caucasian", "arena", "long"}
    assert differences(LONG_NARDI) == {"game": "long", "scoring": "oin_mars_12", "cube": False}
    assert differences(INTERNATIONAL) == {}
    assert differences(CAUCASIAN) == {"hit_and_hide": "ban"}
    assert differences(ARENA) == {
        "hit_and_hide": "ban",
        "scoring": "oin_mars_12",
        "mars_with_cube": False,
        "cube_cap": None,
    }


def test_rules_cannot_be_changed_and_can_be_keys() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        INTERNATIONAL.jacoby = True  # type: ignore[misc]
    assert len({INTERNATIONAL, Rules(), CAUCASIAN, ARENA}) == 3
    with pytest.raises(TypeError):
        Rules("short")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("game", "chess"),
        ("hit_and_hide", "sometimes"),
        ("hit_and_hide", None),
        ("hit_and_hide", True),
        ("hit_then_bear_off", "ban"),
        ("end_rule", ""),
        ("scoring", "123"),
        ("scoring", ["oin_mars_12"]),
        ("cube", 1),
        ("cube", "yes"),
        ("cube", None),
        ("progression", "linear"),
        ("cube_cap", 0),
        ("cube_cap", -1),
        ("cube_cap", True),
        ("cube_cap", 64.0),
        ("cube_cap", "64"),
        ("cube_cap", 1 << 31),
        ("auto_doubles", -1),
        ("auto_doubles", False),
        ("match_to", 0),
        ("match_to", "seven"),
        ("jacoby", 0),
        ("crawford", "true"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_accepted(name: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        INTERNATIONAL.replace(**{name: value})
    text = str(caught.value)
    assert f"{name}='{value}'" in text
    assert "accepted" in text


def test_all_wrong_values_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Rules(hit_and_hide="no", cube_cap=0, beaver=None)  # type: ignore[arg-type]
    for part in ("hit_and_hide='no'", "cube_cap='0'", "beaver='None'"):
        assert part in str(caught.value)


def test_an_unknown_switch_is_refused_with_those_that_exist() -> None:
    for call in (
        lambda: INTERNATIONAL.replace(jacobi=True),
        lambda: parse_rules("jacobi=true"),
    ):
        with pytest.raises(ConfigError, match=r"jacobi.*jacoby") as caught:
            call()
        for name in VALUES:
            assert name in str(caught.value)


# --- text ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("international", INTERNATIONAL),
        ("caucasian", CAUCASIAN),
        ("arena", ARENA),
        (" Arena ", ARENA),
        ("jacoby=true", INTERNATIONAL.replace(jacoby=True)),
        ("jacoby = TRUE", INTERNATIONAL.replace(jacoby=True)),
        ("caucasian,jacoby=true", CAUCASIAN.replace(jacoby=True)),
        ("jacoby=true,caucasian", CAUCASIAN.replace(jacoby=True)),
        ("caucasian,hit_and_hide=allow", INTERNATIONAL),
        ("arena,cube_cap=64", ARENA.replace(cube_cap=64)),
        ("arena,international", INTERNATIONAL),
        ("jacoby=true,international", INTERNATIONAL),
        ("caucasian,arena", ARENA),
        ("cube_cap=null", INTERNATIONAL.replace(cube_cap=None)),
        ("cube_cap=none", INTERNATIONAL.replace(cube_cap=None)),
        ("auto_doubles=3,match_to=null", INTERNATIONAL.replace(auto_doubles=3)),
        ("match_to=7,crawford=false", INTERNATIONAL.replace(match_to=7, crawford=False)),
        ("beaver=true,beaver=false", INTERNATIONAL),
    ],
)
def test_mixes_as_text(text: str, expected: Rules) -> None:
    assert parse_rules(text) == expected


def test_text_changes_only_what_it_names() -> None:
    base = INTERNATIONAL.replace(jacoby=True, match_to=5)
    assert parse_rules("caucasian", base) == base.replace(hit_and_hide="ban")
    assert parse_rules("jacoby=false", base) == base.replace(jacoby=False)
    assert parse_rules("international", base) == INTERNATIONAL


@given(some_rules())
def test_the_text_of_rules_reads_back_as_the_same_rules(rules: Rules) -> None:
    assert parse_rules(str(rules)) == rules


def test_texts_are_short() -> None:
    assert str(INTERNATIONAL) == "international"
    assert str(CAUCASIAN) in ("caucasian", "hit_and_hide=ban")
    assert str(ARENA) == "arena"
    assert str(ARENA.replace(cube_cap=64)) == "arena,cube_cap=64"
    assert str(INTERNATIONAL.replace(cube_cap=None)) == "cube_cap=null"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "''"),
        (",", "''"),
        ("caucasian,", "''"),
        ("european", "'european'"),
        ("hit_and_hide", "'hit_and_hide'"),
        ("jacoby=", "jacoby=''"),
        ("=true", "''"),
        ("jacoby=maybe", "'maybe'"),
        ("cube_cap=-1", "'-1'"),
        ("cube_cap=6٤", "'6٤'"),
        ("cube_cap=99999999999999999999", "'99999999999999999999'"),
        ("arena=true", "'arena'"),
        ("jacoby=true;beaver=true", "'true;beaver=true'"),
    ],
)
def test_text_that_names_no_rules_is_refused(text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rules(text)
    assert named in str(caught.value)


@given(st.text(alphabet=st.sampled_from("abjcoy=,_ truenl064-null"), max_size=30) | st.text())
def test_any_other_text_gives_our_error_and_no_other(text: str) -> None:
    try:
        rules = parse_rules(text)
    except NardiError as error:
        assert isinstance(error, ConfigError)  # noqa: PT017  (both outcomes are right)
    else:
        assert parse_rules(str(rules)) == rules


def test_rules_of_every_pair_of_values_read_back() -> None:
    for (name, values), (other, other_values) in itertools.combinations(VALUES.items(), 2):
        for value, other_value in itertools.product(values, other_values):
            rules = INTERNATIONAL.replace(**{name: value, other: other_value})
            assert parse_rules(str(rules)) == rules


def test_the_variant_carries_what_the_game_needs() -> None:
    short = variant_of(Rules())
    assert short is SHORT
    assert short.start.tolist() == START.tolist()
    assert set(short.scorings) == set(KINDS)
    assert short.scorings[0] == Rules().scoring
    bar = START.copy()
    bar[25], bar[24] = 1, 1
    assert [bool(short.is_caught(board)) for board in (START, bar)] == [False, True]
    afterstates, codes = short.plays_of_one(START, 3, 1, Rules(), None)
    assert len(afterstates) == len(codes) == 16


# --- long nardi ---


def long_rules() -> st.SearchStrategy[Rules]:
    values = {
        name: [value for value in VALUES[name] if value != "oin_mars_koks_123"]
        for name in ("end_rule", "scoring", "match_to", "crawford")
    } | LONG_VALUES
    return st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(some) for name, some in values.items()}
    ).map(lambda switches: LONG_NARDI.replace(**switches))


@given(long_rules())
def test_the_text_of_rules_of_long_nardi_reads_back(rules: Rules) -> None:
    assert str(rules).startswith("long")
    assert parse_rules(str(rules)) == rules


def test_another_game_brings_its_scoring_and_whether_it_has_a_cube() -> None:
    assert INTERNATIONAL.replace(game="long") == LONG_NARDI
    assert parse_rules("game=long") == parse_rules("long") == LONG_NARDI
    assert LONG_NARDI.replace(game="short") == INTERNATIONAL
    four = INTERNATIONAL.replace(game="long", scoring="mars_homemars_koks_1234")
    assert str(four) == "long,scoring=mars_homemars_koks_1234"
    assert parse_rules("head_exception=none", LONG_NARDI).head_exception == "none"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("long,scoring=oin_mars_koks_123", "scoring='oin_mars_koks_123' is not one of long nardi"),
        ("long,cube=true", "long nardi is played without a doubling cube"),
        ("long,caucasian", "hit_and_hide=ban means nothing in long nardi"),
        ("long,jacoby=true", "jacoby=true means nothing in long nardi, which has no doubling cube"),
        ("long,cube_cap=null", "cube_cap=null means nothing"),
        ("head_exception=none", "head_exception=none means nothing in short nardi"),
        ("block_rule=always,block_check=turn", "block_check=turn means nothing in short nardi"),
        ("long,head_exception=some", "accepted: classic, seed_list, principle, none"),
    ],
)
def test_switches_of_another_game_are_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_rules(text)


def test_the_variant_of_long_nardi() -> None:
    rng = np.random.default_rng(5)
    boards = [board for board, _, _ in constructed_turns(rng, 60)]
    for board in boards:
        b = np.array(board, dtype=np.int8)
        assert tuple(LONG.flip(b).tolist()) == half_turned(board)
        np.testing.assert_array_equal(LONG.flip(LONG.flip(b)), b)
        assert LONG.faults(b) == []
    np.testing.assert_array_equal(LONG.flip(np.array(boards)), [half_turned(b) for b in boards])
    np.testing.assert_array_equal(LONG.flip(LONG.start), LONG.start)
    assert pip_count(LONG.start) == 360
    assert variant_of(LONG_NARDI) is LONG
    late = LONG.start.copy()
    late[24], late[12], late[0] = 14, 0, 15
    assert len(LONG.faults(late)) == 1
    assert not LONG.has_contact(np.array([0, 15, *[0] * 17, -3, *[0] * 6], dtype=np.int8))
    assert LONG.has_contact(LONG.start)
