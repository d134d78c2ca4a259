"""Files are written atomically: no reader finds half of one, failures leave nothing, and writers do not disturb each other."""

import errno
import os
import stat
import threading

import pytest

from bombay_env.files import atomic

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fail(*arguments, **options):
    raise FULL


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_has_the_permissions_of_any_new_file(tmp_path):
    plain, path = tmp_path / "plain", tmp_path / ("n" * 255)
    plain.write_bytes(b"")
    for data in (b"old", b"new"):
        atomic.write_bytes(path, data)
        assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert atomic.write_lines(str(path), (str(number) for number in range(3))) == 3
    assert path.read_bytes() == b"0\n1\n2\n"
    assert names(tmp_path) == [path.name, "plain"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(atomic.os, call, fail)
    for write in (lambda: atomic.write_bytes(path, b"new"), lambda: atomic.write_lines(path, ["new"])):
        with pytest.raises(OSError, match="No space left on device") as error:
            write()
        assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(path))
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["file"]


def test_lines_that_fail_leave_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError):
        atomic.write_lines(tmp_path / "file", (str(1 // number) for number in (1, 0)))
    with pytest.raises(FileNotFoundError, match="nowhere/file"):
        atomic.write_bytes(tmp_path / "nowhere" / "file", b"")
    assert names(tmp_path) == []


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path, monkeypatch):
    """With one temporary name for all of them, renaming fails and readers find mixed contents."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)
    path, errors, found = tmp_path / "file", [], set()
    contents = [bytes([65 + number]) * 200_000 for number in range(3)]
    atomic.write_bytes(path, contents[0])

    def write(data):
        try:
            for _ in range(100):
                atomic.write_bytes(path, data)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(data,)) for data in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found.add(path.read_bytes())
    assert errors == []
    assert found <= set(contents)
    assert names(tmp_path) == ["file"]


def test_only_leftovers_of_killed_processes_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic.os, "replace", fail)
    monkeypatch.setattr(atomic.Path, "unlink", fail)
    for name in ("a", "b"):
        with pytest.raises(OSError, match="No space"):
            atomic.write_bytes(tmp_path / name, b"data")
    monkeypatch.undo()
    for name in ("a.tmp", ".bombay-notes"):
        (tmp_path / name).write_text("mine")
    (tmp_path / ".bombay-0123.tmp" / "inside").mkdir(parents=True)
    assert len(names(tmp_path)) == 5
    atomic.remove_leftovers(tmp_path)
    assert names(tmp_path) == [".bombay-notes", "a.tmp"]


@pytest.mark.parametrize("path", [".", "/"])
def test_a_path_without_a_name_is_a_folder(path):
    with pytest.raises(IsADirectoryError):
        atomic.write_bytes(path, b"")
    with pytest.raises(IsADirectoryError), atomic.new_folder(atomic.Path(path)):
        pass


def test_appended_lines_stand_alone(tmp_path):
    path = tmp_path / "file"
    for line in ("one", "zwölf"):
        atomic.append_line(path, line)
    assert path.read_text(encoding="utf-8") == "one\nzwölf\n"
    path.write_text("one\ntw")
    atomic.append_line(path, "three")
    assert path.read_text() == "one\ntw\nthree\n"


def test_a_line_that_cannot_be_appended_names_the_file(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        atomic.append_line(tmp_path, "line")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
            atomic.append_line("/dev/full", "line")
