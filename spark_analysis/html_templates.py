"""HTML pages from Jinja templates: text is escaped, and a name that a template does not know is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def rendered(template: Path, filters: dict[str, Callable[..., Any]], **values: Any) -> str:
    """The text of a template, which may include others of its folder."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template.name).render(**values)
