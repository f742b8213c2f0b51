"""How fast rows are built, from conversations on disk to a closed parquet file, beside what others do with their text.

    python benchmarks/rows.py [--mb 32] [--rounds 5] [--source FILE.jsonl]
    python benchmarks/rows.py --full FILE.jsonl [--rows 6400]

Others, on the same conversations and with the same number of threads: (a) tiktoken's `encode_batch` on the rendered
text; (b) slime's own MultiTurnLossMaskGenerator, where $SLIME_DIR names a checkout and transformers is installed;
(c) Hugging Face tokenizers' `encode_batch`. All in turn in every round, and ratios are taken within a round, so that a
busy machine slows all alike; (b) and (c) get a part of the text. Goals: 0.8 x (a), 8 x (b), more than (c).

The text is docstrings and code of the installed packages, cut into conversations, and the shipped conversations.
--full builds one file in a process of its own, and says its time, its size, and the memory of all its processes.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ["TOKENIZERS_PARALLELISM"] = "true"

from qwen_form import write_tokenizer  # noqa: E402

from openrecipes.rows.build import BuildSettings, build  # noqa: E402
from openrecipes.rows.conversations import Skipped, conversation  # noqa: E402
from openrecipes.rows.embedded_tokenizer import EMBEDDED, EmbeddedTokenizer  # noqa: E402
from openrecipes.rows.encode import PieceEncoder, Rendered, rendered  # noqa: E402
from openrecipes.rows.pretokens import pretokens  # noqa: E402
from openrecipes.rows.source import open_source  # noqa: E402
from openrecipes.rows.workers import available_cores  # noqa: E402

ROW_TOKENS, SEED, WHOLE_VOCABULARY = 8_192, 42, 248_044
GOALS = {"tiktoken": 0.8, "slime": 8.0, "tokenizers": 1.0}
# What part of the conversations the slow ones get: enough for seconds of work.
PARTS = {"tiktoken": 1, "slime": 40, "tokenizers": 10}
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)

Record = dict[str, Any]
Work = Callable[[], int]


def package_conversations() -> Iterator[Record]:
    """Docstrings as answers, and the code behind each as a second one; files in an order of their hashes."""
    roots = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    files = {path.relative_to(root).as_posix(): path for root in roots for path in root.rglob("*.py")}
    for name in sorted(files, key=lambda name: hashlib.sha256(name.encode()).digest()):
        with suppress(OSError, UnicodeDecodeError):
            pieces = DOCSTRING.split(files[name].read_text(encoding="utf-8"))
            for text, code in zip(pieces[1::2], pieces[2::2], strict=False):
                if 200 < len(text) < 20_000:
                    answers = [f"What does {name} say here?", text, "And its code?", f"```python\n{code[:3000]}\n```"]
                    roles = ("user", "assistant") * 2
                    yield {"messages": [{"role": r, "content": c} for r, c in zip(roles, answers, strict=True)]}


def write_text(path: Path, megabytes: float) -> None:
    """Conversations of about so many megabytes."""
    shipped = (ROOT / "data" / "fixtures" / "conversations.jsonl").read_bytes()
    with path.open("wb") as file:
        written = file.write(shipped)
        for record in package_conversations():
            if written > megabytes * 1e6:
                return
            written += file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    raise SystemExit(f"the installed packages hold {written / 1e6:.1f} MB of such text; ask for less with --mb")


def usable(path: Path) -> tuple[list[Record], list[Rendered]]:
    """The conversations that rows are made of, and their text."""
    template, records, texts = EmbeddedTokenizer().chat_template(), [], []
    for line in path.read_bytes().splitlines():
        with suppress(Skipped):
            record = json.loads(line)
            texts.append(rendered(conversation(record), template))
            records.append(record)
    return records, texts


def part(items: list[Any], name: str) -> list[Any]:
    """What a contestant gets of the conversations."""
    return items[:: PARTS[name]]


def contestants(folder: Path, records: list[Record], texts: list[Rendered], threads: int) -> dict[str, Work]:
    """By name, what encodes a part of the conversations and says how many tokens it got."""
    from tokenizers import Tokenizer  # noqa: PLC0415  (RAYON_NUM_THREADS must be set before)

    encoding, plain = EmbeddedTokenizer()._encoding, [one.text for one in texts]
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def tiktoken() -> int:
        found = encoding.encode_batch(part(plain, "tiktoken"), num_threads=threads, allowed_special="all")
        return sum(map(len, found))

    def tokenizers() -> int:
        return sum(len(one.ids) for one in backend.encode_batch(part(plain, "tokenizers"), add_special_tokens=False))

    found: dict[str, Work] = {"tiktoken": tiktoken, "tokenizers": tokenizers}
    generator = slime_generator(folder)
    if generator is not None:
        some = part(records, "slime")
        found["slime"] = lambda: sum(len(generator(record["messages"], tools=None)[0]) for record in some)
    check_ids(backend, texts[:: max(1, len(texts) // 2_000)])
    return found


def slime_generator(folder: Path) -> Any:
    """slime's own, from the checkout; None where there is none."""
    checkout = os.environ.get("SLIME_DIR")
    if not checkout or importlib.util.find_spec("transformers") is None:
        print("(b) is left out: it needs $SLIME_DIR, a checkout of slime, and transformers")
        return None
    from transformers import AutoTokenizer  # noqa: PLC0415  (optional)

    path = Path(checkout, "slime", "utils", "mask_utils.py")
    spec = importlib.util.spec_from_file_location("slime_mask_utils", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return module.MultiTurnLossMaskGenerator(tokenizer, tokenizer_type="qwen3_5").get_loss_mask


def check_ids(backend: Any, texts: list[Rendered]) -> None:
    """A benchmark of other ids would mean nothing."""
    ours = np.frombuffer(PieceEncoder(EmbeddedTokenizer()).encoded(texts).ids, "<i4").tolist()
    eos = EmbeddedTokenizer().eos_id
    theirs = [index for one in texts for index in (eos, *backend.encode(one.text, add_special_tokens=False).ids)]
    assert ours == theirs, "other ids than Hugging Face tokenizers"
    print(f"same ids as Hugging Face tokenizers on {len(texts):,} conversations, {len(ours):,} tokens")


def speeds_of(work: Work) -> tuple[float, float]:
    """Tokens a second, and tokens a second of CPU time, which other work on the machine hardly changes."""
    start, cpu = time.perf_counter(), time.process_time()
    tokens = work()
    return tokens / (time.perf_counter() - start), tokens / (time.process_time() - cpu)


def compare(source: Path, folder: Path, rounds: int, threads: int) -> bool:
    """Prints speeds and ratios; whether every goal is met."""
    records, texts = usable(source)
    words = [word for one in part(texts, "tokenizers") for word in pretokens(one.text)]
    tokenizer_folder = write_tokenizer(folder / "tokenizer", count=WHOLE_VOCABULARY)
    others = contestants(tokenizer_folder, records, texts, threads)
    tokens = others["tiktoken"]() + len(texts)
    print(f"{source.stat().st_size / 1e6:.1f} MB, {len(texts):,} conversations, {tokens:,} tokens, {threads} threads; "
          f"a tenth of it has {len(words):,} words, {len(set(words)):,} of them different")  # fmt: skip
    rows = int(0.99 * tokens) // ROW_TOKENS
    settings = BuildSettings(
        name="benchmark", tokenizer=EMBEDDED, rows=rows, row_tokens=ROW_TOKENS, seed=SEED, workers=threads
    )

    def ours() -> int:
        return build(open_source(source), settings, folder / "rows.parquet", replace=True).tokens

    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in ("ours", *others)}
    for _ in range(rounds):
        for name, work in {"ours": ours, **others}.items():
            speeds[name].append(speeds_of(work))
    bytes_a_token = (folder / "rows.parquet").stat().st_size / (rows * ROW_TOKENS)
    print(f"rows: {rows:,} x {ROW_TOKENS:,}, {bytes_a_token:.2f} bytes a token in the file; "
          f"{os.getloadavg()[0]:.1f} processes wanted a core\n")  # fmt: skip
    return report(speeds)


