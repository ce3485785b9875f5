#include "base/port.h"

#include "base/prometheus.h"
#include "lib/ilist.h"
#include "web/http_counts.h"

typedef struct HttpCount
{
	slist_node	node;
	const char *route;
	int			class;			/* 2 for 200 to 299 */
	char	   *labels;
	int64		n;
	Histogram	times;
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
	{
		HttpCount  *count = slist_container(HttpCount, node, slist_pop_head_node(&counts->all));

		pfree(count->labels);
		pfree(count);
	}
	pfree(counts);
}

static char *
labels_of(const char *route, int class)
{
	char		status[16];

	snprintf(status, sizeof(status), "%dxx", class);
	return prometheus_labels("route", route, "status", status);
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
	count->labels = labels_of(route, class);
	slist_push_head(&counts->all, &count->node);
	return count;
}

void
http_counts_note(HttpCounts *counts, const char *route, int status, int64 us)
{
	HttpCount  *count = find(counts, route != NULL ? route : "(none)", status / 100);

	count->n++;
	histogram_add(&count->times, us);
}

void
http_counts_write(HttpCounts *counts, StringInfo out)
{
	slist_iter	iter;

	prometheus_begin(out, "http_requests_total", "counter", "Requests that were answered.");
	slist_foreach(iter, &counts->all)
	{
		const HttpCount *count = slist_container(HttpCount, node, iter.cur);

		prometheus_sample(out, "http_requests_total", count->labels, count->n);
	}
	prometheus_begin(out, "http_seconds", "histogram", "Time from the headers of a request to the end of its answer.");
	slist_foreach(iter, &counts->all)
	{
		const HttpCount *count = slist_container(HttpCount, node, iter.cur);

		prometheus_histogram(out, "http_seconds", count->labels, &count->times);
	}
}
