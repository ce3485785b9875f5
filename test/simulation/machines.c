/*-------------------------------------------------------------------------
 *
 * machines.c
 *		The machines: each starts its sidecar again, with a file of its configuration.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acts.h"
#include "door.h"
#include "faults.h"
#include "kafka.h"
#include "machines.h"
#include "world.h"

/* Each type may fill a part of a table: more than all tasks of a type that wait at once. */
#define LOOK_FAR 4000

/* Numbers of chance that no act has. */
#define START_CHANCE ACTS_MOST
#define DOOR_CHANCE (-1)		/* and below */
#define KAFKA_CHANCE (-1000000) /* and below */

/* With rare sweeps a task whose trigger is lost shows as one that nobody works on. */
#define RARE_SWEEP_S 100

typedef enum ShapeKind
{
	SHAPE_NOOP,
	SHAPE_WORKER,
	SHAPE_COMMAND,
	SHAPE_SQL,
	SHAPE_COUNT
} ShapeKind;

/* A reload cannot change this of the handler of a type. */
typedef struct Shape
{
	bool		is_missing;
	ShapeKind	kind;
	bool		tells;
	int			processes;
	int			prefetch;
	int			batch;			/* 0: each line has one task */
} Shape;

typedef struct Machine
{
	bool		is_starting;
	int			nstarts;
	char		path[32];
	FILE	   *file;
	Shape		shapes[MODEL_TYPES];
	int			look_ahead;
	const char *queue;
	bool		has_door;
	bool		has_kafka;
} Machine;

static Machine machines[MACHINES];
static bool is_ring;
static bool are_doors;
static bool is_kafka;
static bool are_sweeps_rare;
static int64 lease_s;
static bool are_complete;
static bool stay_down;

/* ---- files ---- */

static void
choose_shape(Machine *machine, int type)
{
	machine->shapes[type] = (Shape)
	{
		/* The first type is always there, since a file needs a handler. */
		.is_missing = type > 0 && !are_complete && world_happens(70),
			.kind = world_happens(400) ? SHAPE_WORKER : (ShapeKind) world_between(0, SHAPE_COUNT - 1),
			.tells = world_happens(600),
			.processes = (int) world_between(1, 3),
			.prefetch = (int) world_between(1, 4),
			.batch = world_happens(500) ? 0 : (int) world_between(1, 5)
	};
}

static void
choose_shapes(Machine *machine)
{
	machine->look_ahead = world_happens(400) ? LOOK_FAR : (int) world_between(4, 60);
	machine->queue = world_happens(500) ? "auto" : is_ring ? "ring" : "notify";
	for (int type = 0; type < MODEL_TYPES; type++)
		choose_shape(machine, type);
}

static void
write_handler(const Machine *machine, int type)
{
	static const char *const rules[] = {"retry", "error", "fail"};
	const Shape *shape = &machine->shapes[type];

	if (shape->is_missing)
		return;
	fprintf(machine->file, "  - types: [%s]\n    timeout: %ds\n    stuck: %s\n    grace: 1s\n"
			"    retry: {delay: %ds, max_delay: %ds, max_tries: %d}\n",
			model_types[type], (int) world_between(4, 8), rules[type], MACHINES_DELAY_S, MACHINES_MAX_DELAY_S,
			MACHINES_TRIES);
	if (shape->kind == SHAPE_WORKER)
		fprintf(machine->file, "    worker: [/simulated/%s%s]\n    processes: %d\n    prefetch: %d\n    batch: %d\n",
				model_types[type], shape->tells ? ", --tells" : "", shape->processes, shape->prefetch, shape->batch);
	else if (shape->kind == SHAPE_COMMAND)
		fprintf(machine->file, "    command: [/simulated/%s]\n    statuses: [80=repeat]\n", model_types[type]);
	else if (shape->kind == SHAPE_SQL)
		fprintf(machine->file, "    sql: simulated.f\n    processes: %d\n    prefetch: %d\n", shape->processes,
				shape->prefetch);
	else
		fprintf(machine->file, "    noop: true\n");
	if (shape->kind != SHAPE_WORKER || world_happens(500))
		fprintf(machine->file, "    concurrency: %d\n", (int) world_between(1, 5));
}

static int
sweep_s(int usual)
{
	return are_sweeps_rare ? RARE_SWEEP_S : usual;
}

