"""Hosts that are reached by ssh as a target: one script here that starts the node script on each of them."""

from collections.abc import Iterator
from typing import Final

from openrecipes.problems import Problem
from openrecipes.targets import taken_files
from openrecipes.targets.cluster_refusals import cluster_refusals, hosts_refusals
from openrecipes.targets.container_values import container_values
from openrecipes.targets.fatal_signs import sign_files
from openrecipes.targets.node_script import hang_values, has_gpus, head_line, node_count, node_files
from openrecipes.targets.ssh_site import SshSite
from openrecipes.targets.target import Launch, Rendered, RenderedFile
from openrecipes.targets.templates import shell_script

# Of a node: its trainer's grace, as on this machine. Of a host: twice that, and time to bring back what it left.
NODE_GRACE_S: Final = 10
HOST_GRACE_S: Final = 60
# The longest end of a run: every host ends, then what is left here.
STOP_S: Final = 3 * HOST_GRACE_S
ENTRY: Final = "launch.sh"
REMOTE: Final = "remote.sh"


class SshTarget:
    """Runs a recipe on the first hosts of a list; the first of all is the head."""

    @property
    def name(self) -> str:
        """`ssh`."""
        return "ssh"

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """What the profile lacks or says twice, too few hosts, paths, containers, and a recipe's own commands."""
        yield from cluster_refusals(launch)
        yield from hosts_refusals(launch)

    def render(self, launch: Launch) -> Rendered:
        """The script of this machine, that of a host, and the node script with what it needs."""
        profile, site = launch.profile, launch.profile.ssh or SshSite(hosts=())
        secrets = (secret.variable for secret in profile.secrets.values())
        remote = shell_script(
            "remote.sh.j2",
            kept_variables=profile.kept_variables,
            container=container_values(profile),
            has_gpus=has_gpus(launch),
        )
        host_files = (
            RenderedFile(path=REMOTE, text=remote, executable=True),
            *node_files(launch, grace_s=NODE_GRACE_S),
        )
        script = shell_script(
            "ssh.sh.j2",
            # ssh's own: the agent that holds the keys. It goes no further.
            kept_variables=(*profile.kept_variables, "SSH_AUTH_SOCK"),
            grace_seconds=HOST_GRACE_S,
            hang=hang_values(profile.hang),
            time_limit_seconds=profile.time_limit_seconds,
            hosts=site.hosts[: node_count(launch)],
            config=site.config,
            ssh_options=site.options,
            folder=site.folder.rstrip("/"),
            connect_seconds=site.connect_seconds,
            secret_variables=tuple(sorted({name for name in secrets if name is not None})),
            carried=tuple(file.path for file in host_files),
            head_line=head_line(profile.ray.folder),
        )
        # Of this machine alone: what a host gives back goes through it.
        taking = RenderedFile(path="taken_files.py", text=taken_files.source_text())
        entry = RenderedFile(path=ENTRY, text=script, executable=True)
        return Rendered(files=(entry, taking, *host_files, *sign_files()), entry=ENTRY)
