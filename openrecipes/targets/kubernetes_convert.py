"""What the pods of a checkpoint's preparation are given."""

from typing import Any

from openrecipes.targets.checkpoint_node import converter_programs, converter_values, converter_variables
from openrecipes.targets.fatal_signs import sign_files
from openrecipes.targets.target import Launch
from openrecipes.targets.templates import program, shell_script


def converter_pod_files(launch: Launch, *, node: dict[str, Any], entry: dict[str, Any]) -> dict[str, str]:
    """The files by path: scripts of every pod, of the head, of the others, and their programs.

    `node` and `entry` are the values that the scripts of a training run take.
    """
    # Megatron is on PYTHONPATH already.
    own = tuple(item for item in converter_variables(launch) if item[0] != "MEGATRON_DIR")
    values = {**entry, **converter_values(launch), "variables": own, "interface": launch.profile.ray.interface}
    worker = {name: node[name] for name in ("literal_environment", "node_values")}
    if entry["nodes"] > 1:
        scripts = {
            "node.sh": shell_script("kubernetes_convert_node.sh.j2", **node),
            "worker.sh": shell_script("kubernetes_convert_worker.sh.j2", **{**values, **worker, "python_path": ()}),
        }
    else:
        scripts = {"node.sh": shell_script("kubernetes_node.sh.j2", **node)}
    return {
        **scripts,
        "entry.sh": shell_script("kubernetes_convert.sh.j2", **values),
        "telemetry.py": program("telemetry.py"),
        "ray_cluster.py": program("ray_cluster.py"),
        **{file.path: file.text for file in (*converter_programs(launch), *sign_files())},
    }
