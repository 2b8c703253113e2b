"""Everything a training run is told: frozen settings, each with what it means and accepts."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agent.net import NetConfig, ValueNetConfig
from engine.errors import ConfigError
from engine.rules import Rules, parse_rules

__all__ = [
    "CheckConfig",
    "LearnConfig",
    "SelfPlayConfig",
    "StageConfig",
    "TrainConfig",
]

_CHUNK_GAMES: Final = 25  # games played by one call of the compiled loop


def _check(where: str, faults: Sequence[str | None]) -> None:
    found = [fault for fault in faults if fault]
    if found:
        raise ConfigError(f"{where}: " + "; ".join(found))


def _whole(name: str, value: object, least: int) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return None
    return f"{name} is '{value}'; a whole number from {least} up fits"


def _flag(name: str, value: object) -> str | None:
    return None if isinstance(value, bool) else f"{name} is '{value}'; true or false fits"


def _number(name: str, value: object, least: float, most: float) -> str | None:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if numeric and least <= value <= most:  # type: ignore[operator]
        return None
    return f"{name} is '{value}'; a number from {least:g} to {most:g} fits"


def _range(name: str, value: object, least: float, most: float) -> str | None:
    if isinstance(value, tuple) and len(value) == 2:
        for end in value:
            if fault := _number(name, end, least, most):
                return fault
        return None
    return f"{name} is '{value}'; two numbers, at the start and at the end of the stage, fit"


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig:
    """How games are played. A round is played by the averaged weights of two rounds before it."""

    games_per_round: int = 500
    """Games between two updates of the weights that play."""
    sorter_width: int = 32
    """Units of the small net that is taught beside the net and sorts plays where luck is adjusted;
    0 = none, all plays are valued by the net."""
    sorter_games: int = 20_000
    """Games that the sorter learns from before it sorts; of generations, if luck is adjusted in
    generations alone."""
    sorter_ready: bool = False
    """Whether the sorter begins as the small net that comes with nardi, `fast`, and sorts from the
    first game: for runs that go on from a strong net. Of short nardi, with `sorter_width` 32."""
    sorter_keep: int = 5
    """Plays of a roll, those that the sorter likes best, that the net values."""

    def __post_init__(self) -> None:
        _check(
            "selfplay",
            [
                _whole("games_per_round", self.games_per_round, 1),
                _whole("sorter_width", self.sorter_width, 0),
                _whole("sorter_games", self.sorter_games, 0),
                _flag("sorter_ready", self.sorter_ready),
                _whole("sorter_keep", self.sorter_keep, 1),
            ],
        )

    @property
    def sorter(self) -> ValueNetConfig | None:
        """Shape of the sorter, if there is one: single layers, quick above all."""
        if self.sorter_width == 0:
            return None
        layer = NetConfig(width=self.sorter_width, pairs=False, experts="none", hidden=0)
        return ValueNetConfig(contact=layer, race=layer)

    @property
    def games_per_call(self) -> int:
        """Games that one worker plays at a time."""
        return _CHUNK_GAMES


@dataclass(frozen=True, kw_only=True)
class LearnConfig:
    """How the weights are fitted to the targets of a round: minibatch Adam, one pass."""

    batch: int = 1024
    """Positions in a minibatch."""
    race_batch: int | None = None
    """The race net's own; None = as `batch`. Where races are few a large one leaves it too few
    steps."""
    pair_rate: float = 0.25
    """Step size of the pair rows as a share of the others'; they meet few positions each."""
    race_rate: float = 1.0
    """Step size of the race net as a share of the contact net's."""
    average: float = 0.999
    """Decay per minibatch of the averaged weights that play and are kept; 0 = no averaging."""

    def __post_init__(self) -> None:
        _check(
            "learn",
            [
                _whole("batch", self.batch, 1),
                None if self.race_batch is None else _whole("race_batch", self.race_batch, 1),
                _number("pair_rate", self.pair_rate, 0, 10),
                _number("race_rate", self.race_rate, 0, 10),
                _number("average", self.average, 0, 0.999999),
            ],
        )


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """One stage of a run. Pairs of numbers hold at its start and at its end."""

    games: int
    """Games of self-play."""
    lambda_: tuple[float, float] = (0.8, 0.4)
    """λ of the returns, linear in between; 1 = the game's result, 0 = the next position's value."""
    rate: tuple[float, float] = (1e-3, 1e-4)
    """Adam's step size, geometric in between."""
    explore: float = 0.0
    """Chance at any ply of a play that is not the best one. It cuts the trace, but not where luck
    is adjusted: what it costs is taken off like luck."""
    explore_loss: float | None = None
    """A play that loses so many points against the best one is taken then with 1/e of the chance of
    one that loses nothing; None = all plays alike."""
    random_openings: float = 0.1
    """Share of games that begin with random plies, which are not learned from."""
    random_plies: int = 8
    """Most random plies of such an opening."""
    drawn_starts: float = 0.0
    """Share of games that begin with a drawn board (`train.starts`) instead of the start: back
    games, containment and other plans that good play seldom comes to by itself."""
    luck_adjusted: bool = False
    """Whether the luck of every roll is taken out of the λ-returns: each position is backed up over
    all 21 rolls, which costs about ten times as much and takes nine tenths of the noise away."""
    races: float = 1.0
    """Share of the games whose luck is adjusted that go on when contact ends; the others stop there
    and take the net's value of the race. Races are a quarter of all positions and soon learned."""
    race_lambda: float | None = None
    """λ in races where luck is adjusted; None = as in contact. How a race is played matters little,
    so there its result less the luck is what it is worth."""
    drawn_lambda: float | None = None
    """λ in games from drawn boards where luck is adjusted, in contact; None = as in the others. A
    plan takes longer than the returns of a small λ look ahead, and what the net wrongly thinks of
    it would teach itself."""
    drawn_weight: float = 1.0
    """What a contact position of such a game counts in the loss, of 1 for others: a λ near 1 has
    four times the spread, and its noise is learned by all."""
    generation: int = 0
    """Games that one settled net plays before they are learned from, in a cycle of steps from
    `rate[0]` to `rate[1]` that settles the next net; 0 = each round is learned from at once."""
    passes: int = 1
    """Times that a generation's positions are learned from."""
    fresh: bool = False
    """Whether the stage's first generation is learned by new random weights: the noise of sampled
    results leaves units that hardly ever light, and no later stage wakes them."""
    beside: int = 0
    """New nets of random weights, shaped as a group of `net`, that learn from the stage's first
    generation as the settled net goes on to; then all are made one net, with a group of units for
    each. Half of what a net gets wrong is its own, and their mean leaves much of that out."""
    replay: int = 1
    """Rounds or generations in which a position is learned from: its own and those that follow."""
    batch: int | None = None
    """Positions in a minibatch; None = as `learn.batch` has it."""
    race_batch: int | None = None
    """The same of the race net; None = as `learn.race_batch` has it."""
    average: float | None = None
    """Decay of the averaged weights per minibatch; None = as `learn.average` has it."""
    expected: tuple[float, float] = (0.0, 0.0)
    """Share of positions whose target is the exact mean over all 21 rolls of the best play's value
    instead of the λ-return; each costs some twenty times as much. Linear in between."""

    def __post_init__(self) -> None:
        _check(
            "stage",
            [
                _whole("games", self.games, 1),
                _range("lambda", self.lambda_, 0, 1),
                _range("rate", self.rate, 1e-8, 1),
                _number("explore", self.explore, 0, 1),
                None
                if self.explore_loss is None
                else _number("explore_loss", self.explore_loss, 1e-3, 100),
                _number("random_openings", self.random_openings, 0, 1),
                _whole("random_plies", self.random_plies, 1),
                _number("drawn_starts", self.drawn_starts, 0, 1),
                _number("races", self.races, 0, 1),
                None
                if self.race_lambda is None
                else _number("race_lambda", self.race_lambda, 0, 1),
                None
                if self.drawn_lambda is None
                else _number("drawn_lambda", self.drawn_lambda, 0, 1),
                _number("drawn_weight", self.drawn_weight, 0, 1),
                _flag("luck_adjusted", self.luck_adjusted),
                _whole("generation", self.generation, 0),
                _whole("passes", self.passes, 1),
                _whole("replay", self.replay, 1),
                None if self.batch is None else _whole("batch", self.batch, 1),
                None if self.race_batch is None else _whole("race_batch", self.race_batch, 1),
                None if self.average is None else _number("average", self.average, 0, 0.999999),
                _flag("fresh", self.fresh),
                _whole("beside", self.beside, 0),
                "nets learn beside another from a generation; without generation 0 fits"
                if self.generation == 0 and self.beside != 0
                else None,
                "fresh weights learn from a generation; without generation false fits"
                if self.generation == 0 and self.fresh is True
                else None,
                "passes are of a generation's positions; without generation 1 fits"
                if self.generation == 0 and self.passes != 1
                else None,
                "races are left out where luck is adjusted; without luck_adjusted 1 fits"
                if self.luck_adjusted is False and self.races != 1
                else None,
                "drawn_weight is for games whose luck is adjusted; without luck_adjusted 1 fits"
                if self.luck_adjusted is False and self.drawn_weight != 1
                else None,
                *(
                    f"{name} is for games whose luck is adjusted; without luck_adjusted none fits"
                    for name in ("race_lambda", "drawn_lambda")
                    if self.luck_adjusted is False and getattr(self, name) is not None
                ),
                _range("expected", self.expected, 0, 1),
                "luck_adjusted and expected exclude each other; one of them fits"
                if self.luck_adjusted is True and max(self.expected) > 0
                else None,
            ],
        )


