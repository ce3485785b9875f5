#include "base/port.h"

#include <signal.h>

#include "base/blocking.h"
#include "base/log.h"
#include "base/sdnotify.h"
#include "options/config_file.h"

/* A reload that takes longer is stuck. */
#define PATIENCE_US SECONDS_TO_US(10)

#define STUCK "a reload is stuck: a file, a name look-up or the check of a program does not answer"
#define REFUSED "the configuration file was refused, see the log; the one before it is in force"

/* The thread has its own copy of all that it reads. */
typedef struct Question
{
	const ConfigFile *file;
	Reload	   *reload;			/* for the loop alone */
	char	   *path;
	void	   *config;			/* the answer; NULL: see error */
	char	   *error;
} Question;

struct Reload
{
	Loop	   *loop;
	const char *path;
	const ConfigFile *file;
	const void *config;			/* in force */
	void	   *arg;
	Blocking   *reading;		/* NULL: no thread reads */
	LoopTimer  *patience;
	bool		is_stuck;
	bool		is_wanted;		/* once more, after the one under way */
};

/* ---- the start ---- */

static int
print(const Section *section, const void *config)
{
	StringInfoData text;

	initStringInfo(&text);
	options_print(section, config, &text);
	fputs(text.data, stdout);
	return fflush(stdout) == 0 ? EXIT_FINE : EXIT_BAD_CONFIG;
}

void *
config_file_read(const ConfigFile *file, int argc, char **argv, Arguments *arguments, int *status)
{
	char	   *error;
	void	   *config;

	if (!program_read_arguments(argc, argv, file->usage, arguments, status))
		return NULL;
	config = options_read(file->section, file->kinds, arguments->config_path, &error);
	if (config == NULL)
	{
		/*
		 * systemd does not start a program again whose configuration is
		 * wrong.
		 */
		*status = errno == EAGAIN ? EXIT_NO_RESOURCES : EXIT_BAD_CONFIG;
		log_line(TWT_LOG_FATAL, "config", "%s", error);
		return NULL;
	}
	if (arguments->mode == PROGRAM_RUN)
		file->log(config);
	if (error != NULL)
		log_line(TWT_LOG_WARN, "config", "%s", error);
	pfree(error);
	if (arguments->mode != PROGRAM_PRINT)
		return config;
	*status = print(file->section, config);
	options_free(file->section, config);
	return NULL;
}

/* ---- reloads ---- */

static void
note(Reload *reload, const char *trouble)
{
	if (reload->file->note != NULL)
		reload->file->note(reload->arg, trouble);
}

static void
ask(void *what)
{
	Question   *question = what;

	question->config = options_read(question->file->section, question->file->kinds,
									question->path, &question->error);
}

static void
release(void *what)
{
	Question   *question = what;

	if (question->config != NULL)
		options_free(question->file->section, question->config);
	pfree(question->error);
	pfree(question->path);
	pfree(question);
}

static void begin(Reload *reload);

static void
end(Reload *reload, bool is_applied)
{
	loop_timer_stop(reload->patience);
	reload->reading = NULL;
	reload->is_stuck = false;
	note(reload, is_applied ? NULL : REFUSED);
	if (reload->is_wanted)
		begin(reload);
	else
		sdnotify_ready();
}

/* Takes config. */
static bool
apply(Reload *reload, void *config)
{
	const ConfigFile *file = reload->file;
	const char *option = options_needs_restart(file->section, reload->config, config);

	if (option != NULL)
	{
		log_line(TWT_LOG_WARN, "config", "not reloaded: a change of \"%s\" needs a restart", option);
		options_free(file->section, config);
		return false;
	}
	reload->config = config;
	file->apply(reload->arg, config);
	file->log(config);
	log_line(TWT_LOG_INFO, "config", "reloaded");
	return true;
}

static void
on_answer(void *what)
{
	Question   *question = what;
	Reload	   *reload = question->reload;
	void	   *config = question->config;

	question->config = NULL;
	if (question->error != NULL)
		log_line(config == NULL ? TWT_LOG_ERROR : TWT_LOG_WARN, "config", "%s%s",
				 config == NULL ? "not reloaded: " : "", question->error);
	end(reload, config != NULL && apply(reload, config));
}

static void
begin(Reload *reload)
{
	static const BlockingCall call = {ask, on_answer, release};
	Question   *question = palloc0(sizeof(Question));

	reload->is_wanted = false;
	question->file = reload->file;
	question->reload = reload;
	question->path = pstrdup(reload->path);
	reload->reading = blocking_start(reload->loop, &call, question);
	if (reload->reading == NULL)
	{
		log_line(TWT_LOG_ERROR, "config", "not reloaded: could not start a thread: %m");
		end(reload, false);
	}
	else
		loop_timer_start(reload->patience, PATIENCE_US);
}

/* Lets systemd stop waiting: the reload may take for ever. */
static void
on_stuck(void *arg)
{
	Reload	   *reload = arg;

	reload->is_stuck = true;
	log_line(TWT_LOG_WARN, "config", "%s; the old configuration stays in force", STUCK);
	note(reload, STUCK);
	sdnotify_ready();
}

static void
on_signal(void *arg)
{
	Reload	   *reload = arg;

	sdnotify_reloading();
	if (reload->reading == NULL)
		begin(reload);
	else
	{
		reload->is_wanted = true;
		log_line(TWT_LOG_INFO, "config", "reloads again after the reload that is under way");
		if (reload->is_stuck)
			sdnotify_ready();
	}
}

Reload *
reload_open(Loop *loop, const ConfigFile *file, const char *path, const void *config, void *arg)
{
	Reload	   *reload = palloc0(sizeof(Reload));

	reload->loop = loop;
	reload->path = path;
	reload->file = file;
	reload->config = config;
	reload->arg = arg;
	reload->patience = loop_timer_new(loop, on_stuck, reload);
	loop_on_signal(loop, SIGHUP, on_signal, reload);
	return reload;
}

void
reload_close(Reload *reload)
{
	if (reload->reading != NULL)
		blocking_cancel(reload->reading);
	loop_timer_free(reload->patience);
	pfree(reload);
}
