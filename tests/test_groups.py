"""One model a group: the same as each alone, compiled once, failures listed, rows answered by their own group."""

import json
import re
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pritchel
from pritchel import FileError, GroupedModel, HorseshoeClassifier, TableError, TableModel, fit_groups
from pritchel.cli import app
from pritchel.folder import spec_digest
from pritchel.infer.step import run_chunk
from pritchel.tables import fit_groups as run
from pritchel.tables import group_fits
from pritchel.tables.group_folder import GROUPS, INDEX, folder_of
from tests.conftest import tiny

NAMES = ("Ulm/../Süd", "Ham", "ham", "7")
HOW = TableModel(tiny(training__num_steps=100))


def sales() -> pd.DataFrame:
    """Four shops of 40 to 58 rows, one with too few and one that sells the same every day."""
    rng = np.random.default_rng(0)
    parts = []
    for number, name in enumerate(NAMES):
        heat = rng.uniform(0, 30, 40 + 6 * number)
        ice = 20 * number + (number - 1.5) * heat + rng.normal(size=len(heat))
        parts.append(
            pd.DataFrame({"heat": heat, "day": rng.choice(["sun", "mon"], len(heat)), "ice": ice, "shop": name})
        )
    parts.append(pd.DataFrame({"heat": [1.0, 2.0, 3.0], "day": "sun", "ice": [1.0, 2.0, 3.0], "shop": "new"}))
    parts.append(pd.DataFrame({"heat": np.arange(12.0), "day": "mon", "ice": 5.0, "shop": "idle"}))
    parts.append(pd.DataFrame({"heat": [4.0], "day": "mon", "ice": [5.0], "shop": [None]}))
    return pd.concat(parts).sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("groups") / "shops"


@pytest.fixture(scope="module")
def said():
    return []


@pytest.fixture(scope="module")
def shops(folder, said):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "SECONDS", 0.0)
        before = run_chunk._cache_size()
        models = fit_groups(sales(), "ice", "shop", folder, model=HOW, say=lambda text: said.append(str(text)))
        assert run_chunk._cache_size() <= before + 1  # one program, however many rows a group has
    return models


def test_each_is_what_it_would_be_alone(shops):
    frame = sales()
    for name in NAMES:
        own, rows = shops.model(name), frame[frame["shop"] == name]
        data = TableModel(tiny(training__num_steps=100, training__drop_dead_units=False)).fit(
            rows.drop(columns="shop"), "ice"
        )
        assert np.array_equal(own.estimator_.elbo_, data.estimator_.elbo_)
        assert own.notes_["scores"] == data.notes_["scores"]
        assert own.estimator_.training.drop_dead_units is False  # another width would be another program


def test_rows_are_answered_by_the_model_of_their_group(shops):
    frame = sales()
    frame = frame[frame["shop"].isin(NAMES)]
    answers = shops.predict(frame, quantiles=[0.9], split=True)
    assert answers.index.equals(frame.index)
    for name in NAMES:
        rows = frame["shop"] == name
        pd.testing.assert_frame_equal(answers[rows], shops.model(name).predict(frame[rows], [0.9], split=True))
    assert sorted(name for name, _ in shops._rows(frame, 0, "raise")) == sorted(NAMES)  # each once
    assert list(shops.predict(frame.iloc[:0]).columns) == ["mean", "sd"]
    assert list(shops.region(frame, 0.9).columns) == ["region90"]


def test_what_cannot_be_fitted_is_listed_with_the_reason(shops):
    assert shops.groups == sorted(NAMES)
    assert shops.failed == {
        "idle": "ice is 5.0 in all of its 12 rows.",
        "new": "It has 3 row(s) with a target; at least 10 are asked for.",
    }


def test_progress_has_a_time_to_go(shops, said):
    assert "Dropped: 1 row(s) without a shop" in said
    assert "6 groups by shop; 2 at a time ..." in [re.sub(r"\d+ at", "2 at", text) for text in said]
    assert any(re.fullmatch(r"\d of 6 groups(, \d failed)?, about \d+ s left", text) for text in said)


