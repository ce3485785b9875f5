#include "base/port.h"

#include <signal.h>

#include "base/blocking.h"
#include "base/log.h"
#include "base/reload.h"
#include "base/sdnotify.h"

/* A reload that takes longer is stuck. */
#define PATIENCE_US SECONDS_TO_US(10)

#define STUCK "a reload is stuck: a file, a name look-up or the check of a program does not answer"
#define REFUSED "the configuration file was refused, see the log; the one before it is in force"

/* The thread has its own copy of all that it reads. */
typedef struct Question
{
	const ReloadTarget *target;
	Reload	   *reload;			/* for the loop alone */
	char	   *path;
	void	   *config;			/* the answer; NULL: see error */
	char	   *error;
} Question;

struct Reload
{
	Loop	   *loop;
	const char *path;
	const ReloadTarget *target;
	void	   *arg;
	Blocking   *reading;		/* NULL: no thread reads */
	LoopTimer  *patience;
	bool		is_stuck;
	bool		is_wanted;		/* once more, after the one under way */
};

static void
note(Reload *reload, const char *trouble)
{
	if (reload->target->note != NULL)
		reload->target->note(reload->arg, trouble);
}

static void
ask(void *what)
{
	Question   *question = what;

	question->config = question->target->read(question->path, &question->error);
}

static void
release(void *what)
{
	Question   *question = what;

	if (question->config != NULL)
		question->target->discard(question->config);
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
	end(reload, config != NULL && reload->target->apply(reload->arg, config));
}

static void
begin(Reload *reload)
{
	static const BlockingCall call = {ask, on_answer, release};
	Question   *question = palloc0(sizeof(Question));

	reload->is_wanted = false;
	question->target = reload->target;
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
reload_open(Loop *loop, const char *path, const ReloadTarget *target, void *arg)
{
	Reload	   *reload = palloc0(sizeof(Reload));

	reload->loop = loop;
	reload->path = path;
	reload->target = target;
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
