/*-------------------------------------------------------------------------
 *
 * input.c
 *		The input in parts, and claims about a parser.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

#define SEPARATOR 0xff

char *
input_bytes(Input *input, size_t *len)
{
	const uint8 *end = input->left == 0 ? NULL : memchr(input->at, SEPARATOR, input->left);
	char	   *text;

	*len = end != NULL ? (size_t) (end - input->at) : input->left;
	text = palloc(*len + 1);
	if (*len > 0)
		memcpy(text, input->at, *len);
	text[*len] = '\0';
	input->at += *len + (end != NULL);
	input->left -= *len + (end != NULL);
	return text;
}

char *
input_text(Input *input)
{
	size_t		len;
	char	   *bytes = input_bytes(input, &len);
	char	   *text = pstrdup(bytes);

	pfree(bytes);
	return text;
}

int
input_choice(Input *input, int n)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++ % n;
}

const char *
input_file(const char *bytes, size_t len)
{
	static char path[64];
	static int	fd = -1;

	if (fd < 0)
	{
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		must(fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0, "there is a file in memory", "");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	must(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, len, 0) == (ssize_t) len, "the file takes the bytes", "");
	return path;
}

void
must(bool holds, const char *claim, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s: \"%s\"\n", claim, text != NULL ? text : "(null)");
	abort();
}

bool
is_json(const char *text)
{
	json_error_t why;
	json_t	   *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	bool		is_fine = json != NULL || json_error_code(&why) == json_error_numeric_overflow ||
		json_error_code(&why) == json_error_stack_overflow;

	json_decref(json);
	return is_fine;
}

bool
is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}
