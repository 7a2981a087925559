"""Benchmark tables by name: local folders first, then a download that is checked. No test leaves this machine."""

import http.server
import io
import threading

import numpy as np
import pytest

from pritchel.data import download, sources
from pritchel.data.download import arrays_from_text
from pritchel.data.sources import UCI, Origin, Table, load_uci

# Five columns: two inputs (out of order, counted as the source does, in floats), the target, two that are not used.
NUM_ROWS = 20
ROWS = "\n".join(f"{row} {row / 7:.17g} 0 {row**2}.5   9" for row in range(NUM_ROWS))
FILES = {"data": ROWS, "index_features": "3.000e+00\n1.000e+00\n", "index_target": "0.0\n"}
EXPECTED = Table("yacht", *arrays_from_text(*FILES.values(), num_splits=3))


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """No local folder, an empty cache, and a source whose yacht table is the small one above."""
    folder = tmp_path / "source" / "yacht" / "data"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / f"{name}.txt").write_text(text)
    monkeypatch.delenv("PRITCHEL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_local_folders", lambda: [tmp_path / "nowhere"])
    monkeypatch.setattr(download, "SOURCE", (tmp_path / "source").as_uri())
    monkeypatch.setitem(sources.ORIGINS, "yacht", Origin("yacht", 3, EXPECTED.digest()))
    return tmp_path


def kept(folder):
    return sorted(path.name for path in (folder / "cache").rglob("*") if path.is_file())


def test_text_becomes_a_table():
    assert EXPECTED.inputs.shape == (NUM_ROWS, 2)
    np.testing.assert_array_equal(EXPECTED.inputs[3], [9.5, 3 / 7])
    np.testing.assert_array_equal(EXPECTED.targets, np.arange(NUM_ROWS))
    assert EXPECTED.test_index.shape == (3, 2)
    train_X, train_y, test_X, test_y = EXPECTED.split(1)
    assert (len(train_X), len(test_X)) == (18, 2)
    assert sorted([*train_y, *test_y]) == list(range(NUM_ROWS))


def test_digest_sees_every_part():
    changes = {
        "inputs": EXPECTED.inputs + np.eye(NUM_ROWS, 2) * 1e-12,
        "targets": EXPECTED.targets[::-1],
        "test_index": EXPECTED.test_index[::-1],
    }
    digests = {EXPECTED._replace(**{name: value}).digest() for name, value in changes.items()}
    assert len(digests | {EXPECTED.digest()}) == 4
    in_other_order = EXPECTED._replace(
        inputs=np.asfortranarray(EXPECTED.inputs), test_index=EXPECTED.test_index.astype(int)
    )
    assert in_other_order.digest() == EXPECTED.digest()


@pytest.mark.parametrize("name", UCI)
def test_local_tables_have_the_digests_and_splits_on_record(name):
    path = sources._find(name)
    if path is None:
        pytest.skip("no benchmark tables here")
    table = load_uci(name)  # refuses a wrong digest
    text = io.StringIO()
    np.savetxt(text, np.column_stack([table.targets, table.inputs]), fmt="%.17g")
    columns = "\n".join(map(str, range(1, table.inputs.shape[1] + 1)))
    num_splits = sources.ORIGINS[name].num_splits
    assert Table(name, *arrays_from_text(text.getvalue(), columns, "0", num_splits)).digest() == table.digest()


@pytest.mark.parametrize("named", [None, "", "somewhere"])
def test_a_folder_that_is_named_goes_before_the_one_beside_the_checkout(monkeypatch, named):
    if named is None:
        monkeypatch.delenv("PRITCHEL_DATA", raising=False)
    else:
        monkeypatch.setenv("PRITCHEL_DATA", named)
    folders = ["/".join(folder.parts[-2:]) for folder in sources._local_folders()]
    assert folders == (["somewhere", "shared/data"] if named else ["shared/data"])


def test_fetched_once_then_read_from_the_cache(empty, monkeypatch):
    opened = []
    urlopen = download.urlopen
    monkeypatch.setattr(download, "urlopen", lambda url, timeout: opened.append(url) or urlopen(url, timeout=timeout))
    for _ in range(2):
        table = load_uci("yacht")
        assert table.digest() == EXPECTED.digest()
    assert len(opened) == 3
    assert kept(empty) == ["yacht.npz"]


def test_a_wrong_digest_is_refused_and_not_kept(empty):
    (empty / "source" / "yacht" / "data" / "data.txt").write_text(ROWS.replace("16.5", "17.5"))
    with pytest.raises(ValueError, match=r"does not hold the standard yacht table.*PRITCHEL_DATA"):
        load_uci("yacht")
    assert kept(empty) == []


def test_a_local_file_with_other_numbers_is_refused(empty, monkeypatch):
    monkeypatch.setattr(sources, "_local_folders", lambda: [empty])
    sources._keep(EXPECTED._replace(targets=EXPECTED.targets + 1), empty / "uci" / "yacht.npz")
    with pytest.raises(ValueError, match=r"yacht\.npz does not hold the standard yacht table"):
        load_uci("yacht")


def test_a_named_folder_comes_first_and_must_hold_tables(empty, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setitem(sources.ORIGINS, "yacht", Origin("yacht", 3, EXPECTED.digest()))
    monkeypatch.setattr(download, "urlopen", lambda *_, **__: pytest.fail("fetched"))
    monkeypatch.setenv("PRITCHEL_DATA", str(empty))
    with pytest.raises(FileNotFoundError, match="no benchmark tables at"):
        load_uci("yacht")
    sources._keep(EXPECTED, empty / "uci" / "yacht.npz")
    assert load_uci("yacht").digest() == EXPECTED.digest()


def test_a_page_instead_of_a_table_is_refused_and_not_kept(empty):
    (empty / "source" / "yacht" / "data" / "data.txt").write_text("<html>Sign in to use this network</html>")
    with pytest.raises(FileNotFoundError, match="is no table of numbers"):
        load_uci("yacht")
    assert kept(empty) == []


@pytest.mark.parametrize("status", [404, 500])
def test_over_http_a_missing_file_is_one_sentence(empty, monkeypatch, status):
    class Refuse(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(status)

        def log_message(self, format, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Refuse) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(download, "SOURCE", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(FileNotFoundError, match=rf"could not be fetched.*{status}.*set PRITCHEL_DATA"):
            load_uci("yacht")
        server.shutdown()
    assert kept(empty) == []


def test_over_http_a_table_arrives(empty, monkeypatch):
    class Serve(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=empty / "source")

        def log_message(self, format, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(download, "SOURCE", f"http://127.0.0.1:{server.server_port}")
        assert load_uci("yacht").digest() == EXPECTED.digest()
        server.shutdown()
    assert kept(empty) == ["yacht.npz"]


def test_without_a_network_the_message_says_what_to_do(empty, monkeypatch):
    monkeypatch.setattr(download, "SOURCE", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(FileNotFoundError) as caught:
        load_uci("yacht")
    message = str(caught.value)
    assert message.startswith(
        "the table yacht is in no local folder and could not be fetched: http://127.0.0.1:9/yacht"
    )
    assert "set PRITCHEL_DATA to a folder that holds uci/yacht.npz" in message


def test_a_table_without_a_source_and_one_unknown(empty):
    with pytest.raises(FileNotFoundError, match="the table year has no source"):
        load_uci("year")
    with pytest.raises(ValueError, match="name must be one of 'yacht'"):
        load_uci("iris")


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        sources._keep(EXPECTED, tmp_path / "uci" / "yacht.npz")
    assert list((tmp_path / "uci").iterdir()) == []
