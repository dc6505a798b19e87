"""The `rackspan` command on a terminal of its own: its screen, and keys pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.common import wait
from harness.common.wait import Pending
from harness.tests.commands import PROGRAM, environment, in_background
from harness.tests.limits import STUCK

_ROWS, _COLUMNS = 50, 160
_HOME = "\x1b[H"  # each picture begins at the upper left
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CURSOR_SHOWN, _CURSOR_HIDDEN = "\x1b[?25h", "\x1b[?25l"
_LEFT = "\x1b[?1049l"  # the alternate screen is left: the text from before is shown again


class Terminal:
    """A pseudo-terminal with the command in its foreground; `shown` is the last picture, as plain text.

    `background`: signals are ignored at first, as by what a script in the background starts.
    """

    def __init__(self, *args: str, home: Path, background: bool = False) -> None:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._before = termios.tcgetattr(self._slave)
        env = environment(home) | {"TERM": "xterm", "COLUMNS": str(_COLUMNS), "LINES": str(_ROWS)}
        self._process = subprocess.Popen(
            [*PROGRAM, *args],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=env,
            start_new_session=True,
            preexec_fn=partial(_own_terminal, background),
        )
        self._text = ""
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)
        os.close(self._slave)

    def wait_for(self, *patterns: str) -> None:
        """Waits until one picture has all of these. Raises WaitTimeout with the picture."""

        def there() -> bool | Pending:
            self._read()
            missing = [p for p in patterns if not re.search(p, self.shown)]
            return Pending(f"no {missing} in:\n{self.shown}") if missing else True

        wait.wait_for(f"the terminal to show {', '.join(patterns)}", there, 90)

    def end(self, key: str) -> int:
        """Presses a key and returns the exit code, once the terminal is as it was. Raises WaitTimeout."""
        os.write(self._master, key.encode())

        def ended() -> bool | Pending:
            self._read()
            return self._process.poll() is not None or Pending(self.shown)

        wait.wait_for(f"the command to end after {key!r}", ended, STUCK)
        self._read()
        assert _LEFT in self._text and self._text.rfind(_CURSOR_SHOWN) > self._text.rfind(_CURSOR_HIDDEN)
        assert termios.tcgetattr(self._slave) == self._before
        return self._process.returncode

    @property
    def left(self) -> str:
        """The text on the terminal after the end of the command."""
        return _ESCAPES.sub("", self._text.rpartition(_LEFT)[2])

    def _read(self) -> None:
        while select.select([self._master], [], [], 0)[0]:
            with suppress(OSError):
                self._text += os.read(self._master, 65536).decode(errors="replace")
        pictures = self._text.split(_HOME)
        self.shown = _ESCAPES.sub("", pictures[-1])


def _own_terminal(background: bool) -> None:
    if background:
        in_background()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
