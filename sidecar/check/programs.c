#include "base/port.h"

#include "check/programs.h"
#include "process/bundled.h"
#include "process/spawn.h"

/* The thread has its own copies of all that it reads. */
typedef struct Look
{
	ProgramsFn	fn;
	void	   *arg;
	int			n;
	char	  **programs;		/* NULL: the handler has none */
	char	  **list;			/* the faults */
} Look;

static char *
missing(const char *program)
{
	if (spawn_can_execute(program))
		return NULL;
	return psprintf("no program \"%s\" that may be executed", program);
}

/* Each program runs under a supervisor. */
static char *
program_fault(const char *program)
{
	char	   *fault;
	char	   *supervisor;

	if (program == NULL)
		return NULL;
	fault = missing(program);
	if (fault != NULL)
		return fault;
	supervisor = bundled_path("run");
	fault = missing(supervisor);
	pfree(supervisor);
	return fault;
}

static const char *
program_of(const Config *config, int handler)
{
	char	  **argv = config->handlers[handler]->argv;

	return argv != NULL ? argv[0] : NULL;
}

char	  **
programs_faults(const Config *config)
{
	char	  **list = palloc0(config->nhandlers * sizeof(char *));

	for (int i = 0; i < config->nhandlers; i++)
		list[i] = program_fault(program_of(config, i));
	return list;
}

static void
ask(void *what)
{
	Look	   *look = what;

	for (int i = 0; i < look->n; i++)
		look->list[i] = program_fault(look->programs[i]);
}

static void
on_answer(void *what)
{
	Look	   *look = what;
	char	  **list = look->list;

	look->list = NULL;
	look->fn(look->arg, list);
}

static void
release(void *what)
{
	Look	   *look = what;

	for (int i = 0; i < look->n; i++)
	{
		pfree(look->programs[i]);
		if (look->list != NULL)
			pfree(look->list[i]);
	}
	pfree(look->list);
	pfree(look->programs);
	pfree(look);
}

Blocking *
programs_look(Loop *loop, const Config *config, ProgramsFn fn, void *arg)
{
	static const BlockingCall call = {ask, on_answer, release};
	Look	   *look = palloc0(sizeof(Look));

	look->fn = fn;
	look->arg = arg;
	look->n = config->nhandlers;
	look->programs = palloc0(look->n * sizeof(char *));
	look->list = palloc0(look->n * sizeof(char *));
	for (int i = 0; i < look->n; i++)
		if (program_of(config, i) != NULL)
			look->programs[i] = pstrdup(program_of(config, i));
	return blocking_start(loop, &call, look);
}
