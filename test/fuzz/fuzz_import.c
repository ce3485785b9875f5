/*-------------------------------------------------------------------------
 *
 * fuzz_import.c
 *		Packed data of TwTasks, and the arguments of twtasksctl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "input.h"
#include "tools/ctl_arguments.h"
#include "tools/import/unpack.h"

/* Less than an input may have, and far less than it may unpack to. */
#define LIMIT 300
#define WORDS 12

/* A stream gives at most the bytes that may be, or a reason. */
static void
unpack_bytes(int format, const uint8 *bytes, size_t len)
{
	Bytes		packed = {bytes, len};
	StringInfoData out;
	const char *fault;

	initStringInfo(&out);
	fault = unpack(format, packed, LIMIT, &out);
	must(fault != NULL || out.len <= LIMIT, "a limit holds", "");
	must(fault == NULL || fault[0] != '\0', "a fault has a reason", "");
	must(format != 0 || fault != NULL || ((size_t) out.len == len && memcmp(out.data, bytes, len) == 0), "plain bytes stay", "");
	pfree(out.data);
}

static void
read_arguments(Input *input)
{
	char	   *words[WORDS + 2] = {"twtasksctl"};
	char	   *own[WORDS + 2];
	int			n = 1;
	CtlArguments *arguments;
	char	   *fault;

	while (input->left > 0 && n <= WORDS)
	{
		words[n] = own[n] = input_text(input);
		n++;
	}
	fault = arguments_read(n, words, &arguments);
	must(fault != NULL || arguments_verb(arguments) != NULL || arguments_get(arguments, "help") != NULL ||
		 arguments_get(arguments, "version") != NULL || arguments_get(arguments, "manual") != NULL, "there is something to do", words[1]);
	pfree(fault);
	arguments_free(arguments);
	/* getopt_long() changes the order of its words */
	while (--n > 0)
		pfree(own[n]);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	int			choice = input_choice(&input, 6);

	if (choice < 5)
		unpack_bytes(choice, input.at, input.left);
	else
		read_arguments(&input);
	return 0;
}
