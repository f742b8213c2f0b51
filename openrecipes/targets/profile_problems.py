"""What a cluster profile says that does not go together, beyond what each of its fields may hold."""

from collections.abc import Iterator

from openrecipes.located_yaml import Path_, dotted
from openrecipes.problems import Place, Problem
from openrecipes.targets.gpu_refusals import gpu_contradictions
from openrecipes.targets.kubernetes_profile import kubernetes_contradictions
from openrecipes.targets.profile import Profile

_RUNTIMES = {
    "local": ("docker", "apptainer"),
    "ssh": ("docker", "apptainer"),
    "slurm": ("pyxis", "apptainer"),
    "kubernetes": (),
}


# Path of the key, rule, what, mend.
_Found = Iterator[tuple[Path_, str, str, str]]


def contradictions(profile: Profile) -> _Found:
    """Every contradiction in a profile."""
    own = (_blocks, _container, _secrets, _slurm, _hosts, _ranges)
    for found in (*own, gpu_contradictions, kubernetes_contradictions):
        yield from found(profile)


def profile_problems(profile: Profile) -> Iterator[Problem]:
    """The same as problems, for a profile without a file."""
    for path, rule, what, mend in contradictions(profile):
        yield Problem(place=Place(file=profile.title, key=dotted(path)), rule=rule, what=what, mend=mend)


def _blocks(profile: Profile) -> _Found:
    for name in ("slurm", "ssh", "kubernetes"):
        there = getattr(profile, name) is not None
        if there and name != profile.target:
            yield (name,), "profile-target", f"the target is {profile.target}", f"remove it, or set target to {name}"
        if not there and name == profile.target != "slurm":
            yield (name,), "target-site", f"the target is {name}, and nothing says where", f"write a block {name}"
    if profile.target != "local" and profile.name is None:
        yield ("name",), "profile-name", "is null, and a cluster has a name in run records", "write its name"


def _container(profile: Profile) -> _Found:
    container = profile.container
    if container is None:
        return
    allowed = _RUNTIMES[profile.target]
    if container.runtime not in allowed:
        mend = f"write {' or '.join(allowed)}" if allowed else "write the image into the block kubernetes"
        yield (
            ("container", "runtime"),
            "profile-container",
            f"{container.runtime} does not run on {profile.target}",
            mend,
        )
    if container.is_file and container.runtime == "docker":
        yield ("container", "image"), "profile-container", f"{container.image} is a file, no image", "name an image"
    if not container.is_file and "@sha256:" not in container.image:
        what = f"{container.image} can mean another image tomorrow"
        yield (
            ("container", "image"),
            "profile-digest",
            what,
            "add the digest: NAME@sha256:DIGEST, or name an image file",
        )
    if container.is_file and container.image_sha256 is None:
        what = f"nothing says which bytes {container.image} holds"
        yield ("container", "image_sha256"), "profile-digest", what, f"write what sha256sum {container.image} prints"
    for index, mount in enumerate(container.mounts):
        for path in {mount.source, mount.inside}:
            if set(path) & set(":,"):
                what = f"{path} holds a colon or a comma, which {container.runtime} takes for the end of a path"
                yield ("container", "mounts", index), "profile-mount", what, "mount a folder above it, or rename it"


def _secrets(profile: Profile) -> _Found:
    for name, secret in profile.secrets.items():
        key = ("secrets", name)
        if (secret.variable is None) == (secret.file is None):
            yield key, "profile-secret", "needs exactly one place to come from", "write either variable or file"
        if name in profile.env:
            yield key, "profile-secret", f"{name} stands under env too, in plain text", f"remove env.{name}"
        if name in profile.keep_environment:
            what = f"{name} stands under keep_environment too"
            yield key, "profile-secret", what, f"remove {name} from keep_environment"


def _slurm(profile: Profile) -> _Found:
    site = profile.slurm
    if site is None:
        return
    if not site.exclusive and site.cpus_per_node is None:
        what = "the nodes are shared, and without a number the job gets one CPU of each"
        yield ("slurm", "cpus_per_node"), "profile-cpus", what, "write how many CPUs of a node the job needs"
    for index, option in enumerate(site.options):
        name = option.partition("=")[0]
        if name in _OURS:
            what = f"openrecipes sets {name} itself"
            yield ("slurm", "options", index), "profile-option", what, "remove it"
        if name in ("--clusters", "--cluster-constraint"):
            what = f"with {name} the job may be one of another cluster, where nobody would find it again"
            mend = "remove it, and launch where that cluster's Slurm is the own one (SLURM_CONF)"
            yield ("slurm", "options", index), "profile-option", what, mend


def _hosts(profile: Profile) -> _Found:
    if profile.ssh is not None and not profile.ssh.hosts:
        yield ("ssh", "hosts"), "profile-hosts", "no host stands there", "name the hosts, the head first"
    seen: dict[str, str] = {}
    for index, host in enumerate(profile.ssh.hosts if profile.ssh else ()):
        machine = host.rpartition("@")[2]
        if machine in seen:
            same = host if host == seen[machine] else f"{host} and {seen[machine]}"
            what = f"{same} stands there twice, and a node runs one part of a job"
            yield ("ssh", "hosts", index), "profile-hosts", what, "name each host once"
        seen[machine] = host


_OURS = frozenset(
    f"--{name}"
    for name in (
        "job-name", "nodes", "ntasks", "ntasks-per-node", "tasks-per-node", "partition", "account", "qos",
        "reservation", "constraint", "switches", "exclude", "gres", "gpus", "gpus-per-node", "gpus-per-task",
        "exclusive", "cpus-per-task", "mem", "time", "signal", "requeue", "no-requeue", "output", "error",
        "open-mode", "export", "export-file", "chdir", "parsable", "wait", "wrap", "array", "test-only", "hold",
        "input", "get-user-env",
    )
)  # fmt: skip


def _ranges(profile: Profile) -> _Found:
    ports = profile.ray.worker_ports
    if ports is not None and ports[0] >= ports[1]:
        yield (
            ("ray", "worker_ports"),
            "profile-ports",
            f"{ports[0]} is not below {ports[1]}",
            "write the lower port first",
        )
