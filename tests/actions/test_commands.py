"""`pollux actions check`, `types` and `index`, as a person runs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.actions.lab import EXAMPLE, HEAD, put, samples, write

from pollux.cli import main


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example in an otherwise empty folder, where the person stands."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def pollux(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program itself, with the plugin's folder where Python looks."""
    command = [sys.executable, "-W", "error", "-m", "pollux.cli", "actions", *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder.parent, env=environ, timeout=60, check=False
    )


@pytest.mark.slow
def test_a_plugin_that_is_in_order_passes_with_notes(plugin: Path):
    done = pollux(plugin, "check", "shop")
    assert (done.returncode, done.stderr) == (0, "pollux: nothing is wrong with the actions here\n")
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == [
        "shop/shop_actions.py:24:",
        "shop/shop_actions.py:37:",
    ]


@pytest.mark.slow
def test_what_is_wrong_is_one_line_each_with_file_and_line(plugin: Path):
    path = plugin / "shop_actions.py"
    path.write_text(path.read_text().replace("limit: int = 10", "limit: str, offset: int"))
    put(plugin, HEAD + "inputSchema: {a: strang}\n", "loose.jay-action")
    put(plugin, HEAD, "unlisted.jay-action")
    done = pollux(plugin, "check", "shop")
    assert (done.returncode, done.stderr) == (1, "")
    wrong = [line for line in done.stdout.splitlines() if "note: " not in line]
    assert len(wrong) == 3
    assert wrong[0].startswith("shop/loose.jay-action:3: expected a type, found 'strang'")
    assert wrong[1].startswith("shop/shop_actions.py:16: searchProducts: limit is integer, but")
    assert wrong[2].startswith("shop/shop_actions.py:16: searchProducts: the parameter offset is not in inputSchema")
    assert "shop/unlisted.jay-action:1: note: shop/plugin.yaml does not list it\n" in done.stdout


@pytest.mark.slow
def test_handlers_may_be_elsewhere(plugin: Path):
    manifest = plugin / "plugin.yaml"
    manifest.write_text(manifest.read_text().replace("python: shop_actions\n", ""))
    assert "shop/plugin.yaml:3: searchProducts: expected a handler" in pollux(plugin, "check", "shop").stdout
    assert pollux(plugin, "check", "shop", "--use", "shop_actions").returncode == 0
    assert pollux(plugin, "check", "shop", "--use", "no_such_module").returncode == 2


@pytest.mark.slow
def test_a_module_that_cannot_be_imported_is_told_without_a_trace(plugin: Path):
    (plugin / "shop_actions.py").write_text("import no_such_thing\n")
    done = pollux(plugin, "check", "shop")
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    assert done.stdout.startswith("shop/plugin.yaml:1: shop_actions: importing shop_actions failed")


@pytest.mark.usefixtures("plugin")
def test_types_are_written_beside_their_files_and_only_if_they_changed(capsys: pytest.CaptureFixture[str]):
    assert main(["actions", "types", "shop"]) == 0
    written = ["shop/actions/add-to-cart.jay-action.d.ts", "shop/actions/search-products.jay-action.d.ts"]
    assert capsys.readouterr().out.splitlines() == written
    assert Path(written[0]).read_text().startswith("export interface AddToCartInput {\n    productId: string;\n")
    assert main(["actions", "types", "shop"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path(written[0]).stat().st_mode & 0o777 == 0o644


def test_types_for_python_are_modules(plugin: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["actions", "types", "shop", "--python"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "shop/actions/add_to_cart_action.py",
        "shop/actions/search_products_action.py",
    ]
    compile((plugin / "actions/add_to_cart_action.py").read_text(), "add_to_cart_action.py", "exec")


def test_a_pipe_in_the_place_of_a_module_is_not_waited_for(plugin: Path, capsys: pytest.CaptureFixture[str]):
    os.mkfifo(plugin / "actions/add_to_cart_action.py")
    assert main(["actions", "types", "shop", "--python"]) == 1
    assert "none of ours" in capsys.readouterr().err


def test_a_module_of_somebody_else_is_not_overwritten(plugin: Path, capsys: pytest.CaptureFixture[str]):
    mine = put(plugin, "# mine\n", "actions/add_to_cart_action.py")
    assert main(["actions", "types", "shop", "--python"]) == 1
    assert mine.read_text() == "# mine\n"
    assert "none of ours" in capsys.readouterr().err


def test_a_link_is_replaced_and_not_followed(plugin: Path):
    target = put(plugin.parent, "precious\n", "precious.txt")
    (plugin / "actions/add-to-cart.jay-action.d.ts").symlink_to(target)
    assert main(["actions", "types", "shop"]) == 0
    assert target.read_text() == "precious\n"


@pytest.mark.usefixtures("plugin")
def test_types_can_be_printed_instead(capsysbinary: pytest.CaptureFixture[bytes], plugin: Path):
    for sample in samples().glob("*.jay-action"):
        assert main(["actions", "types", str(sample), "--stdout"]) == 0
        assert capsysbinary.readouterr().out == sample.with_name(f"{sample.name}.d.ts").read_bytes()
    assert main(["actions", "types", "shop", "--stdout"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"// shop/actions/add-to-cart.jay-action.d.ts\nexport interface")
    assert not list(plugin.rglob("*.d.ts"))


def test_a_broken_file_does_not_keep_the_others_from_being_written(plugin: Path, capsys: pytest.CaptureFixture[str]):
    put(plugin, "name: [", "actions/broken.jay-action")
    assert main(["actions", "types", "shop"]) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 and "shop/actions/broken.jay-action:1: expected YAML" in err


def test_the_index_is_written_for_coding_agents(plugin: Path, capsys: pytest.CaptureFixture[str]):
    write(plugin.parent / "other", plugin__yaml="name: another\n")
    assert main(["actions", "index"]) == 0
    assert capsys.readouterr().out == "agent-kit/plugins-index.yaml\n"
    index = yaml.safe_load(Path("agent-kit/plugins-index.yaml").read_text())
    assert [each["name"] for each in index["plugins"]] == ["another", "demo-shop"]
    assert index["plugins"][1]["actions"][1] == {
        "name": "addToCart",
        "description": "Put a product into the visitor's cart.",
        "path": "./shop/actions/add-to-cart.jay-action",
    }
    assert main(["actions", "index", "shop", "--stdout"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["plugins"] == index["plugins"][1:]


def test_an_index_of_something_broken_is_not_written(plugin: Path, capsys: pytest.CaptureFixture[str]):
    put(plugin, "name: [", "actions/add-to-cart.jay-action")
    assert main(["actions", "index"]) == 1
    assert "shop/actions/add-to-cart.jay-action:1: expected YAML" in capsys.readouterr().err
    assert not Path("agent-kit").exists()


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("verb", ["check", "types", "index"])
def test_a_folder_that_is_not_there_is_a_usage_error(verb: str, capsys: pytest.CaptureFixture[str]):
    assert main(["actions", verb, "nowhere"]) == 2
    assert "found no nowhere" in capsys.readouterr().err


def test_what_is_installed_hidden_or_generated_is_passed_over(plugin: Path, capsys: pytest.CaptureFixture[str]):
    for folder in ("node_modules/x", ".git", "dist", "__pycache__"):
        put(plugin, "name: [", f"{folder}/broken.jay-action")
    assert main(["actions", "types", "shop"]) == 0
    assert capsys.readouterr().err == ""
