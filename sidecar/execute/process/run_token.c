/*-------------------------------------------------------------------------
 *
 * run_token.c
 *		The token that marks all processes of one run of a handler.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "execute/process/run_token.h"

#define OWNER_TEXT (8 + 8 + 16)
#define RANDOM_BYTES 16

/* Fields of /proc/<pid>/stat, counted from the state, which is the third. */
#define FIELDS_TO_START (22 - 3)

#define NOT_KNOWN UINT64_MAX

/*
 * The start of the process, in clock ticks after boot; 0: it is dead.
 * NOT_KNOWN: its file could not be opened, say for want of descriptors.
 */
static uint64
start_of(long pid)
{
	char		path[64];
	char		stat[1024];
	char	   *field;
	ssize_t		n;
	int			fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : NOT_KNOWN;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	stat[Max(n, 0)] = '\0';
	field = strrchr(stat, ')'); /* ends the name, which may hold anything */
	if (field == NULL || strlen(field) < 3 || strchr("ZXx", field[2]))
		return 0;
	field += 2;
	for (int i = 0; i < FIELDS_TO_START && field != NULL; i++)
		if ((field = strchr(field, ' ')) != NULL)
			field++;
	return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/* The namespace in which our process ids are valid; 0: not known. */
static uint32
pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint32) st.st_ino : 0;
}

void
run_token_make(char *token)
{
	static char owner[OWNER_TEXT + 1];
	static pid_t made_for = 0;
	uint8		random[RANDOM_BYTES];

	if (made_for != getpid())
	{
		made_for = getpid();
		snprintf(owner, sizeof(owner), "%08x%08x%016llx", (unsigned) made_for,
				 pid_namespace(), (unsigned long long) start_of(made_for));
	}
	memcpy(token, owner, OWNER_TEXT);

	/*
	 * getrandom() neither fails nor blocks for so few bytes, once the machine
	 * is up.
	 */
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	for (int i = 0; i < RANDOM_BYTES; i++)
		snprintf(token + OWNER_TEXT + 2 * i, 3, "%02x", random[i]);
}

/* Reads that number of hexadecimal digits. */
static uint64
take_hex(const char **text, int digits)
{
	char		word[16 + 1];

	strlcpy(word, *text, digits + 1);
	*text += digits;
	return strtoull(word, NULL, 16);
}

bool
run_token_is_orphan(const char *token)
{
	const char *p = token;
	uint64		pid;
	uint64		space;
	uint64		start;
	uint64		found;

	if (strspn(token, "0123456789abcdef") < RUN_TOKEN_TEXT)
		return false;
	pid = take_hex(&p, 8);
	space = take_hex(&p, 8);
	start = take_hex(&p, 16);
	if (start == 0 || space == 0 || space != pid_namespace())
		return false;
	found = start_of((long) pid);
	return found != start && found != NOT_KNOWN;
}
