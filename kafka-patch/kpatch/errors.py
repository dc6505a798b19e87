"""The one error that kpatch raises for anything a user can put right."""


class KpatchError(Exception):
    """Something failed: says what, what was seen, and what to do; `kpatch` prints it and exits 1."""

    def __init__(self, what: str, seen: str, todo: str) -> None:
        super().__init__(f"{what}: {seen}. {todo}")
        self.what, self.seen, self.todo = what, seen, todo
