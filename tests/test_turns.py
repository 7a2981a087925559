"""Taking turns: no more at once than there are cores, none left behind, and no core without work."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pritchel.infer.turns import Turns, num_under_way


def test_no_more_than_told_run_at_once_and_all_get_on():
    turns, lock = Turns(2), threading.Lock()
    running, most, order = 0, 0, []

    def work(index):
        nonlocal running, most
        for _ in range(20):
            with turns:
                with lock:
                    running += 1
                    most = max(most, running)
                    order.append(index)
                time.sleep(0.002)
                with lock:
                    running -= 1

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert most == 2
    halfway = [order[:30].count(index) for index in range(3)]
    assert min(halfway) >= 7  # ten each, if they take turns exactly


def test_an_error_gives_the_turn_back():
    turns = Turns(1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns:
            raise ZeroDivisionError


@pytest.mark.parametrize(("count", "n_jobs", "threads"), [(3, 2, 3), (4, 2, 2), (5, 2, 3), (2, 8, 2), (3, 1, 1)])
def test_one_more_is_under_way_where_a_core_would_idle(count, n_jobs, threads):
    assert num_under_way(count, n_jobs) == threads
