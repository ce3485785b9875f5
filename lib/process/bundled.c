/*-------------------------------------------------------------------------
 *
 * bundled.c
 *		Programs that are installed with ours.
 *
 * They are looked for beside our own program, so that programs of one build stay
 * together wherever they are installed.  A program that was not installed finds
 * them where they were built.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "process/bundled.h"

char *
bundled_path(const char *name)
{
	char		self[PATH_MAX];
	ssize_t		len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *directory;
	char	   *installed;
	char	   *built;

	self[Max(len, 0)] = '\0';
	directory = dirname(self);
	installed = psprintf("%s/twtasks-%s", directory, name);
	built = psprintf("%s/../workers/%s/twtasks-%s", directory, name, name);
	if (access(installed, X_OK) == 0 || access(built, X_OK) != 0)
	{
		pfree(built);
		return installed;
	}
	pfree(installed);
	return built;
}
