/*-------------------------------------------------------------------------
 *
 * config.h
 *		The configuration file, read, checked and printed.
 *
 * Tables of options map one YAML file onto these structs; see options.h.  The
 * tables are in config.c, and in the files of the kinds of handlers.  An
 * unrecognized key, a missing one or a value out of range is an error that names
 * the key, its line and its column.  A Config never changes after options_read(): a
 * reload reads a new one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_H
#define TWT_CONFIG_H

#include "base/policy.h"
#include "config/kafka_options.h"
#include "config/listener_options.h"
#include "config/observe_options.h"
#include "notify/notify_options.h"
#include "options/log_options.h"
#include "options/options.h"
#include "config/zookeeper_options.h"

typedef enum QueueKind
{
	QUEUE_AUTO,					/* ring when preloaded, else notify */
	QUEUE_RING,
	QUEUE_NOTIFY,
	QUEUE_KAFKA					/* like QUEUE_AUTO, but triggers of a ring may
								 * pass through Kafka */
} QueueKind;

typedef enum LeaderKind
{
	LEADER_POSTGRES,			/* the mark in twtasks.node */
	LEADER_ZOOKEEPER			/* an election there sets the mark */
} LeaderKind;

typedef struct RetryConfig
{
	int64		delay_us;		/* before the first retry */
	double		multiplier;		/* at least 1 */
	int64		max_delay_us;
	int			max_tries;		/* tries in all, at least 1 */
	double		jitter;			/* 0..1: part of the delay that is random */
} RetryConfig;

/*
 * The options that several kinds of handlers share.  The struct of a kind with
 * more options begins with this one.
 */
typedef struct HandlerConfig
{
	const Section *kind;
	int			index;			/* among the handlers of the configuration */
	char	  **types;			/* exact, or a prefix ending in '*' */
	int			ntypes;
	char	  **argv;			/* the program and its arguments */
	char	   *directory;		/* directory in which it starts */
	char	  **env;			/* names of our variables that it gets */
	char	   *env_file;		/* file of more variables; NULL: none */
	char	  **variables;		/* both as NAME=value, never printed; NULL:
								 * none */
	const Section *told;		/* options for its processes; NULL: no hello */
	char	   *settings;		/* settings for its processes, a JSON object;
								 * NULL: none */
	bool		inherits_kafka; /* has the settings of the section "kafka"
								 * where it has none */
	char	   *hello;			/* the first line, which carries both */
	char	   *function;		/* schema.function, or NULL */
	char	   *role;			/* role that runs function; NULL: the
								 * sidecar's own */
	char	  **statuses;		/* results of statuses, or NULL */
	int			processes;		/* worker processes, or connections */
	int			prefetch;		/* lines in flight in each process */
	int			batch;			/* most tasks of a line or of a call; 0: each
								 * has one task */
	int			waits_for;		/* lines that may be ahead of a task in its
								 * process */
	int			concurrency;	/* slots on this node */
	int64		memory;			/* bytes of its tasks, above which it gets no
								 * more */
	int64		timeout_us;		/* deadline after the grab */
	int64		grace_us;		/* between TERM and KILL */
	int64		max_output;		/* bytes of stderr kept with the task */
	RetryConfig retry;
	StuckRule	stuck;
	bool		is_atomic;		/* a lost task may run again, whatever stuck
								 * says */
} HandlerConfig;

typedef struct Config
{
	char	   *postgres;		/* libpq conninfo or URI */
	char	   *node;
	char	   *environment;	/* NULL: none */
	char	  **buckets;
	int			nbuckets;
	QueueKind	queue;
	char	   *door_directory; /* NULL: none */
	LogConfig	log;
	int			concurrency;	/* slots of the node, 0: no limit */
	int			look_ahead;		/* triggers kept in memory */
	int64		drain_us;		/* how long SIGTERM waits for handlers */
	int64		lease_us;		/* silence after which the node counts as gone */
	int64		sweep_us;		/* between two sweeps of the whole table */
	LeaderKind	leader;
	ZooKeeperConfig zookeeper;
	char	   *election_line;	/* told to the program that stands for
								 * election; NULL: there is none */
	KafkaOptions kafka;
	char	   *listen;			/* address for health and metrics; NULL: none */
	MetricsConfig metrics;
	TracesConfig traces;
	ListenerConfig **listeners;
	int			nlisteners;
	char	   *listeners_postgres; /* their database; NULL: postgres */
	char	   *listeners_line; /* told to their process; NULL: there are none */
	NotifyConfig notify;
	HandlerConfig **handlers;
	int			nhandlers;
} Config;

/* The whole file, for the functions of options.h, with handler_kinds of runner.h. */
extern const Section config_section;

/*
 * Returns the handler for a type: an exact name first, else the longest
 * prefix.
 */
extern const HandlerConfig *config_handler(const Config *config,
										   const char *type);

/*
 * Returns the index of the bucket, or -1 if the configuration does not have
 * it.
 */
extern int	config_bucket(const Config *config, const char *name, size_t len);

extern const char *config_stuck_name(StuckRule rule);

#endif							/* TWT_CONFIG_H */
