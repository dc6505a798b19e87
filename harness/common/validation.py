"""Errors of a YAML document in words: every bad key with the nearest known one."""

from __future__ import annotations

import difflib
import sys
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from harness.common.errors import usage_error

M = TypeVar("M", bound=BaseModel)


class Strict(BaseModel):
    """Values that do not change, without keys that nobody knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_yaml(path: Path, what: str) -> object:
    """The data of a YAML file; `-` reads standard input. Raises RackspanError (exit code 2)."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as e:
        raise usage_error(
            f"cannot read the {what} {path}", observed=str(e.strerror), do="give the path of a YAML file"
        ) from e
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise usage_error(
            f"{path} is not YAML", observed=" ".join(str(e).split()), do="correct the line named above"
        ) from e


def validated(model: type[M], data: object, *, where: str, what: str, begin: str, do: str) -> M:
    """`data` as that model. `what` names it, `begin` says how one begins, `do` what to do about bad keys.

    Raises RackspanError (exit code 2) that names every bad key, and the nearest known one.
    """
    if not isinstance(data, dict):
        raise usage_error(
            f"{where} is no {what}", observed=f"a {type(data).__name__} where keys and values are expected", do=begin
        )
    try:
        return model.model_validate(data)
    except ValidationError as e:
        raise usage_error(
            f"{where} is not valid", observed="; ".join(problem(model, error) for error in e.errors()), do=do
        ) from None


def unknown(name: str, known: Sequence[str], kind: str) -> str:
    """That there is no such thing, with the nearest known one, or all of them."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    near += [other for other in difflib.get_close_matches(name, known, n=2, cutoff=0.9) if other not in near]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known)}"
    return f"no {kind} {name!r}; {hint}"


def problem(root: type[BaseModel], error: Any) -> str:
    """One of pydantic's errors in words."""
    place = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        inside = f"{'.'.join(place[:-1])}: " if len(place) > 1 else ""
        return inside + unknown(place[-1], list(_model_at(root, place[:-1]).model_fields), "key")
    text = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] not in ("value_error", "missing"):
        text += f", not {error['input']!r}"
    return f"{'.'.join(place)}: {text}" if place else text


def _model_at(model: type[BaseModel], place: Sequence[str]) -> type[BaseModel]:
    """The model whose keys stand at that place; keys of mappings and numbers of list entries lead nowhere else."""
    for part in place:
        field = model.model_fields.get(part)
        if field is not None:
            model = next(_models(field.annotation), model)
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)
