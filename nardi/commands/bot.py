"""`nardi bot`: one of our bots as a program that answers in the lines of docs/protocol.md."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from io import BufferedReader

    from agent.bot import Bot
    from engine.board import Board
    from engine.rules import Rules
    from eval.peers.cube_protocol import CubeQuestion
    from eval.peers.protocol import Question

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Answer questions for plays and of the cube, one JSON object a line, on stdin and stdout, in the
protocol of docs/protocol.md: what `exec:COMMAND` speaks wherever a bot is named. It ends when stdin
ends."""
_CHUNK = 1 << 16


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "bot",
        help="answer questions for plays on stdin, as a bot that other programs can ask",
        description=_DESCRIPTION,
        epilog="try: nardi benchmark 'exec:nardi bot pip-greedy' pubeval --games 200 --seed 1",
        allow_abbrev=False,
    )
    parser.add_argument("bot", metavar="BOT", help="named as in nardi benchmark")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import contextlib

    from eval.peers.protocol import greeting_line
    from nardi import __version__
    from nardi.cli import DONE
    from nardi.compiling import compiling_is_told

    with contextlib.ExitStack() as stack:
        bots = _Bots(args.bot, stack)
        with compiling_is_told():
            name = bots.warm_up()
        print(greeting_line(f"{name}, nardi {__version__}", answers_cube=True), flush=True)
        for lines in _batches():
            for answer in _answers(lines, bots):
                print(answer)
            # All answers of a batch at once: whoever asks one by one has batches of one.
            print(end="", flush=True)
    return DONE


def _batches() -> Iterator[list[bytes]]:
    """Lines of stdin that are there, as many at a time as there are; blank ones left out."""
    import sys

    from engine.errors import NardiError

    if sys.stdin is None:  # the caller closed it
        raise NardiError("there is no stdin to read questions from")
    stream = cast("BufferedReader", sys.stdin.buffer)
    begun = b""
    while chunk := stream.read1(_CHUNK):
        *lines, begun = (begun + chunk).split(b"\n")
        if some := [line for line in lines if line.strip()]:
            yield some
    if begun.strip():
        yield [begun]


class _Bots:
    """The bot, once for each set of rules that it was asked to play by."""

    def __init__(self, text: str, stack: Any) -> None:
        from engine.rules import INTERNATIONAL

        self._text = text
        self._stack = stack
        self._bots: dict[Rules, Bot] = {}
        self.of(INTERNATIONAL)

    def of(self, rules: "Rules") -> "Bot":
        from eval.players import load_player

        if rules not in self._bots:
            bot = load_player(self._text, rules)
            self._stack.callback(bot.close)
            self._bots[rules] = bot
        return self._bots[rules]

    def warm_up(self) -> str:
        """Decide once, so that all is compiled before the clock runs; the bot's name."""
        import numpy as np

        from engine.rules import INTERNATIONAL
        from engine.variant import variant_of

        bot = self.of(INTERNATIONAL)
        board = variant_of(INTERNATIONAL).start[np.newaxis]
        bot.choose(board, np.array([[3, 1]], dtype=np.int8), np.zeros(1))
        return bot.name


def _answers(lines: Sequence[bytes], bots: _Bots) -> list[str]:
    """One answer for each line, in order."""
    from engine.errors import NardiError
    from eval.peers.cube_protocol import CUBE_KINDS, read_cube_question
    from eval.peers.protocol import id_of, read_object, read_question
    from nardi.documents import json_line

    answers: list[dict[str, Any]] = []
    together: dict[tuple[Rules, bool, bool], list[tuple[int, Question]]] = {}
    for line in lines:
        found: dict[str, Any] = {}
        try:
            found = read_object(line)
            if found.get("ask") in CUBE_KINDS:
                answers.append(_of_cube(read_cube_question(found), bots))
                continue
            question = read_question(found)
            if question.allowed is None:
                key = question.rules, question.draw is not None, question.situation is not None
                together.setdefault(key, []).append((len(answers), question))
                answers.append({"id": question.id})
            else:
                answers.append(_answer(question, _chosen_of_some(question, bots)))
        except NardiError as error:
            answers.append({"id": id_of(found), "error": str(error)})
    for some in together.values():
        questions = [question for _, question in some]
        try:
            chosen = _chosen(questions, bots)
        except NardiError as error:
            for number, _ in some:
                answers[number]["error"] = str(error)
            continue
        for (number, question), after in zip(some, chosen, strict=True):
            answers[number] = _answer(question, after)
    return [json_line(answer) for answer in answers]


def _answer(question: "Question", after: "Board") -> dict[str, Any]:
    return {"id": question.id, "afterstate": after.tolist()}


def _chosen(questions: Sequence["Question"], bots: _Bots) -> "Board":
    """Afterstates of questions that have the same rules, all of them a draw or a cube, or none."""
    import numpy as np

    bot = bots.of(questions[0].rules)
    boards = np.stack([question.board for question in questions])
    rolls = np.array([question.roll for question in questions], dtype=np.int8)
    draws = [question.draw for question in questions if question.draw is not None]
    situations = [question.situation for question in questions if question.situation is not None]
    if situations:
        return bot.choose_at(boards, rolls, situations, np.array(draws) if draws else None)
    return bot.choose(boards, rolls, np.array(draws) if draws else None)


def _of_cube(question: "CubeQuestion", bots: _Bots) -> dict[str, Any]:
    """The answer to a question of the cube."""
    import numpy as np

    from eval.peers.cube_protocol import cube_answer

    bot = bots.of(question.situation.rules)
    boards, situations = question.board[np.newaxis].copy(), [question.situation]
    if question.ask == "double":
        value = int(bot.doubles(boards, situations)[0])
    elif question.ask == "take":
        value = int(bot.answers(boards, situations)[0])
    else:
        value = int(bot.accepts_beavers(boards, situations)[0])
    return cube_answer(question, value)


def _chosen_of_some(question: "Question", bots: _Bots) -> "Board":
    """The afterstate that the bot takes most often of those it may choose from."""
    import numpy as np

    assert question.allowed is not None
    shares = bots.of(question.rules).decision_shares(
        question.board[np.newaxis],
        np.array([question.roll], dtype=np.int8),
        question.allowed,
        np.array([0, len(question.allowed)]),
    )
    after: Board = question.allowed[int(np.argmax(shares))]
    return after
