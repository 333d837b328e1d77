"""`manyview completion`: a script that completes commands and options, without starting Python."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

import typer

EXAMPLES = """
[bold]bash[/]: add this line to ~/.bashrc

  eval "$(manyview completion bash)"

[bold]zsh[/]: add this line to ~/.zshrc

  eval "$(manyview completion zsh)"

[bold]fish[/]: run this once

  manyview completion fish > ~/.config/fish/completions/manyview.fish
"""

BASH = """\
_manyview() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{commands}" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="{commands}"
    case "${{COMP_WORDS[1]}} $before" in
{choices}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _manyview manyview
"""
EVERYWHERE = ("--verbose", "--log", "--debug", "--help")
ZSH = "autoload -Uz bashcompinit && bashcompinit\n"
FISH = "complete -c manyview -n __fish_use_subcommand -f -a '{}'\n"
FISH_OPTION = "complete -c manyview -n '__fish_seen_subcommand_from {}'{} -d '{}'{}\n"


def command(
    context: typer.Context,
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="Your shell.")],
) -> None:
    """Print a script that completes commands and options in your shell."""
    assert context.parent is not None
    commands = context.parent.command.commands  # type: ignore[attr-defined]
    script = _for_fish(commands) if shell == "fish" else _for_bash(commands)
    typer.echo((ZSH if shell == "zsh" else "") + script, nl=False)


def _for_bash(commands: dict[str, Any]) -> str:
    cases, choices = [], []
    for name, one in commands.items():
        options, arguments = _options(one), [p for p in one.params if p not in _options(one)]
        words = [
            *getattr(one, "commands", ()),
            *(value for argument in arguments for value in _values(argument)),
            *(word for option in options for word in option.opts),
            *EVERYWHERE,
        ]
        cases.append(f'        {name}) words="{" ".join(words)}" ;;')
        for option in options:
            if values := _values(option):
                at = "|".join(f'"{name} {word}"' for word in option.opts)
                choices.append(f'        {at}) words="{" ".join(values)}" ;;')
    parts = {"cases": "\n".join(cases), "choices": "\n".join(choices)}
    return BASH.format(commands=" ".join(commands), **parts)


def _for_fish(commands: dict[str, Any]) -> str:
    lines = [FISH.format(" ".join(commands))]
    for name, one in commands.items():
        for option in _options(one):
            long = [word[2:] for word in option.opts if word.startswith("--")]
            short = [word[1:] for word in option.opts if len(word) == 2]
            words = "".join([*(f" -l {word}" for word in long), *(f" -s {word}" for word in short)])
            values = _values(option)
            given = f" -x -a '{' '.join(values)}'" if values else "" if option.is_flag else " -r"
            said = (option.help or "").replace("'", "’")
            lines.append(FISH_OPTION.format(name, words, said, given))
    return "".join(lines)


def _options(one: Any) -> list[Any]:
    """Parameters of a command that are no arguments."""
    return [param for param in one.params if param.opts[0].startswith("-")]


def _values(option: Any) -> list[str]:
    """The words that an option can have."""
    described = getattr(option, "type_descriptor", None)  # of newer versions of typer
    if described is None:
        return list(getattr(option.type, "choices", ()))
    kind = described.annotation
    return list(get_args(kind)) if get_origin(kind) is Literal else []
