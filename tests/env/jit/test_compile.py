"""How kernels are compiled: what is kept on disk and when it is used, and the choice between two batch kernels.

Kernels here are tiny, because each compilation takes a while. Where processes matter, the kernels are in a stand-in for the
package: the real modules that compile, and two small ones.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from bombay_env.jit import cache
from bombay_env.jit.kernels import MIN_PARALLEL_LANES, kernel
from helpers.compiling import COMPILING

ROOT = Path(cache.__file__).parents[2]
LINE = COMPILING[0] + "but only the first time; `bombay warm-up` compiles all of them\n"

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="tests compiled kernels, and NUMBA_DISABLE_JIT is set"
)
posix = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="Windows has no such owners and modes of folders, and no fork"
)

HELPER = """
from bombay_env.jit.kernels import kernel

@kernel
def amount():
    return 1
"""
TINY = """
import numba
from bombay_env import helper
from bombay_env.jit.kernels import batch_kernel, kernel, piece_kernel

@kernel
def total(array):
    return helper.amount() + array[0]

@kernel
def twofold(record, depth):  # it calls itself, so it does not become a part of its caller
    return record.number if depth == 0 else twofold(record, depth - 1) + twofold(record, depth - 1)

@kernel
def twofold_first(records):
    return twofold(records[0], len(records))

