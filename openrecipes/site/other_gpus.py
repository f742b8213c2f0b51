"""One model's best figure on each GPU: from its boards, else from the published headlines."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from openrecipes.catalog.headlines import Headline, all_headlines, headlines_of
from openrecipes.site.ranking import Board


@dataclass(frozen=True, kw_only=True, slots=True)
class OnGpu:
    """A model's best figure on a GPU. `recipe` is None where only the headline was published."""

    gpu: str
    gpus: int
    tokens_per_s_per_gpu: float
    usd_per_million_tokens: float | None
    recipe: str | None
    is_this_board: bool

    def document(self) -> dict[str, Any]:
        """The figure as `--json` prints it."""
        return asdict(self)


def on_gpus(board: Board, boards: Iterable[Board]) -> tuple[OnGpu, ...]:
    """The board's model on every GPU with a headline, and on its own; GPUs in the order of the headlines.

    A ranked result of the same work counts before a headline; work is the same where only the GPU differs.
    """
    found = {headline.gpu: of_headline(headline) for headline in headlines_of(board.key.model)}
    for other in boards:
        if replace(other.key, gpu=board.key.gpu) == board.key and other.rows:
            best = other.rows[0]
            found[other.key.gpu] = OnGpu(
                gpu=other.key.gpu,
                gpus=best.gpus,
                tokens_per_s_per_gpu=best.tokens_per_s_per_gpu,
                usd_per_million_tokens=best.usd_per_million_tokens,
                recipe=best.recipe,
                is_this_board=other.key == board.key,
            )
    return tuple(found.values())


def without_board(boards: Iterable[Board], model: str | None, gpu: str | None) -> tuple[tuple[str, OnGpu], ...]:
    """Model and headline of every model that has headlines but no board here, where the filters let it through."""
    on_board = {board.key.model for board in boards}
    return tuple(
        (headline.model, of_headline(headline))
        for headline in all_headlines()
        if headline.model not in on_board
        and (model is None or headline.model.lower() == model.lower())
        and (gpu is None or headline.gpu.lower() == gpu.lower())
    )


def of_headline(headline: Headline) -> OnGpu:
    """A published headline, as one whose recipe is not here."""
    return OnGpu(
        gpu=headline.gpu,
        gpus=headline.gpus,
        tokens_per_s_per_gpu=headline.tokens_per_s_per_gpu,
        usd_per_million_tokens=headline.usd_per_million_tokens,
        recipe=None,
        is_this_board=False,
    )
