/*-------------------------------------------------------------------------
 *
 * lost_grabs.c
 *		Grabs that the database may still commit, long after their session was
 *		given up.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "grab/lost_grabs.h"
#include "calls/calls.h"

#define AGAIN_US SECONDS_TO_US(1)

/* One grab, with the parameters of resolve_grab(). */
typedef struct LostGrab
{
	dlist_node	node;
	LostGrabs  *lost;
	bool		is_asked;		/* a question is under way */
	bool		is_forgotten;	/* in no list; freed by the answer */
	int			n;
	int64		token;
	int64		versions[BATCH_MAX];
	uint8		ids[BATCH_MAX][TASK_ID_BYTES];
} LostGrab;

struct LostGrabs
{
	Loop	   *loop;
	Node	   *node;
	Finish	   *finish;
	Pg		   *pg;
	LoopTimer  *timer;			/* the next question */
	dlist_head	grabs;			/* the one asked for longest ago first */
	int			n;
	bool		is_asking;		/* a question is under way */
};

static void
drop(LostGrab *grab)
{
	dlist_delete(&grab->node);
	grab->lost->n--;
	if (grab->is_asked)
		grab->is_forgotten = true;
	else
		pfree(grab);
}

/* ---- the answer ---- */

static void
give_back(const LostGrab *grab, const PGresult *result, int row)
{
	Verdict		verdict = {.result = TASK_RELEASE};
	Task		task = batch_read_grab(grab->token, result, row);

	log_task(TWT_LOG_INFO, "grab", &task, "grabbed long after its session was given up: given back");
	finish_add(grab->lost->finish, &task, &verdict);
}

static void
on_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	LostGrab   *grab = arg;
	LostGrabs  *lost = grab->lost;

	lost->is_asking = grab->is_asked = false;
	if (grab->is_forgotten)
		pfree(grab);
	else if (outcome == PG_DONE)
	{
		for (int i = 0; i < PQntuples(result); i++)
			give_back(grab, result, i);
		drop(grab);
	}
	if (lost->n > 0)
		loop_timer_start(lost->timer, AGAIN_US);
	loop_want_turn(lost->loop);
}

/* ---- the question ---- */

/* The next question is about the next grab. */
static void
ask(void *arg)
{
	LostGrabs  *lost = arg;
	LostGrab   *grab;
	WireParams	params;

	if (lost->is_asking || lost->n == 0)
		return;
	grab = dlist_head_element(LostGrab, node, &lost->grabs);
	dlist_delete(&grab->node);
	dlist_push_tail(&lost->grabs, &grab->node);
	lost->is_asking = grab->is_asked = true;
	wire_init(&params);
	wire_add_array(&params, WIRE_UUID, grab->n);
	for (int i = 0; i < grab->n; i++)
		wire_uuid(&params, grab->ids[i]);
	wire_add_array(&params, WIRE_INT8, grab->n);
	for (int i = 0; i < grab->n; i++)
		wire_int8(&params, grab->versions[i]);
	wire_add_int8(&params, node_incarnation(lost->node));
	wire_add_int8(&params, grab->token);
	pg_send(lost->pg, &call_resolve_grab_bare, &params, on_answer, grab);
}

void
lost_grabs_add(LostGrabs *lost, Batch *batch)
{
	LostGrab   *grab = palloc0(sizeof(LostGrab));

	grab->lost = lost;
	grab->token = batch->token;
	for (int i = 0; i < batch->n; i++)
	{
		if (batch->items[i].entry == NULL)
			continue;
		memcpy(grab->ids[grab->n], batch->items[i].id, TASK_ID_BYTES);
		grab->versions[grab->n++] = table_entry_version(batch->items[i].entry) + batch->version_shift;
	}
	log_line(TWT_LOG_WARN, "grab", "%d grabs may still be committed: their slots are free again",
			 grab->n);
	(void) batch_drop(batch);
	dlist_push_tail(&lost->grabs, &grab->node);
	lost->n++;
	if (!loop_timer_active(lost->timer))
		loop_timer_start(lost->timer, AGAIN_US);
}

/* ---- open, forget, free ---- */

LostGrabs *
lost_grabs_open(Loop *loop, const Config *config, Node *node, Finish *finish)
{
	LostGrabs  *lost = palloc0(sizeof(LostGrabs));

	lost->loop = loop;
	lost->node = node;
	lost->finish = finish;
	lost->timer = loop_timer_new(loop, ask, lost);
	dlist_init(&lost->grabs);
	lost->pg = pg_new(loop, config->postgres, "lost grab", NULL, NULL);
	pg_rest_after(lost->pg, PG_REST_US);
	return lost;
}

int
lost_grabs_count(const LostGrabs *lost)
{
	return lost->n;
}

void
lost_grabs_forget(LostGrabs *lost)
{
	while (!dlist_is_empty(&lost->grabs))
		drop(dlist_head_element(LostGrab, node, &lost->grabs));
}

void
lost_grabs_free(LostGrabs *lost)
{
	lost_grabs_forget(lost);
	pg_close(lost->pg);
	loop_timer_free(lost->timer);
	pfree(lost);
}