@batch_kernel
def fill(lanes, scale):
    for chunk in numba.prange(8):
        for lane in range(chunk * len(lanes) // 8, (chunk + 1) * len(lanes) // 8):
            lanes[lane] = scale * (lane + helper.amount())

@piece_kernel
def fill_piece(piece, lanes, scale):
    assert piece < len(lanes)
    lanes[piece] = scale * (piece + helper.amount())
"""


def start(code, cache, path=ROOT, **env):
    """Start a program in a process of its own on the package in `path`, with compiled code kept in `cache`."""
    settings = {"XDG_CACHE_HOME": str(cache), "NUMBA_DISABLE_JIT": "0", "NUMBA_NUM_THREADS": "2"} | env
    code = f"import sys; sys.path[:0] = [{str(path)!r}]\nimport numpy as np\n{code}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], env=os.environ | settings, **pipes)


def finish(process):
    """What a program printed on both streams; it must end well."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


def in_a_fresh_process(code, *arguments, **env):
    """What a program prints in a process of its own; it ends with a line for the number of kernels that it compiled."""
    counting = f"{code}\nfrom bombay_env.jit import cache\nprint(len(cache.compiled))"
    return finish(start(counting, *arguments, **env))[0]


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A folder with a package `bombay_env` of the modules that compile and two small ones."""
    folder = tmp_path_factory.mktemp("stand_in")
    package = folder / "bombay_env"
    package.mkdir()
    (package / "__init__.py").touch()
    for part in ("jit", "files"):
        shutil.copytree(ROOT / "bombay_env" / part, package / part, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "helper.py").write_text(HELPER)
    (package / "tiny.py").write_text(TINY)
    return folder


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    """For tests that may find compiled what others left."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder where this process keeps compiled code meanwhile."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for remembered in (cache.folder, cache.digest):
        monkeypatch.setattr(cache, remembered.__name__, remembered.__wrapped__)
    return tmp_path


def twice(number):
    return 2 * number


def thrice(number):
    return 3 * number


def first_x(record):
    return record.x


first_x.__module__ = twice.__module__ = thrice.__module__ = "bombay_env.actions"  # any module of ours


def called(function, number=21):
    """The result of a new kernel of `function`, and whether its code came from the folder."""
    before = len(cache.compiled)
    return kernel(function)(number), len(cache.compiled) == before


def kept(folder):
    return sorted(folder.rglob("*.nbc"))


def test_code_is_kept_and_a_damaged_file_is_made_anew(folder):
    assert called(twice) == (42, False)
    for damage in (lambda data: b"", lambda data: data[: len(data) // 2], lambda data: bytes(range(256)) * 9):
        assert called(twice) == (42, True)
        for file in kept(folder):
            file.write_bytes(damage(file.read_bytes()))
        assert called(twice) == (42, False)
    assert called(twice) == (42, True)


def test_types_of_the_same_name_are_kept_apart(folder):
    """The file's name has the names of types, which do not say where a class is from."""
    records = [NamedTuple("Pair", [(first, int), (second, int)])(1, 2) for first, second in ("xy", "yx")]
    for record in records:
        type(record).__module__, type(record).__qualname__ = "bombay_env.actions", f"Pair{record._fields[0]}"
    code = [called(first_x, record) for record in records]
    assert [result for result, _ in code] == [1, 2]
    assert len(kept(folder)) == 1
    assert not any(loaded for _, loaded in code)


def test_signatures_options_and_settings_are_kept_apart(folder, monkeypatch):
    assert called(twice) == (42, False)
    assert called(thrice) == (63, False)
    assert called(twice, 1.5) == (3.0, False)
    assert kernel(twice, boundscheck=True)(21) == 42
    for setting, value in (("LOOP_VECTORIZE", 0), ("BOUNDSCHECK", 1)):
        monkeypatch.setattr(numba.config, setting, value)
        assert called(twice) == (42, False)
    monkeypatch.setattr(numba.config, "THREADING_LAYER", "workqueue")  # shapes no code
    assert called(twice) == (42, True)
    assert called(thrice) == (63, False)
    assert len(kept(folder)) == 7


def test_a_full_disk_stops_nothing(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert called(twice) == (42, False)
    monkeypatch.undo()
    assert kept(folder) == []


def test_nothing_is_kept_or_loaded_once_a_source_was_edited(folder, monkeypatch, capfd):
    assert called(twice) == (42, False)
    monkeypatch.setattr(cache, "STARTED", Path(cache.__file__).stat().st_mtime - 1)
    monkeypatch.setattr(cache, "compiled", ["one"])
    assert called(twice) == (42, False)
    assert called(thrice) == (63, False)
    assert len(kept(folder)) == 1
    said = capfd.readouterr().err
    assert "was edited while this process ran; start it again to keep code\n" in said
    assert "XDG_CACHE_HOME" not in said, "another folder would not help"


@posix
def test_a_time_in_the_future_is_no_edit(folder, tmp_path, monkeypatch):
    """As of a file from a machine with another clock."""
    source, later = tmp_path / "source.py", time.time() + 10**6
    source.touch()
    os.utime(source, (later, later))
    time.sleep(0.02)  # the clock of files is coarse
    monkeypatch.setattr(cache, "STARTED", time.time())
    monkeypatch.setattr(cache, "sources", lambda package: [source])
    assert called(twice) == (42, False)
    assert called(twice) == (42, True)
    time.sleep(0.02)
    os.utime(source, (later, later))
    assert called(twice) == (42, False), "edited since, whatever its time says"


class Evaluator(NamedTuple):
    weight: float


def test_code_that_depends_on_more_than_our_sources_is_not_kept(folder, monkeypatch):
    def inner(number):
        return number + factor

    def weight(nested):
        return nested[0].weight

    factor = 1
    inner.__module__ = weight.__module__ = "bombay_env.actions"
    assert kernel(inner)(1) == 2
    assert kernel(lambda number: number)(1) == 1
    assert called(weight, (Evaluator(2.0), 1)) == (2.0, False)
    assert kept(folder) == []
    monkeypatch.setattr(Evaluator, "__module__", "bombay_env.actions")
    assert called(weight, (Evaluator(2.0), 1)) == (2.0, False)
    assert len(kept(folder)) == 1


@posix
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707])
def test_a_folder_that_others_have_access_to_is_not_used(folder, monkeypatch, capfd, mode):
    (folder / "bombay_env").mkdir()
    (folder / "bombay_env").chmod(mode)
    monkeypatch.setattr(cache, "compiled", ["one"])
    assert called(twice) == (42, False)
    assert kept(folder) == []
    text = f"others have access to {folder}/bombay_env; set XDG_CACHE_HOME or NUMBA_CACHE_DIR to a folder of your own"
    why = f"in each process again, because compiled code cannot be kept: {text}\n"
    assert capfd.readouterr().err == COMPILING[0] + why
    assert cache.obstacle() == text


def test_without_a_folder_or_a_home_it_runs(folder, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    file = folder / "file"
    file.touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(file))
    for base, home, problem in (
        (str(file), Path.home, "Not a directory"),
        ("", Path.home, "Not a directory"),
        ("", nowhere, "Could not determine home directory.; set XDG_CACHE_HOME"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        monkeypatch.setattr(Path, "home", home)
        assert problem in cache.obstacle()
        assert called(twice) == (42, False)


def test_only_folders_that_were_used_last_stay(folder, monkeypatch):
    for age in range(cache.FOLDERS_KEPT + 3):
        old = folder / "bombay_env" / f"bombay_env-{age}"
        old.mkdir(parents=True, mode=0o700)
        os.utime(old, (1000 - age, 1000 - age))
    (folder / "bombay_env").chmod(0o700)
    assert called(twice) == (42, False)
    left = {path.name for path in (folder / "bombay_env").iterdir()}
    assert left == {cache.folder("bombay_env").name, *(f"bombay_env-{age}" for age in range(cache.FOLDERS_KEPT - 1))}


def test_the_folder_follows_the_versions(folder, monkeypatch):
    digests = [cache.digest("bombay_env")]
    for module in (numba, np, cache.llvmlite):
        with monkeypatch.context() as other:
            other.setattr(module, "__version__", "another")
            digests.append(cache.digest("bombay_env"))
    assert len(set(digests)) == 4


def test_compiling_is_announced_once_at_the_second_kernel(folder, monkeypatch, capfd):
    monkeypatch.setattr(cache, "compiled", [])
    assert numba.njit(lambda number: number)(1) == 1  # somebody else's
    for function in (twice, twice):  # compiled, and loaded
        called(function)
    assert capfd.readouterr().err == ""
    called(thrice)
    assert capfd.readouterr().err == LINE
    called(thrice, 1.5)
    assert capfd.readouterr().err == ""
    assert [name.rpartition(".")[2] for name in cache.compiled] == ["twice", "thrice", "thrice"]


def checked(number):
    if number >= 100:
        raise ValueError("too large")
    return number + 1


checked.__module__ = "bombay_env.actions"
checked = kernel(checked)


def through(number):
    return 10 * checked(number)


through.__module__ = "bombay_env.actions"


def test_what_a_kernel_calls_takes_integers_of_any_size(folder):
    doubled = kernel(twice)
    sums = kernel(lambda small, large: doubled(small) + doubled(large) + doubled(3))
    assert sums(np.int8(-100), np.uint32(2**31)) == 2 * (2**31 - 97)
    assert sums(np.uint64(2**63), np.uint64(5)) == 16  # 2**64 wraps round to 0


def test_an_error_in_what_a_kernel_calls_reaches_python(folder):
    for _ in ("compiled", "loaded"):
        with pytest.raises(ValueError, match="too large"):
            kernel(through)(100)
    assert called(through, 1) == (20, True)


def test_division_by_zero_gives_what_numpy_gives():
    assert kernel(lambda number: 1.0 / number)(0.0) == np.inf


TOTAL = "from bombay_env import tiny\nprint(tiny.total(np.full(2, 3.0)))"


def test_an_edit_of_another_module_is_noticed(stand_in, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stand_in, copy)
    helper = copy / "bombay_env" / "helper.py"
    runs = []
    for text in (HELPER, HELPER.replace("1", "5")):
        helper.write_text(text)
        runs.append(in_a_fresh_process(TOTAL, tmp_path / "cache", copy))
    assert runs == ["4.0\n1\n", "8.0\n1\n"]


PARALLEL = f"""
import numba, os, signal
from bombay_env import tiny
few, many = np.zeros({MIN_PARALLEL_LANES - 1}), np.zeros({MIN_PARALLEL_LANES})
tiny.fill(few, 1.0)
assert not tiny.fill.parallel.overloads
tiny.fill(many, 1.0)
assert (many == np.arange(1.0, {MIN_PARALLEL_LANES + 1})).all() and (many[:-1] == few).all()
print(len(tiny.fill.sequential.overloads), len(tiny.fill.parallel.overloads))
"""
ONE_THREAD = """
numba.set_num_threads(1)
tiny.fill(many.astype(np.float32), 1.0)
print(len(tiny.fill.sequential.overloads), len(tiny.fill.parallel.overloads))
"""
FORK = """
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that hangs must not outlive the test
    tiny.fill(many.astype(np.float32), 1.0)
    os._exit(10 * len(tiny.fill.sequential.overloads) + len(tiny.fill.parallel.overloads))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_kernels_for_different_records_keep_apart_wherever_they_were_compiled(stand_in, tmp_path):
    """In two processes Numba gives two record types the same number; a third process loads both kernels.

    If several functions have the same name, the linker uses one of them for all calls (tests/env/jit/test_numba.py).
    """
    calls = [
        f"record = np.zeros(1, [('before', np.int8, ({size},)), ('number', np.int64)])\n"
        f"record['number'] = {size}\nprint(tiny.twofold_first(record.view(np.recarray)))"
        for size in (8, 8000)  # by the layout of the other record, the number is elsewhere
    ]
    load = "from bombay_env import tiny"
    for call in calls:
        in_a_fresh_process(f"{load}\n{call}", tmp_path, stand_in)
    printed = in_a_fresh_process("\n".join([load, *calls]), tmp_path, stand_in)
    assert printed.split() == ["16", "16000", "0"], "both kernels come from the folder"


@posix
def test_each_of_the_two_is_kept_and_one_thread_or_a_fork_takes_the_sequential(stand_in, shared_cache):
    in_a_fresh_process(PARALLEL, shared_cache, stand_in)
    code = PARALLEL + FORK + ONE_THREAD
    printed = in_a_fresh_process(code, shared_cache, stand_in, NUMBA_THREADING_LAYER="omp")
    assert printed.splitlines() == ["1 1", "21", "2 1", "0"], "the fork kept what it compiled"


THREADS = f"""
import numba, threading
from bombay_env import tiny
arrays = [np.zeros({4 * MIN_PARALLEL_LANES}) for _ in range(4)]
begin = threading.Barrier(len(arrays))
def work(array, scale):
    begin.wait()
    for _ in range(300):
        tiny.fill(array, scale)
threads = [threading.Thread(target=work, args=(array, float(scale))) for scale, array in enumerate(arrays)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all((array == scale * np.arange(1.0, len(array) + 1)).all() for scale, array in enumerate(arrays))
print(numba.threading_layer(), len(tiny.fill.sequential.overloads))
"""


def test_threads_may_call_a_parallel_kernel_at_once(stand_in, shared_cache):
    """With Numba's workqueue, which aborts the process where two threads run parallel code at once."""
    printed = in_a_fresh_process(THREADS, shared_cache, stand_in, NUMBA_THREADING_LAYER="workqueue")
    assert printed.startswith("workqueue 0\n")


PIECES = """
from bombay_env import tiny
few = np.zeros(5)
tiny.fill_piece(5, few, 2.0)
print(few.tolist())
try:
    tiny.fill_piece(6, few, 2.0)
except AssertionError:
    print("a piece failed")
"""


@pytest.mark.parametrize("disabled", "01")
def test_every_piece_is_done_once_and_an_error_is_told(stand_in, tmp_path, disabled):
    printed = in_a_fresh_process(PIECES, tmp_path, stand_in, NUMBA_DISABLE_JIT=disabled)
    assert printed.startswith("[2.0, 4.0, 6.0, 8.0, 10.0]\na piece failed\n")


def test_importing_compiles_nothing_and_writes_nothing(tmp_path):
    """Also without a home, and where no file can be written."""
    code = f"""
sys.path[1:1] = [{str(ROOT / "agents")!r}, {str(ROOT / "training")!r}]
sys.dont_write_bytecode = True
import os
changes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def watch(event, arguments):
    assert event != "os.mkdir", arguments
    assert event != "open" or not arguments[2] & changes or arguments[0] == os.devnull, arguments
sys.addaudithook(watch)
import importlib
for name in ("bombay_env", "bombay_env.bombay_v0", "bombay_env.record", "bombay_agents", "bombay_training.learners.zero"):
    importlib.import_module(name)
import bombay_env
bombay_env.Game().action_name(0)
"""
    assert in_a_fresh_process(code, tmp_path / "none", HOME="/nowhere") == "0\n"
    assert list(tmp_path.iterdir()) == []
