"""`fuse-opt --view`, `-t html` and `-t dot` on the command line."""

import json
import os
from pathlib import Path

import pytest

from fuse_dialect.tools import browser
from fuse_dialect.tools.fuse_opt import main

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TINY = str(EXAMPLES / "tiny_cnn.onnx")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was asked to open."""
    import webbrowser

    asked: list[str] = []

    class _Recorder(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            asked.append(url)
            return True

    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "_tryorder", ["recorder"])
    monkeypatch.setattr(webbrowser, "_browsers", {"recorder": [None, _Recorder()]})
    return asked


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    import webbrowser

    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "_tryorder", [])
    monkeypatch.setattr(webbrowser, "_browsers", {})


def test_view_writes_a_page_and_opens_it(tmp_path, capsys, opened):
    page = tmp_path / "page.html"
    assert main(["--view", TINY, "-o", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert opened == [page.as_uri()]
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_view_without_a_name_makes_a_new_file(capsys, opened):
    assert main(["--view", "--no-open", TINY]) == 0
    path = Path(capsys.readouterr().out.strip())
    try:
        assert path.name.startswith("fusion-tiny-cnn-")
        assert "fused_conv2d" in path.read_text("utf-8")
    finally:
        path.unlink()
    assert opened == []


def test_remote_session_is_told_where_the_page_is(tmp_path, capsys, opened, monkeypatch):
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert browser.is_remote()
    assert main(["--view", TINY, "-o", str(tmp_path / "page.html")]) == 0
    assert "remote session" in capsys.readouterr().err
    assert opened == []


def test_without_a_browser_the_page_is_kept(tmp_path, capsys, no_browser):
    page = tmp_path / "page.html"
    assert main(["--view", TINY, "-o", str(page)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{page}\n"
    assert told.err == "note: there is no browser to open the page in; it needs no other file\n"
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_folder_that_cannot_be_written_is_an_error(tmp_path, capsys, opened):
    page = tmp_path / "nowhere" / "page.html"
    assert main(["--view", TINY, "-o", str(page)]) == 1
    assert capsys.readouterr().err == f"{page}: error: cannot write the output: no such file or directory\n"
    assert opened == []


@pytest.mark.parametrize("target", ["html", "dot"])
def test_module_without_functions_is_an_error(tmp_path, capsys, target):
    source = tmp_path / "empty.mlir"
    source.write_text("builtin.module {}\n")
    assert main([str(source), "-t", target]) == 1
    assert f"{source}: error: there is nothing to draw" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["html", "dot"])
def test_module_that_does_not_verify_is_an_error(tmp_path, capsys, target):
    source = tmp_path / "wrong.mlir"
    source.write_text('"fuse.relu"() : () -> tensor<4xf32>\n')
    output = tmp_path / "out"
    assert main([str(source), "-t", target, "-o", str(output)]) == 1
    assert f"{source}:1:1: error:" in capsys.readouterr().err
    assert not output.exists()


def test_picture_is_that_of_the_last_pass_that_fuses(capsys):
    assert main(["--simplify-inference", "--fuse-ops=max-depth=1", "--canonicalize", TINY, "-t", "dot"]) == 0
    drawn = capsys.readouterr().out
    assert "batch_norm" not in drawn
    assert drawn.count('label="fused_') == 18


def test_profile_gives_times(tmp_path, capsys):
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"kernels": [{"name": "fused_conv2d", "median_seconds": 0.125}]}))
    assert main([TINY, "-t", "html", "--profile", str(profile)]) == 0
    assert '"seconds":0.125' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read the profile: no such file or directory"),
        ("{", "this is no profile of kernels"),
        ("[1]", "this is no profile of kernels"),
        ('{"kernels": [{"name": "a", "median_seconds": []}]}', "this is no profile of kernels"),
        ('{"kernels": []}', "the profile names none of the kernels of this module"),
        ("[" * 100_000, "this is no profile of kernels"),
    ],
)
def test_profile_that_is_none_is_an_error(tmp_path, capsys, text, message):
    profile = tmp_path / "profile.json"
    if text is not None:
        profile.write_text(text)
    assert main([TINY, "-t", "html", "--profile", str(profile)]) == 1
    assert capsys.readouterr().err.startswith(f"{profile}: error: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--view", "-t", "dot"], "--view writes html, not 'dot'"),
        (["--profile", "x.json"], "argument --profile: target 'mlir' is no picture"),
        (["--no-open"], "argument --no-open: target 'mlir' is no picture"),
        (["--view", "--split-input-file", "--no-open"], "one picture or report cannot hold the parts"),
    ],
)
def test_wrong_usage(capsys, arguments, message):
    assert main([*arguments, TINY]) == 2
    assert message in capsys.readouterr().err


def test_page_from_a_pipe_is_whole(capsys):
    assert main([TINY, "-t", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert os.environ.get("HOME", "/nowhere-at-all") not in page
