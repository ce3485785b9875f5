/*-------------------------------------------------------------------------
 *
 * bundled.c
 *		The programs that come with the sidecar, for tests of modules: those that
 *		were built, since none stands beside a test.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "process/bundled.h"

char *
bundled_path(const char *name)
{
	char	   *directory = get_current_dir_name();
	char	   *path = psprintf("%s/../../workers/%s/twtasks-%s", directory, name, name);

	free(directory);
	return path;
}
