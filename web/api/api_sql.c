#include "base/port.h"

#include "web/api/api_sql.h"
#include "web/embedded.h"

/* Made by web/embed. */
#include "web/api/api_files.inc"

const char *
api_sql(const char *name)
{
	size_t		len = strlen(name);

	for (size_t i = 0; i < lengthof(api_files); i++)
		if (strncmp(api_files[i].name, name, len) == 0 && strcmp(api_files[i].name + len, ".sql") == 0)
			return api_files[i].data;
	return NULL;
}

json_t *
api_schemas(void)
{
	json_t	   *all = json_object();

	for (size_t i = 0; i < lengthof(api_files); i++)
	{
		json_t	   *some = strstr(api_files[i].name, ".json") == NULL ? NULL :
			json_loads(api_files[i].data, JSON_REJECT_DUPLICATES, NULL);

		if (some != NULL)
			(void) json_object_update(all, some);
		json_decref(some);
	}
	return all;
}
