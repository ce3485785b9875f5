"""Runs one cell of the harness on this machine's server and programs, where the
harness would use containers:

    cell.py HARNESS CELL SYSTEM ARGUMENT...

ARGUMENT... are those of the harness's "bench run".  Prints a line for each phase,
which begins with CELL.  The server is the private cluster of the environment.
"""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HARNESS = Path(sys.argv[1]).resolve()
CLUSTER = os.environ["TWT_CLUSTER"]
sys.path.insert(0, str(HARNESS))

from bench_harness import adapters, orchestrator  # noqa: E402


def url(database: str, host: str = "localhost") -> str:
    return f"postgres://postgres@{host}/{database}?host={CLUSTER}"


def pg_ctl(*arguments: str) -> None:
    program = Path(os.environ["BENCH_BINDIR"]) / "pg_ctl"
    user = pwd.getpwuid(Path(CLUSTER).stat().st_uid).pw_name
    as_user = [] if os.geteuid() else ["runuser", "-u", user, "--"]
    subprocess.run([*as_user, program, "-D", f"{CLUSTER}/data", "-l", f"{CLUSTER}/log", "-w",
                    *arguments], check=True, stdout=sys.stderr, cwd="/")


def native(directory: str, *argv: str) -> adapters.AdapterEntry:
    """A system whose programs are already there."""
    place = HARNESS / directory

    def launch(manifest: adapters.AdapterManifest,
               overrides: dict[str, str]) -> adapters.LaunchSpec:
        return adapters.LaunchSpec(argv=list(argv), env=adapters._base_env(manifest, overrides),
                                   cwd=str(place))

    return adapters.AdapterEntry(place, lambda _skip: None, launch)


def register() -> None:
    adapters.pg_url = orchestrator.pg_url = url
    orchestrator.start_postgres = orchestrator.stop_postgres = lambda _image: None
    orchestrator._compose_stop_postgres = lambda _image: pg_ctl("stop", "-m", "fast")
    orchestrator._compose_start_postgres = lambda _image: pg_ctl("start")
    known = adapters.ADAPTERS
    known["twtasks"] = native(str(HERE), sys.executable, str(HERE / "adapter.py"))
    known["awa"] = native("awa-bench", "target/release/awa-bench")
    known["pgboss"] = native("pgboss-bench", "node", "main.js")
    known["procrastinate"] = native("procrastinate-bench", sys.executable, "main.py")
    known["river"] = native("river-bench", "./river-bench")


def report(cell: str, system: str, summary: dict[str, Any]) -> None:
    """A line for each phase."""
    for label, phase in summary["systems"].get(system, {}).get("phases", {}).items():
        peaks = {name: found["peak"] for name, found in phase["metrics"].items()}
        tables = [sum(value for name, value in peaks.items() if name.startswith(metric))
                  for metric in ("n_dead_tup@", "table_size_mb@")]
        fields = {"added/s": phase["median_enqueue_rate_per_s"],
                  "done/s": phase["median_throughput_per_s"],
                  "p50 ms": phase["metrics"].get("claim_p50_ms", {}).get("median"),
                  "p99 ms": phase["median_claim_p99_ms"],
                  "dead rows": tables[0], "heap MB": tables[1],
                  "lost": phase.get("jobs_lost"), "recovery s": phase.get("chaos_recovery_time_s")}
        print(f"{cell:10} {system:13} {label:8}", *(f"{name} {value:.4g}" for name, value
                                                 in fields.items() if value is not None), sep="  ")


def main() -> None:
    register()
    cell, system, arguments = sys.argv[2], sys.argv[3], sys.argv[4:]
    orchestrator.RESULTS_ROOT.mkdir(exist_ok=True)
    before = set(orchestrator.RESULTS_ROOT.iterdir())
    status = orchestrator.main(["run", "--fast", "--skip-build", "--systems", system, *arguments])
    (run,) = set(orchestrator.RESULTS_ROOT.iterdir()) - before
    report(cell, system, json.loads((run / "summary.json").read_text(encoding="utf-8")))
    sys.exit(status)


main()
