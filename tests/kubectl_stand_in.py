"""A program that stands in for kubectl and the cluster behind it: its state is a folder, its pods are processes.

PLAY in the folder says what the cluster does: `run` (the default), `never` (no node for the pods), `vanish` (the
head's node dies in the middle), `deadline` (KubeRay gives the job up and its pods go on), `lost` (the answer to a
creation is lost), `unsent` (the creation itself is), `refuse` (an admission webhook refuses), `stopped` (somebody
stops the job in Ray). A file `offline` cuts the connection, `context` names the cluster that kubectl takes by default
(this one is `one`); `no-exec` forbids what a role may not do. The pods' volume is the folder that `volume` names; pods
see it as `/far/my volume`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["KUBE_FOLDER"])


def main() -> None:
    words = sys.argv[1:]
    if words[0] == "--operate":
        operate(words[1])
        return
    context = chosen = (FOLDER / "context").read_text(encoding="utf-8") if (FOLDER / "context").exists() else "one"
    while words[0] in ("--namespace", "--context"):
        context = words[1] if words[0] == "--context" else context
        words = words[2:]
    if words == ["config", "current-context"]:
        print(chosen)
        return
    with (FOLDER / "asked").open("a", encoding="utf-8") as asked:
        asked.write(" ".join(words) + "\n")
    if (FOLDER / "offline").exists():
        fails("Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout")
    if context != "one":  # another cluster, with nothing of ours
        print("{}")
        return
    {"create": create, "get": get, "exec": execute, "logs": logs, "delete": delete, "patch": patch}[words[0]](words[1:])


def fails(words: str, status: int = 1) -> None:
    print(words, file=sys.stderr)
    sys.exit(status)


def parsed(text: str) -> Any:
    """A YAML document; questions that need none start sooner without it."""
    import site

    site.main()
    import yaml

    return yaml.safe_load(text)


def near(text: str) -> str:
    """A pod's paths, as they are here."""
    return text.replace("/far/my volume", (FOLDER / "volume").read_text(encoding="utf-8"))


def play() -> str:
    path = FOLDER / "play"
    return path.read_text(encoding="utf-8").strip() if path.exists() else "run"


def place(kind: str, name: str) -> Path:
    (FOLDER / kind).mkdir(exist_ok=True)
    return FOLDER / kind / f"{name}.json"


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, document: dict) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(document), encoding="utf-8")
    part.replace(path)


def create(words: list[str]) -> None:
    document = parsed(Path(words[words.index("-f") + 1]).read_text(encoding="utf-8"))
    metadata = document["metadata"]
    if document["kind"] == "ConfigMap":
        path = place("configs", metadata["name"])
        if path.exists():
            fails(f'Error from server (AlreadyExists): configmaps "{metadata["name"]}" already exists')
        write(path, document)
        return
    if play() == "refuse":
        fails("Error from server (Forbidden): admission webhook denied the request: quota exceeded")
    if play() == "unsent":
        fails("error: http2: client connection lost")
    metadata["name"] = metadata.pop("generateName") + os.urandom(3).hex()[:5]
    metadata["uid"] = os.urandom(8).hex()
    manager = next(word.partition("=")[2] for word in words if word.startswith("--field-manager="))
    metadata["managedFields"] = [{"manager": "ray-operator"}, {"manager": manager}]
    write(place("jobs", metadata["name"]), document)
    command = [sys.executable, "-S", __file__, "--operate", metadata["name"]]
    with (FOLDER / "operator.log").open("ab") as log:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    if play() == "lost":
        fails("error: http2: client connection lost")
    print(f"rayjob.ray.io/{metadata['name']}")


