/*-------------------------------------------------------------------------
 *
 * json_value.c
 *		The text of a JSON value.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "utils/builtins.h"

#include "base/json_value.h"

char *
json_value_text(JsonbValue *value)
{
	switch (value->type)
	{
		case jbvString:
			return pnstrdup(value->val.string.val, value->val.string.len);
		case jbvNumeric:
			return DatumGetCString(DirectFunctionCall1(numeric_out,
													   NumericGetDatum(value->val.numeric)));
		case jbvBool:
			return pstrdup(value->val.boolean ? "true" : "false");
		default:
			return JsonbToCString(NULL, value->val.binary.data, value->val.binary.len);
	}
}
