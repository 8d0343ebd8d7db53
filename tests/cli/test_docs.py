"""docs/cli.md tells of every command, option and exit code that the code has, and of no other."""

from __future__ import annotations

import re
from pathlib import Path

import click

from fusee.cli.exits import ExitCode
from fusee.cli.main import cli
from fusee.engine.listing import STATUSES_ASKED

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def commands_of(group, name="fusee"):
    """Every command that does something, with its full name."""
    for command in group.commands.values():
        full = f"{name} {command.name}"
        if isinstance(command, click.Group):
            yield from commands_of(command, full)
        else:
            yield full, command


def test_every_command_has_its_heading_and_every_heading_its_command():
    headings = re.findall(r"^### (fusee .+)$", PAGE, re.MULTILINE)

    assert sorted(headings) == sorted(name for name, _ in commands_of(cli))


def test_every_option_is_written_down():
    options = {
        option
        for _, command in commands_of(cli)
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
    }

    assert sorted(option for option in options if f"{option}" not in PAGE) == []


def test_every_status_is_written_down():
    assert [status for status in STATUSES_ASKED if f"`{status}`" not in PAGE] == []


def test_the_exit_codes_are_those_of_the_code():
    rows = re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)

    assert [int(code) for code in rows] == sorted(ExitCode)


def test_every_command_and_option_says_what_it_is_for():
    for name, command in commands_of(cli):
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"
