"""Percentiles, medians and ratios of what was measured."""

import statistics
from collections.abc import Sequence
from typing import Any


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest rank; values are sorted."""
    rank = -(-len(values) * percent // 100)
    return values[max(0, min(len(values), int(rank)) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


Key = tuple[str, str, str, str]


def rank(parameters: str) -> list[tuple[int, str]]:
    """Sorts "clients 8" before "clients 64"."""
    return [(int(word), "") if word.isdigit() else (0, word)
            for word in parameters.replace(",", "").split()]


def key(record: dict[str, Any]) -> Key:
    """Workload, its parameters as text, peer, setting."""
    parameters = ", ".join(f"{name} {value}" for name, value in record["parameters"].items())
    return record["workload"], parameters, record["peer"], record["setting"]


def days(records: Sequence[dict[str, Any]]) -> list[str]:
    """When these figures were measured; results of before have one date for all."""
    return sorted({record["run"][:10] for record in records if "run" in record})


def rounds(records: Sequence[dict[str, Any]]) -> str:
    """How many rounds the workloads had, the most first."""
    most: dict[str, int] = {}
    for record in records:
        name = record["workload"]
        most[name] = max(most.get(name, 0), record["round"])
    counts = sorted(set(most.values()), reverse=True)
    words = []
    for count in counts:
        names = ", ".join(name for name, number in most.items() if number == count)
        what = "the rest" if len(counts) > 1 and count == counts[-1] else names
        words.append(f"{count} round{'s' if count > 1 else ''} of {what}")
    return " and ".join(words)


def language(results: dict[str, Any], k: Key) -> str:
    """The language of the handler and of the client in that row."""
    about = next(peer for peer in results["peers"] if peer["name"] == k[2])
    own = about["settings"].get(k[3], {}).get("language")
    return str(own or about.get("languages", {}).get(k[0]) or about["language"])


def summarize(records: Sequence[dict[str, Any]]) -> dict[Key, dict[str, dict[str, float]]]:
    """The spread of each metric that is a number in at least one round."""
    values: dict[Key, dict[str, list[float]]] = {}
    for record in records:
        metrics = values.setdefault(key(record), {})
        for name, value in record["metrics"].items():
            if isinstance(value, int | float):
                metrics.setdefault(name, []).append(float(value))
    return {k: {name: spread(v) for name, v in m.items()} for k, m in values.items()}


def ratios(records: Sequence[dict[str, Any]], ours: Key, theirs: Key,
           metric: str) -> dict[str, float] | None:
    """Our figure divided by the peer's, round by round of the same run."""
    by_round: dict[tuple[str, int], dict[Key, float]] = {}
    for record in records:
        value = record["metrics"].get(metric)
        if isinstance(value, int | float) and key(record) in (ours, theirs):
            turn = record.get("run", ""), record["round"]
            by_round.setdefault(turn, {})[key(record)] = float(value)
    found = [pair[ours] / pair[theirs] for pair in by_round.values()
             if ours in pair and pair.get(theirs)]
    return spread(found) if found else None
