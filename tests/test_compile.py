"""How kernels are compiled: what is kept on disk and when it is used, and the choice between two batch kernels.

Kernels here are tiny, because each compilation takes a while. Where processes matter, the kernels are in a stand-in for the
package: the real modules that compile, and three small ones. `test_kernel_folder.py` tests who may write to the folder.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from bombay_env.jit import cache, notice
from bombay_env.jit import kernels as compiling
from bombay_env.jit.folder import CHECKSUM_SIZE, open_own_folder
from bombay_env.jit.kernels import MIN_PARALLEL_LANES, kernel
from bombay_env.jit.notice import COMPILING, EACH_TIME, ONCE, Notice

ROOT = Path(cache.__file__).parents[2]
LINE = COMPILING + ONCE

needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are POSIX's")

HELPER = """
from bombay_env.jit.kernels import kernel

@kernel
def amount():
    return 1
"""
STATEMENTS = 80
LONG = "\n".join(
    [
        "from bombay_env.jit.kernels import kernel",
        "@kernel",
        "def long_sum(record, total):",
        *(f"    total += record.numbers[total % 4] // {number}" for number in range(1, STATEMENTS)),
        "    return total",
        "@kernel",
        "def of_first(records):",
        "    return long_sum(records[0], 1)",
    ]
)
APART = """
from bombay_env.jit.kernels import kernel

@kernel
def half(number):
    return number / 2
"""
TINY = """
import numba
from bombay_env import helper
from bombay_env.jit.kernels import batch_kernel, kernel, piece_kernel

@kernel
def element(array, index):
    return array[index]

@kernel
def total(array):
    return helper.amount() + array[0]

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


def in_a_fresh_process(code, cache, path=ROOT, **env):
    """Run a program in a process of its own on the package in `path`, with compiled code kept in `cache`.

    It says on stderr whether anything is compiled, however little.
    """
    settings = {"XDG_CACHE_HOME": str(cache), "NUMBA_DISABLE_JIT": "0", "NUMBA_NUM_THREADS": "2"} | env
    before = (
        f"import sys; sys.path[:0] = [{str(path)!r}]\nfrom bombay_env.jit.notice import NOTICE\nNOTICE.patience = 0.0\n"
    )
    code = f"{before}import numpy as np\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | settings,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A folder with a package `bombay_env` of the modules that compile and three small ones."""
    folder = tmp_path_factory.mktemp("stand_in")
    package = folder / "bombay_env"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copytree(ROOT / "bombay_env" / "jit", package / "jit", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "helper.py").write_text(HELPER)
    (package / "tiny.py").write_text(TINY)
    (package / "long.py").write_text(LONG)
    (package / "apart.py").write_text(APART)
    return folder


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    """For tests that may find compiled what others left."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder where this process keeps compiled code meanwhile."""
    monkeypatch.setattr(cache.STORE, "folder", open_own_folder(tmp_path)[0])
    return tmp_path


def twice(number):
    return 2 * number


def thrice(number):
    return 3 * number


twice.__module__ = thrice.__module__ = "bombay_env.actions"  # any module whose sources the folder is named after


def called(function, number=21):
    """The result of a new kernel of `function`, and whether its code came from the folder."""
    dispatcher = kernel(function)
    result = dispatcher(number)
    (hits,) = dispatcher.stats.cache_hits.values() or (0,)
    return result, bool(hits)


def kept(folder, suffix="kernel"):
    return sorted(folder.rglob(f"*.{suffix}"))


DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:-1],
    "cut in the checksum": lambda data: data[:20],
    "garbage": lambda data: bytes(range(256)) * 9,
    "a pickle": lambda data: data[CHECKSUM_SIZE:],
    "first bit": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "last bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


@needs_jit
def test_code_is_kept_and_a_damaged_file_is_made_anew_unread(folder, monkeypatch):
    assert called(twice) == (42, False)
    (file,) = kept(folder)
    whole = file.read_bytes()
    for name, damage in DAMAGES.items():
        assert called(twice) == (42, True), name
        file.write_bytes(damage(whole))
        with monkeypatch.context() as guard:
            guard.setattr(cache.pickle, "loads", lambda data: pytest.fail("unpickled"))
            assert called(twice) == (42, False), name
        assert kept(folder) == [file], name
    assert called(twice) == (42, True)


