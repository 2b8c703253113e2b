"""Every player that a text can name: our own bots (`agent.bot`) and other programs."""

from typing import Final

from agent.bot import BOT_TEXTS, Bot, load_bot
from engine.rules import INTERNATIONAL, Rules

__all__ = ["PLAYER_TEXTS", "load_player"]

PLAYER_TEXTS: Final = BOT_TEXTS
"""The texts that `load_player` knows."""


def load_player(text: str, rules: Rules = INTERNATIONAL) -> Bot:
    """The player that a text names, playing by these rules.

    Raises ConfigError for a text that names none, and what loading the player raises. To be closed
    after use (`Bot.close`): it may be a process.
    """
    return load_bot(text, rules)
