/*-------------------------------------------------------------------------
 *
 * prometheus.c
 *		Histograms of times, and the text format 0.0.4 of Prometheus.
 *
 * A scrape may have thousands of samples, and is written in one piece between two
 * turns of the loop.  So samples are put together by hand, without printf(), from
 * labels that were escaped once.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bitutils.h"

#include "base/prometheus.h"

#define PREFIX "twtasks_"

static const int64 bounds_us[HISTOGRAM_BOUNDS] = {
	250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000,
	1000000, 2500000, 5000000, 10000000, 30000000, 60000000, 300000000, 900000000, 3600000000
};

/* ---- histograms ---- */

/*
 * The first bucket whose bound is not below us.  Bounds at least double, so few of
 * them have the same number of bits.
 */
static int
place_of(int64 us)
{
	static const uint8 first_of_bits[33] = {
		[8] = 0,[9] = 1,[10] = 2,[11] = 3,[12] = 3,[13] = 4,[14] = 5,[15] = 6,[16] = 7,[17] = 8,
		[18] = 9,[19] = 10,[20] = 11,[21] = 12,[22] = 12,[23] = 13,[24] = 14,[25] = 15,[26] = 16,
		[27] = 17,[28] = 17,[29] = 17,[30] = 18,[31] = 19,[32] = 19
	};
	int			bits;
	int			i;

	if (us <= bounds_us[0])
		return 0;
	if (us > bounds_us[HISTOGRAM_BOUNDS - 1])
		return HISTOGRAM_BOUNDS;
	bits = pg_leftmost_one_pos64(us) + 1;
	i = first_of_bits[bits];
	while (us > bounds_us[i])
		i++;
	return i;
}

void
histogram_add(Histogram *histogram, int64 us)
{
	us = Max(us, 0);
	histogram->counts[place_of(us)]++;
	histogram->sum_us += us;
}

int64
histogram_bound_us(int i)
{
	return bounds_us[i];
}

bool
histogram_is_empty(const Histogram *histogram)
{
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram->counts[i] > 0)
			return false;
	return true;
}

/* ---- labels ---- */

static void
append_label(StringInfo out, const char *name, const char *value)
{
	appendStringInfo(out, "%s=\"", name);
	for (; *value != '\0'; value++)
	{
		if (*value == '\n')
			appendStringInfoString(out, "\\n");
		else if (*value == '"' || *value == '\\')
			appendStringInfo(out, "\\%c", *value);
		else
			appendStringInfoChar(out, *value);
	}
	appendStringInfoChar(out, '"');
}

char *
prometheus_label(const char *name, const char *value)
{
	StringInfoData label;

	initStringInfo(&label);
	append_label(&label, name, value);
	return label.data;
}

char *
prometheus_labels(const char *name, const char *value, const char *other_name, const char *other_value)
{
	StringInfoData labels;

	initStringInfo(&labels);
	append_label(&labels, name, value);
	appendStringInfoChar(&labels, ',');
	append_label(&labels, other_name, other_value);
	return labels.data;
}

/* ---- samples ---- */

static void
append_int(StringInfo out, int64 value)
{
	char		digits[24];
	char	   *at = digits + sizeof(digits);
	uint64		rest = value < 0 ? -(uint64) value : (uint64) value;

	do
		*--at = '0' + rest % 10;
	while ((rest /= 10) > 0);
	if (value < 0)
		*--at = '-';
	appendBinaryStringInfo(out, at, digits + sizeof(digits) - at);
}

/* Microseconds as seconds: 250 is 0.00025. */
static void
append_seconds(StringInfo out, int64 us)
{
	char		digits[7] = ".000000";
	int			n = sizeof(digits);

	append_int(out, us / 1000000);
	for (int64 rest = us % 1000000, i = 6; i > 0; i--, rest /= 10)
		digits[i] = '0' + rest % 10;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	if (n > 1)
		appendBinaryStringInfo(out, digits, n);
}

static void
append_name(StringInfo out, const char *name, const char *suffix, const char *labels)
{
	appendStringInfoString(out, PREFIX);
	appendStringInfoString(out, name);
	appendStringInfoString(out, suffix);
	if (labels == NULL)
		return;
	appendStringInfoChar(out, '{');
	appendStringInfoString(out, labels);
	appendStringInfoChar(out, '}');
}

static void
end_sample(StringInfo out, int64 value)
{
	appendStringInfoChar(out, ' ');
	append_int(out, value);
	appendStringInfoChar(out, '\n');
}

void
prometheus_begin(StringInfo out, const char *name, const char *kind, const char *help)
{
	appendStringInfo(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, kind);
}

void
prometheus_sample(StringInfo out, const char *name, const char *labels, int64 value)
{
	append_name(out, name, "", labels);
	end_sample(out, value);
}

void
prometheus_seconds(StringInfo out, const char *name, const char *labels, int64 us)
{
	append_name(out, name, "", labels);
	appendStringInfoChar(out, ' ');
	append_seconds(out, us);
	appendStringInfoChar(out, '\n');
}

static void
write_bucket(StringInfo out, const char *name, const char *labels, int i, int64 count)
{
	appendStringInfoString(out, PREFIX);
	appendStringInfoString(out, name);
	appendStringInfoString(out, "_bucket{");
	if (labels != NULL)
	{
		appendStringInfoString(out, labels);
		appendStringInfoChar(out, ',');
	}
	appendStringInfoString(out, "le=\"");
	if (i < HISTOGRAM_BOUNDS)
		append_seconds(out, bounds_us[i]);
	else
		appendStringInfoString(out, "+Inf");
	appendStringInfoString(out, "\"}");
	end_sample(out, count);
}

void
prometheus_histogram(StringInfo out, const char *name, const char *labels, const Histogram *histogram)
{
	int64		count = 0;

	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
	{
		count += histogram->counts[i];
		write_bucket(out, name, labels, i, count);
	}
	append_name(out, name, "_sum", labels);
	appendStringInfoChar(out, ' ');
	append_seconds(out, histogram->sum_us);
	appendStringInfoChar(out, '\n');
	append_name(out, name, "_count", labels);
	end_sample(out, count);
}
