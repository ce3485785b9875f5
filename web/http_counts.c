#include "base/port.h"

#include "lib/ilist.h"
#include "web/http_counts.h"

/* Upper bounds of the buckets, in microseconds and as text; above the last is one more. */
static const struct
{
	int64		us;
	const char *seconds;
}			bounds[] =

{
	{250, "0.00025"}, {500, "0.0005"}, {1000, "0.001"}, {2500, "0.0025"}, {5000, "0.005"},
	{10000, "0.01"}, {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"}, {250000, "0.25"},
	{500000, "0.5"}, {1000000, "1"}, {2500000, "2.5"}, {5000000, "5"}, {10000000, "10"},
	{30000000, "30"}, {60000000, "60"}, {300000000, "300"}, {900000000, "900"}, {3600000000, "3600"},
};

typedef struct HttpCount
{
	slist_node	node;
	const char *route;
	int			class;			/* 2 for 200 to 299 */
	int64		n;
	int64		sum_us;
	int64		buckets[lengthof(bounds)];
} HttpCount;

struct HttpCounts
{
	slist_head	all;
};

HttpCounts *
http_counts_new(void)
{
	HttpCounts *counts = palloc0(sizeof(HttpCounts));

	slist_init(&counts->all);
	return counts;
}

void
http_counts_free(HttpCounts *counts)
{
	while (!slist_is_empty(&counts->all))
		pfree(slist_container(HttpCount, node, slist_pop_head_node(&counts->all)));
	pfree(counts);
}

static HttpCount *
find(HttpCounts *counts, const char *route, int class)
{
	HttpCount  *count;
	slist_iter	iter;

	slist_foreach(iter, &counts->all)
	{
		count = slist_container(HttpCount, node, iter.cur);
		if (count->class == class && strcmp(count->route, route) == 0)
			return count;
	}
	count = palloc0(sizeof(HttpCount));
	count->route = route;
	count->class = class;
	slist_push_head(&counts->all, &count->node);
	return count;
}

void
http_counts_note(HttpCounts *counts, const char *route, int status, int64 us)
{
	HttpCount  *count = find(counts, route != NULL ? route : "(none)", status / 100);

	count->n++;
	count->sum_us += us;
	for (size_t i = 0; i < lengthof(bounds); i++)
		if (us <= bounds[i].us)
		{
			count->buckets[i]++;
			break;
		}
}

static void
write_times(const HttpCount *count, StringInfo out)
{
	int64		n = 0;

	for (size_t i = 0; i < lengthof(bounds); i++)
	{
		n += count->buckets[i];
		appendStringInfo(out, "twtasks_http_seconds_bucket{route=\"%s\",status=\"%dxx\",le=\"%s\"} " INT64_FORMAT "\n",
						 count->route, count->class, bounds[i].seconds, n);
	}
	appendStringInfo(out, "twtasks_http_seconds_bucket{route=\"%s\",status=\"%dxx\",le=\"+Inf\"} " INT64_FORMAT "\n"
					 "twtasks_http_seconds_sum{route=\"%s\",status=\"%dxx\"} %.6f\n"
					 "twtasks_http_seconds_count{route=\"%s\",status=\"%dxx\"} " INT64_FORMAT "\n",
					 count->route, count->class, count->n, count->route, count->class, count->sum_us / 1e6,
					 count->route, count->class, count->n);
}

void
http_counts_write(HttpCounts *counts, StringInfo out)
{
	slist_iter	iter;

	appendStringInfoString(out, "# HELP twtasks_http_requests_total Requests that were answered.\n"
						   "# TYPE twtasks_http_requests_total counter\n");
	slist_foreach(iter, &counts->all)
	{
		const HttpCount *count = slist_container(HttpCount, node, iter.cur);

		appendStringInfo(out, "twtasks_http_requests_total{route=\"%s\",status=\"%dxx\"} " INT64_FORMAT "\n",
						 count->route, count->class, count->n);
	}
	appendStringInfoString(out, "# HELP twtasks_http_seconds Time from the headers of a request to the end of its answer.\n"
						   "# TYPE twtasks_http_seconds histogram\n");
	slist_foreach(iter, &counts->all)
		write_times(slist_container(HttpCount, node, iter.cur), out);
}
