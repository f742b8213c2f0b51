"""The shipped conversations: what their script writes, small, and enough."""

import collections
import json
import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "data" / "fixtures"
CONVERSATIONS = FIXTURES / "conversations.jsonl"


def test_the_script_writes_the_shipped_bytes(tmp_path: Path) -> None:
    command = [sys.executable, str(FIXTURES / "generate_conversations.py"), "-o", str(tmp_path / "again.jsonl")]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert (tmp_path / "again.jsonl").read_bytes() == CONVERSATIONS.read_bytes()


def test_the_file_is_small_and_has_its_licence() -> None:
    assert CONVERSATIONS.stat().st_size <= 4_000_000
    assert "CC0-1.0" in (FIXTURES / "LICENSE").read_text(encoding="utf-8")


def test_conversations_are_many_and_varied() -> None:
    records = [json.loads(line) for line in CONVERSATIONS.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 5_443
    sources = collections.Counter(record["source"] for record in records)
    assert set(sources) == {"arithmetic", "code", "edges", "knowledge", "languages", "thinking", "writing"}
    assert min(sources.values()) > 40
    texts = [json.dumps(record.get("messages"), ensure_ascii=False) for record in records]
    assert len(set(texts)) > 5_430
    whole = "".join(texts)
    assert [letter for letter in "éöżжשعही天の한λ🙏" if letter not in whole] == []
    roles = collections.Counter(len(record["messages"]) for record in records if record.get("messages"))
    assert sum(count for length, count in roles.items() if length > 2) > 1_500
