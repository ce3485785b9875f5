#!/usr/bin/env python3
"""The times of cron expressions, as others compute them.

Reads lines of JSON, [how, expr, after, zone, n], with after in seconds since
1970, and answers each with a line: the next n times, or "null" and why not.

croniter    by the library of that name.  It knows no rule for clocks that are
            put forward or back that would be ours, so only for other zones
minutes     by looking at every minute: what the clock shows is Python's word,
            what the expression means then is said below, for "M H * * *" with
            lists of numbers
"""
import datetime
import json
import sys
import zoneinfo

try:
    import croniter
except ImportError:
    croniter = None


def by_croniter(expr, after, zone, n):
    base = datetime.datetime.fromtimestamp(after, zoneinfo.ZoneInfo(zone))
    it = croniter.croniter(expr, base, max_years_between_matches=45)
    found = []
    for _ in range(n):
        try:
            found.append(int(it.get_next(float)))
        except croniter.CroniterBadDateError:
            break
    return found


def values(field, count):
    return set(range(count)) if field == '*' else {int(v) for v in field.split(',')}


def by_minutes(expr, after, zone, n):
    minute, hour = expr.split()[:2]
    minutes, hours = values(minute, 60), values(hour, 24)
    tz = zoneinfo.ZoneInfo(zone)

    def local(second):
        offset = datetime.datetime.fromtimestamp(second, tz).utcoffset()
        return (second + int(offset.total_seconds())) // 60

    def named(m):
        return m // 60 % 24 in hours and m % 60 in minutes

    found = []
    # two days before, to know what the clock has shown already
    t = after // 60 * 60 - 2 * 86400
    shown = local(t)
    while len(found) < n:
        t += 60
        now = local(t)
        if len(hours) == 24:
            hit = named(now)
        else:
            # once for all that the clock has not shown before
            hit = any(named(m) for m in range(shown + 1, now + 1))
        shown = max(shown, now)
        if hit and t > after:
            found.append(t)
    return found


def main():
    for line in sys.stdin:
        how, *question = json.loads(line)
        if how == 'croniter' and croniter is None:
            answer = None
        else:
            answer = (by_croniter if how == 'croniter' else by_minutes)(*question)
        print(json.dumps(answer), flush=True)


main()