@needs_jit
def test_files_that_changed_places_are_not_taken_for_each_other(folder):
    assert called(twice) == (42, False)
    (first,) = kept(folder)
    assert called(thrice) == (63, False)
    (second,) = set(kept(folder)) - {first}
    contents = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(contents)
    assert called(twice) == (42, False)
    assert called(thrice) == (63, False)
    assert called(twice) == (42, True)


@needs_jit
def test_signatures_options_and_settings_are_kept_apart(folder, monkeypatch):
    assert called(twice) == (42, False)
    assert called(twice, 1.5) == (3.0, False)
    assert compiling.compiled(twice, boundscheck=True)(21) == 42
    monkeypatch.setattr(numba.config, "LOOP_VECTORIZE", 0)
    assert called(twice) == (42, False)
    monkeypatch.setattr(numba.config, "THREADING_LAYER", "workqueue")  # shapes no code
    assert called(twice) == (42, True)
    assert len(kept(folder)) == 4


@needs_jit
def test_recompiling_does_not_load(folder):
    dispatcher = kernel(twice)
    assert dispatcher(21) == 42
    dispatcher.recompile()
    assert dispatcher(21) == 42
    assert not dispatcher.stats.cache_hits
    assert len(kept(folder)) == 1


@needs_jit
@pytest.mark.parametrize("failing", ["open", "fdopen", "replace"])
def test_a_full_disk_stops_nothing_and_leaves_nothing(folder, monkeypatch, failing):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    assert called(twice) == (42, False)
    monkeypatch.undo()
    assert list(folder.iterdir()) == []


@needs_jit
def test_nothing_is_kept_or_loaded_once_the_sources_are_edited(folder, monkeypatch):
    stamps = cache.STORE.sources._stamps
    with monkeypatch.context() as edited:
        edited.setitem(stamps, "bombay_env.actions", (0, 0))
        assert called(twice) == (42, False)
        assert kept(folder) == []
    with monkeypatch.context() as edited:
        edited.setitem(stamps, "bombay_env.engine", (0, 0))  # not imported by the kernel's module
        assert called(twice) == (42, False)
        assert called(twice) == (42, True)
    monkeypatch.setitem(stamps, "bombay_env.jit.kernels", (0, 0))  # imported by it
    assert called(twice) == (42, False)


@needs_jit
def test_only_functions_whose_sources_are_known_are_kept(folder):
    def inner(number):
        return number + factor

    factor = 1
    inner.__module__ = "bombay_env.actions"
    assert kernel(inner)(1) == 2
    assert kernel(lambda number: number)(1) == 1
    assert kept(folder) == []


@needs_jit
@posix
def test_somebody_elses_file_is_not_read(folder, monkeypatch):
    assert called(twice) == (42, False)
    (file,) = kept(folder)
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert called(twice) == (42, False)


def checked(number):
    if number >= 100:
        raise ValueError("too large")
    return number + 1


def countdown(number):
    return 0 if number == 0 else 1 + countdown(number - 1)


checked.__module__ = countdown.__module__ = "bombay_env.actions"
checked, countdown = kernel(checked), kernel(countdown)


def through(number):
    return 10 * checked(number)


through.__module__ = "bombay_env.actions"


@needs_jit
def test_what_a_kernel_calls_is_compiled_for_the_linker_and_kept_so(folder):
    part = checked.part
    checked.overloads.clear()
    part.overloads.clear()
    assert called(through, 3) == (40, False)
    assert (len(checked.overloads), len(part.overloads)) == (0, 1)
    assert [len(kept(folder, suffix)) for suffix in ("kernel", "part")] == [1, 1]
    assert called(through, 4) == (50, True)
    part.overloads.clear()
    misses, hits = sum(part.stats.cache_misses.values()), sum(part.stats.cache_hits.values())
    assert compiling.compiled(through, boundscheck=True)(5) == 60  # its caller is compiled, and links what is kept
    assert sum(part.stats.cache_misses.values()) == misses
    assert sum(part.stats.cache_hits.values()) == hits + 1
    assert checked(6) == 7
    assert len(checked.overloads) == 1


