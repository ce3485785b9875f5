#!/usr/bin/env bash
#
# The published comparison with the peers says what bench/results/results.json holds:
# "run --report" and "run --publish" would change nothing.  Results that lack a
# published figure are not published, and nothing is written then.

. "$(dirname "$0")/lib.bash"
need python3

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
tree=$place/tree
export RESULTS=$place/results PYTHONPATH=$tree/bench/peers BENCH_CACHE=$place
mkdir -p "$tree" "$RESULTS"
cp -R --parents bench/peers/order.txt bench/peers/harness bench/results docs/benchmarks.md \
	README.md "$tree"

# changed -- the published files that are not those of this tree
changed()
{
	local file

	for file in docs/benchmarks.md README.md bench/results/*; do
		cmp -s "$file" "$tree/$file" || echo "$file"
	done
}

# without_a_peer -- the results, but for those of one system
without_a_peer()
{
	python3 -c "import json, sys
results = json.load(sys.stdin)
results['records'] = [r for r in results['records'] if r['peer'] != 'pg-boss']
json.dump(results, sys.stdout)" <bench/results/results.json
}

{
	cp bench/results/results.json "$RESULTS"
	python3 -m harness --report
	python3 -m harness --publish
	changed | sed 's/$/:1: is not what bench\/results\/results.json holds/'
	cp -R --parents docs/benchmarks.md README.md bench/results "$tree"
	without_a_peer >"$RESULTS/results.json"
	! python3 -m harness --publish 2>/dev/null ||
		echo "bench/peers/run:1: published results that lack a system"
	changed | sed 's/$/:1: was written from results that lack a system/'
} | breaches
