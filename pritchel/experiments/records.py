"""One JSON line a trial: what was run, with what versions, and what came out. Figures are made from these alone."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from pritchel.jobs import answers, is_elsewhere, num_at_once
from pritchel.serial import versions

Key = dict[str, Any]  # what identifies a trial: JSON values only
Record = dict[str, Any]  # a trial on record: `key`, `result`, `seconds`, `versions`


def _canonical(key: Key) -> str:
    return json.dumps(key, sort_keys=True)


def matching(records: Iterable[Record], **match: Any) -> list[Record]:
    """The records whose key has the given entries."""
    return [record for record in records if all(record["key"][name] == wanted for name, wanted in match.items())]


def _record(line: str) -> Record | None:
    """The record in a line; None: it holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_whole = isinstance(record, dict) and isinstance(record.get("key"), dict) and "result" in record
    return record if is_whole else None


class Records:
    """The trials in a file of JSON lines, each with `key`, `result`, `seconds` and `versions`.

    A line is written whole when its trial ends. Reading changes nothing: a line that a kill cut short, or that is no
    record, is passed over, so its trial runs again.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._by_key: dict[str, Record] = {}
        for line in path.read_text(errors="replace").splitlines() if path.exists() else ():
            record = _record(line)
            if record is not None:
                self._by_key[_canonical(record["key"])] = record

    def __contains__(self, key: Key) -> bool:
        return _canonical(key) in self._by_key

    def of(self, keys: Iterable[Key]) -> list[Record]:
        """The records of those keys that have one, in the keys' order."""
        return [self._by_key[text] for text in map(_canonical, keys) if text in self._by_key]

    def all(self) -> list[Record]:
        """Every record, in the order they were written."""
        return list(self._by_key.values())

    def add(self, key: Key, result: dict[str, Any], seconds: float) -> None:
        """Append one record."""
        record = {"key": key, "result": result, "seconds": round(seconds, 3), "versions": versions()}
        line = json.dumps(record) + "\n"
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                is_torn = file.tell() > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
                file.write((b"\n" if is_torn else b"") + line.encode())
            self._by_key[_canonical(key)] = record

    def _require_writable(self) -> None:
        """Before hours are spent on what could not be kept."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.open("ab").close()

    def run(
        self,
        keys: list[Key],
        run: Callable[[Key], dict[str, Any]],
        *,
        n_jobs: int | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> list[str]:
        """Run the trials that have no record yet, `n_jobs` at a time; what went wrong, one sentence a failed trial."""
        missing = [key for key in keys if key not in self]
        say(f"{self.path.stem}: {len(keys) - len(missing)} of {len(keys)} trials on record")
        if missing:
            self._require_writable()
        failures: list[str] = []
        begin, num_done = time.monotonic(), 0

        def put(key: Key, tried: Attempt) -> None:
            nonlocal num_done
            if tried.result is None:
                failures.append(f"{_canonical(key)}: {tried.error}")
                return
            self.add(key, tried.result, tried.seconds)
            num_done += 1
            left = (time.monotonic() - begin) / num_done * (len(missing) - num_done)
            say(f"{self.path.stem}: {num_done} of {len(missing)} done, about {left:.0f} s left: {_canonical(key)}")

        if is_elsewhere():
            tasks = [(run, key) for key in missing]
            for number, tried in answers(attempt_alone, tasks, num_at_once(n_jobs)):
                put(missing[number], tried)
            return failures
        num_threads = n_jobs or os.cpu_count() or 1
        limit = None if num_threads == 1 else 1  # trials side by side: one thread of linear algebra each
        with threadpool_limits(limit), ThreadPoolExecutor(num_threads) as pool:
            futures = [pool.submit(lambda key: put(key, attempt(run, key)), key) for key in missing]
            try:
                for future in futures:
                    future.result()
            except (KeyboardInterrupt, OSError):
                for future in futures:
                    future.cancel()
                raise
        return failures


class Attempt(NamedTuple):
    """What a trial came to: its result, or what went wrong."""

    result: dict[str, Any] | None
    seconds: float
    error: str = ""


def attempt(run: Callable[[Key], dict[str, Any]], key: Key) -> Attempt:
    """Run a trial; an error is its outcome, unless data are missing: the other trials would say the same."""
    start = time.perf_counter()
    try:
        return Attempt(run(key), time.perf_counter() - start)
    except FileNotFoundError:
        raise
    except Exception as error:
        return Attempt(None, time.perf_counter() - start, f"{type(error).__name__}: {error}")


def attempt_alone(run: Callable[[Key], dict[str, Any]], key: Key) -> Attempt:
    """On a worker: a trial beside others, with one thread of linear algebra."""
    with threadpool_limits(1):
        return attempt(run, key)