@needs_jit
def test_what_a_kernel_calls_is_compiled_once_for_integers_of_any_size(folder):
    doubled = kernel(twice)
    sums = kernel(lambda small, large: doubled(small) + doubled(large) + doubled(3))
    assert sums(np.int8(-100), np.uint32(2**31)) == 2 * (2**31 - 97)
    assert [signature[0].name for signature in doubled.part.signatures] == ["int64"]
    assert sums(np.uint64(2**63), np.uint64(5)) == 16  # 2**64 wraps round to 0
    assert [signature[0].name for signature in doubled.part.signatures] == ["int64", "uint64"]


@needs_jit
def test_an_error_in_what_a_kernel_calls_reaches_python(folder):
    for _ in ("compiled", "loaded"):
        with pytest.raises(ValueError, match="too large"):
            kernel(through)(100)
    assert called(through, 1) == (20, True)


@needs_jit
def test_a_kernel_may_call_itself(folder):
    assert countdown(5) == 5
    assert called(lambda number: countdown(number) + 1, 3)[0] == 4


@needs_jit
def test_division_by_zero_gives_what_numpy_gives():
    assert kernel(lambda number: 1.0 / number)(0.0) == np.inf


def test_the_folder_follows_the_versions(monkeypatch):
    digests = [cache.versions_digest()]
    for module in (numba, np, cache.llvmlite):
        with monkeypatch.context() as other:
            other.setattr(module, "__version__", "another")
            digests.append(cache.versions_digest())
    assert len(set(digests)) == 4
    assert cache.versions_digest() == digests[0]


def test_functions_of_one_name_are_told_apart_and_docstrings_are_no_part_of_them():
    def identity(text):
        names = {}
        exec(text, names)
        function = names["one"]
        function.__module__ = "bombay_env.actions"
        return cache.KernelCache(function, {}).identity

    plain = identity("def one(x):\n    'Doubles.'\n    return 2 * x")
    assert identity("\n\ndef one(x):\n    'Returns twice x.'\n\n    return 2 * x  # doubled") == plain
    for other in ("return 3 * x", "return x * 2", "return 2 * abs(x)", "return 2 * len(x)"):
        assert identity(f"def one(x):\n    'Doubles.'\n    {other}") != plain, other
    assert identity("one = lambda x: 2 * x") != identity("one = lambda x: 3 * x")
    assert repr(identity("one = lambda x: 2 * x")) != repr(identity("one = lambda x: 2.0 * x"))


FILL = """
from bombay_env import tiny
lanes = np.zeros(6)
tiny.fill(lanes, 2.0)
print(lanes[:2], len(tiny.fill.parallel.overloads))
"""


@needs_jit
def test_an_edit_of_an_imported_module_is_noticed_and_compiling_is_announced_once(stand_in, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stand_in, copy)
    helper = copy / "bombay_env" / "helper.py"
    first = in_a_fresh_process(FILL, tmp_path / "cache", copy)
    assert (first.stdout, first.stderr) == ("[2. 4.] 0\n", LINE)
    again = in_a_fresh_process(FILL, tmp_path / "cache", copy)
    assert (again.stdout, again.stderr) == ("[2. 4.] 0\n", "")
    helper.write_text(HELPER.replace("1", "5"))
    edited = in_a_fresh_process(FILL, tmp_path / "cache", copy)
    assert (edited.stdout, edited.stderr) == ("[10. 12.] 0\n", LINE)
    helper.write_text(HELPER)
    back = in_a_fresh_process(FILL, tmp_path / "cache", copy)
    assert (back.stdout, back.stderr) == ("[2. 4.] 0\n", "")


@needs_jit
def test_edits_of_docstrings_comments_and_other_modules_keep_the_code(stand_in, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stand_in, copy)
    package = copy / "bombay_env"
    documented = TINY.replace("def fill(lanes, scale):", "def fill(lanes, scale):\n    'Fill.'")
    (package / "tiny.py").write_text(documented)
    in_a_fresh_process(FILL, tmp_path / "cache", copy)
    files = kept(tmp_path / "cache")
    assert files
    (package / "helper.py").write_text('"""A docstring."""\n\n# A comment.\n' + HELPER.replace("():", "():  # one"))
    (package / "apart.py").write_text(APART.replace("2", "4"))
    (package / "tiny.py").write_text(documented.replace("Fill.", "Write scaled numbers into `lanes`."))
    again = in_a_fresh_process(FILL, tmp_path / "cache", copy)
    assert (again.stdout, again.stderr) == ("[2. 4.] 0\n", "")
    assert kept(tmp_path / "cache") == files


CHOOSING = """
from typing import Any, NamedTuple
from numba.extending import overload
from bombay_env.jit.kernels import kernel

class Search(NamedTuple):
    evaluator: Any

def value(evaluator):
    return evaluator.value(evaluator)

@overload(value, inline="always")
def _value(evaluator):
    chosen = evaluator.instance_class.value
    return lambda evaluator: chosen(evaluator)

@kernel
def inner(search):
    return value(search.evaluator)

@kernel
def outer(search):
    return 10 * inner(search)
"""
CHOSEN = """
from typing import NamedTuple
from bombay_env.jit.kernels import kernel

@kernel
def value(evaluator):
    return 2 * evaluator.weight

class Evaluator(NamedTuple):
    weight: float
    value = staticmethod(value)
"""
CHOOSE = """
from bombay_env import choosing, chosen
print(choosing.outer(choosing.Search(chosen.Evaluator(3.0))))
"""


@needs_jit
def test_an_edit_of_a_kernel_that_an_arguments_class_chooses_is_noticed(stand_in, tmp_path):
    """The module of the calling kernel does not import it: only the type of the argument leads there."""
    copy = tmp_path / "copy"
    shutil.copytree(stand_in, copy)
    (copy / "bombay_env" / "choosing.py").write_text(CHOOSING)
    file = copy / "bombay_env" / "chosen.py"
    twice, five_times = CHOSEN, CHOSEN.replace("2 *", "5 *")
    for text, shown, told in (
        (twice, "60.0\n", LINE), (twice, "60.0\n", ""), (five_times, "150.0\n", LINE), (twice, "60.0\n", ""),
    ):  # fmt: skip
        file.write_text(text)
        done = in_a_fresh_process(CHOOSE, tmp_path / "cache", copy)
        assert (done.stdout, done.stderr) == (shown, told)
    assert len(kept(tmp_path / "cache", "part")) == 4  # inner and value, twice


EDITED_MEANWHILE = """
import pathlib
from bombay_env.jit import cache
path = pathlib.Path(cache.__file__).parent.with_name("helper.py")
text = path.read_text()
path.write_text(text.replace("1", "77"))
from bombay_env import tiny
print(tiny.total(np.zeros(1)))
path.write_text(text)
"""


@needs_jit
def test_an_edit_during_a_process_leaves_no_code_under_the_old_sources(stand_in, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stand_in, copy)
    assert in_a_fresh_process(EDITED_MEANWHILE, tmp_path / "cache", copy).stdout == "77.0\n"
    assert kept(tmp_path / "cache") == []
    done = in_a_fresh_process("from bombay_env import tiny\nprint(tiny.total(np.zeros(1)))", tmp_path / "cache", copy)
    assert done.stdout == "1.0\n"


@needs_jit
def test_without_a_folder_it_runs_and_says_so(stand_in, tmp_path):
    (tmp_path / "file").touch()
    done = in_a_fresh_process(FILL, tmp_path / "file", stand_in)
    assert done.stdout == "[2. 4.] 0\n"
    assert done.stderr.startswith(COMPILING + EACH_TIME)
    assert str(tmp_path / "file") in done.stderr or "Not a directory" in done.stderr


