"""Which sources a kernel depends on, and which edits change their digest."""

from pathlib import Path

import pytest

import bombay_env
from bombay_env.jit import sources
from bombay_env.jit.sources import Sources, summarize

MODULES = {
    "__init__": "from toy.top import answer\n",
    "base": 'LIMIT = 3\n\ndef limit():\n    """The limit."""\n    return LIMIT\n',
    "middle": "from toy import base\n\ndef twice():\n    return 2 * base.limit()\n",
    "top": "from typing import TYPE_CHECKING\nfrom toy.middle import twice\n"
    "if TYPE_CHECKING:\n    from toy.apart import Apart\n\ndef answer():\n    return twice()\n",
    "apart": "class Apart:\n    pass\n",
    "deep.__init__": "",
    "deep.leaf": "from ..base import limit\nfrom . import twig\n",
    "deep.twig": "import toy.apart\n",
    "lost": "from toy.nowhere import nothing\n",
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The folder of a package `toy`, which stands for the three packages."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "PACKAGES", ("toy",))
    for name, text in MODULES.items():
        path = (tmp_path / "toy" / name.replace(".", "/")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "toy"


class Memory(dict):
    def keep(self, name, body):
        assert name not in self
        self[name] = body


def new_sources(memory=None):
    memory = Memory() if memory is None else memory
    return Sources(memory.get, memory.keep)


@pytest.mark.parametrize(
    ("module", "used"),
    [
        ("base", "base"),
        ("middle", "base middle"),
        ("top", "base middle top"),  # not `apart`, which is for type checkers
        ("deep.twig", " apart base deep.twig middle top"),  # `import toy.apart` makes all of `toy` reachable
        ("deep.leaf", " apart base deep.leaf deep.twig middle top"),
    ],
)
def test_a_module_depends_on_what_it_imports_and_so_on(toy, module, used):
    assert new_sources().used_by(f"toy.{module}") == [f"toy.{name}".rstrip(".") for name in used.split(" ")]


@pytest.mark.parametrize(
    ("module", "old", "new", "changed"),
    [
        ("base", "LIMIT = 3", "LIMIT = 4", True),
        ("base", "LIMIT = 3", "LIMIT = 3.0", True),
        ("base", "return LIMIT", "return -LIMIT", True),
        ("base", "The limit.", "How far it goes.", False),
        ("base", '    """The limit."""\n', "", False),
        ("base", "LIMIT = 3\n", '# A comment.\n\n\nLIMIT = 3  # and one more\n"""Its docstring."""\n', False),
        ("base", "LIMIT = 3", '"""The module."""\nLIMIT = (3)', False),
        ("top", "return twice()", "return twice() + 0", True),
        ("apart", "pass", "size = 1", False),
        ("__init__", "answer", "twice", False),
    ],
)
def test_the_digest_follows_code_alone(toy, module, old, new, changed):
    before = new_sources().digest("toy.top")
    path = toy / f"{module}.py"
    path.write_text(path.read_text().replace(old, new, 1))
    assert path.read_text() != MODULES[module]
    assert (new_sources().digest("toy.top") != before) is changed


def test_names_of_modules_count(toy):
    (toy / "copy.py").write_text(MODULES["base"])
    assert new_sources().digest("toy.copy") != new_sources().digest("toy.base")


def test_an_edit_after_the_start_is_an_error_wherever_it_may_matter(toy):
    sources = new_sources()
    assert sources.digest("toy.middle")
    (toy / "base.py").write_text(MODULES["base"].replace("3", "33"))
    for module in ("base", "middle", "top"):
        with pytest.raises(OSError, match=r"base\.py was edited"):
            sources.digest(f"toy.{module}")
    assert sources.digest("toy.apart")
    (toy / "apart.py").unlink()
    with pytest.raises(OSError, match=r"apart\.py"):
        sources.digest("toy.apart")


@pytest.mark.parametrize("module", ["toy.nowhere", "other", "toy.lost"])
def test_a_module_that_is_not_there_has_no_digest(toy, module):
    with pytest.raises(KeyError):
        new_sources().digest(module)


def test_sources_are_parsed_once(toy, monkeypatch):
    memory = Memory()
    digest = new_sources(memory).digest("toy.deep.leaf")
    assert len(memory) == 7
    monkeypatch.setattr(sources, "summarize", lambda *args: pytest.fail("parsed again"))
    assert new_sources(memory).digest("toy.deep.leaf") == digest


def test_imports_are_seen_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(sources, "PACKAGES", ("toy",))
    text = "try:\n    import toy.one.two as x\nexcept ImportError:\n    from toy import three\n"
    text += "def late():\n    from . import four\nimport numpy\n"
    found = summarize(text.encode(), "toy.deep").imports
    assert found == ["toy", "toy.deep.four", "toy.one", "toy.one.two", "toy.three"]


def test_every_source_of_the_package_is_named():
    files = sources.find_sources()
    folder = Path(bombay_env.__file__).parent
    assert {Path(path) for name, path in files.items() if name.partition(".")[0] == "bombay_env"} == set(
        folder.rglob("*.py")
    )
    assert files["bombay_env"] == bombay_env.__file__


def test_a_kernel_depends_on_far_from_everything():
    used = new_sources().used_by("bombay_env.engine")
    assert {"bombay_env.engine", "bombay_env.chance", "bombay_env.rules", "bombay_env.jit.kernels"} <= set(used)
    assert not [name for name in used if not name.startswith("bombay_env.")]
    assert "bombay_env.game" not in used
