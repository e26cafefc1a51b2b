"""The command line in the package."""

import subprocess
import sys

import stridec


def run(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "stridec", *arguments], capture_output=True, text=True, timeout=120, **options)


def test_commands_run(tmp_path):
    done = run("offset", "f32[2,3]{0,1}", "--all")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["0", "2", "4", "1", "3", "5"], "")
    done = run("compile", "relayout", "--from", "f32[64,8]", "--to", "f32[64,8]{0,1}", "-o", str(tmp_path / "k.wgsl"))
    assert done.returncode == 0 and "@compute" in (tmp_path / "k.wgsl").read_text()
    assert "stridec" in run("--version").stdout and "Usage: stridec" in run("--help").stdout


def test_exit_codes_are_those_of_the_command_line():
    for arguments, code in [(["describe", "f32[2,3]{1,1}"], 2), (["describe"], 2), (["compile", "relayout", "--from", "c64[2]", "--to", "f32[2]"], 3)]:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (code, "") and done.stderr.startswith("error: "), done


def test_mistakes_are_of_the_arguments_of_main(capfd, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["stridec", "nothing"])
    assert stridec.main(["compile", "relayout", "f32[2,3]", "f32[2,3]{0,1}"]) == 2
    assert "--from 'f32[2,3]' --to 'f32[2,3]{0,1}'" in capfd.readouterr().err


def test_main_is_a_function(capfd):
    print("before")
    assert stridec.main(["offset", "f32[2,3]{0,1}", "--index", "1,2"]) == 0
    print("after", flush=True)
    assert capfd.readouterr().out.split() == ["before", "5", "after"]
    assert stridec.main(["offset"]) == 2
