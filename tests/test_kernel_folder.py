"""The folder of compiled kernels: who may have it, what is read from it, and what is removed.

Whoever can write to it can run code as its user. Two users need root; elsewhere modes and faked user ids stand in for the second.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import pytest

from bombay_env.jit import cache
from bombay_env.jit import folder as folders
from bombay_env.jit.folder import open_own_folder

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are POSIX's")
needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

ROOT = Path(cache.__file__).parents[2]
two_users = pytest.mark.skipif(
    not hasattr(os, "geteuid")
    or os.geteuid() != 0
    or not all(path.stat().st_mode & 1 for path in (ROOT, *ROOT.parents)),
    reason="only root can be two users, and both must see the sources",
)
NAME = "0123456789abcdef01234567"
DAY = 86400  # seconds


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder that `$XDG_CACHE_HOME` names, which does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture
def folder(tmp_path):
    return open_own_folder(tmp_path / "kernels")[0]


def found(name=NAME):
    """The path of the cache folder; None if there is none that can be used."""
    try:
        return cache.cache_folder(name).path
    except (OSError, RuntimeError):
        return None


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- which folder ---


@posix
def test_all_that_is_created_belongs_to_the_user_alone(home):
    before = os.umask(0)
    try:
        assert found() == home / "bombay_env" / NAME
    finally:
        os.umask(before)
    assert [mode(path) for path in (home, home / "bombay_env", home / "bombay_env" / NAME)] == [0o700] * 3


@posix
def test_others_lose_access_to_a_folder_of_the_user(home):
    found()
    (home / "bombay_env" / NAME).chmod(0o777)
    assert found() == home / "bombay_env" / NAME
    assert mode(home / "bombay_env" / NAME) == 0o700


@posix
def test_a_folder_of_somebody_else_is_refused(home, monkeypatch):
    found()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert found() is None


@posix
@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize(
    ("bits", "allowed"), [(0o755, True), (0o777, False), (0o702, False), (0o720, False), (0o1777, True), (0o1770, True)]
)
def test_nobody_else_may_write_on_the_way(home, monkeypatch, level, bits, allowed):
    monkeypatch.setattr(folders, "_is_of_one", lambda group: False)
    way = [home.parent / "outer", home.parent / "outer" / "inner", home.parent / "outer" / "inner" / "caches"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(way[-1]))
    assert found() == way[-1] / "bombay_env" / NAME
    (*way, way[-1] / "bombay_env")[level].chmod(bits)
    assert (found() is not None) is allowed


@posix
@pytest.mark.parametrize("changed", ["other user", "other user, sticky", "root"])
def test_every_part_of_the_way_belongs_to_the_user_or_to_root(home, monkeypatch, changed):
    found()
    place = home.stat()
    fstat = os.fstat

    def foreign(descriptor):
        info = list(fstat(descriptor))
        if (info[1], info[2]) == (place.st_ino, place.st_dev):
            info[4] = 0 if changed == "root" else os.geteuid() + 7
            info[0] |= stat.S_ISVTX if "sticky" in changed else 0
        return os.stat_result(info)

    monkeypatch.setattr(os, "fstat", foreign)
    assert (found() is not None) is (changed == "root")


@posix
@pytest.mark.parametrize(
    ("name", "members", "gid", "allowed"),
    [
        ("me", [], 0, True),
        ("me", ["me"], 0, True),
        ("me", ["you"], 0, False),
        ("us", [], 0, False),
        ("me", [], 1, False),
    ],
)
def test_a_group_of_the_user_alone_may_write_on_the_way(home, monkeypatch, name, members, gid, allowed):
    import grp
    import pwd

    found()
    home.chmod(0o770)
    mine = home.stat().st_gid
    group = grp.struct_group((name, "x", mine, members))
    user = pwd.struct_passwd(("me", "x", os.geteuid(), mine + gid, "", "/", "/bin/sh"))
    monkeypatch.setattr(grp, "getgrgid", lambda number: group)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
    assert (found() is not None) is allowed
    with monkeypatch.context() as listed:
        listed.setattr(os, "listxattr", lambda path: [folders.ACCESS_LIST], raising=False)
        assert found() is None, "further users may stand behind the mode"
    home.chmod(0o772)
    assert found() is None


@posix
def test_a_link_leads_to_a_folder_that_is_checked(home, tmp_path):
    target = tmp_path / "open" / "target"
    target.mkdir(parents=True)
    home.mkdir()
    (home / "bombay_env").symlink_to(target)
    assert found() == target / NAME
    target.parent.chmod(0o777)
    assert found() is None


def test_no_folder_where_none_can_be_made(home):
    home.write_text("a file in the way")
    assert found() is None
    home.unlink()
    home.mkdir()
    (home / "bombay_env").write_text("a file in the way")
    assert found() is None


def test_a_relative_or_missing_setting_means_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert found() == tmp_path / ".cache" / "bombay_env" / NAME

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert found() is None


def test_on_windows_the_folder_must_be_inside_the_profile(tmp_path, monkeypatch):
    """Windows has no owners and modes to check; here its paths are tried on this system."""
    profile = tmp_path / "profile"
    profile.mkdir()
    monkeypatch.setattr(folders, "POSIX", False)
    monkeypatch.setattr(Path, "home", lambda: profile)
    for outside in (tmp_path / "elsewhere", profile / ".." / "elsewhere", tmp_path / "profile2"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(outside))
        assert found() is None
        assert not outside.exists()
    (profile / "link").symlink_to(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(profile / "link"))
    assert found() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(profile / "caches"))
    inside = cache.cache_folder(NAME)
    assert inside.path == profile / "caches" / "bombay_env" / NAME
    inside.write("some.kernel", b"body")
    assert inside.read("some.kernel") == b"body"
    assert [name for name, _ in inside.entries()] == ["some.kernel"]
    inside.prune()
    inside.remove("some.kernel")
    assert inside.entries() == []
    assert inside.is_writable()


# --- files ---


@posix
def test_a_link_is_not_read(folder, tmp_path):
    folder.write("some.kernel", b"body")
    (folder.path / "some.kernel").rename(tmp_path / "elsewhere")
    (folder.path / "some.kernel").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        folder.read("some.kernel")
    folder.write("some.kernel", b"another")  # replaces the link, not what it leads to
    assert folder.read("some.kernel") == b"another"
    assert (tmp_path / "elsewhere").read_bytes().endswith(b"body")


@posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_only_regular_files_are_read(folder, make):
    make(folder.path / "some.kernel")
    with pytest.raises(ValueError, match=r"some\.kernel is not a file of this user"):
        folder.read("some.kernel")


@posix
def test_a_file_of_somebody_else_is_not_read(folder, monkeypatch):
    folder.write("some.kernel", b"body")
    assert mode(folder.path / "some.kernel") == 0o600
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ValueError, match="not a file of this user"):
        folder.read("some.kernel")


@posix
def test_nothing_can_be_exchanged_between_check_and_use(folder, tmp_path):
    """What happens where others can write on the way: the folder that was checked is moved, and another takes its place."""
    folder.write("some.kernel", b"mine")
    folder.path.rename(tmp_path / "moved")
    planted = open_own_folder(folder.path)[0]
    planted.write("some.kernel", b"planted")
    assert folder.read("some.kernel") == b"mine"
    folder.write("other.kernel", b"mine too")
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["other.kernel", "some.kernel"]
    assert [name for name, _ in folder.entries()] == [path.name for path in (tmp_path / "moved").iterdir()]
    folder.remove("some.kernel")
    assert planted.read("some.kernel") == b"planted"


@posix
def test_a_descriptor_that_means_another_folder_is_not_used(folder, tmp_path):
    folder.write("some.kernel", b"mine")
    other = open_own_folder(tmp_path / "other")[0]
    other.write("some.kernel", b"other")
    number = folder._descriptor
    os.close(number)
    with pytest.raises(OSError):  # noqa: PT011 - the system's own message
        folder.read("some.kernel")
    os.dup2(other._descriptor, number)
    with pytest.raises(OSError, match="was closed"):
        folder.read("some.kernel")
    assert not folder.is_writable()


@pytest.mark.parametrize("data", [b"", b"garbage", bytes(range(256))])
def test_a_damaged_file_is_not_read(folder, data):
    (folder.path / "some.kernel").write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        folder.read("some.kernel")


def test_a_write_that_fails_leaves_nothing(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    folder.write("some.kernel", b"old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        folder.write("some.kernel", b"new")
    assert [name for name, _ in folder.entries()] == ["some.kernel"]
    assert folder.read("some.kernel") == b"old"


# --- removing what is old ---


def test_pruning_spares_the_recent_the_last_few_and_what_is_not_ours(home):
    def folder_used(number, days):
        path = home / "bombay_env" / f"{number:024x}"
        path.mkdir(parents=True)
        (path / "some.kernel").touch()
        os.utime(path, (time.time() - days * DAY,) * 2)
        return path

    lately = [folder_used(number, 0.5) for number in range(6)]
    older = [folder_used(number, 2 + number) for number in range(6, 10)]
    strange = home / "bombay_env" / "notes"
    strange.mkdir()
    os.utime(strange, (0, 0))
    found(lately[0].name)
    assert all(path.exists() for path in older), "pruned though no folder is new"
    new = found()
    assert set((home / "bombay_env").iterdir()) == {new, strange, *lately}

    shutil.rmtree(home)
    older = [folder_used(number, 2 + number) for number in range(10)]
    found(older[-1].name)  # a use, which makes it the youngest
    new = found()
    assert set((home / "bombay_env").iterdir()) == {new, older[-1], *older[: folders.FOLDERS_KEPT - 2]}


def test_files_unused_for_long_are_removed_and_the_oldest_of_too_many(folder, monkeypatch):
    def used(name, days):
        path = folder.path / name
        path.write_bytes(b"x" * 100)
        os.utime(path, (time.time() - days * DAY,) * 2)
        return path

    monkeypatch.setattr(cache.STORE, "folder", folder)
    monkeypatch.setattr(folders, "BYTES_KEPT", 250)
    lately = [used(f"lately{number}", 0.5) for number in range(2)]
    older = [used(f"{days}.kernel", days) for days in (2, 3)]
    monkeypatch.setattr(cache.STORE, "pruned", False)
    cache.STORE.write("new", b"")
    assert set(folder.path.iterdir()) == {*lately, folder.path / "new"}
    older = [used(f"{days}.kernel", days) for days in (2, 29, 31)]
    cache.STORE.write("another", b"")
    assert older[2].exists(), "pruned twice in one process"
    monkeypatch.setattr(folders, "BYTES_KEPT", 10_000)
    folder.prune()
    assert [path.exists() for path in older] == [True, True, False]


def test_a_file_read_counts_as_used(folder):
    path = folder.path / "some.kernel"
    folder.write("some.kernel", b"body")
    for days, new in ((2, True), (0.5, False)):
        last = time.time() - days * DAY
        os.utime(path, (last, last))
        assert folder.read("some.kernel") == b"body"
        assert (path.stat().st_mtime > last + 1) is new


# --- two users ---

VICTIM, ATTACKER = 61_234, 61_235  # user ids that nobody has

# Everything is imported, and the compiler used once, before the user changes: root's Python may be closed to others.
TWO_USERS = f"""
import os, pickle, sys
from pathlib import Path
from bombay_env.jit import cache
from bombay_env.jit.folder import checksum
from bombay_env.jit.kernels import kernel

