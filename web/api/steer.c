/*-------------------------------------------------------------------------
 *
 * steer.c
 *		Routes that change limits, policies, buckets and schedules, and those for
 *		incidents.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "web/api/steer.h"

#define REASON {"reason", API_BODY, API_TEXT, true, "Why, for the audit"}
#define PATTERN {"pattern", API_PATH, API_TEXT, true, "A type, or the beginning of types and a *"}
#define BUCKET {"name", API_PATH, API_TEXT, true, "The bucket"}
#define SCHEDULE {"name", API_PATH, API_TEXT, true, "The schedule"}
#define SCOPE_HELP "Whether the limit counts on each node for itself or in the whole cluster"
#define VERSION(help) {"version", API_VERSION, API_TEXT, true, help}
#define CHANGED_AT VERSION("changed_at of the object that you saw; new: there was none")

static const char *const scopes[] = {"node", "cluster", NULL};

/* ---- limits ---- */

static const ApiParam put_limit_params[] = {
	PATTERN,
	{"scope", API_BODY, API_TEXT, true, SCOPE_HELP, scopes},
	{"concurrency", API_BODY, API_INTEGER, false, "Tasks that may run at once; 0: none starts"},
	{"stretch", API_BODY, API_INTEGER, false, "Extra slots for urgent tasks"},
	{"stretch_priority", API_BODY, API_INTEGER, false, "Tasks of this priority or a more urgent one are urgent"},
	{"rate", API_BODY, API_INTEGER, false, "Tasks that may start in each period"},
	{"per", API_BODY, API_INTERVAL, false, "The period; 1 second if absent"},
	{"burst", API_BODY, API_INTEGER, false, "Tasks that may start at once after a quiet time; rate if absent"},
	CHANGED_AT,
	REASON,
};

static const ApiParam delete_limit_params[] = {
	PATTERN, {"scope", API_BODY, API_TEXT, true, SCOPE_HELP, scopes}, CHANGED_AT, REASON
};

static const ApiParam what_if_params[] = {
	{"pattern", API_PATH, API_TEXT, true, "The limit, or one key of its pattern"},
	{"concurrency", API_BODY, API_INTEGER, true, "Tasks that could run at once"},
	{"scope", API_BODY, API_TEXT, false, "Of the limit; absent: the limit of the cluster, or else of each node", scopes},
};

/* ---- policies and buckets ---- */

static const ApiParam put_policy_params[] = {
	PATTERN,
	{"options", API_BODY, API_JSON, true, "An object with the options of the policy, as GET /policies has them; absent ones are unset"},
	CHANGED_AT,
	REASON,
};

static const ApiParam put_bucket_params[] = {
	BUCKET,
	{"description", API_BODY, API_TEXT, false, "What the bucket is for"},
	{"concurrency", API_BODY, API_INTEGER, false, "Tasks that may run at once on each node; 0: none starts; absent: no limit"},
	CHANGED_AT,
	REASON,
};

static const ApiParam delete_policy_params[] = {PATTERN, CHANGED_AT, REASON};
static const ApiParam delete_bucket_params[] = {BUCKET, CHANGED_AT, REASON};

#define SINCE VERSION("since of the pause that you saw")

static const ApiParam pause_type_params[] = {PATTERN, REASON};
static const ApiParam resume_type_params[] = {PATTERN, SINCE, REASON};
static const ApiParam pause_bucket_params[] = {BUCKET, REASON};
static const ApiParam resume_bucket_params[] = {BUCKET, SINCE, REASON};

/* ---- schedules ---- */

static const ApiParam schedule_params[] = {
	SCHEDULE, VERSION("changed_at of the schedule that you saw"), REASON
};

/* ---- incidents ---- */

static const ApiParam acknowledge_params[] = {
	{"key", API_PATH, API_TEXT, true, "The incident"}, REASON
};

static const ApiParam silence_params[] = {
	{"kind", API_BODY, API_TEXT, false, "Of the incidents; absent: all"},
	{"pattern", API_BODY, API_TEXT, true, "Their object, or its beginning and a *; *: all"},
	{"until", API_BODY, API_TIME, true, "A time to come, at most a year ahead"},
	REASON,
};

