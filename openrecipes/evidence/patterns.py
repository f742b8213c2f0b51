"""What is private in a text: secrets, host names, addresses, user names, paths. One table; each with its reason.

A pattern's group `value` is what is private; the rest of the match is its context.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["secret", "host", "address", "user", "path"]

WORDS: Final[Mapping[Kind, str]] = {
    "secret": "a secret",
    "host": "a host name",
    "address": "an address",
    "user": "a user name",
    "path": "a private path",
}

# Words that name a role rather than a person or a machine.
COMMON: Final = frozenset(
    {
        *("root", "user", "users", "ubuntu", "ec2-user", "runner", "admin", "nobody", "slurm", "node", "nodes", "host"),
        *("localhost", "none", "null", "unknown", "head", "worker", "master", "main", "default", "workspace", "shared"),
    }
)
# First folders of a path that every machine has, or that images agree on.
_PUBLIC_ROOTS: Final = (
    *("usr", "opt", "bin", "sbin", "lib", "lib32", "lib64", "etc", "proc", "sys", "dev", "run", "tmp", "var", "boot"),
    *("root", "workspace", "app", "redacted", "nix", "pytorch", "System", "Library", "Applications"),
)
_AFTER_NAME: Final = (
    r"(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token"
    r"|hf[_-]?token|hub[_-]?token|github[_-]?token|wandb[_-]?(?:api[_-]?)?key|credentials?)"
)
_UNSET: Final = r"(?!(?:none|null|true|false|redacted|path|file|not|unset)\b)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something private. Only a text that holds one of `hints` (lower case; none is any text) can match."""

    kind: Kind
    hints: tuple[str, ...]
    regex: re.Pattern[str]

    def may_match(self, lowered: str) -> bool:
        """Whether it is worth looking, by substrings of the text in lower case: a hundred times as fast as looking."""
        return not self.hints or any(hint in lowered for hint in self.hints)


def _pattern(kind: Kind, hints: str, *parts: str) -> Pattern:
    return Pattern(kind, tuple(hints.split()), re.compile("".join(parts), re.MULTILINE))


# A file may be made to be slow to read: no pattern may take more than linear time, so what can be long either begins at
# the edge of a word of its own alphabet or is bounded.
_OCTETS: Final = r"(?:\.\d{1,3})"
PATTERNS: Final = (
    _pattern("secret", "-----begin", r"(?P<value>-----BEGIN [A-Z ]*PRIVATE KEY-----)"),
    _pattern("secret", "akia asia", r"\b(?P<value>(?:AKIA|ASIA)[0-9A-Z]{16})\b"),
    _pattern("secret", "hf_", r"\b(?P<value>hf_[A-Za-z0-9]{20,})\b"),
    _pattern(
        "secret",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat-",
        r"\b(?P<value>gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,})",
    ),
    _pattern(
        "secret",
        "xox sk- aiza",
        r"\b(?P<value>xox[abprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|AIza[0-9A-Za-z_-]{35})",
    ),
    _pattern("secret", "eyj", r"\b(?P<value>eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]+)"),
    _pattern("secret", "bearer", r"(?i)\bbearer +(?P<value>[A-Za-z0-9._~+/-]{16,}=*)"),
    _pattern("secret", "://", r"://[^\s/:@'\"]+:(?P<value>[^\s/@'\"]{3,})@"),
    _pattern(
        "secret",
        "passw passphrase secret api_key api-key apikey access private auth hf_token hf-token hftoken hub github wandb "
        "credential",
        rf"(?i)(?<![A-Za-z0-9]){_AFTER_NAME}[\"']?(?: \.+ | ?[=:] ?)[\"']?{_UNSET}",
        r"(?P<value>[A-Za-z0-9+/_.~-]{8,}=*)",
    ),
    _pattern("path", "://", r"(?P<value>\b(?:s3|gs|hdfs|abfss?)://[^\s\"'\\,)]+)"),
    _pattern(
        "path",
        "/",
        rf"(?<![\w.$}}~/:*\])<>%+@-])(?P<value>/(?!(?:{'|'.join(_PUBLIC_ROOTS)})/)(?:[\w.@+%=-]+/)+[\w.@+%=-]*)",
    ),
    _pattern("user", "/home/ /users/", r"/(?:home|Users)/(?P<value>[\w.-]+)"),
    _pattern(
        "user",
        "user logname",
        r"\b(?:USER|LOGNAME|USERNAME)[\"']?\s?[=:]\s?[\"']?(?P<value>[A-Za-z_][\w.-]*)",
    ),
    _pattern(
        "user",
        "@",
        r"(?<![\w.+-])(?P<value>[\w.+-]+@(?!sha256\b)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b",
    ),
    _pattern("host", "ip-", r"\b(?P<value>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[a-z0-9.-]+)?)\b"),
    _pattern("host", "ec2-", r"\b(?P<value>ec2-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\.[a-z0-9.-]+)\b"),
    _pattern(
        "host",
        ".internal .cluster.local .intranet .corp .lan",
        r"(?<![\w.-])(?P<value>[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:internal|cluster\.local|intranet|corp|lan))\b",
    ),
    _pattern("host", "nccl ", r"(?:^|(?<= ))(?P<value>[A-Za-z0-9][\w.-]*):\d+:\d+ \[\d+\] NCCL "),
    _pattern("host", '"host"', r"\"host\": ?\"(?P<value>[^\"\\]+)\""),
    _pattern(
        "address",
        "10. 192.168.",
        rf"(?<![\w.=-])(?P<value>10{_OCTETS}{{3}}|192\.168{_OCTETS}{{2}})(?![\w.])",
    ),
    _pattern(
        "address",
        "172. 169.254. 100.",
        r"(?<![\w.=-])(?P<value>(?:172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))",
        rf"{_OCTETS}{{2}})(?![\w.])",
    ),
    _pattern("address", "", rf"(?<![\w.-])(?P<value>\d{{1,3}}{_OCTETS}{{3}})(?=:\d{{2,5}}\b)"),
    _pattern(
        "address",
        "ip= ip: addr address host node",
        rf"(?i)\b(?:ip|addr|address|host|node|rank_ip)[=:]? ?[\"']?(?P<value>\d{{1,3}}{_OCTETS}{{3}})(?![\w.])",
    ),
    _pattern("address", "::", r"(?<![\w:.])(?P<value>f[de][0-9a-f]{2}(?::[0-9a-f]{0,4}){3,7})(?![\w:])"),
)
KEY_END: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")

_PUBLIC_ADDRESSES: Final = re.compile(
    r"(?:127|0)\.|255\.255\.255\.255$|192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|169\.254\.169\.254$"
)


def is_private(kind: Kind, value: str) -> bool:
    """Whether a match is really private: not a placeholder, not a role's name, not an address for examples."""
    if value.startswith("redacted-") or "$" in value or "{" in value:
        return False
    if kind in ("user", "host"):
        return value.lower() not in COMMON and not value.endswith((".example", "example.com", "example.org"))
    if kind == "address":
        return not _PUBLIC_ADDRESSES.match(value) and all(
            int(part) < 256 for part in value.split(".") if part.isdigit()
        )
    return True
