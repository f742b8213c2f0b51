"""The real kubectl, asked what a launch asks, against an API server of a few lines."""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from rayjobs import launch, profile

from openrecipes.problems import OutsideError
from openrecipes.targets.kubectl import (
    answer,
    config_command,
    create_config_command,
    create_job_command,
    delete_command,
    job_command,
    jobs_command,
    own_command,
    pods_command,
    ran,
)
from openrecipes.targets.kubernetes import KubernetesTarget
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.kubernetes_status import is_marked, job_status
from openrecipes.targets.submit import write_rendered

# Debian's own is older than the options that a launch needs (1.21), so CI does not install it.
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
CORE, RAY = "/api/v1", "/apis/ray.io/v1"
VERBS = ["create", "delete", "get", "list", "patch"]


def _kinds(version: str, *kinds: tuple[str, str]) -> dict[str, Any]:
    found = [
        {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": VERBS} for name, kind in kinds
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found}


RAY_VERSION = {"groupVersion": "ray.io/v1", "version": "v1"}
DISCOVERY = {
    "/version": {"major": "1", "minor": "33", "gitVersion": "v1.33.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [{"name": "ray.io", "versions": [RAY_VERSION], "preferredVersion": RAY_VERSION}],
    },
    CORE: _kinds("v1", ("configmaps", "ConfigMap"), ("pods", "Pod")),
    RAY: _kinds("ray.io/v1", ("rayjobs", "RayJob")),
}


class Server(ThreadingHTTPServer):
    """Keeps what it is given, by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.objects: dict[str, dict[str, Any]] = {}
        self.patches: list[tuple[str, dict[str, Any]]] = []


class Api(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def _say(self, document: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: int, reason: str) -> None:
        said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}
        self._say({**said, "message": f"{self.path} {reason}"}, status)

    def _body(self) -> dict[str, Any]:
        return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path in DISCOVERY:
            self._say(DISCOVERY[path])
        elif path in self.server.objects:
            self._say(self.server.objects[path])
        elif path.endswith(("/rayjobs", "/pods")):
            kind = "RayJobList" if path.endswith("rayjobs") else "PodList"
            items = [one for key, one in self.server.objects.items() if key.startswith(f"{path}/")]
            version = "ray.io/v1" if kind == "RayJobList" else "v1"
            self._say({"kind": kind, "apiVersion": version, "metadata": {}, "items": items})
        else:
            self._refuse(404, "NotFound")

    def do_POST(self) -> None:
        asked, document = urlsplit(self.path), self._body()
        metadata = document["metadata"]
        metadata.setdefault("name", f"{metadata.pop('generateName', '')}abcde")
        path = f"{asked.path}/{metadata['name']}"
        if path in self.server.objects:
            self._refuse(409, "AlreadyExists")
            return
        manager = parse_qs(asked.query)["fieldManager"][0]
        metadata |= {"uid": "uid-1", "managedFields": [{"manager": manager, "operation": "Update"}]}
        self.server.objects[path] = document
        self._say(document, 201)

    def do_PATCH(self) -> None:
        self.server.patches.append((self.headers["Content-Type"], self._body()))
        self._say(self.server.objects[urlsplit(self.path).path])

    def do_DELETE(self) -> None:
        self.server.objects.pop(urlsplit(self.path).path, None)
        self._say({"kind": "Status", "apiVersion": "v1", "status": "Success"})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    where = f"--server=http://127.0.0.1:{made.server_port} --cache-dir='{tmp_path}/cache'"
    # Its schemas are not served; those of Kubernetes and KubeRay are compared in other tests.
    script = "#!/bin/bash\nmore=(); case \" $* \" in *' create '*) more=(--validate=false) ;; esac\n"
    script += f'exec \'{shutil.which("kubectl")}\' {where} "$@" "${{more[@]}}"\n'
    path = tmp_path / "bin" / "kubectl"
    path.parent.mkdir()
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def site() -> KubernetesSite:
    found = profile().kubernetes
    assert found is not None
    return found


def test_a_job_is_created_marked_found_owned_and_deleted(server: Server, site: KubernetesSite, tmp_path: Path) -> None:
    rendered = KubernetesTarget().render(launch())
    write_rendered(rendered, tmp_path / "rendered")
    config, job = (yaml.safe_load(file.text) for file in rendered.files)
    ran(create_config_command(site, tmp_path / "rendered"))
    with pytest.raises(OutsideError, match="AlreadyExists"):
        ran(create_config_command(site, tmp_path / "rendered"))
    assert answer(config_command(site, config["metadata"]["name"]))["data"] == config["data"]

    printed = ran(create_job_command(site, tmp_path / "rendered", "openrecipes-run-0123")).strip()
    assert printed == f"rayjob.ray.io/{job['metadata']['generateName']}abcde"
    name = printed.rpartition("/")[2]
    document = answer(job_command(site, name))
    assert document["spec"] == job["spec"]
    assert is_marked(document, "openrecipes-run-0123")
    assert not is_marked(document, "openrecipes-run-4567")
    assert (job_status(document).name, job_status(document).uid) == (name, "uid-1")
    assert [is_marked(one, "openrecipes-run-0123") for one in answer(jobs_command(site))["items"]] == [True]
    assert answer(pods_command(site, "some-cluster"))["items"] == []

    ran(own_command(site, config["metadata"]["name"], name, "uid-1"))
    ((kind, patch),) = server.patches
    assert kind == "application/strategic-merge-patch+json"
    assert patch["metadata"]["ownerReferences"][0]["uid"] == "uid-1"

    ran(delete_command(site, name))
    assert answer(job_command(site, name)) == {}
    ran(delete_command(site, name))