def get(words: list[str]) -> None:
    kind, _, name = words[0].partition("/")
    if kind == "configmap":
        print(json.dumps(read(place("configs", name))))
    elif kind == "pods":
        cluster = words[words.index("-l") + 1].partition("=")[2]
        found = [read(path) for path in sorted((FOLDER / "pods").glob("*.json"))]
        mine = [pod for pod in found if pod["metadata"]["labels"]["ray.io/cluster"] == cluster]
        print(json.dumps({"items": mine}))
    elif name:
        if place("jobs", name).exists():
            print(json.dumps(read(place("jobs", name))))
    else:
        print(json.dumps({"items": [read(path) for path in sorted((FOLDER / "jobs").glob("*.json"))]}))


def execute(words: list[str]) -> None:
    pod, command = words[0], words[words.index("--") + 1 :]
    if (FOLDER / "no-exec").exists():
        fails(f'Error from server (Forbidden): pods "{pod}" is forbidden: cannot create resource "pods/exec"')
    path = FOLDER / "pods" / f"{pod}.json"
    if not path.exists() or read(path)["status"]["phase"] != "Running":
        fails(f'Error from server (NotFound): pods "{pod}" not found')
    sys.exit(subprocess.run([near(word) for word in command], check=False).returncode)


def logs(words: list[str]) -> None:
    path = FOLDER / "logs" / words[0].partition("/")[2]
    if not path.exists():
        fails(f'Error from server (NotFound): jobs.batch "{words[0]}" not found')
    sys.stdout.write("Job submission server address: http://10.0.0.2:8265\n" + path.read_text(encoding="utf-8"))


def patch(words: list[str]) -> None:
    name = words[0].partition("/")[2]
    document = read(place("configs", name))
    document["metadata"].update(json.loads(words[words.index("-p") + 1])["metadata"])
    write(place("configs", name), document)


def delete(words: list[str]) -> None:
    place("jobs", words[0].partition("/")[2]).unlink(missing_ok=True)


# What follows plays KubeRay and the nodes, in a process of its own for each job.


class Job:
    def __init__(self, name: str) -> None:
        self.name, self.cluster, self.pods = name, f"{name}-x1y2z", []
        self.spec = read(place("jobs", name))["spec"]

    @property
    def is_there(self) -> bool:
        return place("jobs", self.name).exists()

    def says(self, **status: str) -> None:
        if self.is_there:
            document = read(place("jobs", self.name))
            document.setdefault("status", {"rayClusterName": self.cluster}).update(status)
            write(place("jobs", self.name), document)

    def make_pods(self, phase: str, **status: object) -> None:
        workers = self.spec["rayClusterSpec"].get("workerGroupSpecs", [])
        for number in range(1 + sum(group["replicas"] for group in workers)):
            kind = "head" if number == 0 else "worker"
            labels = {"ray.io/cluster": self.cluster, "ray.io/node-type": kind}
            path = place("pods", f"{self.cluster}-{kind}-{number}")
            write(path, {"metadata": {"name": path.stem, "labels": labels}, "status": {"phase": phase, **status}})
            self.pods.append(path)

    def files(self) -> Path:
        """The ConfigMap's files, with the folder that they are mounted at moved here."""
        template = self.spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
        volume = next(v["configMap"] for v in template["volumes"] if v["name"] == "launch")
        data = read(place("configs", volume["name"]))["data"]
        folder = FOLDER / "mounted" / self.name
        for item in volume["items"]:
            text = near(data[item["key"]]).replace("here=/openrecipes", f"here='{folder}'")
            (folder / item["path"]).parent.mkdir(parents=True, exist_ok=True)
            (folder / item["path"]).write_text(text, encoding="utf-8")
        return folder

    def environment(self, folder: Path) -> dict[str, str]:
        given = parsed(self.spec["runtimeEnvYAML"])["env_vars"]
        moved = {name: near(value).replace("/openrecipes:", f"{folder}:") for name, value in given.items()}
        return {"PATH": os.environ["PATH"], "HOME": str(FOLDER), **moved}


