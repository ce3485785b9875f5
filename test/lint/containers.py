"""containers.py -- prints where compose.yaml, the configuration in containers/ and
docs/containers.md contradict Containerfile, or each other, and where .dockerignore lets in
what .gitignore keeps out."""
import json
import pathlib
import re

import yaml

CONFIG = "containers/twtasks.yaml"
PAGE = "docs/containers.md"


class Images:
    """The facts of Containerfile that other files repeat."""

    def __init__(self):
        text = pathlib.Path("Containerfile").read_text()
        self.major = re.search(r"^ARG PG_MAJOR=(\d+)", text, re.M).group(1)
        self.built = dict(re.findall(r"--target (\S+) -t (\S+)", text))
        parts = re.split(r"^FROM \S+ AS (\S+)$", text, flags=re.M)
        self.stages = dict(zip(parts[1::2], parts[2::2]))
        sidecar = self.stages["sidecar"]
        self.user = int(re.search(r"^USER (\d+)", sidecar, re.M).group(1))
        command = json.loads(re.search(r"^CMD (\[.*\])", sidecar, re.M).group(1))
        self.config = command[command.index("--config") + 1]
        health = re.search(r"^HEALTHCHECK .*127\.0\.0\.1:(\d+)(/\w+)", sidecar, re.M)
        self.port, self.health = int(health.group(1)), health.group(2)


def differs(what, found, wanted):
    if found != wanted:
        yield f"{what} is {found} in place of {wanted}"


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text).group(1))


def config_faults(images, config):
    yield from differs("the port of listen", int(config["listen"].rsplit(":", 1)[1]), images.port)


def service_faults(name, service, compose, images):
    build = service["build"]
    if not pathlib.Path(build["context"], build["dockerfile"]).is_file():
        yield f"{name}: there is no {build['dockerfile']}"
    if build["target"] not in images.stages:
        yield f"{name}: Containerfile has no target {build['target']}"
    for volume in service.get("volumes", ()):
        source = volume["source"] if isinstance(volume, dict) else volume.split(":")[0]
        if "/" in source and volume["bind"]["create_host_path"]:
            yield f"{name}: a missing {source} would become a folder"
        if not (pathlib.Path(source).is_file() if "/" in source else source in compose["volumes"]):
            yield f"{name}: there is no volume {source}"
    for secret in service["secrets"]:
        if secret not in compose["secrets"]:
            yield f"{name}: the secret {secret} is not declared"
    for path in service["environment"].values():
        folder, _, secret = path.rpartition("/")
        if folder == "/run/secrets" and secret not in service["secrets"]:
            yield f"{name}: the service does not get the secret {secret}"
    for other in service.get("depends_on", ()):
        if other not in compose["services"]:
            yield f"{name}: there is no service {other}"


def compose_faults(compose, images, config, page):
    for name, service in compose["services"].items():
        yield from service_faults(name, service, compose, images)
    for name, secret in compose["secrets"].items():
        folder, _, file = secret["file"].removeprefix("./").rpartition("/")
        if f"cd {folder}\n" not in page or f">{file}\n" not in page:
            yield f"{PAGE} does not say how to write {secret['file']}"
    sidecar = compose["services"]["sidecar"]
    if f" {CONFIG} /out{images.config}\n" not in images.stages["build"]:
        yield f"Containerfile does not install {CONFIG} as {images.config}"
    if seconds(sidecar["stop_grace_period"]) < seconds(config["drain"]) + 20:
        yield f"the sidecar has no 20 seconds after the drain of {CONFIG}"


def deployment_faults(deployment, images, config):
    template = deployment["spec"]["template"]
    pod = template["spec"]
    container, = pod["containers"]
    probe = container["readinessProbe"]["httpGet"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    yield from differs("the selector", deployment["spec"]["selector"]["matchLabels"], template["metadata"]["labels"])
    yield from differs("the user", pod["securityContext"]["runAsUser"], images.user)
    yield from differs("the group", pod["securityContext"]["fsGroup"], images.user)
    yield from differs("the probe", (probe["port"], probe["path"]), (images.port, images.health))
    yield from differs("the list of volumes", sorted(volume["name"] for volume in pod["volumes"]), sorted(mounts))
    yield from differs("the folder of the configuration", mounts["config"], images.config.rpartition("/")[0])
    yield from differs("the time to end", pod["terminationGracePeriodSeconds"], seconds(config["drain"]) + 20)
    for variable in container["env"]:
        if not variable["value"].startswith(mounts["secret"] + "/"):
            yield f"{variable['name']} names no file of the secret"


def page_faults(page, images):
    yield from differs("the list of images", dict(re.findall(r"--target (\S+) -t (\S+)", page)), images.built)
    yield from differs("the list of targets", set(images.built) - set(images.stages), set())
    for pattern, wanted in [
            (r"the official image of PostgreSQL (\d+)", images.major),
            (r"its user has the number (\d+)", str(images.user)),
            (r"`listen: 0\.0\.0\.0:(\d+)`", str(images.port)),
            (r"`FROM (\S+)`", images.built["sidecar"])]:
        yield from differs(f'"{pattern}"', re.findall(pattern, page), [wanted])


def ignore_faults():
    """The same patterns: git finds one without a slash in each folder, a build at the root only."""
    wanted = {".git"}
    for line in pathlib.Path(".gitignore").read_text().splitlines():
        if line and not line.startswith("#"):
            sign, pattern = re.fullmatch(r"(!?)(.*?)/?", line).groups()
            wanted.add(sign + (pattern.removeprefix("/") if "/" in pattern else f"**/{pattern}"))
    found = set(pathlib.Path(".dockerignore").read_text().splitlines())
    for pattern in sorted(wanted - found):
        yield f"there is no line {pattern}, as in .gitignore"
    for pattern in sorted(found - wanted):
        yield f".gitignore has nothing like {pattern}"


def main():
    images = Images()
    page = pathlib.Path(PAGE).read_text()
    config = yaml.safe_load(pathlib.Path(CONFIG).read_text())
    compose = yaml.safe_load(pathlib.Path("compose.yaml").read_text())
    deployment, = map(yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S))
    for file, faults in [
            (CONFIG, config_faults(images, config)),
            ("compose.yaml", compose_faults(compose, images, config, page)),
            (PAGE, deployment_faults(deployment, images, config)),
            (PAGE, page_faults(page, images)),
            (".dockerignore", ignore_faults())]:
        for fault in faults:
            print(f"{file}:1: {fault}")


main()