@dataclass(frozen=True, kw_only=True)
class CheckConfig:
    """Matches against fixed opponents during the run; they do not touch what is learned."""

    first_games: int = 1000
    """Games of self-play until the first match after the one at the start."""
    growth: float = 1.5
    """Each further match comes after this times as many games, so that early progress shows."""
    games: int = 1000
    """Games of a match, an even number from 4 up: one pair of games tells no error."""
    opponents: tuple[str, ...] = ("random", "pip-greedy", "pubeval")
    """Bots as their texts name them; the score against the last one decides which net is best."""

    def __post_init__(self) -> None:
        even = None if self.games % 2 == 0 else f"games is '{self.games}'; an even number fits"
        _check(
            "checks",
            [
                _whole("first_games", self.first_games, 1),
                _number("growth", self.growth, 1.01, 100),
                _whole("games", self.games, 4),
                even,
                None if self.opponents else "opponents is empty; at least one bot is needed",
                None
                if all(isinstance(bot, str) for bot in self.opponents)
                else f"opponents are '{self.opponents}'; texts that name bots fit",
            ],
        )


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """A whole run: what net, how it plays and learns, in which stages, how it is checked."""

    seed: int = 1
    """Root of all randomness of the run."""
    rules: str = "international"
    """Rules that the games are played by, as `engine.rules.parse_rules` reads them: the plays that
    they allow, and what they score. Cube, match and draws are not learned."""
    net: ValueNetConfig = field(default_factory=ValueNetConfig)
    """Shape of the net."""
    first_net: ValueNetConfig | None = None
    """Shape of the net until a stage begins with fresh weights; None = as `net`. A small one learns
    sooner, from sampled games, what the first generation is played by."""
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    learn: LearnConfig = field(default_factory=LearnConfig)
    stage: tuple[StageConfig, ...] = (StageConfig(games=20_000),)
    checks: CheckConfig = field(default_factory=CheckConfig)

    def __post_init__(self) -> None:
        _check(
            "train config",
            [
                _whole("seed", self.seed, 0),
                None if self.stage else "there is no stage; at least one is needed",
            ],
        )
        if self.first_net is not None and not any(stage.fresh for stage in self.stage):
            raise ConfigError(
                "first_net needs a stage with fresh weights of the shape of net after it"
            )
        self._check_beside()
        rules = parse_rules(self.rules)
        if rules.end_rule != "no_draw":
            raise ConfigError(
                f"rules '{self.rules}': games with end_rule={rules.end_rule} are not learned;"
                " accepted: end_rule=no_draw"
            )

        if rules.game == "long":
            self._check_long()

    def _check_beside(self) -> None:
        """Raises ConfigError for nets beside the settled one that cannot be made one with it."""
        fresh = [number for number, stage in enumerate(self.stage) if stage.fresh]
        for number, stage in enumerate(self.stage):
            if stage.beside == 0:
                continue
            if fresh and fresh[-1] >= number:
                raise ConfigError(
                    f"stage.{number}.beside is '{stage.beside}', but stage {fresh[-1]} begins with"
                    " fresh weights; nets learn beside another after all such stages"
                )
            try:
                self.net_after(len(fresh), number + 1)
            except ConfigError as error:
                raise ConfigError(
                    f"stage.{number}.beside is '{stage.beside}', which is too many: {error}"
                ) from None

    def _check_long(self) -> None:
        """Raises ConfigError for settings that fit short nardi alone."""
        for number, stage in enumerate(self.stage):
            if stage.drawn_starts > 0:
                raise ConfigError(
                    f"stage.{number}.drawn_starts is '{stage.drawn_starts}', but drawn boards are"
                    " of short nardi; in long nardi 0 fits"
                )
        for place, shape in (("net", self.net), ("first_net", self.first_net)):
            for part in ("contact", "race"):
                experts = "none" if shape is None else getattr(shape, part).experts
                if experts != "none":
                    raise ConfigError(
                        f"{place}.{part}.experts is '{experts}', inputs that are of short nardi; in"
                        " long nardi none fits"
                    )

    def net_after(self, fresh_stages: int, beside_stages: int = 0) -> ValueNetConfig:
        """Shape of the net after so many stages have begun with fresh weights.

        beside_stages: stages up to which nets that learned beside it were made one with it.
        """
        if self.first_net is not None and fresh_stages == 0:
            return self.first_net
        more = sum(stage.beside for stage in self.stage[:beside_stages])
        if more == 0:
            return self.net
        group, contact = self.group_net.contact, self.net.contact
        groups = contact.groups + more
        return dataclasses.replace(
            self.net,
            contact=dataclasses.replace(
                contact,
                width=groups * group.width,
                hidden=groups * group.hidden,
                groups=groups if contact.hidden else 1,
            ),
        )

    @property
    def group_net(self) -> ValueNetConfig:
        """Shape of a net that learns beside another: as `net`, one group of units for contact."""
        contact = self.net.contact
        return dataclasses.replace(
            self.net,
            contact=dataclasses.replace(
                contact,
                width=contact.width // contact.groups,
                hidden=contact.hidden // contact.groups,
                groups=1,
            ),
        )

    @property
    def play_rules(self) -> Rules:
        """The rules as switches."""
        return parse_rules(self.rules)

    @property
    def games(self) -> int:
        """Games of all stages."""
        return sum(stage.games for stage in self.stage)

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values, under the names of the TOML files."""
        return _plain(dataclasses.asdict(self))  # type: ignore[no-any-return]

    def with_games(self, games: int) -> "TrainConfig":
        """The same run with another number of games, each stage keeping its share."""
        if games < len(self.stage):
            raise ConfigError(
                f"games is '{games}'; a whole number from {len(self.stage)} up fits, one or more"
                " for each stage"
            )
        stages = []
        done = new_done = 0
        for later, stage in zip(range(len(self.stage) - 1, -1, -1), self.stage, strict=True):
            done += stage.games
            # One game at least for this stage and for each that follows.
            new_end = min(max(round(done * games / self.games), new_done + 1), games - later)
            stages.append(dataclasses.replace(stage, games=new_end - new_done))
            new_done = new_end
        return dataclasses.replace(self, stage=tuple(stages))

    def longer(self, games: int) -> "TrainConfig":
        """The same run with more games, to go on with where this one ends.

        If it ends in generations its last stage gets them, for a settled net has nothing to learn
        from the sampled games of stages before; else each stage keeps its share.
        """
        *before, last = self.stage
        if not last.generation:
            return self.with_games(games)
        last = dataclasses.replace(last, games=last.games + games - self.games)
        return dataclasses.replace(self, stage=(*before, last))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        # TOML has no word for None: what is not set is left out.
        return {name.rstrip("_"): _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
