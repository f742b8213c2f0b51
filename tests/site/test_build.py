"""The site's files: complete, equal from build to build, closed in themselves, and true to the recipes."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hostile_recipes import EMOJI, LONG, MARKUP, write_hostile
from made_library import made_library
from site_pages import Page, target
from varied_recipes import changed, published

from openrecipes.cli.app import verb
from openrecipes.recipe.library import Library
from openrecipes.recipe.write import recipe_text
from openrecipes.site.build import Site, build

ROOT = Path(__file__).parent.parent.parent
BOARD = "boards/qwen3.5-397b-a17b/h200.html"
DIFF = "diffs/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32--attune-tp1-pp4-ep32.html"
BEST = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The shipped recipes and one whose every text is hostile."""
    root = tmp_path_factory.mktemp("library") / "recipes"
    shutil.copytree(ROOT / "recipes", root)
    write_hostile(root)
    return Library(root=root)


@pytest.fixture(scope="module")
def site(library: Library) -> Site:
    return build(library, base_url="https://r.example.org/", repository="https://git.example.org/blob/main")


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[str, Page]:
    found = {name: Page(content.decode()) for name, content in site.files.items() if name.endswith(".html")}
    assert len(found) > 20
    return found


def test_two_builds_have_equal_bytes(library: Library, site: Site) -> None:
    again = build(library, base_url="https://r.example.org/", repository="https://git.example.org/blob/main")
    assert again.files == site.files


def test_every_link_leads_to_a_file_and_an_id_that_are_there(site: Site, pages: dict[str, Page]) -> None:
    outside, checked = set(), 0
    for here, page in pages.items():
        for link in page.links():
            if link.startswith(("https://", "http://")):
                outside.add(link)
                continue
            address, fragment = target(here, link)
            assert address in site.files, (here, link)
            assert not fragment or fragment in pages[address].ids(), (here, link)
            checked += 1
    assert checked > 500
    files = {link for link in outside if link.startswith("https://git.example.org/blob/main/recipes/")}
    assert outside - files == {"https://arxiv.org/abs/2610.17528"}


