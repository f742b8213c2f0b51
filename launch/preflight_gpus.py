"""The preflight's checks of a node's GPUs: what nvidia-smi and the kernel's log tell. See preflight.py."""

import argparse
import contextlib
import csv
import re
from collections.abc import Callable, Iterator

from preflight_asking import Outcome, judged, output_of

CARD = {
    "name": "name", "memory_mib": "memory.total", "used_mib": "memory.used", "driver": "driver_version",
    "vbios": "vbios_version", "persistence": "persistence_mode", "mig": "mig.mode.current", "mode": "compute_mode",
    "ecc": "ecc.mode.current", "uncorrected": "ecc.errors.uncorrected.volatile.total",
    "uncorrected_ever": "ecc.errors.uncorrected.aggregate.total", "power_w": "power.limit",
    "most_power_w": "power.max_limit", "pcie_width": "pcie.link.width.current", "pcie_gen": "pcie.link.gen.current",
    "most_pcie_gen": "pcie.link.gen.max", "reasons": "clocks_throttle_reasons.active",
}  # fmt: skip
FABRIC_STATE = {"state": "fabric.state", "status": "fabric.status"}
BRAKES = 0x8 | 0x20 | 0x40 | 0x80  # hardware slowdown, thermal (software, hardware), power brake
# Xid numbers after which a GPU is to be reset or its node replaced; NVLink's are among them.
BAD_XIDS = {48, 54, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, *range(144, 151), 151, 155, 156, 158, 168}


def table(fields: dict[str, str], kind: str = "gpu") -> tuple[list[dict[str, str]], str | None]:
    """nvidia-smi's rows by our names, and why there are none."""
    text, failed = output_of(
        "nvidia-smi", f"--query-{kind}={','.join(fields.values())}", "--format=csv,noheader,nounits"
    )
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    return [dict(zip(fields, row, strict=True)) for row in rows if len(row) == len(fields)], failed


def number(text: str) -> float | None:
    """The number in a cell; None for `[N/A]`."""
    with contextlib.suppress(ValueError):
        return float(int(text, 16)) if text.startswith("0x") else float(text)
    return None


def cards_wrong(cards: list[dict[str, str]], test: Callable[[dict[str, str]], str | None]) -> list[str]:
    """`GPU 3: words` for each card that the test says something of."""
    return [f"GPU {index}: {words}" for index, card in enumerate(cards) if (words := test(card))]


def gpu_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Everything that nvidia-smi tells of the cards."""
    cards, failed = table(CARD)
    if args.gpus < 0 and failed and failed.endswith("is not installed"):
        yield "gpu-count", ("skipped", 0, failed)
        return
    counted = f"{len(cards)} GPUs are visible, the recipe needs {args.gpus}"
    differs = args.gpus >= 0 and len(cards) != args.gpus
    yield "gpu-count", judged(len(cards), [failed or counted] if failed or differs else [])
    if not cards:
        return
    yield "driver", judged(cards[0]["driver"], _driver(cards, args.driver_at_least))
    yield "vbios", judged(sorted({c["vbios"] for c in cards}), [])
    yield (
        "gpu-model",
        judged(
            cards[0]["name"],
            cards_wrong(
                cards, lambda c: None if not args.gpu or named(args.gpu, c["name"]) else f"{c['name']}, not {args.gpu}"
            ),
        ),
    )
    yield "gpu-memory", judged(cards[0]["memory_mib"], cards_wrong(cards, lambda c: _memory(c, args.memory_mib)))
    yield "gpu-idle", judged([c["used_mib"] for c in cards], _busy(cards))
    yield (
        "gpu-modes",
        judged({n: cards[0][n] for n in ("persistence", "mig", "mode", "ecc")}, cards_wrong(cards, _modes)),
    )
    persistence = cards_wrong(cards, lambda c: "persistence mode is off" if c["persistence"] == "Disabled" else None)
    yield "gpu-persistence", judged(cards[0]["persistence"], persistence, status="warn")
    errors = cards_wrong(
        cards, lambda c: f"{c['uncorrected']} uncorrected errors" if number(c["uncorrected"]) else None
    )
    yield "gpu-memory-errors", judged(sum(number(c["uncorrected"]) or 0 for c in cards), [*errors, *_remapped()])
    ever = cards_wrong(
        cards,
        lambda c: f"{c['uncorrected_ever']} uncorrected errors in its life" if number(c["uncorrected_ever"]) else None,
    )
    yield "gpu-memory-history", judged([c["uncorrected_ever"] for c in cards], ever, status="warn")
    yield (
        "gpu-throttling",
        judged(
            [c["reasons"] for c in cards],
            cards_wrong(
                cards, lambda c: f"reasons {c['reasons']}" if int(number(c["reasons"]) or 0) & BRAKES else None
            ),
        ),
    )
    yield "gpu-power-limit", judged(cards[0]["power_w"], cards_wrong(cards, _power))
    width = cards_wrong(cards, lambda c: f"x{c['pcie_width']}" if (number(c["pcie_width"]) or 16) < 16 else None)
    yield "pcie-width", judged(cards[0]["pcie_width"], width)
    slow = cards_wrong(cards, lambda c: f"generation {c['pcie_gen']}" if c["pcie_gen"] != c["most_pcie_gen"] else None)
    yield "pcie-generation", judged(cards[0]["pcie_gen"], [f"{w}, lower at idle on some" for w in slow], status="warn")
    yield "gpu-recovery", _recovery()
    yield from nvlink_checks(args, len(cards))


def named(wanted: str, name: str) -> bool:
    """Whether `NVIDIA H200` is an H200; an H20 and a GH200 are not."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(wanted)}(?![A-Za-z0-9])", name) is not None


