"""Files appear whole or not at all."""

import os
import stat

import pytest

from fewlabels._util.messages import UserError
from fewlabels.tables.atomic import replacing


def _only(folder, *names):
    assert sorted(os.listdir(folder)) == sorted(names)


def test_success_replaces(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    os.chmod(path, 0o640)
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    _only(tmp_path, "out")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    _only(tmp_path, "out")


def test_new_files_get_ordinary_permissions(tmp_path):
    (tmp_path / "ordinary").touch()
    with replacing(tmp_path / "out"):
        pass
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_links_keep_pointing(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_no_folder(tmp_path):
    with pytest.raises(UserError, match="Can't write to"), replacing(tmp_path / "no" / "out"):
        pass