static void
write_file(const Machine *machine)
{
	FILE	   *file = machine->file;

	rewind(file);
	fprintf(file, "postgres: \"dbname=simulated\"\nnode: node%d\nbuckets: [default, other]\nqueue: %s\n",
			(int) (machine - machines), machine->has_kafka ? "kafka" : machine->queue);
	if (machine->has_kafka)
		fprintf(file, KAFKA_SECTION);
	if (machine->has_door)
		fprintf(file, "door_directory: " DOOR_DIRECTORY "\n");
	fprintf(file, "concurrency: %d\nlook_ahead: %d\ndrain: %ds\nlease: %ds\nsweep: %ds\nhandlers:\n",
			(int) world_between(0, 6), machine->look_ahead, (int) world_between(2, 10), (int) lease_s,
			sweep_s((int) world_between(1, 6)));
	for (int type = 0; type < MODEL_TYPES; type++)
		write_handler(machine, type);
	if (fflush(file) != 0 || ftruncate(fileno(file), ftell(file)) != 0)
		world_fail("could not write a configuration: %m");
}

/* A file without a name is gone with the process, however that ends. */
static void
open_file(Machine *machine)
{
	int			fd = memfd_create("twtasks-simulate", 0);

	machine->file = fd < 0 || fchmod(fd, 0600) != 0 ? NULL : fdopen(fd, "w");
	if (machine->file == NULL)
		world_fail("could not make a file: %m");
	snprintf(machine->path, sizeof(machine->path), "/proc/self/fd/%d", fd);
}

void
machines_begin(bool with_ring, int64 with_lease_s)
{
	memset(machines, 0, sizeof(machines));
	is_ring = with_ring;
	lease_s = with_lease_s;
	are_complete = stay_down = false;
	world_enter(DOOR_CHANCE);
	are_doors = is_ring && world_happens(400);
	world_leave();
	world_enter(KAFKA_CHANCE);
	is_kafka = is_ring && world_happens(300);
	are_sweeps_rare = is_kafka && world_happens(500);
	world_leave();
	kafka_begin();
	for (int i = 0; i < MACHINES; i++)
		open_file(&machines[i]);
}

void
machines_end(void)
{
	for (int i = 0; i < MACHINES; i++)
		fclose(machines[i].file);
}

/* ---- processes ---- */

static void
start(void *arg)
{
	Machine    *machine = arg;
	int			number = machine->nstarts++ * MACHINES + (int) (machine - machines);

	world_enter(DOOR_CHANCE - 1 - number);
	machine->has_door = are_doors && world_happens(600);
	world_leave();
	world_enter(KAFKA_CHANCE - 1 - number);
	machine->has_kafka = is_kafka && world_happens(800);
	world_leave();
	world_enter(START_CHANCE + number);
	choose_shapes(machine);
	write_file(machine);
	world_leave();
	machine->is_starting = false;
	process_start((int) (machine - machines), machine->path);
}

void
machines_look(void)
{
	for (int i = 0; i < MACHINES; i++)
	{
		Machine    *machine = &machines[i];

		(void) process_reap(i);
		if (process_on(i) != NULL || machine->is_starting || stay_down)
			continue;
		machine->is_starting = true;
		(void) world_after(faults_down_us(), start, machine);
	}
}

void
machines_complete(void)
{
	are_complete = true;
	for (int i = 0; i < MACHINES; i++)
		for (int type = 0; type < MODEL_TYPES; type++)
			if (machines[i].shapes[type].is_missing && process_on(i) != NULL)
			{
				process_drain(process_on(i));
				break;
			}
}

void
machines_leave(int machine)
{
	stay_down = true;
	for (int i = 0; i < MACHINES; i++)
		if (i != machine && process_on(i) != NULL)
			process_drain(process_on(i));
}

void
machines_stop(void)
{
	machines_leave(-1);
}

bool
machines_keeps_order(int machine, int type)
{
	return machines[machine].look_ahead == LOOK_FAR && machines[machine].shapes[type].kind != SHAPE_SQL;
}

bool
machines_sweep_rarely(void)
{
	return are_sweeps_rare;
}

/* Something that a reload must refuse. */
static void
spoil_file(const Machine *machine)
{
	fprintf(machine->file, world_happens(500) ? "  - types: [Z]\n    noop: true\n" : "nonsense: true\n");
	if (fflush(machine->file) != 0)
		world_fail("could not write a configuration: %m");
}

void
machines_reload(Process *process)
{
	Machine    *machine = &machines[process->machine];

	act_tell("%s shall reload", process->name);
	write_file(machine);
	if (world_happens(100))
		spoil_file(machine);
	process_reload(process);
}
