"""Files that need no space of their own where a second name will do."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """A hard link; a copy where that cannot be, as between two devices. Raises OSError."""
    try:
        os.link(source, target)
    except OSError as e:
        if e.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP):
            raise
        shutil.copy2(source, target)