VICTIM, ATTACKER = {VICTIM}, {ATTACKER}
shared = Path(sys.argv[1])
caches, executed = shared / "caches", shared / "executed"
os.environ["XDG_CACHE_HOME"] = str(caches)

def twice(number):
    return 2 * number

cache.STORE.folder = None
kernel(twice)(1.5)
cache.STORE.sources.digest("bombay_env.actions")
twice.__module__ = "bombay_env.actions"
os.setgroups([])

def become(user):
    os.seteuid(0)
    os.setegid(user)
    os.seteuid(user)

def call(user):
    become(user)
    cache.STORE.open()
    dispatcher = kernel(twice)
    assert dispatcher(21) == 42
    loaded = sum(dispatcher.stats.cache_hits.values())
    return "refused" if cache.STORE.folder is None else "loaded" if loaded else "compiled"

class Payload:
    def __reduce__(self):
        return Path.write_text, (executed, "by another user")

def plant():
    names = [path.relative_to(caches) for path in caches.rglob("*.kernel")]
    become(ATTACKER)
    caches.rename(shared / "away")
    for name in names:
        place = caches / name
        place.parent.mkdir(parents=True, exist_ok=True)
        body = pickle.dumps(Payload())
        place.write_bytes(checksum(place.name, body) + body)
    return len(names)
"""
PLANTING = """
print(call(VICTIM), call(VICTIM))
become(0)
shared.chmod(0o777)  # without the sticky bit, what the other user does next is possible
print(call(VICTIM), plant(), call(VICTIM))
become(0)
shared.chmod(0o1777)  # too late: the folder is the other user's now
print(call(VICTIM), executed.exists())
"""
BEING_FIRST = """
print(call(ATTACKER))
caches.chmod(0o777)
print(call(VICTIM))
"""


@pytest.fixture
def shared():
    """A folder in which every user may create others: mode 1777, below one that is root's."""
    path = Path(tempfile.mkdtemp(prefix="bombay_two_users_"))
    path.chmod(0o1777)
    yield path
    shutil.rmtree(path)


@two_users
@needs_jit
@pytest.mark.parametrize(
    ("code", "expected"),
    [(PLANTING, ["compiled loaded", "refused 1 refused", "refused False"]), (BEING_FIRST, ["compiled", "refused"])],
    ids=["planting kernels", "being first"],
)
def test_nothing_that_another_user_planted_is_executed(shared, code, expected):
    """Both users may write to the parent of the folder, so one can put a folder with kernels of their own in its place."""
    command = [sys.executable, "-c", TWO_USERS + code, str(shared)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected
