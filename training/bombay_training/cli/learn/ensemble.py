"""`bombay ensemble`: several nets of `zero` as one."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_agents.nets.zero.ensemble import ensemble as make_ensemble
from bombay_agents.nets.zero.net import ZeroNet
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import check_spec_path, new_output
from bombay_training.cli.options import Json


def ensemble(
    nets: Annotated[
        list[Path],
        typer.Argument(help="Nets of zero, such as runs/NAME/agent.safetensors, from 2 to 8.", metavar="NET…"),
    ],
    out: Annotated[Path, typer.Option(help="A new .safetensors file.")],
    as_json: Json = False,
) -> None:
    """Combine several nets of zero into one file. The combined net averages their outputs.

    The nets must have the same widths, rules and board, as nets of runs with different seeds do.
    """
    with user_input(), new_output(out):
        check_spec_path(out)
        made = make_ensemble([ZeroNet.load(path) for path in nets])
        made.save(out)
    data = {"command": "ensemble", "file": str(out), "members": made.members}
    output.show(data | {"games": made.about["training"].get("games")}, [], as_json)
    if not as_json:
        output.say(f"The ensemble of {made.members} nets is in {out}; play it as net:path={out}")
