/*-------------------------------------------------------------------------
 *
 * bundled.c
 *		Programs that come with the sidecar and work for it.
 *
 * They are found beside our own program, so that those of one build belong
 * together wherever it is installed.  One that was not installed finds them where
 * they were built.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "config/bundled.h"

#define BUILT_IN "../workers/http"

char *
bundled_path(const char *name)
{
	char		self[PATH_MAX];
	ssize_t		len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *directory;
	char	   *path;

	self[Max(len, 0)] = '\0';
	directory = dirname(self);
	path = psprintf("%s/%s", directory, name);
	if (access(path, X_OK) != 0)
	{
		char	   *built = psprintf("%s/" BUILT_IN "/%s", directory, name);

		if (access(built, X_OK) == 0)
		{
			pfree(path);
			return built;
		}
		pfree(built);
	}
	return path;
}