static const ApiParam unsilence_params[] = {
	{"id", API_PATH, API_INTEGER, true, "The silence"}, REASON
};

static const ApiRoute routes[] = {
	{
		"PUT", "/limits/{pattern}", API_OPERATOR, "put_limit", "Make a limit, or replace it.",
		put_limit_params, lengthof(put_limit_params), "LimitChange"
	},
	{
		"DELETE", "/limits/{pattern}", API_OPERATOR, "delete_limit", "Remove a limit.",
		delete_limit_params, lengthof(delete_limit_params), "LimitRemoved"
	},
	{
		"POST", "/limits/{pattern}/what-if", API_VIEWER, "what_if_limit",
		"Say what would happen if the limit had another concurrency; nothing changes.",
		what_if_params, lengthof(what_if_params), "WhatIf"
	},
	{
		"PUT", "/policies/{pattern}", API_OPERATOR, "put_policy", "Make the policy of a type or of types, or replace it.",
		put_policy_params, lengthof(put_policy_params), "PolicyChange"
	},
	{
		"DELETE", "/policies/{pattern}", API_OPERATOR, "delete_policy", "Remove a policy.",
		delete_policy_params, lengthof(delete_policy_params), "PolicyRemoved"
	},
	{
		"POST", "/policies/{pattern}/pause", API_OPERATOR, "pause_type", "Start no task of a type, or of types that begin so.",
		pause_type_params, lengthof(pause_type_params), "TypePaused"
	},
	{
		"POST", "/policies/{pattern}/resume", API_OPERATOR, "resume_type", "End such a pause.",
		resume_type_params, lengthof(resume_type_params), "TypeResumed"
	},
	{
		"PUT", "/buckets/{name}", API_OPERATOR, "put_bucket", "Make a bucket, or replace its options.",
		put_bucket_params, lengthof(put_bucket_params), "BucketChange"
	},
	{
		"DELETE", "/buckets/{name}", API_OPERATOR, "delete_bucket", "Remove a bucket without tasks.",
		delete_bucket_params, lengthof(delete_bucket_params), "BucketRemoved"
	},
	{
		"POST", "/buckets/{name}/pause", API_OPERATOR, "pause_bucket", "Start no task in a bucket.",
		pause_bucket_params, lengthof(pause_bucket_params), "BucketPaused"
	},
	{
		"POST", "/buckets/{name}/resume", API_OPERATOR, "resume_bucket", "End such a pause.",
		resume_bucket_params, lengthof(resume_bucket_params), "BucketResumed"
	},
	{
		"POST", "/schedules/{name}/run", API_OPERATOR, "run_schedule", "Add a task of a schedule now, in addition.",
		schedule_params, lengthof(schedule_params), "ScheduleRun"
	},
	{
		"POST", "/schedules/{name}/pause", API_OPERATOR, "pause_schedule", "Keep a schedule from adding tasks.",
		schedule_params, lengthof(schedule_params), "ScheduleChange"
	},
	{
		"POST", "/schedules/{name}/resume", API_OPERATOR, "resume_schedule", "Let a paused schedule go on from now.",
		schedule_params, lengthof(schedule_params), "ScheduleChange"
	},
	{
		"POST", "/incidents/{key}/acknowledge", API_OPERATOR, "acknowledge_incident", "Say that somebody takes an incident on.",
		acknowledge_params, lengthof(acknowledge_params), "IncidentAcknowledged"
	},
	{
		"POST", "/silences", API_OPERATOR, "add_silence", "Send no message about incidents of such objects until a time.",
		silence_params, lengthof(silence_params), "SilenceAdded", .creates = true
	},
	{
		"DELETE", "/silences/{id}", API_OPERATOR, "end_silence", "End a silence now.",
		unsilence_params, lengthof(unsilence_params), "SilenceEnded"
	},
};

const ApiTable api_steer = {routes, lengthof(routes)};