def test_no_page_has_script_style_or_handlers_of_its_own(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        for tag, attributes in page.tags:
            assert not any(key.startswith("on") or key == "style" for key in attributes), (name, tag, attributes)
            assert tag != "style", name
            assert tag != "script" or re.fullmatch(r"(\.\./)*assets/site\.js", str(attributes["src"])), name
        policies = [
            attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policies == [POLICY]


def test_ids_of_a_page_are_its_own(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert len(page.ids()) == len(set(page.ids())), name


def test_the_board_is_the_published_page(site: Site, pages: dict[str, Page]) -> None:
    text = re.sub(r"\s+", " ", pages[BOARD].all_text)
    assert "Training Qwen3.5-397B-A17B on H200" in text
    assert "Ranked by tokens/s per GPU · 8,192-token SFT rows · global batch 128 · BF16" in text
    rows = re.findall(r"#(\d)([\d.]+)\$([\d.]+)(128)(TP\d PP\d EP\d\d DP\d\d)", pages[BOARD].all_text)
    assert rows == [
        ("1", "545.3", "4.03", "128", "TP2 PP4 EP32 DP16"),
        ("2", "506.7", "4.34", "128", "TP1 PP4 EP32 DP32"),
        ("3", "469.2", "4.68", "128", "TP2 PP2 EP64 DP32"),
    ]
    for words in ("H100 · 128 GPUs", "313.3", "$6.10 / 1M tokens", "B200 · 64 GPUs", "1,232.5", "$3.21 / 1M tokens"):
        assert words in text
    assert "If you use a recipe by ATTUNE, please cite the paper." in text
    assert pages[BOARD].texts["bibtex-1"].startswith("@article{fan2026attune,\n  title   = {{ATTUNE:")


def test_headlines_without_a_recipe_are_linked_to_nothing(site: Site) -> None:
    tiles = re.findall(r"<li[^>]*><span class=\"name\">.*?</li>", site.files[BOARD].decode(), flags=re.DOTALL)
    unpublished = [tile for tile in tiles if "recipe not published" in tile]
    assert len(unpublished) == 2
    assert not any("<a " in tile for tile in unpublished)


def test_a_recipes_page_has_every_block_and_its_exact_file(
    library: Library, site: Site, pages: dict[str, Page]
) -> None:
    file = library.root / BEST.removeprefix("recipes/")
    source = file.with_name(f"{file.name}.yaml").read_bytes()
    page = pages[f"{BEST}.html"]
    assert page.texts["recipe-text"].encode() == source == site.files[f"{BEST}.yaml"]
    text = re.sub(r"\s+", " ", page.all_text)
    for words in (
        "128 x H200 141 GB (AWS p5en.48xlarge, 8 per node)",
        "5.4% (N = 16,331,407,360 active parameters per token)",
        "correlation 0.99999, final loss difference 8.4e-05, 0 pointwise failures over 20 steps",
        "against an FP64 reference: H200, 2026-10-11. Shape: one Qwen3.5-397B-A17B MoE layer",
        "2026-10-11, 14-step run scored over steps 4–13",
        "megatron lm",
        "CUDA_DEVICE_MAX_CONNECTIONS=1",
        "--target kubernetes --cluster launch/clusters/eks-p5en.yaml",
    ):
        assert words in text, words
    assert page.texts["command-text"].startswith("export CUDA_DEVICE_MAX_CONNECTIONS=1\n")
    assert f"https://git.example.org/blob/main/{BEST}.yaml" in page.links()


def test_figures_link_to_rule_price_peak_and_parameters(pages: dict[str, Page]) -> None:
    links = {target(f"{BEST}.html", link) for link in pages[f"{BEST}.html"].links() if "://" not in link}
    assert ("glossary.html", "window") in links
    assert ("catalogue.html", "price-aws-on-demand-us-east-1-2026-09-p5en-48xlarge") in links
    assert ("catalogue.html", "gpu-h200") in links
    assert ("catalogue.html", "model-qwen3-5-397b-a17b") in links
    assert (f"{BEST}.html", "evidence") in links


def test_the_badge_is_computed_and_beside_the_claim(pages: dict[str, Page]) -> None:
    text = re.sub(r"\s+", " ", pages[f"{BEST}.html"].all_text)
    assert "measured is computed from what the recipe proves; the author claims verified." in text


def test_drafts_smoke_and_unsteady_results_have_pages_but_no_rank(site: Site, pages: dict[str, Page]) -> None:
    index = json.loads(site.files["index.json"])
    ranked = {row["recipe"] for board in index["boards"] for row in board["rows"]}
    unranked = {one["recipe"]: one for one in index["unranked"]}
    assert unranked["qwen3.5-moe-mini/cpu/smoke-dp2"]["reason"] == "smoke: a test of the harness"
    assert unranked["qwen3.5-moe-small/h200/openrecipes-tp1-ep2-dp2"]["reason"].startswith("unsteady")
    assert not ranked & unranked.keys()
    for one in unranked.values():
        assert one["page"] in pages
        assert "Not ranked: " in pages[one["page"]].all_text


def test_json_lies_beside_each_board_and_recipe(site: Site) -> None:
    board = json.loads(site.files[BOARD.replace(".html", ".json")])
    assert [row["tokens_per_s_per_gpu"] for row in board["boards"][0]["rows"]] == [545.32, 506.73, 469.19]
    recipe = json.loads(site.files[f"{BEST}.json"])
    assert (recipe["rank"], recipe["badge"], recipe["recipe"]["layout"]["tp"]) == (1, "measured", 2)
    assert recipe["recipe"]["result"]["measured"] == "2026-10-11"
    assert recipe["page"] in site.files
    diff = json.loads(site.files[DIFF.replace(".html", ".json")])
    assert (diff["verdict"], diff["comparable"], round(diff["ratio"], 4)) == ("slower", True, 0.9292)


def test_a_diff_has_the_verdict_of_compare_and_what_differs(pages: dict[str, Page]) -> None:
    text = re.sub(r"\s+", " ", pages[DIFF].all_text)
    assert "#2 is slower: 0.9292 times the tokens/s per GPU of #1 (95 % interval 0.9211 to 0.9375)." in text
    assert "--tensor-model-parallel-size21" in pages[DIFF].all_text
    assert {link for link in pages[f"{BEST}.html"].links() if "diffs/" in link} == {
        f"../../../diffs/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32--attune-{other}.html"
        for other in ("tp1-pp4-ep32", "tp2-pp2-ep64")
    }


def test_results_of_other_work_stand_on_a_board_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "recipes" / "qwen3.5-397b-a17b" / "h200"
    shutil.copytree(ROOT / "recipes/qwen3.5-397b-a17b/h200", folder)
    changes = {"workload.global_batch": 256, "result.window_tokens": 20971520, "result.tokens_per_s_per_gpu": 999.0}
    text = recipe_text(changed(published(), changes), "recipes/qwen3.5-397b-a17b/h200/large-batch.yaml")
    (folder / "large-batch.yaml").write_text(text)
    page = Page(build(Library(root=tmp_path / "recipes")).files[BOARD].decode())
    assert page.ids().count("table-1") == page.ids().count("table-2") == 1
    assert "999.0" not in page.texts["table-1"]
    assert "#1999.0" in page.texts["table-2"]
    assert "global batch 256" in page.all_text


def test_the_feed_has_new_results_first_and_equal_ids_from_build_to_build(site: Site) -> None:
    root = ElementTree.fromstring(site.files["feed.xml"])
    entries = root.findall(f"{ATOM}entry")
    days = [entry.findtext(f"{ATOM}updated") for entry in entries]
    assert days == sorted(days, reverse=True)
    assert root.findtext(f"{ATOM}updated") == days[0] == "2026-11-30T00:00:00Z"
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(ids) == len(set(ids)) >= 4
    links = [entry.find(f"{ATOM}link").attrib["href"] for entry in entries]
    assert all(link.removeprefix("https://r.example.org/") in site.files for link in links)


def test_the_sitemap_has_every_page_and_robots_names_it(site: Site, pages: dict[str, Page], library: Library) -> None:
    root = ElementTree.fromstring(site.files["sitemap.xml"])
    found = {element.text for element in root.iter() if element.tag.endswith("loc")}
    assert found == {f"https://r.example.org/{'' if name == 'index.html' else name}" for name in pages}
    assert site.files["robots.txt"].endswith(b"Sitemap: https://r.example.org/sitemap.xml\n")
    without = build(library).files
    assert "sitemap.xml" not in without
    assert b"Sitemap" not in without["robots.txt"]


def test_hostile_text_is_shown_as_text(site: Site, pages: dict[str, Page], library: Library) -> None:
    [name] = [one.name for one in site.shelf.entries if one.name.startswith("hostile/")]
    address = site.shelf.recipe_addresses[name]
    page = pages[f"{address}.html"]
    assert page.texts["recipe-text"] == (library.root / f"{name}.yaml").read_text(encoding="utf-8")
    assert MARKUP in page.all_text
    assert "javascript:" not in " ".join(page.links())
    for where in (page, pages[site.shelf.board_addresses[MARKUP, "H200"]], pages["index.html"]):
        assert not any(tag == "img" for tag, _ in where.tags)
        assert "\u202e" not in where.all_text or where is page
        assert MARKUP in where.all_text
    board = pages[site.shelf.board_addresses[MARKUP, "H200"]]
    assert LONG in board.all_text
    assert EMOJI in board.all_text
    assert "safe [U+202E]gnp.exe[U+202C] end" in board.all_text


def test_a_thousand_recipes_stay_light(tmp_path: Path) -> None:
    """The size of a board's page grows by a row a recipe, and no row takes more than 800 bytes."""
    pages = {}
    for count in (10, 16):
        files = build(Library(root=made_library(tmp_path / str(count), count))).files
        pages[count] = len(files[BOARD])
        assert sum(name.startswith("diffs/") for name in files) == 2 * (2 * count - 3)
    assert (pages[16] - pages[10]) / 6 < 800


def test_an_empty_library_has_a_site(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    files = build(Library(root=tmp_path / "recipes")).files
    assert b"1,232.5" in files["index.html"]
    assert b"<entry>" not in files["feed.xml"]


def test_the_commands_of_a_submission_are_verbs_and_options_that_are_there(pages: dict[str, Page]) -> None:
    lines = [
        line
        for name, text in pages["submit.html"].texts.items()
        if name.startswith("step-")
        for line in text.splitlines()
    ]
    checked = 0
    for line in lines:
        program, *words = line.split()
        if program != "openrecipes":
            assert (ROOT / words[0]).is_file()
            continue
        options = {option for parameter in verb(words[0]).params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("-")} <= options, line
        checked += 1
    assert checked >= 7
