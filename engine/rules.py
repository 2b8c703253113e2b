"""House rules: one frozen object with every switch, named presets, and mixes written as text."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from engine.errors import ConfigError

__all__ = [
    "ARENA",
    "CAUCASIAN",
    "GAMES",
    "INTERNATIONAL",
    "LONG_NARDI",
    "PRESETS",
    "SCORINGS",
    "Rules",
    "parse_rules",
]

Game = Literal["short", "long"]
HitAndHide = Literal["allow", "ban"]
HitThenBearOff = Literal["allow", "ban_hitter", "ban_home_hit"]
EndRule = Literal["no_draw", "last_chance_draw"]
Scoring = Literal["oin_mars_koks_123", "oin_mars_12", "mars_homemars_koks_1234"]
Progression = Literal["geometric", "arithmetic"]
HeadException = Literal["classic", "seed_list", "principle", "none"]
BlockRule = Literal["opp_ahead", "always", "none"]
BlockCheck = Literal["step", "turn"]

_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "game": get_args(Game),
    "hit_and_hide": get_args(HitAndHide),
    "hit_then_bear_off": get_args(HitThenBearOff),
    "end_rule": get_args(EndRule),
    "scoring": get_args(Scoring),
    "progression": get_args(Progression),
    "head_exception": get_args(HeadException),
    "block_rule": get_args(BlockRule),
    "block_check": get_args(BlockCheck),
}
GAMES: Final = _CHOICES["game"]
"""The games that there are rules for."""
SCORINGS: Final[dict[str, tuple[Scoring, ...]]] = {
    "short": ("oin_mars_koks_123", "oin_mars_12", "mars_homemars_koks_1234"),
    "long": ("oin_mars_12", "mars_homemars_koks_1234"),
}
"""Scoring schemes that each game is played with, the usual one first."""
_OF_SHORT: Final = ("hit_and_hide", "hit_then_bear_off")
_OF_CUBE: Final = (
    "progression",
    "cube_cap",
    "mars_with_cube",
    "jacoby",
    "beaver",
    "auto_doubles",
)
_OF_LONG: Final = ("head_exception", "block_rule", "block_check", "opening_dice_played")
_WITH_NONE: Final = frozenset(name for name, choices in _CHOICES.items() if "none" in choices)
_LARGEST_NUMBER: Final = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Every switch of a table's rules; the defaults are the international ones.

    Raises ConfigError, naming every fault at once, if a value is not one of those told here.
    """

    game: Game = "short"
    """Which game is played; the variant object of `engine.variant` follows from it."""
    hit_and_hide: HitAndHide = "allow"
    """"ban": a checker that hit may not end the turn safe on one of its own side's points."""
    hit_then_bear_off: HitThenBearOff = "allow"
    """"ban_hitter": a checker that hit is not borne off in the same turn; "ban_home_hit": after a
    hit on own points 1 to 6 no checker is borne off in the rest of the turn."""
    end_rule: EndRule = "no_draw"
    """"last_chance_draw": if the first player finishes first the other gets one more throw."""
    scoring: Scoring = "oin_mars_koks_123"
    """Factor of the stake for each kind of win."""
    cube: bool = True
    """Whether there is a doubling cube."""
    progression: Progression = "geometric"
    """Stakes after k accepted offers: 2^k, or 1 + k."""
    cube_cap: int | None = 64
    """Largest stake the cube can show; None = no limit."""
    mars_with_cube: bool = True
    """False: every win counts factor 1 while the cube is in use."""
    jacoby: bool = False
    """True: every win counts factor 1 if no double was offered in the game (money play only)."""
    beaver: bool = False
    """True: a player offered a double may double at once and keep the cube (money play only)."""
    auto_doubles: int | None = 0
    """Largest number of automatic doubles of a game; None = no limit (money play only)."""
    match_to: int | None = None
    """Match length in points; None = money play, single games."""
    crawford: bool = True
    """Whether a match has a Crawford game; no meaning in money play and without a cube."""
    head_exception: HeadException = "classic"
    """When a second checker may leave the head on a player's first turn: with 6-6, 4-4 or 3-3;
    "seed_list": with 5-5 or 6-2 too if the first player began with 2-1, 6-2 or 5-5 and a single
    checker is stopped; "principle": whenever one cannot use all dice and two use more; "none"."""
    block_rule: BlockRule = "opp_ahead"
    """Six points in a row: allowed with an opposing checker past them or borne off; "always" means
    that they are always forbidden, "none" that they never are."""
    block_check: BlockCheck = "step"
    """Whether a forbidden block may not be formed for a moment, or only not at a turn's end."""
    opening_dice_played: bool = False
    """True: in long nardi, too, the player who begins plays the dice of the opening throw; in
    short nardi he always does."""

    def __post_init__(self) -> None:
        faults = [fault for f in dataclasses.fields(self) if (fault := self._fault(f.name))]
        faults = faults or self._faults_of_game()
        if faults:
            raise ConfigError("; ".join(faults))

    def _fault(self, name: str) -> str | None:
        value = getattr(self, name)
        if name in _CHOICES:
            good = isinstance(value, str) and value in _CHOICES[name]
            accepted = ", ".join(_CHOICES[name])
        elif name in ("cube_cap", "match_to", "auto_doubles"):
            least = 0 if name == "auto_doubles" else 1
            good = value is None or (
                isinstance(value, int)
                and not isinstance(value, bool)
                and least <= value <= _LARGEST_NUMBER
            )
            accepted = f"null or a whole number from {least} up"
        else:
            good = isinstance(value, bool)
            accepted = "true, false"
        return None if good else f"rule {name}='{value}' is unknown; accepted: {accepted}"

    def _faults_of_game(self) -> list[str]:
        """Switches that mean nothing in the game, and scoring schemes that it does not have."""
        faults = []
        if self.scoring not in SCORINGS[self.game]:
            faults.append(
                f"rule scoring='{self.scoring}' is not one of {self.game} nardi; accepted:"
                f" {', '.join(SCORINGS[self.game])}"
            )
        if self.game == "long" and self.cube:
            faults.append("rule cube=true: long nardi is played without a doubling cube")
        foreign = _OF_SHORT + _OF_CUBE if self.game == "long" else _OF_LONG
        for f in dataclasses.fields(self):
            if f.name in foreign and getattr(self, f.name) != f.default:
                why = ", which has no doubling cube" if f.name in _OF_CUBE else ""
                faults.append(
                    f"rule {f.name}={_text(getattr(self, f.name))} means nothing in {self.game}"
                    f" nardi{why}"
                )
        return faults

    def as_dict(self) -> dict[str, Any]:
        """All switches by name, in the order of the class."""
        return dataclasses.asdict(self)

    def replace(self, **switches: Any) -> "Rules":
        """These rules with some switches changed. Raises ConfigError for an unknown name.

        Another game brings its usual scoring and whether it has a cube, unless they are told too.
        """
        known = {f.name for f in dataclasses.fields(self)}
        unknown = sorted(set(switches) - known)
        if unknown:
            raise ConfigError(
                f"unknown rule '{unknown[0]}'; known: {', '.join(sorted(known))}"
                f"; presets: {', '.join(PRESETS)}"
            )
        game = switches.get("game", self.game)
        if game != self.game and game in SCORINGS:
            switches = {"scoring": SCORINGS[game][0], "cube": game == "short"} | switches
        return dataclasses.replace(self, **switches)

    def __str__(self) -> str:
        """The shortest text that `parse_rules` reads back as these rules."""
        best: list[str] | None = None
        for name, preset in PRESETS.items():
            if preset.game != self.game:
                continue
            parts = [name] if preset != INTERNATIONAL else []
            parts += [
                f"{f.name}={_text(getattr(self, f.name))}"
                for f in dataclasses.fields(self)
                if getattr(self, f.name) != getattr(preset, f.name)
            ]
            if best is None or len(parts) <= len(best):
                best = parts
        return ",".join(best or []) or "international"