def operate(name: str) -> None:
    job = Job(name)
    time.sleep(0.1)
    job.says(jobDeploymentStatus="Initializing")
    if play() == "never":
        why = "0/20 nodes are available: 16 Insufficient nvidia.com/gpu"
        job.make_pods("Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": why}])
        end = time.monotonic() + float((FOLDER / "pending-limit").read_text(encoding="utf-8"))
        while time.monotonic() < end and job.is_there:
            time.sleep(0.05)
        job.says(jobDeploymentStatus="Failed", reason="PreRunningDeadlineExceeded", message="not running in time")
    else:
        runs(job)
    for pod in job.pods:
        pod.unlink(missing_ok=True)


def runs(job: Job) -> None:
    folder = job.files()
    (folder / "ray.sh").write_text("exec sleep 600\n", encoding="utf-8")
    environment = job.environment(folder)
    job.make_pods("Running")
    nodes = []
    for number, pod in enumerate(job.pods):
        own = {"HOSTNAME": f"node-{number}", "OPENRECIPES_RAY_CLUSTER": job.cluster, "NODE": str(number)}
        own["KUBERAY_GEN_RAY_START_CMD"] = f"bash {folder}/ray.sh start{'' if number else ' --head'}"
        nodes.append(pods_process([str(folder / "node.sh")], {**environment, **own}, f"{pod.stem}.log"))
    exported = environment | {"POD_RUN_DIR": str(Path(near("/far/my volume")) / "runs" / job.cluster)}
    while not Path(exported["POD_RUN_DIR"], "telemetry").exists() and job.is_there:
        time.sleep(0.02)
    job.says(jobDeploymentStatus="Running", jobStatus="RUNNING")
    (FOLDER / "logs").mkdir(exist_ok=True)
    exported["HOSTNAME"] = "node-0"
    entry = pods_process([str(folder / "entry.sh")], exported, f"logs/{job.name}")
    ended(job, entry)
    for process in nodes:
        os.killpg(process.pid, signal.SIGKILL)
    end_of_pods(job)


def pods_process(words: list[str], environment: dict[str, str], log: str) -> "subprocess.Popen[bytes]":
    with (FOLDER / log).open("ab") as out:
        return subprocess.Popen(
            ["bash", *words], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )


def ended(job: Job, entry: "subprocess.Popen[bytes]") -> None:
    """Waits for the job, as KubeRay does; what it then says is its word for the end."""
    while entry.poll() is None and job.is_there:
        time.sleep(0.02)
        if (FOLDER / "now").exists() and play() == "vanish":
            time.sleep(0.5)
            os.killpg(entry.pid, signal.SIGKILL)
            for pod in job.pods:
                pod.unlink()
            job.says(jobDeploymentStatus="Failed", jobStatus="FAILED", reason="AppFailed", message="head pod lost")
            return
        if (FOLDER / "now").exists() and play() == "deadline":
            job.says(jobDeploymentStatus="Failed", jobStatus="RUNNING", reason="DeadlineExceeded")
            entry.wait()
            return
    if not job.is_there:
        os.killpg(entry.pid, signal.SIGKILL)
    elif entry.returncode == 0 and play() == "stopped":
        job.says(jobDeploymentStatus="Complete", jobStatus="STOPPED")
    elif entry.returncode == 0:
        job.says(jobDeploymentStatus="Complete", jobStatus="SUCCEEDED", message="Job finished successfully.")
    else:
        message = f"Job entrypoint command failed with exit code {entry.returncode}"
        job.says(jobDeploymentStatus="Failed", jobStatus="FAILED", reason="AppFailed", message=message)


def end_of_pods(job: Job) -> None:
    """The pods stay until the job is deleted, or nobody wants them any more."""
    end = time.monotonic() + 20
    while job.is_there and time.monotonic() < end:
        time.sleep(0.05)
    for pod in job.pods:
        pod.unlink(missing_ok=True)
    shutil.rmtree(FOLDER / "mounted" / job.name, ignore_errors=True)


if __name__ == "__main__":
    main()