@needs_jit
def test_other_peoples_kernels_are_not_announced(capfd, folder, monkeypatch):
    monkeypatch.setattr(cache, "NOTICE", Notice(patience=0.0))
    assert numba.njit(lambda number: number)(1) == 1
    assert capfd.readouterr().err == ""
    assert called(twice) == (42, False)
    assert called(thrice) == (63, False)
    assert capfd.readouterr().err == LINE


def test_little_compiling_is_not_announced_and_much_is_once(capfd, monkeypatch):
    now = 100.0
    monkeypatch.setattr(notice.time, "monotonic", lambda: now)
    told = Notice(patience=2.0)
    for kernels in (0, 1, 1):  # the first call only loads; each takes 1.5 s
        with told.first_call():
            for _ in range(kernels):
                told.compiling("one")
            now += 1.5
    assert capfd.readouterr().err == ""  # 3 s by now
    with told.first_call():
        told.compiling("two")
        told.compiling("three")
    assert capfd.readouterr().err == LINE
    told = Notice(patience=2.0)
    with told.first_call():
        told.compiling("one", "others may write to /a")
        now += 2.5
        told.compiling("a part of it", "others may write to /a")
    assert capfd.readouterr().err == f"{COMPILING}{EACH_TIME}others may write to /a\n"


def test_who_listens_is_told_every_name_and_no_line_is_written(capfd):
    told, names = Notice(patience=0.0), []
    told.listener = names.append
    told.compiling("one")
    told.compiling("two")
    assert names == ["one", "two"]
    assert capfd.readouterr().err == ""


@needs_jit
def test_processes_may_compile_at_once(stand_in, tmp_path):
    code = f"import sys; sys.path[:0] = [{str(stand_in)!r}]\nimport numpy as np\nfrom bombay_env import tiny\n"
    code += "print(tiny.total(np.ones(2)), tiny.total(np.ones(2, np.int64)))"
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0] for process in running] == ["2.0 2\n"] * 3
    assert [path.name.split(".")[2] for path in kept(tmp_path)] == ["total", "total"]
    assert [path.name.split(".")[2] for path in kept(tmp_path, "part")] == ["amount"]


