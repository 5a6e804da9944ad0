"""What the Dockerfile and the compose files promise, as they stand; `make image-test` and `compose-check` try it."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from whorl.server.config import load_settings
from whorl.server.settings import Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = re.sub(r"^#.*\n", "", (ROOT / "docker/Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
_STAGE = re.compile(r"^FROM \S+ AS (\S+)\n(?:(?!FROM).*\n)*", re.MULTILINE)
STAGES = {found.group(1): found.group(0) for found in _STAGE.finditer(DOCKERFILE)}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
TLS: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.tls.yml").read_text())


def instructions(stage: str, name: str) -> list[str]:
    return re.findall(rf"^{name} (.*)$", STAGES[stage], re.MULTILINE)


@pytest.mark.parametrize("stage", ["server", "spark"])
def test_an_image_runs_as_a_user_that_is_a_number_and_not_root(stage: str) -> None:
    assert instructions(stage, "USER") == ["10001:10001"]


@pytest.mark.parametrize("stage", ["server", "spark"])
def test_programs_are_in_exec_form_so_that_signals_reach_them(stage: str) -> None:
    (entry,) = instructions(stage, "ENTRYPOINT")
    (command,) = instructions(stage, "CMD")
    assert entry.startswith("[")
    assert command.startswith("[")


def test_the_server_has_one_volume_and_a_check_of_health_that_asks_for_readiness() -> None:
    assert instructions("server", "VOLUME") == ['["/data"]']
    (check,) = instructions("server", "HEALTHCHECK")
    assert "whorl.server.probe" in check


def test_base_images_are_arguments_with_versions() -> None:
    assert re.findall(r"^ARG (\w+_IMAGE)=\S+:\d\S*$", DOCKERFILE, re.MULTILINE) == ["PYTHON_IMAGE", "RUST_IMAGE"]
    assert {re.split(r"\s", text)[1] for text in STAGES.values()} <= {"${PYTHON_IMAGE}", "${RUST_IMAGE}", "install"}


def test_no_secret_can_be_in_a_layer() -> None:
    assert not re.search(r"^(ARG|ENV).*(TOKEN|SECRET|PASSWORD|KEY)", DOCKERFILE, re.MULTILINE)
    assert not re.search(r"^ADD|COPY \. ", DOCKERFILE, re.MULTILINE)
    # Everything is left out but what is named.
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_nothing_is_left_of_installing() -> None:
    for line in DOCKERFILE.splitlines():
        if "apt-get install" in line:
            assert "--no-install-recommends" in line
            assert "rm -rf /var/lib/apt/lists/*" in line
        if "pip install" in line or "pip --python" in line:
            assert "--no-cache-dir" in line
            assert "--constraint" in line


def test_all_that_the_images_copy_reaches_the_builder() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        words for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE) for words in line.split()[:-1]
    ]
    assert copied
    for path in copied:
        assert (ROOT / path).exists(), path
        assert any(path == known or known.startswith(f"{path}/") or path.startswith(f"{known}/") for known in let_in), (
            path
        )


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_gives_up_its_privileges(service: str) -> None:
    assert SERVICES[service]["cap_drop"] == ["ALL"]
    assert SERVICES[service]["security_opt"] == ["no-new-privileges:true"]
    # Kafka's image writes its settings beside its programs.
    assert SERVICES[service].get("read_only") is True or service.startswith("kafka")


@pytest.mark.parametrize("service", SERVICES)
def test_ports_are_published_on_this_machine_alone(service: str) -> None:
    assert [port for port in SERVICES[service].get("ports", []) if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize("service", SERVICES)
def test_services_start_when_what_they_need_is_healthy_or_done(service: str) -> None:
    for name, wanted in SERVICES[service].get("depends_on", {}).items():
        once = SERVICES[name].get("restart") == "no"
        assert wanted["condition"] == ("service_completed_successfully" if once else "service_healthy")
        assert once or "healthcheck" in SERVICES[name] or name == "whorl"


def test_what_is_mounted_from_the_repository_is_there() -> None:
    every = [*SERVICES.values(), *TLS["services"].values()]
    mounted = [volume.split(":")[0] for service in every for volume in service.get("volumes", []) if volume[0] == "."]
    assert mounted
    assert [path for path in mounted if not (ROOT / path).exists()] == []


def test_nothing_is_told_in_the_open() -> None:
    for service in SERVICES.values():
        names = set(service.get("environment", {}))
        assert not names & {"WHORL_TOKEN", "WHORL_ANONYMOUS"}


def test_prometheus_and_grafana_find_each_other() -> None:
    scraped = yaml.safe_load((ROOT / "docker/prometheus/prometheus.yml").read_text())["scrape_configs"][0]
    assert scraped["static_configs"][0]["targets"] == ["whorl:8080"]
    assert scraped["authorization"]["credentials_file"] == SERVICES["whorl"]["environment"]["WHORL_TOKEN_FILE"]
    source = ROOT / "docker/grafana/provisioning/datasources/prometheus.yml"
    assert yaml.safe_load(source.read_text())["datasources"][0]["url"] == "http://prometheus:9090"


def test_compose_starts_the_server_alone_unless_it_is_asked_for_more() -> None:
    assert {name for name, service in SERVICES.items() if "profiles" not in service} == {"token", "whorl"}
    assert SERVICES["whorl"]["command"] == ["serve"]
    assert {profile for service in SERVICES.values() for profile in service.get("profiles", [])} == {
        "demo",
        "spark",
        "kafka",
        "monitoring",
    }


def test_every_alert_has_a_severity_and_says_what_is_wrong() -> None:
    (group,) = yaml.safe_load((ROOT / "docker/prometheus/alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in {"critical", "warning"}, rule["alert"]
        assert rule["annotations"]["summary"]
    subjects = " ".join(rule["expr"] for rule in group["rules"])
    for subject in ("lag_seconds", "late_total", "dropped_results_total", "store_failures_total", "disk_free_bytes"):
        assert subject in subjects


def test_the_unit_of_systemd_can_be_enabled_and_names_what_is_there() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]  # as its documentation says
    unit.read(ROOT / "deploy/systemd/whorl.service")
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert unit["Service"]["DynamicUser"] == "yes"
    command = unit["Service"]["ExecStart"].split()
    assert command[1:] == ["serve", "--config", "/etc/whorl/whorl.toml"]
    assert load_settings({}, ROOT / "deploy/systemd/whorl.toml").port == 8080


def test_kubernetes_runs_one_server_with_a_volume_and_probes() -> None:
    documents = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/whorl.yaml").read_text()))
    config, service, server = documents
    assert [one["kind"] for one in documents] == ["ConfigMap", "Service", "StatefulSet"]
    spec = server["spec"]
    assert spec["replicas"] == 1
    assert [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]] == ["data"]
    (container,) = spec["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]
    mounted = {one["name"] for one in container["volumeMounts"]}
    declared = {one["name"] for one in spec["template"]["spec"]["volumes"]} | {"data"}
    assert mounted == declared
    assert service["spec"]["selector"] == spec["template"]["metadata"]["labels"]
    assert set(tomllib.loads(config["data"]["whorl.toml"])) <= set(Settings.model_fields)
