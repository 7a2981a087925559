"""Predictions for a Dask data frame by workers that have the exported model, and neither JAX nor Pritchel.

The model is one Python file that needs numpy (`score_parquet.py` fits and writes it, as `pritchel export MODEL --format
numpy` does). `map_partitions` calls it, here on two processes of this machine; elsewhere `Client("scheduler:8786")` is
all that changes, and the file is where the workers see it.

    pip install 'pritchel[dask]'
    python examples/score_dask.py
"""

import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd


def predict_part(frame: pd.DataFrame, path: str) -> pd.DataFrame:
    """Predictions for a partition, by the exported file."""
    if "exported" not in sys.modules:
        spec = importlib.util.spec_from_file_location("exported", path)
        sys.modules["exported"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["exported"])
    assert not {"jax", "pritchel", "sklearn"} & {*sys.modules}
    mean, sd = sys.modules["exported"].predict({name: frame[name].to_numpy() for name in ("a", "town")})
    return pd.DataFrame({"mean": mean, "sd": sd}, index=frame.index)


def predict_all(rows: Path, exported: Path, output: Path) -> int:
    """Predictions for a folder of Parquet files, as another; how many. Runs on the cluster that has a client here."""
    import dask.dataframe as dd

    answers = dd.read_parquet(rows).map_partitions(predict_part, str(exported), meta={"mean": float, "sd": float})
    answers.to_parquet(output, write_index=False)
    return len(dd.read_parquet(output))


def main(folder: Path) -> None:
    """Fit and export; then predict on a cluster."""
    from distributed import Client, LocalCluster
    from score_parquet import fit_and_export

    fit_and_export(folder)
    quiet = {"dashboard_address": None, "worker_dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster, Client(cluster):
        start = time.perf_counter()
        num = predict_all(folder / "rows", folder / "exported.py", folder / "answers")
        print(f"{num:,} rows, {num / (time.perf_counter() - start):,.0f} a second, without JAX")
    found, known = (pd.read_parquet(folder / name) for name in ("answers", "rows"))
    print(f"RMSE of the answers {np.sqrt(np.mean((found['mean'].to_numpy() - known['y'].to_numpy()) ** 2)):.3f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
