/*-------------------------------------------------------------------------
 *
 * process.c
 *		One start of a sidecar in the simulation.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "config/config.h"
#include "connection.h"
#include "execute/runner.h"
#include "options/config_file.h"
#include "process.h"
#include "sidecar.h"
#include "sim_loop.h"
#include "world.h"

static Process *current;
static Process *processes[MACHINES];
static int	nstarts;

Process *
process_current(void)
{
	return current;
}

Process *
process_enter(Process *process)
{
	Process    *before = current;

	current = process;
	return before;
}

Process *
process_on(int machine)
{
	return processes[machine];
}

/* ---- its configuration ---- */

static void
set_room(Room *room, int most, bool is_reload)
{
	if (is_reload && most > 0 && (room->most == 0 || most < room->most))
		room->lowered_us = world_now_us();
	room->most = most;
}

static void
note_config(Process *process, const Config *config, bool is_reload)
{
	set_room(&process->room, config->concurrency, is_reload);
	for (int type = 0; type < MODEL_TYPES; type++)
	{
		const HandlerConfig *handler = config_handler(config, model_types[type]);

		if (handler != NULL)
			set_room(&process->room_of[type], handler->concurrency, is_reload);
	}
}

static void
log_config(const void *config)
{
}

static void
apply(void *arg, void *config)
{
	Process    *process = arg;

	world_tell("%s reloads", process->name);
	note_config(process, config, true);
	sidecar_reload(process->sidecar, config);
}

static const ConfigFile config_file = {"", &config_section, handler_kinds, log_config, apply, NULL};

void
process_reload(Process *process)
{
	sim_loop_signal(process->loop);
}

/* ---- its life ---- */

void
process_start(int machine, const char *path)
{
	Process    *process = palloc0(sizeof(Process));
	char	   *error = NULL;
	Config	   *config = options_read(&config_section, handler_kinds, path, &error);

	if (config == NULL)
		world_fail("the configuration is wrong: %s", error);
	process->machine = machine;
	process->room.lowered_us = PG_INT64_MIN / 2;
	for (int type = 0; type < MODEL_TYPES; type++)
		process->room_of[type].lowered_us = PG_INT64_MIN / 2;
	note_config(process, config, false);
	snprintf(process->name, sizeof(process->name), "node%d/%d", machine, ++nstarts);
	dlist_init(&process->connections);
	dlist_init(&process->children);
	process->loop = sim_loop_new(process);
	processes[machine] = process;
	world_tell("%s starts", process->name);
	current = process;
	process->reload = reload_open(process->loop, &config_file, path, config, process);
	process->sidecar = sidecar_open(process->loop, config);
	current = NULL;
	loop_want_turn(process->loop);
}

void
process_drain(Process *process)
{
	act_tell("%s drains", process->name);
	process->is_draining = true;
	current = process;
	sidecar_drain(process->sidecar);
	current = NULL;
}

static void
end(Process *process)
{
	current = process;
	reload_close(process->reload);
	sidecar_free(process->sidecar);
	current = NULL;
	loop_free(process->loop);
	if (process->running != 0)
		world_fail("%s leaves %d tasks running", process->name, process->running);
	if (!dlist_is_empty(&process->children))
		world_fail("%s leaves a process", process->name);
	if (!dlist_is_empty(&process->connections))
		world_fail("%s leaves a connection", process->name);
	processes[process->machine] = NULL;
	pfree(process);
}

void
process_kill(Process *process)
{
	act_tell("%s is killed", process->name);
	connection_drop(process);
	end(process);
}

bool
process_reap(int machine)
{
	Process    *process = processes[machine];

	if (process == NULL || !sim_loop_has_stopped(process->loop))
		return false;
	world_tell("%s has stopped", process->name);
	end(process);
	return true;
}