def report(speeds: dict[str, list[tuple[float, float]]]) -> bool:
    """Prints the table, by the clock and by CPU time; whether every goal is met by the clock."""
    print(f"{'':12}{'tokens/s':>12}{'by CPU':>12}   ours / theirs: median (least to most of the rounds)")
    met = True
    for name, found in speeds.items():
        line = "".join(f"{statistics.median(values):12,.0f}" for values in zip(*found, strict=True))
        if name != "ours":
            pairs = zip(speeds["ours"], found, strict=True)
            clock, cpu = zip(*((mine[0] / one[0], mine[1] / one[1]) for mine, one in pairs), strict=True)
            met &= statistics.median(clock) >= GOALS[name]
            spread = (f"{statistics.median(x):.2f} ({min(x):.2f} to {max(x):.2f})" for x in (clock, cpu))
            line += "   {} by the clock, {} by CPU, goal {:g}".format(*spread, GOALS[name])
        print(f"{name:12}{line}")
    return met


def memory_mib(root: int) -> float:
    """Memory of a process and all below it, shared pages counted once. Unit: MiB."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    total = 0
    for pid in family:
        with suppress(OSError):
            found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
            total += int(found[1]) if found else 0
    return total / 1024


def full_build(source: Path, folder: Path, rows: int) -> None:
    """Prints time, memory and size of one large build by the command line."""
    out = folder / "rows.parquet"
    size = ("--rows", str(rows), "--row-tokens", str(ROW_TOKENS), "--seed", str(SEED))
    command = [sys.executable, "-m", "openrecipes", "data", "build", "--source", str(source), *size, "-o", str(out)]
    start, most = time.perf_counter(), 0.0
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.poll() is None:
            most = max(most, memory_mib(process.pid))
            time.sleep(0.2)
        document = json.loads(process.stdout.read())
    seconds = time.perf_counter() - start
    print(f"{document['rows']:,} x {ROW_TOKENS:,} tokens from {document['conversations']['read']:,} conversations: "
          f"{seconds:.1f} s, {document['tokens'] / seconds:,.0f} tokens/s, {most:,.0f} MiB of memory, "
          f"{document['parquet_bytes'] / 1e6:.1f} MB, rows_sha256 {document['rows_sha256']}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=32.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--source", type=Path, help="conversations of your own, as JSONL")
    parser.add_argument("--full", type=Path, help="conversations for one build of full size, as JSONL or parquet")
    parser.add_argument("--rows", type=int, default=6_400)
    asked = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(asked.threads)
    with tempfile.TemporaryDirectory(prefix="rows-benchmark-") as name:
        folder = Path(name)
        if asked.full is not None:
            full_build(asked.full, folder, asked.rows)
            return 0
        source = asked.source or folder / "text.jsonl"
        if asked.source is None:
            write_text(source, asked.mb)
        return int(not compare(source, folder, asked.rounds, asked.threads))


if __name__ == "__main__":
    sys.exit(main())