def _driver(cards: list[dict[str, str]], least: str | None) -> list[str]:
    drivers = {c["driver"] for c in cards}
    wrong = [f"several drivers: {', '.join(sorted(drivers))}"] if len(drivers) > 1 else []
    numbers = [[int(n) for n in re.findall(r"\d+", text)] for text in (cards[0]["driver"], least or "0")]
    return wrong + ([f"{cards[0]['driver']}, below {least}"] if numbers[0] < numbers[1] else [])


def _memory(card: dict[str, str], wanted: float | None) -> str | None:
    found = number(card["memory_mib"])
    if wanted is None or (found is not None and abs(found - wanted) <= 0.03 * wanted):
        return None
    return f"{card['memory_mib']} MiB, not about {wanted:g}"


def _busy(cards: list[dict[str, str]]) -> list[str]:
    used = cards_wrong(
        cards,
        lambda c: (
            f"{c['used_mib']} MiB used"
            if (number(c["used_mib"]) or 0) > 0.01 * (number(c["memory_mib"]) or 1e9)
            else None
        ),
    )
    processes, _ = table({"pid": "pid", "used": "used_memory"}, "compute-apps")
    return used + [f"process {p['pid']} uses {p['used']} MiB" for p in processes]


def _modes(card: dict[str, str]) -> str | None:
    wrong = ["MIG is on"] if card["mig"] == "Enabled" else []
    wrong += [f"compute mode {card['mode']}"] if card["mode"] != "Default" else []
    wrong += ["ECC is off"] if card["ecc"] == "Disabled" else []
    return ", ".join(wrong) or None


def _power(card: dict[str, str]) -> str | None:
    limit, most = number(card["power_w"]), number(card["most_power_w"])
    return f"limit {limit:g} W of {most:g} W" if limit and most and limit < most else None


def _remapped() -> list[str]:
    names = ("remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure")
    rows, _ = table({name: name for name in names}, "remapped-rows")
    bad = [
        (i, n, row[n]) for i, row in enumerate(rows) for n in names if row[n] not in ("0", "No") and "N/A" not in row[n]
    ]
    return [f"GPU {index}: {name} {value}" for index, name, value in bad]


def _recovery() -> Outcome:
    rows, failed = table({"action": "gpu_recovery_action"})
    if failed:
        return "skipped", None, f"this driver does not tell: {failed}"
    return judged(
        [r["action"] for r in rows], cards_wrong(rows, lambda r: None if r["action"] == "None" else r["action"])
    )


def nvlink_checks(args: argparse.Namespace, cards: int) -> Iterator[tuple[str, Outcome]]:
    """Links, their errors, the fabric manager's state and the topology."""
    if not args.nvlinks or cards < 2:
        yield "nvlink-links", ("skipped", None, "no NVLink is expected")
        return
    text, failed = output_of("nvidia-smi", "nvlink", "-s")
    up = [len(re.findall(r"Link \d+: [0-9.]+ GB/s", part)) for part in re.split(r"^GPU \d+:", text, flags=re.M)[1:]]
    wrong = (
        [failed] if failed else [f"GPU {i}: {n} links of {args.nvlinks}" for i, n in enumerate(up) if n != args.nvlinks]
    )
    yield "nvlink-links", judged(up, wrong or ([] if len(up) == cards else [f"{len(up)} GPUs have links, of {cards}"]))
    text, failed = output_of("nvidia-smi", "nvlink", "-e")
    total = sum(int(n) for n in re.findall(r"Errors?: (\d+)", text))
    yield (
        "nvlink-errors",
        judged(total, [failed or f"{total} errors counted"] if failed or total else [], status="warn"),
    )
    states, failed = table(FABRIC_STATE)
    bad = cards_wrong(states, _fabric)
    yield "nvlink-fabric", ("skipped", None, failed) if failed else judged(len(states), bad)
    text, failed = output_of("nvidia-smi", "topo", "-m")
    count, wanted = len(re.findall(r"\bNV\d+\b", text)), cards * (cards - 1)
    wrong = (
        [failed or f"NVLINK_COUNT is {count}, all-connected GPUs have {wanted}"] if failed or count != wanted else []
    )
    yield "nvlink-count", judged(count, wrong)


def _fabric(state: dict[str, str]) -> str | None:
    expected = {"state": "Completed", "status": "Success"}  # N/A on machines without a fabric manager
    return ", ".join(v for n, v in state.items() if v != expected[n] and "N/A" not in v) or None


def kernel_check() -> Outcome:
    """GPU errors that the kernel logged since it started."""
    text, failed = output_of("journalctl", "-k", "-b", "--no-pager", "-o", "cat")
    if failed or not text.strip():
        text, failed = output_of("dmesg")
    if failed:
        return "skipped", None, f"the kernel's log cannot be read: {failed}"
    xids = [int(n) for n in re.findall(r"NVRM: Xid \([^)]*\): (\d+)", text)]
    bad = sorted({n for n in xids if n in BAD_XIDS})
    switch = len(re.findall(r"\bSXid\b", text))
    wrong = [f"Xid {n}" for n in bad] + ([f"{switch} SXid of an NVSwitch"] if switch else [])
    return judged(sorted(set(xids)), [f"{', '.join(wrong)} since the node started"] if wrong else [])