def test_the_folder_is_plain_files_that_load(shops, folder):
    again = pritchel.load(folder)
    assert isinstance(again, GroupedModel)
    assert again.index == shops.index
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".json", ".safetensors", ".md"}
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", path.name) for path in (folder / GROUPS).iterdir())
    assert not folder.with_name("shops.partial").exists()
    summary = again.summary()
    assert list(summary.index) == sorted(NAMES)
    assert summary.loc["Ham", "rows"] == 46
    assert {"units", "rmse", "constant_rmse", "log_likelihood"} <= {*summary.columns}
    with pytest.raises(FileError, match=r"holds one model a group.*give the folder of a group"):
        TableModel.load(folder)
    assert pritchel.load(folder_of(folder, "Ham")).plan_.targets == ("ice",)


def test_rows_of_unknown_groups_are_named_or_left_empty(shops):
    rows = pd.DataFrame({"heat": [1.0, 2.0, 3.0, 4.0], "day": "sun", "shop": ["Ham", "Rom", "new", None]})
    with pytest.raises(TableError, match=r"Row 2: shop 'Rom' has no model: .* had '7', 'Ham'.*\(3 of this table\)"):
        shops.predict(rows)
    with pytest.raises(TableError, match=r"Row 11: shop 'new' has no model, since its fit failed: It has 3 row"):
        shops.predict(rows.iloc[2:], first_row=10)
    with pytest.raises(TableError, match="Row 1: shop is missing"):
        shops.predict(rows.iloc[3:])
    answers = shops.predict(rows, unknown="missing")
    assert answers["mean"].notna().tolist() == [True, False, False, False]
    assert shops.predict(rows.iloc[1:], unknown="missing")["mean"].isna().all()
    with pytest.raises(TableError, match="has no column 'shop'"):
        shops.predict(rows.drop(columns="shop"))
    with pytest.raises(TableError, match="shop 'Rom' has no model"):
        shops.model("Rom")


def test_an_index_that_was_changed_is_refused(shops, folder, tmp_path):
    for change, why in (
        ({"by": "heat"}, "was changed after it was written"),
        ({"format_version": 9}, "upgrade pritchel"),
        ({"format": "other"}, "does not describe groups"),
    ):
        (tmp_path / INDEX).write_text(json.dumps(json.loads((folder / INDEX).read_text()) | change))
        with pytest.raises(FileError, match=why):
            GroupedModel.load(tmp_path)
    whole = json.loads((folder / INDEX).read_text())
    for change, why in (
        ({"groups": [{"name": "Ham"}]}, "'rows' is missing"),
        ({"groups": whole["groups"] * 2}, "names a group twice"),
        ({"failed": ["new"]}, "failed must be an object"),
    ):
        changed = whole | change
        (tmp_path / INDEX).write_text(json.dumps(changed | {"spec_sha256": spec_digest(changed)}))
        with pytest.raises(FileError, match=why):
            GroupedModel.load(tmp_path)
    with pytest.raises(FileError, match=r"groups\.json is missing"):
        GroupedModel.load(tmp_path / "none")


def counted(monkeypatch, last=99):
    """Groups as they are fitted; Ctrl-C comes after so many."""
    done, real = [], run.answers_anywhere

    def answers(function, tasks, n_jobs):
        for number, outcome in real(function, tasks, 1):
            yield number, outcome
            done.append(number)
            if len(done) == last:
                raise KeyboardInterrupt

    monkeypatch.setattr(run, "answers_anywhere", answers)
    return done


def test_a_run_that_was_cut_short_goes_on_with_the_groups_that_are_missing(shops, tmp_path, monkeypatch):
    frame, output = sales(), tmp_path / "shops"
    with monkeypatch.context() as patch:
        counted(patch, last=2)
        with pytest.raises(KeyboardInterrupt):
            fit_groups(frame, "ice", "shop", output, model=HOW)
    assert not output.exists()
    so_far = GroupedModel.load(tmp_path / "shops.partial")
    assert (len(so_far.groups), so_far.index["is_finished"]) == (2, False)
    (folder_of(so_far.path, so_far.groups[0]) / "weights.safetensors").write_bytes(b"")  # as a failing disk leaves it
    with pytest.raises(FileExistsError, match="holds an unfinished run"):
        fit_groups(frame, "ice", "shop", output, model=HOW)
    done = counted(monkeypatch)
    models = fit_groups(frame, "ice", "shop", output, model=HOW, resume=True)
    assert len(done) == 5  # of six, one was there
    assert [group["scores"] for group in models.index["groups"]] == [group["scores"] for group in shops.index["groups"]]
    rows = frame[frame["shop"].isin(NAMES)]
    pd.testing.assert_frame_equal(models.predict(rows), shops.predict(rows))


