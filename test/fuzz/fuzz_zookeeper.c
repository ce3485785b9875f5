/*-------------------------------------------------------------------------
 *
 * fuzz_zookeeper.c
 *		Settings of the election, and names of candidates.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "input.h"
#include "workers/zookeeper/candidates.h"
#include "workers/zookeeper/zk_settings.h"

static void
read_settings(const char *line)
{
	WorkerFault fault = {0};
	ZkSettings *settings = zk_settings_new(line, &fault);

	must((settings == NULL) == (fault.reason != NULL), "settings that are refused have a reason", line);
	must(settings == NULL || settings->nservers > 0, "there is a server", line);
	zk_settings_free(settings);
	pfree(fault.setting);
	pfree(fault.reason);
}

/* The candidate before another one is another one, and of the same list. */
static void
read_names(Input *input)
{
	char	   *guid = input_text(input);
	char	   *names[4];
	struct String_vector vector = {lengthof(names), names};
	const char *own;

	for (int i = 0; i < (int) lengthof(names); i++)
		names[i] = input_text(input);
	own = candidates_own(&vector, guid);
	must(own == NULL || strncmp(own, guid, strlen(guid)) == 0 || strlen(guid) > GUID_LEN, "a name has its GUID", own);
	must(own == NULL || candidates_before(&vector, own) != own, "nobody is before itself", own);
	for (int i = 0; i < (int) lengthof(names); i++)
		pfree(names[i]);
	pfree(guid);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	char	   *line = input_text(&input);

	read_settings(line);
	read_names(&input);
	pfree(line);
	return 0;
}
