"""Whether the rows on this node are whole and the right ones; one line of text or, with --json, one JSON document.

    python verify_rows.py ROWS.parquet [--rows 6400] [--row-tokens 8192] [--rows-sha256 HEX] [--parquet-sha256 HEX]

Counts and hashes the rows again, and compares them with ROWS.parquet.manifest.json beside them and with what is given
here. It ends with 0 where all agrees, 1 where something differs, 2 where the rows are missing or cannot be opened: then
nothing should be trained on them. --bytes-only compares the file's own sha256 and reads no row, which needs no pyarrow.
`openrecipes data verify` does the same and more. Python 3.9 or newer and pyarrow; openrecipes need not be installed.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HASH_FORM = "openrecipes-rows/1"
MOST_NAMED = 20


def bytes_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(2**22):
            found.update(piece)
    return found.hexdigest()


def stored_rows(path: Path) -> Iterator[tuple[Any, Any]]:
    """Each row's tokens (int32, little endian) and loss mask (a byte a token), as bytes or as what else lies there."""
    import pyarrow.parquet as pq  # noqa: PLC0415  (--bytes-only needs none)

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=["metadata"]).column("metadata")
            for value in column:
                pair = value.as_py()
                pair = pair if isinstance(pair, dict) else {}
                yield pair.get("tokens"), pair.get("loss_mask")


def least_and_most(tokens: bytes) -> tuple[int, int]:
    """The smallest and the largest token id."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    ids = pa.Array.from_buffers(pa.int32(), len(tokens) // 4, [None, pa.py_buffer(tokens)])
    found = pc.min_max(ids).as_py()
    return found["min"], found["max"]


class Rows:
    """Counts, hash and faults of the rows, as they come."""

    def __init__(self, vocabulary: "int | None", pad_id: "int | None") -> None:
        self.vocabulary, self.pad = vocabulary, None if pad_id is None else pad_id.to_bytes(4, "little")
        self.rows = self.row_tokens = self.supervised = self.padding = 0
        self.hash = hashlib.sha256()
        self.faults: list[str] = []

    def add(self, tokens: Any, mask: Any) -> None:
        """Count one row; what is wrong with it is a fault."""
        index, self.rows = self.rows, self.rows + 1
        if not isinstance(tokens, bytes) or not isinstance(mask, bytes) or len(tokens) != 4 * len(mask) or not mask:
            self.faults.append(f"row {index}: its tokens are not 4 bytes for each byte of its mask")
            return
        if not self.row_tokens:
            self.row_tokens = len(mask)
            self.hash.update(f"{HASH_FORM} row_tokens={self.row_tokens}\n".encode())
        self.faults += [f"row {index}: {fault}" for fault in self.faults_of(tokens, mask)]
        self.hash.update(tokens)
        self.hash.update(mask)
        self.supervised += mask.count(1)
        while self.pad is not None and mask.endswith(b"\0") and tokens.endswith(self.pad):
            tokens, mask, self.padding = tokens[:-4], mask[:-1], self.padding + 1

    def faults_of(self, tokens: bytes, mask: bytes) -> Iterator[str]:
        """What no trainer should get."""
        if len(mask) != self.row_tokens:
            yield f"{len(mask)} tokens, where the first row has {self.row_tokens}"
        if mask.count(0) + mask.count(1) != len(mask):
            yield f"its mask holds {max(mask)}, where only 0 and 1 can be"
        if mask.find(1, 1) < 0:
            yield "no supervised token after its first: nothing can be learnt from it"
        least, most = least_and_most(tokens)
        if least < 0 or (self.vocabulary is not None and most >= self.vocabulary):
            yield f"token ids {least} to {most}, outside the vocabulary of {self.vocabulary}"


def manifest_of(path: Path) -> "tuple[dict[str, Any] | None, list[str]]":
    """The manifest beside the rows, and what is wrong with it; neither if there is none."""
    beside = path.with_name(path.name + ".manifest.json")
    try:
        document = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, []
    except (OSError, ValueError) as error:
        return None, [f"{beside} cannot be read: {error}"]
    return (document, []) if isinstance(document, dict) else (None, [f"{beside} is no manifest"])


def checked(path: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """The verdict on a file that can be opened."""
    manifest, problems = manifest_of(path)
    found: dict[str, Any] = {"parquet_sha256": bytes_sha256(path), "parquet_bytes": path.stat().st_size}
    if not asked.bytes_only:
        try:
            found.update(counted(path, (manifest or {}).get("tokenizer") or {}, problems))
        except Exception as error:  # pyarrow's own errors, and its import; each means that no row can be vouched for
            problems.append(f"{path} cannot be read as rows: {str(error).splitlines()[0] if str(error) else error!r}")
    given = {name: value for name, value in vars(asked).items() if name in found and value is not None}
    for where, said in (("the manifest says", manifest or {}), ("asked for is", given)):
        problems += [
            f"{name} is {found[name]}, and {where} {said[name]}"
            for name in found
            if name in said and said[name] != found[name]
        ]
    settled = manifest is not None or {"rows_sha256", "parquet_sha256"} & given.keys()
    if not settled:
        problems.append(
            "there is no manifest beside the rows and no hash was given: which rows these are, nobody can say"
        )
    return {"ok": not problems, "file": str(path), **found, "problems": problems}


def counted(path: Path, tokenizer: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """What the rows come to; faults are added to the problems, and rows with faults have no hash."""
    rows = Rows(tokenizer.get("vocabulary_size"), tokenizer.get("pad_id"))
    for tokens, mask in stored_rows(path):
        rows.add(tokens, mask)
    problems += rows.faults[:MOST_NAMED]
    if not rows.rows:
        problems.append("there is no row")
    found = {"rows": rows.rows, "row_tokens": rows.row_tokens, "supervised_tokens": rows.supervised}
    found["padding_tokens"] = rows.padding
    return found if rows.faults or not rows.rows else {**found, "rows_sha256": rows.hash.hexdigest()}


def main() -> int:
    """The verdict, printed; 0, 1 or 2."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--row-tokens", type=int)
    parser.add_argument("--rows-sha256")
    parser.add_argument("--parquet-sha256")
    parser.add_argument("--bytes-only", action="store_true", help="compare the file's sha256, read no row")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args()
    if asked.bytes_only and (asked.rows or asked.row_tokens or asked.rows_sha256):
        parser.error("--bytes-only reads no row, so it can compare --parquet-sha256 only")
    try:
        verdict = checked(asked.file, asked)
    except OSError as error:
        verdict = {"ok": False, "file": str(asked.file), "problems": [f"{asked.file}: {error.strerror}"]}
        status = 2
    else:
        status = int(not verdict["ok"])
    if asked.json:
        print(json.dumps(verdict, indent=2))
    else:
        what = "; ".join(verdict["problems"]) or f"rows_sha256 {verdict.get('rows_sha256', 'not asked for')}"
        print(f"{asked.file}: {'ok' if verdict['ok'] else 'NOT OK'}: {what}")
    return status


if __name__ == "__main__":
    sys.exit(main())
