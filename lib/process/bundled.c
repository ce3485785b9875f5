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

#include "base/log.h"
#include "base/program.h"
#include "process/bundled.h"

/* The folder of this program; empty: not known yet. */
static char own_folder[PATH_MAX];

void
bundled_begin(void)
{
	char		self[PATH_MAX];
	ssize_t		len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
	{
		log_line(TWT_LOG_FATAL, "main", "could not find the programs beside this one by /proc/self/exe: %m");
		program_exit(EXIT_NO_RESOURCES);
	}
	self[len] = '\0';
	strlcpy(own_folder, dirname(self), sizeof(own_folder));
}

char *
bundled_path(const char *name)
{
	char	   *installed;
	char	   *built;

	if (own_folder[0] == '\0')
		bundled_begin();
	installed = psprintf("%s/twtasks-%s", own_folder, name);
	built = psprintf("%s/../workers/%s/twtasks-%s", own_folder, name, name);
	if (access(installed, X_OK) == 0 || access(built, X_OK) != 0)
	{
		pfree(built);
		return installed;
	}
	pfree(installed);
	return built;
}
