"""`nardi join`: nets made one, the mean of all."""

import argparse
import dataclasses
import functools
import shlex
from pathlib import Path
from typing import Any

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "join",
        help="make one net of several, their mean: stronger, and as slow as all of them",
        description="Write a net whose outputs are the mean of two or more nets of the same shape,"
        " which began with different random weights: half of what each gets wrong is its own, and"
        " much of that goes. It takes the time of all, and can be trained on (nardi train --from)."
        " In a training run: the setting stage.N.beside.",
        epilog="try: nardi join a.safetensors b.safetensors --out ab.safetensors",
        allow_abbrev=False,
    )
    parser.add_argument("first", type=Path, metavar="NET", help="a net file")
    parser.add_argument("others", type=Path, nargs="+", metavar="NET", help="those joined with it")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a new file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.checkpoint import load_net, save_net
    from agent.joining import join_nets
    from engine.errors import ConfigError
    from nardi.net_facts import net_file_document, net_file_text
    from nardi.origin import commit_facts, parent_facts, version_facts

    if args.out.exists():
        raise ConfigError(f"'{args.out}' is there already; accepted: a new file")
    paths = [args.first, *args.others]
    nets = [load_net(path, game=None) for path in paths]
    rules = [net.facts.get("rules") for net in nets]
    for other in rules[1:]:
        if other != rules[0]:
            raise ConfigError(
                f"the nets have learned under different rules, '{rules[0]}' and '{other}';"
                " accepted: nets of the same rules"
            )
    facts: dict[str, Any] = {
        "command": shlex.join(["nardi", "join", *map(str, paths), "--out", str(args.out)]),
        **commit_facts(),
        "versions": version_facts(),
        "parents": [parent_facts(path, net.facts) for path, net in zip(paths, nets, strict=True)],
    }
    if rules[0] is not None:
        facts["rules"] = rules[0]
    save_net(args.out, dataclasses.replace(functools.reduce(join_nets, nets), facts=facts))
    net = load_net(args.out, game=None)
    print(net_file_text(net_file_document(args.out, net), net))
    return 0
