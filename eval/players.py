"""Every player that a text can name: our own bots (`agent.bot`) and other programs.

`gnubg@N` and `sage@N` are GNU Backgammon and Open Sage at depth N; `exec:COMMAND` is any program
that speaks the protocol of docs/protocol.md, with another time limit as `exec[60s]:COMMAND`.
"""

import re
from typing import Final

from agent.bot import BOT_TEXTS, Bot, load_bot
from engine.errors import ConfigError
from engine.rules import INTERNATIONAL, Rules

__all__ = ["PLAYER_TEXTS", "load_player"]

PLAYER_TEXTS: Final = (*BOT_TEXTS, "gnubg@N", "sage@N", "exec:COMMAND")
"""The texts that `load_player` knows."""

_PEER: Final = re.compile(r"(gnubg|sage)(?:@(\d+))?(?: \(bgsage (\d+)-ply\))?", re.ASCII)
_OWN: Final = tuple(text.partition(":")[0] for text in BOT_TEXTS)


def load_player(text: str, rules: Rules = INTERNATIONAL) -> Bot:
    """The player that a text names, playing by these rules; its `name` names it as well.

    Raises ConfigError for a text that names none, a program that is not installed and rules that
    it does not know, and what loading one of our own bots raises. To be closed after use
    (`Bot.close`): it may be a process.
    """
    name = text.strip()
    is_exec = name.startswith(("exec:", "exec["))
    if rules.game != "short" and (is_exec or _PEER.fullmatch(name)):
        raise ConfigError(f"bot '{text}' plays short nardi only (game=short)")
    if is_exec:
        from eval.peers.exec_bot import load_exec

        return load_exec(name, rules)
    if found := _PEER.fullmatch(name):
        return _peer(text, found[1], int(found[2] or 0), found[3], rules)
    if re.split("[:@]", name)[0] not in _OWN:
        raise ConfigError(f"unknown bot '{text}'; known: {', '.join(PLAYER_TEXTS)}")
    return load_bot(text, rules)


def _peer(text: str, program: str, depth: int, their_ply: str | None, rules: Rules) -> Bot:
    from eval.peers.judge import DEPTHS

    accepted = ", ".join(f"{program}@{n}" for n in DEPTHS)
    if depth not in DEPTHS:
        raise ConfigError(f"bot '{text}' is asked for depth {depth}; accepted: {accepted}")
    if their_ply is not None and (program != "sage" or int(their_ply) != depth + 1):
        raise ConfigError(f"bot '{text}' contradicts itself; accepted: {accepted}")
    if program == "gnubg":
        from eval.peers.gnubg import GnubgBot

        return GnubgBot(depth, rules)
    from eval.peers.sage import SageBot

    return SageBot(depth, rules)
