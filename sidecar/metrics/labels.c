/*-------------------------------------------------------------------------
 *
 * labels.c
 *		Labels of Prometheus.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "metrics/labels.h"

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
label_of(const char *name, const char *value)
{
	StringInfoData label;

	initStringInfo(&label);
	append_label(&label, name, value);
	return label.data;
}

char *
labels_of_type(const char *bucket, const char *type)
{
	StringInfoData labels;

	initStringInfo(&labels);
	append_label(&labels, "bucket", bucket);
	appendStringInfoChar(&labels, ',');
	append_label(&labels, "type", type);
	return labels.data;
}
