"""Predictions for a folder of Parquet files by a worker that has numpy and pyarrow, and neither JAX nor Pritchel.

A model is fitted to some files and exported as one Python file. Workers, in processes of their own, then read batches
of the files, write predictions beside them and say how many rows a second that was. On a cluster they are the tasks of
whatever runs tasks there: what they need is the exported file and the path of a part.

    python examples/score_parquet.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from pritchel import HorseshoeRegressor, TableModel
from pritchel.files.deployed import deployed
from pritchel.files.numpy_export import write_numpy

NUM_FILES, ROWS, NUM_DRAWS = 2, 5000, 20
WORKER = '''
"""python worker.py IN.parquet OUT.parquet: predictions, a batch at a time."""

import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq

from exported import predict

source, output = sys.argv[1:]
start, num_rows = time.perf_counter(), 0
schema = pa.schema([("mean", pa.float64()), ("sd", pa.float64())])
with pq.ParquetFile(source) as file, pq.ParquetWriter(output, schema) as writer:
    for batch in file.iter_batches(8192, columns=["a", "town"]):
        mean, sd = predict({name: batch[name].to_numpy(zero_copy_only=False) for name in batch.schema.names})
        writer.write_table(pa.table({"mean": mean, "sd": sd}, schema))
        num_rows += batch.num_rows
assert not {"jax", "pritchel", "sklearn"} & {*sys.modules}
rate = num_rows / (time.perf_counter() - start)
print(f"{output}: {num_rows:,} rows, {rate:,.0f} a second, without JAX")
'''


def make_files(folder: Path) -> None:
    """Rents by area and town."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for index in range(NUM_FILES):
        frame = pd.DataFrame({"a": rng.normal(size=ROWS), "town": rng.choice(["Ulm", "Ham"], ROWS)})
        frame["y"] = np.sin(frame["a"]) + (frame["town"] == "Ulm") + 0.1 * rng.normal(size=ROWS)
        frame.to_parquet(folder / f"part-{index}.parquet", index=False)


def fit_and_export(folder: Path) -> TableModel:
    """Files of rows, and a model fitted to them, beside them as one Python file."""
    make_files(folder / "rows")
    model = TableModel(HorseshoeRegressor.fast(random_state=0)).fit(folder / "rows", "y")
    print(f"RMSE on rows held out {model.notes_['scores'][0]['rmse']:.3f}")
    write_numpy(deployed(model.estimator_, model.plan_, NUM_DRAWS), folder / "exported.py")
    return model


def main(folder: Path) -> None:
    """Fit from the files, export, and let a worker a file predict."""
    fit_and_export(folder)
    (folder / "worker.py").write_text(WORKER)
    for path in sorted((folder / "rows").glob("*.parquet")):
        command = [sys.executable, "worker.py", str(path), f"{path.stem}-answers.parquet"]
        print(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip())
    answers = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*-answers.parquet"))])
    known = pd.concat([pd.read_parquet(path) for path in sorted((folder / "rows").glob("*.parquet"))])
    print(f"RMSE of the answers {np.sqrt(np.mean((answers['mean'].to_numpy() - known['y'].to_numpy()) ** 2)):.3f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
