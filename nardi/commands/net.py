"""`nardi net`: what a net file holds and what is known of its origin and strength."""

import argparse
from pathlib import Path

__all__ = ["add_parser", "run"]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "net",
        help="print the facts of a net file",
        description="Check a net file and print its facts: shape and size, how it was trained, how"
        " strong it was when last measured.",
        epilog="try: nardi net",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="a .safetensors file, or nardi, fast, long or caucasian, which come with it; default:"
        " nardi",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="OUT",
        help="write the net to OUT, a new file, with numbers of --bits bits, and tell of that",
    )
    parser.add_argument(
        "--bits",
        type=int,
        choices=(8, 16, 32),
        help="of --out: 8, a fifth of the size, weights to 1/220 of the largest of their row"
        " (default); 16, half the size, three digits; 32, as they were learned",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agent.checkpoint import default_net_path, load_net, net_path, save_net
    from engine.errors import ConfigError
    from nardi.documents import json_line
    from nardi.net_facts import net_file_document, net_file_text

    path = default_net_path() if args.file is None else net_path(args.file)
    net = load_net(path, game=None)
    if args.out is None and args.bits is not None:
        raise ConfigError("--bits is of the file that --out names; accepted: both, or neither")
    if args.out is not None:
        if args.out.exists():
            raise ConfigError(f"'{args.out}' is there already; accepted: a new file")
        save_net(args.out, net, bits=args.bits or 8)
        path, net = args.out, load_net(args.out, game=None)
    document = net_file_document(path, net)
    print(json_line(document) if args.json else net_file_text(document, net))
    return 0