def test_groups_whose_rows_have_changed_are_fitted_anew(shops, folder, tmp_path, monkeypatch):
    partial, done = tmp_path / "shops.partial", counted(monkeypatch)
    subprocess.run(["cp", "-r", folder, partial], check=True)
    frame = sales()
    frame.loc[frame.index[frame["shop"] == "Ham"][0], "ice"] += 1
    fit_groups(frame, "ice", "shop", tmp_path / "shops", model=HOW, resume=True)
    assert len(done) == 3  # and the two that failed


def test_what_a_user_keeps_in_a_folder_stays_when_it_is_overwritten(tmp_path, monkeypatch):
    frame = sales()
    few = frame[frame["shop"].isin(["Ham", "ham"])]
    for before in ("groups", "model"):
        folder = tmp_path / before
        if before == "groups":
            fit_groups(few, "ice", "shop", folder, model=HOW)
        else:
            HOW.fit(few.drop(columns="shop"), "ice").save(folder)
        (folder / "notes").mkdir()
        (folder / "notes" / "mine.txt").write_text("mine")
        models = fit_groups(few, "ice", "shop", folder, model=HOW, overwrite=True)
        assert models.groups == ["Ham", "ham"]
        assert (folder / "notes" / "mine.txt").read_text() == "mine"
        assert sorted(own.name for own in folder.iterdir()) == ["groups", "groups.json", "notes"]


def test_places_that_are_taken_are_left_alone(shops, folder, tmp_path, monkeypatch):
    def none(*_):
        raise AssertionError

    monkeypatch.setattr(run, "answers_anywhere", none)
    with pytest.raises(FileExistsError, match="exists"):
        fit_groups(sales(), "ice", "shop", folder, model=HOW)
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="left alone"):
        fit_groups(sales(), "ice", "shop", tmp_path / "mine", model=HOW, overwrite=True)
    (tmp_path / "new.partial").mkdir()
    (tmp_path / "new.partial" / "mine").touch()
    with pytest.raises(FileExistsError, match=r"holds 'mine'.*left alone"):
        fit_groups(sales(), "ice", "shop", tmp_path / "new", model=HOW, overwrite=True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"by": "town"}, "No column 'town'"),
        ({"by": "ice"}, "can be nothing else"),
        ({"min_rows": 1000}, "the largest of 6 groups has 58"),
        ({"model": TableModel(folds=3)}, "leave folds out"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_fitted(tmp_path, changes, why):
    with pytest.raises(TableError, match=why):
        fit_groups(sales(), "ice", **{"by": "shop", "output": tmp_path / "shops", "model": HOW, **changes})
    assert not list(tmp_path.glob("shops*"))


def test_where_no_group_can_be_fitted_the_first_reason_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "fit_group", lambda *_: group_fits.GroupFit(None, {}, {}, "It rained."))
    with pytest.raises(TableError, match=r"None of 6 groups could be fitted. shop '7': It rained."):
        fit_groups(sales(), "ice", "shop", tmp_path / "shops", model=HOW)
    assert not (tmp_path / "shops.partial").exists()


def test_groups_go_where_joblib_says(shops, tmp_path):
    with joblib.parallel_config("loky", n_jobs=1):
        models = fit_groups(sales(), "ice", "shop", tmp_path / "shops", model=HOW)
    same = [{**group, "seconds": 0} for group in models.index["groups"]]
    assert same == [{**group, "seconds": 0} for group in shops.index["groups"]]
    assert models.failed == shops.failed