def _text(value: object) -> str:
    return "null" if value is None else str(value).lower()


INTERNATIONAL: Final = Rules()
CAUCASIAN: Final = Rules(hit_and_hide="ban")
ARENA: Final = Rules(hit_and_hide="ban", scoring="oin_mars_12", mars_with_cube=False, cube_cap=None)
LONG_NARDI: Final = Rules(game="long", scoring="oin_mars_12", cube=False)
PRESETS: Final[dict[str, Rules]] = {
    "international": INTERNATIONAL,
    "caucasian": CAUCASIAN,
    "arena": ARENA,
    "long": LONG_NARDI,
}


def parse_switches(text: str, base: Rules = INTERNATIONAL) -> dict[str, Any]:
    """The switches that a text such as "caucasian,jacoby=true" sets, later ones winning.

    A preset sets only the switches in which it differs from the international rules, except
    "international" itself, which sets all of them. base: the rules that they are to change.
    Raises ConfigError, also for switches that do not go with the others.
    """
    switches: dict[str, Any] = {}
    for part in (piece.strip() for piece in text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            if name.lower() not in PRESETS:
                raise ConfigError(
                    f"unknown rules '{part}'; accepted: {', '.join(PRESETS)}, or switch=value"
                    f" with a switch of {', '.join(f.name for f in dataclasses.fields(Rules))}"
                )
            preset = PRESETS[name.lower()].as_dict()
            default = INTERNATIONAL.as_dict()
            keep_all = name.lower() == "international"
            switches |= {k: v for k, v in preset.items() if keep_all or v != default[k]}
        else:
            switches[name] = _parse_value(name, value)
    base.replace(**switches)
    return switches


def _parse_value(name: str, value: str) -> object:
    word = value.lower()
    constants: dict[str, object] = {"true": True, "false": False, "null": None}
    if word == "none" and name not in _WITH_NONE:
        return None
    if word in constants:
        return constants[word]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 12 else word


def parse_rules(text: str, base: Rules = INTERNATIONAL) -> Rules:
    """Rules from a text such as "arena", "jacoby=true" or "caucasian,cube_cap=null".

    base: the rules that hold for every switch the text does not set. Raises ConfigError.
    """
    return base.replace(**parse_switches(text, base))
