"""The examples in docstrings and in the README give what they show."""

import builtins
import doctest
import pathlib

import pytest
import stridec

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented():
    yield "stridec", stridec.__doc__
    # Not `__all__`, which leaves out the names that Python itself has.
    for name in dir(stridec):
        if name.startswith("_"):
            continue
        thing = getattr(stridec, name)
        yield name, thing.__doc__
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") or member.startswith("_repr_"):
                    yield f"{name}.{member}", value.__doc__


def test_everything_is_documented_and_the_examples_are_right():
    examples = 0
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for name, text in documented():
        assert text, f"{name} has no docstring"
        test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        examples += len(test.examples)
        runner.run(test)
    assert runner.summarize().failed == 0 and examples > 20


def test_a_star_import_replaces_no_builtins():
    public = {name for name in dir(stridec) if not name.startswith("_")}
    assert public - set(stridec.__all__) == {"compile", "slice"} == public & set(dir(builtins))
    assert set(stridec.__all__) - public == {"__version__"}


README = pathlib.Path(__file__).parents[1] / "README.md"


def test_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(README), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0 and result.attempted > 10


def test_the_programs_of_the_readme():
    pytest.importorskip("torch")
    programs = README.read_text().split("```python\n")[1:]
    assert programs
    for program in programs:
        exec(program.split("```")[0], {})
