/*-------------------------------------------------------------------------
 *
 * fuzz_config.c
 *		The configuration file of the sidecar, and one of twtasks-web.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config/config.h"
#include "execute/runner.h"
#include "input.h"
#include "options/hello.h"
#include "web/web_config.h"

/* Shown in place of secrets, so such a file cannot be read again. */
#define HIDDEN "********"

/* Linked in place of hello_check(): no program is started, and each hello is fine. */
extern char *__wrap_hello_check(const char *path, const char *use, const char *hellos, char **reason);

char *
__wrap_hello_check(const char *path, const char *use, const char *hellos, char **reason)
{
	StringInfoData answers;

	initStringInfo(&answers);
	for (; *hellos != '\0'; hellos++)
		if (*hellos == '\n')
			appendStringInfoString(&answers, "{\"ready\":1}\n");
	return answers.data;
}

static void
read_again(const Section *section, const Section *const *kinds, const void *config, const char *printed)
{
	char	   *error;
	void	   *again = options_read(section, kinds, input_file(printed, strlen(printed)), &error);
	StringInfoData second;

	must(again != NULL, error != NULL ? error : "", printed);
	pfree(error);
	initStringInfo(&second);
	options_print(section, again, &second);
	must(strcmp(second.data, printed) == 0, "what is printed is read to the same options", printed);
	must(options_needs_restart(section, config, again) == NULL, "the same options need no restart", printed);
	pfree(second.data);
	options_free(section, again);
}

static void
read_config(const Section *section, const Section *const *kinds, const Input *input)
{
	char	   *error;
	void	   *config = options_read(section, kinds, input_file((const char *) input->at, input->left), &error);
	StringInfoData printed;

	must(config != NULL || error != NULL, "a file that is refused has a fault", "");
	pfree(error);
	if (config == NULL)
		return;
	initStringInfo(&printed);
	options_print(section, config, &printed);
	if (strstr(printed.data, HIDDEN) == NULL)
		read_again(section, kinds, config, printed.data);
	pfree(printed.data);
	options_free(section, config);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};

	if (input_choice(&input, 2) == 0)
		read_config(&config_section, handler_kinds, &input);
	else
		read_config(&web_config_section, NULL, &input);
	return 0;
}