PARALLEL = f"""
import numba, os, signal
from bombay_env import tiny
def loaded(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())
few, many = np.zeros({MIN_PARALLEL_LANES - 1}), np.zeros({MIN_PARALLEL_LANES})
tiny.fill(few, 1.0)
assert not tiny.fill.parallel.overloads
tiny.fill(many, 1.0)
assert (many == np.arange(1.0, {MIN_PARALLEL_LANES + 1})).all() and (many[:-1] == few).all()
print(len(tiny.fill.sequential.overloads), len(tiny.fill.parallel.overloads))
print(loaded(tiny.fill.sequential), loaded(tiny.fill.parallel))
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


@needs_jit
def test_kernels_for_different_records_keep_apart_wherever_they_were_compiled(stand_in, tmp_path):
    """In two processes Numba gives two record types the same number; a third process loads both kernels.

    `long_sum` is too long to become a part of its caller, and if several functions have the same name, the
    linker uses one of them for all calls.
    """
    before = 8, 8000  # bytes before the numbers: by the layout of the other record they are elsewhere
    calls = [
        f"records = np.zeros(1, [('before', np.int8, ({size},)), ('numbers', np.int64, (4,))])\n"
        f"records['numbers'] = {size}\nprint(long.of_first(records.view(np.recarray)))"
        for size in before
    ]
    for call in calls:
        in_a_fresh_process(f"from bombay_env import long\n{call}", tmp_path, stand_in)
    done = in_a_fresh_process("\n".join(["from bombay_env import long", *calls]), tmp_path, stand_in)
    expected = [1 + sum(size // number for number in range(1, STATEMENTS)) for size in before]
    assert done.stdout.split() == [str(total) for total in expected]
    assert done.stderr == "", "both kernels come from the folder"


@needs_jit
def test_each_of_the_two_is_kept_and_one_thread_takes_the_sequential(stand_in, shared_cache):
    in_a_fresh_process(PARALLEL, shared_cache, stand_in)
    done = in_a_fresh_process(PARALLEL + ONE_THREAD, shared_cache, stand_in)
    assert done.stdout.splitlines() == ["1 1", "1 1", "2 1"]


@needs_jit
@needs_fork
def test_a_forked_process_takes_the_sequential(stand_in, shared_cache):
    done = in_a_fresh_process(PARALLEL + FORK, shared_cache, stand_in, NUMBA_THREADING_LAYER="omp")
    assert done.stdout.splitlines()[-1] == "21"


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


@needs_jit
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_threads_may_call_a_parallel_kernel_at_once(stand_in, shared_cache, layer):
    module = {"omp": "omppool", "workqueue": "workqueue"}[layer]
    pytest.importorskip(f"numba.np.ufunc.{module}", reason="not built into this Numba")
    done = in_a_fresh_process(THREADS, shared_cache, stand_in, NUMBA_THREADING_LAYER=layer)
    assert done.stdout == f"{layer} 0\n"


def test_with_the_compiler_off_a_batch_kernel_is_the_function(stand_in, tmp_path):
    code = FILL.replace("len(tiny.fill.parallel.overloads)", "type(tiny.fill).__name__, type(tiny.total).__name__")
    done = in_a_fresh_process(code, tmp_path, stand_in, NUMBA_DISABLE_JIT="1")
    assert (done.stdout, done.stderr) == ("[2. 4.] function function\n", "")


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


@pytest.mark.parametrize(("threads", "off"), [("1", "0"), ("2", "0"), ("2", "1")])
def test_every_piece_is_done_once_and_an_error_is_told(stand_in, tmp_path, threads, off):
    done = in_a_fresh_process(PIECES, tmp_path, stand_in, NUMBA_NUM_THREADS=threads, NUMBA_DISABLE_JIT=off)
    assert done.stdout == "[2.0, 4.0, 6.0, 8.0, 10.0]\na piece failed\n"


def test_importing_compiles_nothing(tmp_path):
    code = f"""
sys.path[1:1] = [{str(ROOT / "agents")!r}, {str(ROOT / "training")!r}]
import gc, importlib
for name in ("bombay_env", "bombay_env.bombay_v0", "bombay_env.record", "bombay_agents", "bombay_training"):
    importlib.import_module(name)
try:
    import bombay_training.learners.ppo.vec_env
except ModuleNotFoundError as error:  # without the training extra
    assert error.name.split(".")[0] in ("stable_baselines3", "sb3_contrib", "torch", "gymnasium"), error
from numba.core.dispatcher import Dispatcher
from bombay_env.jit.cache import STORE, KernelCache
ours = [one for one in gc.get_objects() if isinstance(one, Dispatcher) and isinstance(one._cache, KernelCache)]
assert STORE.sources._summaries == {{}}
print(len(ours), [one.__name__ for one in ours if one.overloads])
"""
    done = in_a_fresh_process(code, tmp_path)
    count, compiled = done.stdout.strip().split(" ", 1)
    assert int(count) > 30
    assert compiled == "[]"
    assert COMPILING not in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# Index 3 of a view of three reads the fourth element: wrong, and yet of a known value.
CANARY = """
from bombay_env import tiny
try:
    print(tiny.element(np.arange(4)[:3], 3))
except IndexError:
    print("IndexError")
"""


def under_boundscheck(code, cache, path=ROOT):
    """Run a program whose kernels check every index; code compiled without checks is another entry and not found."""
    return in_a_fresh_process(code, cache, path, NUMBA_BOUNDSCHECK="1")


@needs_jit
def test_bounds_are_checked_on_demand_whatever_was_kept_before(stand_in, tmp_path):
    assert in_a_fresh_process(CANARY, tmp_path, stand_in).stdout == "3\n"
    for line in (LINE, ""):  # compiled, and loaded
        done = under_boundscheck(CANARY, tmp_path, stand_in)
        assert (done.stdout.splitlines()[-1], done.stderr) == ("IndexError", line)
