"""Where this user's cached files live."""

import os
from pathlib import Path


def user_cache() -> Path:
    """The user's cache folder for Pritchel; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pritchel"