def test_classes_that_a_group_has_not_seen_have_no_chance_there(tmp_path):
    x = np.linspace(-1, 1, 60)
    kind = [*np.where(x[:30] < -0.5, "a", "b"), *np.where(x[30:] < 0.5, "b", "c")]
    frame = pd.DataFrame({"x": x, "kind": kind, "site": ["one"] * 30 + ["two"] * 30})
    how = TableModel(tiny(HorseshoeClassifier, training__num_steps=100), refit=True)
    models = fit_groups(frame, "kind", "site", tmp_path / "sites", model=how)
    answers = models.predict(frame)
    for piece, whole in (
        (frame, answers),
        (frame[:30], answers[:30]),
        (frame[30:], answers[30:]),
        (frame[:0], answers[:0]),
    ):
        pd.testing.assert_frame_equal(models.predict(piece), whole, check_dtype=len(piece) > 0)
    assert [*answers.columns] == ["class", "p_a", "p_b", "p_c"]
    assert (answers["p_c"][:30] == 0).all()
    assert (answers["p_a"][30:] == 0).all()
    np.testing.assert_allclose(answers[["p_a", "p_b", "p_c"]].sum(axis=1), 1)


def test_the_command_line_fits_predicts_and_inspects_groups(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sales().to_csv("sales.csv", index=False)
    options = ["--hidden", "8", "--family", "factorized", "--num-steps", "100", "--num-members", "1", "--likelihood"]
    fit = ["fit", "sales.csv", "-t", "ice", "-o", "shops", *options, "gaussian", "--inference", "variational"]
    done = CliRunner().invoke(app, [*fit, "--by", "shop", "--quiet"])
    assert done.exit_code == 0, done.output
    assert "shops: 4 models of ice, one a shop" in done.output
    assert "Failed: new: It has 3 row(s) with a target; at least 10 are asked for." in done.output
    facts = json.loads(CliRunner().invoke(app, ["inspect", "shops", "--json"]).stdout)
    assert (facts["num_groups"], facts["num_rows"], len(facts["units"])) == (4, 196, 3)
    assert facts["worst"][0]["gain"] == min(own["gain"] for own in facts["worst"])
    wrong = CliRunner().invoke(app, ["predict", "shops", "sales.csv", "-o", "out.csv"])
    assert wrong.exit_code == 2
    assert "--unknown missing" in " ".join(wrong.output.split())
    done = CliRunner().invoke(app, ["predict", "shops", "sales.csv", "-o", "out.csv", "--unknown", "missing"])
    assert done.exit_code == 0, done.output
    answers = pd.read_csv("out.csv")
    assert list(answers.columns[:2]) == ["shop", "mean"]
    assert answers["mean"].isna().sum() == 16
    assert CliRunner().invoke(app, [*fit, "--by", "shop"]).exit_code == 2  # it is there
    assert "--by" in CliRunner().invoke(app, [*fit[:5], "other", *fit[6:], "--min-rows", "5"]).output
    assert "--folds" in CliRunner().invoke(app, [*fit[:5], "other", *fit[6:], "--by", "shop", "--folds", "3"]).output


@pytest.mark.slow
def test_a_killed_run_goes_on(shops, tmp_path):
    sales().to_pickle(tmp_path / "sales.pickle")
    text = (
        "import pandas as pd; from tests.conftest import tiny; from pritchel import TableModel, fit_groups; "
        f"fit_groups(pd.read_pickle({str(tmp_path / 'sales.pickle')!r}), 'ice', 'shop', {str(tmp_path / 'shops')!r}, "
        "model=TableModel(tiny(training__num_steps=100)), n_jobs=1)"
    )
    with subprocess.Popen([sys.executable, "-c", text]) as process:
        groups = tmp_path / "shops.partial" / GROUPS
        while len(list(groups.glob("[!.]*/spec.json")) if groups.exists() else []) < 2:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    models = fit_groups(sales(), "ice", "shop", tmp_path / "shops", model=HOW, resume=True)
    rows = sales()[sales()["shop"].isin(NAMES)]
    pd.testing.assert_frame_equal(models.predict(rows), shops.predict(rows))


@pytest.mark.slow
def test_groups_in_other_processes_are_the_same_to_the_bit(shops, tmp_path):
    with joblib.parallel_config("loky", n_jobs=2):
        models = fit_groups(sales(), "ice", "shop", tmp_path / "shops", model=HOW)
    rows = sales()[sales()["shop"].isin(NAMES)]
    pd.testing.assert_frame_equal(models.predict(rows), shops.predict(rows))
