import json
from pathlib import Path

from model_configs import EVERY_FAMILY
from typer.testing import CliRunner

from openrecipes.catalog.models import model
from openrecipes.cli.model import app


def test_show_prints_the_counts_and_where_each_argument_is_from() -> None:
    found = CliRunner().invoke(app, ["show", "Qwen3.5-397B-A17B"])
    assert found.exit_code == 0
    assert "396,346,350,336 parameters" in found.stdout
    assert "16,331,407,360 active parameters" in found.stdout
    assert "config.json:num_experts_per_tok" in found.stdout
    assert "8472618112abcbd45acbcdc58436aff4233c23f7" in found.stdout


def test_the_table_of_weights_is_never_cut() -> None:
    page = CliRunner().invoke(app, ["show", "Qwen3.5-397B-A17B"], terminal_width=40).stdout
    for tensor in model("Qwen3.5-397B-A17B").tensors:
        assert f"{tensor.count:,}" in page
        assert "x".join(map(str, tensor.shape)) in page


def test_show_json_has_the_stated_keys() -> None:
    document = json.loads(CliRunner().invoke(app, ["show", "qwen3.5-397b-a17b", "--json"]).stdout)
    assert document["model"] == "Qwen3.5-397B-A17B"
    assert (document["params"], document["active_params"]) == (396_346_350_336, 16_331_407_360)
    flat = document["model_args"]
    assert flat[flat.index("--num-experts") + 1] == "512"
    origins = document["origin"]
    assert [word for item in origins for word in (item["flag"], *(item["value"] or "").split())] == flat
    assert all(set(item) == {"flag", "value", "from"} and item["from"] for item in origins)
    assert sum(row["params"] for row in document["tensors"]) == document["params"]


def test_add_prints_the_same_document_and_says_what_it_left_out(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(EVERY_FAMILY["qwen3_5_moe"]), encoding="utf-8")
    added = CliRunner().invoke(app, ["add", str(config), "--name", "Tiny", "--json"])
    assert added.exit_code == 0
    assert "not counted: vision encoder" in added.stderr
    assert f"wrote {tmp_path / 'own' / 'tiny.yaml'}" in added.stderr
    assert json.loads(added.stdout) == json.loads(CliRunner().invoke(app, ["show", "Tiny", "--json"]).stdout)
