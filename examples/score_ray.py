"""Predictions for a Ray dataset by workers that have the exported model, and neither JAX nor Pritchel.

The model is one Python file that needs numpy (`score_parquet.py` fits and writes it, as `pritchel export MODEL --format
numpy` does). `map_batches` calls it, here on two processes of this machine; on a cluster `ray.init(address="auto")` is
all that changes, and the file is where the workers see it.

    pip install 'pritchel[ray]'
    python examples/score_ray.py
"""

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd


def predict_batch(batch: dict[str, np.ndarray], path: str) -> dict[str, np.ndarray]:
    """The batch's targets with predictions beside them, by the exported file."""
    if "exported" not in sys.modules:
        spec = importlib.util.spec_from_file_location("exported", path)
        sys.modules["exported"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["exported"])
    assert not {"jax", "pritchel", "sklearn"} & {*sys.modules}
    mean, sd = sys.modules["exported"].predict(batch)
    return {"y": batch["y"], "mean": mean, "sd": sd}


def predict_all(rows: Path, exported: Path, output: Path) -> int:
    """Predictions for a folder of Parquet files, as another; how many. Runs on the instance that was started."""
    import ray.data

    table = ray.data.read_parquet(str(rows))
    table.map_batches(predict_batch, fn_kwargs={"path": str(exported)}, batch_size=8192).write_parquet(str(output))
    return len(pd.read_parquet(output, columns=["mean"]))


def main(folder: Path) -> None:
    """Fit and export; then predict on an instance of two workers."""
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}  # this machine alone
    import ray
    from score_parquet import fit_and_export

    fit_and_export(folder)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        start = time.perf_counter()
        num = predict_all(folder / "rows", folder / "exported.py", folder / "answers")
        print(f"{num:,} rows, {num / (time.perf_counter() - start):,.0f} a second, without JAX")
    finally:
        ray.shutdown()
    answers = pd.read_parquet(folder / "answers")
    print(f"RMSE of the answers {np.sqrt(np.mean((answers['mean'] - answers['y']) ** 2)):.3f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
