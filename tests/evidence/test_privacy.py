import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import ROOT

from openrecipes.evidence.privacy import KnownWords, Redactor, Scanner

PRIVATE = [
    ("secret", "AKIA" + "ABCDEFGH12345678"),
    ("secret", "token hf_" + "aB3" * 11),
    ("secret", "ghp_" + "aB3d" * 9),
    ("secret", "WANDB_API_KEY=" + "0123456789abcdef" * 2),
    ("secret", '"HF_TOKEN": "notinanyform99"'),
    ("secret", "  wandb_key ....................................... 0123456789abcdef01234567"),
    ("secret", "password: hunter2hunter2"),
    ("secret", "Authorization: Bearer abcdefghijklmnopqrst"),
    ("secret", "https://alice:s3cret@git.example.com/x"),
    ("secret", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    ("secret", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4"),
    ("path", "loading /home/alice/checkpoints/x"),
    ("path", "file=/fsx/team/run/train.py:10"),
    ("path", '"/mnt/data/rows.parquet"'),
    ("path", "s3://bucket/key/rows.parquet"),
    ("user", "USER=alice"),
    ("user", "by alice.b@lab.university.edu today"),
    ("host", "ip-10-0-3-17: started"),
    ("host", "ip-10-0-3-17.eu-west-1.compute.internal"),
    ("host", "gpu-node-17:123:456 [0] NCCL INFO Bootstrap"),
    ("host", "(Actor pid=7) gpu07:123:456 [3] NCCL INFO Bootstrap"),
    ("host", "trainer-0.trainer.default.svc.cluster.local"),
    ("host", '  "host": "vm",'),
    ("address", "(Actor pid=1, ip=10.2.3.4) started"),
    ("address", "connect to 192.168.1.20"),
    ("address", "tcp://54.3.2.1:6379"),
    ("address", "address: 54.3.2.1"),
]
PUBLIC = [
    "eos_token: <|im_end|>, max_tokens_per_gpu=8192, tokens: 1048576, pad_token_id 248044",
    "wandb_key ....................................... None",
    "api_key: null, password=None, secret: $SECRET_NAME, hf_token=${HF_TOKEN}",
    "rollout/response_len/mean 145.0 train/loss 1.2 tokens/s/GPU 545.3 and/or 3/4",
    "/usr/lib/python3.12/site-packages/torch/x.py /opt/amazon/efa/lib /tmp/ray/session /root/slime/train.py",
    "https://huggingface.co/Qwen/Qwen3.5-397B-A17B and https://arxiv.org/abs/2610.17528",
    "torch==2.11.0 nvidia-curand-cu12==10.3.10.19 cublas 12.9.1.4, driver 570.133.20",
    "127.0.0.1:6379 0.0.0.0:80 192.0.2.2:52451 203.0.113.7",
    "nvcr.io/nvidia/pytorch@sha256:" + "0" * 64,
    '"host": "localhost", USER=root, user: ubuntu@',
    "[2026-11-30 05:41:30] timer.py:24 - Timer train_wait start",
    "$RUN_DIR/log/train.log ${here}/x/y %h/out/%j",
    "threading.local and torch.distributed.fsdp",
]


@pytest.mark.parametrize(("kind", "line"), PRIVATE)
def test_what_is_private_is_found_and_replaced(kind: str, line: str) -> None:
    found = Scanner().in_line(line)
    assert kind in [one.kind for one in found], found
    (redacted,) = Redactor(words=KnownWords()).redacted([line])
    assert Scanner().in_line(redacted) == ()
    for one in found:
        assert one.value not in redacted


@pytest.mark.parametrize("line", PUBLIC)
def test_what_every_log_holds_is_not_private(line: str) -> None:
    assert Scanner().in_line(line) == ()
    assert list(Redactor(words=KnownWords()).redacted([line])) == [line]


def test_a_private_key_is_taken_out_to_its_end() -> None:
    lines = ["a\n", "-----BEGIN PRIVATE KEY-----\n", "MIIEvQIBADANBgkq\n", "-----END PRIVATE KEY-----\n", "b\n"]
    redacted = list(Redactor(words=KnownWords()).redacted(lines))
    assert "MIIE" not in "".join(redacted)
    assert (redacted[0], redacted[-1], len(redacted)) == ("a\n", "b\n", 5)


def test_hosts_and_users_that_are_known_are_found_wherever_they_stand() -> None:
    words = KnownWords(hosts=frozenset({"darkstar7", "vm", "node"}), users=frozenset({"alice", "root"}))
    found = [one.value for one in Scanner(words).in_line("node vm darkstar7 (alice) root malice darkstar72")]
    assert found == ["darkstar7", "alice"]


def test_equal_values_get_equal_stand_ins_and_paths_keep_their_last_part() -> None:
    redactor = Redactor(words=KnownWords())
    one, other, third = redactor.redacted(["/home/a/x/train.py", "/home/a/x/eval.py", "/home/b/x/train.py"])
    assert one == "/redacted/path-1/train.py"
    assert other == "/redacted/path-1/eval.py"
    assert third == "/redacted/path-2/train.py"


def test_addresses_become_addresses_of_nobody() -> None:
    redactor = Redactor(words=KnownWords())
    lines = [f"ip=10.0.{number // 256}.{number % 256} x" for number in range(800)]
    redacted = list(redactor.redacted(lines))
    assert redacted[0] == "ip=192.0.2.1 x"
    assert len(set(redacted)) == 800
    assert all(not Scanner().in_line(line) for line in redacted)


@given(st.text(max_size=200))
def test_no_text_crashes_the_scanner_and_redacting_twice_is_redacting_once(text: str) -> None:
    once = list(Redactor(words=KnownWords()).redacted([text]))
    assert all(not Scanner().in_line(line) for line in once)
    assert list(Redactor(words=KnownWords()).redacted(once)) == once


def test_our_own_recipes_and_real_logs_hold_nothing_private() -> None:
    files = [*(ROOT / "recipes").glob("*/*/*.yaml"), *(ROOT / "tests/data/runs").glob("*.log.gz")]
    assert len(files) >= 12
    for file in files:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else Path(file).read_bytes()
        scanner = Scanner()
        for line in data.decode("utf-8", "surrogateescape").splitlines():
            assert scanner.in_line(line) == (), (file.name, line)


LONG = [
    "a.",
    "eyJ-",
    "a-",
    "/a",
    "/",
    ":",
    "@a.",
    "a@",
    "1.",
    "10.",
    "key ",
    "secret.",
    "secret ...",
    "ip-1-",
    "fd00:",
    "hf_",
    "x.lan-",
]


@pytest.mark.parametrize("piece", LONG)
def test_a_line_made_to_be_slow_is_not(piece: str) -> None:
    hints = " @ :: .internal .lan 10. 172. ip= secret key eyj bearer :// /home/ host user nccl ec2- ip- hf_ sk-"
    line = piece * (100_000 // len(piece)) + hints
    (redacted,) = Redactor(words=KnownWords()).redacted([line])
    assert isinstance(redacted, str)
