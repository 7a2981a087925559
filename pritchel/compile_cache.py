"""An optional cache of compiled programs on disk: a second process then starts training at once."""

import os
from pathlib import Path

VARIABLE = "PRITCHEL_CACHE"


def use_compile_cache(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs in a folder, by default the one that the PRITCHEL_CACHE variable names; None: no cache.

    The folder holds machine code for this machine and JAX version, made by JAX; share it with nobody you would not let
    run code as you. It can be deleted at any time. The setting is JAX's own and holds for the whole process.
    """
    folder = folder or os.environ.get(VARIABLE)
    if not folder:
        return None
    import jax

    path = Path(folder).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{VARIABLE}: cannot make the cache folder {path}: {error}. Name another, or unset it."
        ) from error
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return path
