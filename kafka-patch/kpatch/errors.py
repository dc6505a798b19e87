"""The one error that kpatch raises for anything a user can put right."""


class KpatchError(Exception):
    """A failure with what was observed and what to do; `kpatch` prints it and exits 1."""

    def __init__(self, what: str, observed: str, todo: str) -> None:
        super().__init__(f"{what}: {observed}. {todo}")
        self.what, self.observed, self.todo = what, observed, todo
