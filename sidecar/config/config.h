/*-------------------------------------------------------------------------
 *
 * config.h
 *		The configuration file, read, checked and printed.
 *
 * One YAML file, mapped onto these structs by the table in options.c; an
 * unrecognized key, a missing one or a value out of range is an error that
 * names the key and its line.  A Config is never changed after config_read():
 * a reload reads a new one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_H
#define TWT_CONFIG_H

typedef enum QueueKind
{
	QUEUE_AUTO,					/* ring when preloaded, else notify */
	QUEUE_RING,
	QUEUE_NOTIFY
} QueueKind;

typedef enum HandlerMode
{
	HANDLER_COMMAND,			/* one process per task */
	HANDLER_WORKER,				/* long-lived processes, JSON lines */
	HANDLER_SQL,				/* a function of the database */
	HANDLER_HTTP,				/* a POST */
	HANDLER_NOOP				/* done at once: for tests and measurements */
} HandlerMode;

typedef enum StuckRule
{
	STUCK_ERROR,
	STUCK_RETRY,
	STUCK_FAIL,
	STUCK_IGNORE
} StuckRule;

/* Which addresses a host may have that a task chose. */
typedef enum Networks
{
	NETWORKS_PUBLIC,
	NETWORKS_ANY
} Networks;

typedef enum LogFormat
{
	LOG_FORMAT_TEXT,
	LOG_FORMAT_JSON
} LogFormat;

typedef struct LogConfig
{
	LogFormat	format;
	int			level;			/* a LogLevel of log.h */
} LogConfig;

typedef struct RetryConfig
{
	int64		delay_us;		/* before the first retry */
	double		multiplier;		/* at least 1 */
	int64		max_delay_us;
	int			max_tries;		/* tries in all, at least 1 */
	double		jitter;			/* 0..1: part of the delay that is random */
} RetryConfig;

typedef struct HandlerConfig
{
	char	  **types;			/* exact, or a prefix ending in '*' */
	int			ntypes;
	HandlerMode mode;
	char	  **argv;			/* command, worker, http: NULL-terminated */
	char	   *function;		/* sql: schema.function */
	char	   *role;			/* sql: NULL is the sidecar's own */
	char	   *settings;		/* worker: a JSON object; NULL: none */
	char	   *hello;			/* worker, http: the first line to a process */
	char	   *url;			/* http */
	char	  **hosts;			/* http: that a task may choose, or NULL */
	int			nhosts;
	Networks	networks;		/* http: of those */
	char	   *secret_file;	/* http: what signs; NULL: nothing */
	char	   *headers_file;	/* http: more headers, or NULL */
	char	   *ca_file;		/* http: who is trusted; NULL: the system's */
	int64		connect_timeout_us; /* http */
	char	  **statuses;		/* what a status means, or NULL */
	int			nstatuses;
	char	   *directory;		/* command, worker: where they start */
	int			processes;		/* worker processes, or sql connections */
	int			prefetch;		/* worker: tasks in flight per process */
	int			concurrency;	/* slots on this node */
	int64		timeout_us;		/* deadline after the grab */
	int64		grace_us;		/* between TERM and KILL */
	int64		max_output;		/* bytes of stderr kept with the task */
	RetryConfig retry;
	StuckRule	stuck;
} HandlerConfig;

typedef struct Config
{
	char	   *postgres;		/* libpq conninfo or URI */
	char	   *node;
	char	   *environment;	/* NULL: none */
	char	  **buckets;
	int			nbuckets;
	QueueKind	queue;
	LogConfig	log;
	int			concurrency;	/* slots of the node, 0: no limit */
	int			look_ahead;		/* triggers kept in memory */
	int64		drain_us;		/* how long SIGTERM waits for handlers */
	int64		lease_us;		/* silence after which the node counts as gone */
	int64		sweep_us;		/* between two looks at the whole table */
	char	   *listen;			/* where it tells how it is; NULL: nowhere */
	HandlerConfig *handlers;
	int			nhandlers;
} Config;

/*
 * Reads and checks the file, which only root or the daemon's own user may be
 * able to write.  NULL on failure, with one message in *error (palloc'd) that
 * names the file, the key and, where known, the line.
 */
extern Config *config_read(const char *path, char **error) MUSTCHECK;
extern void config_free(Config *config);

/*
 * Appends the configuration in force as YAML that config_read() accepts, with
 * asterisks for the passwords in the connection string.
 */
extern void config_print(const Config *config, StringInfo out);

/* Appends a reference of all options as a Markdown table. */
extern void config_print_reference(StringInfo out);

/*
 * The first option that differs and that a reload cannot change; NULL when a
 * running sidecar can go over from one to the other.
 */
extern const char *config_needs_restart(const Config *from, const Config *to);

/* The handler for a type: an exact name first, else the longest prefix. */
extern const HandlerConfig *config_handler(const Config *config,
										   const char *type);

/* Its place among the buckets; -1: it is not one of ours. */
extern int	config_bucket(const Config *config, const char *name, size_t len);

extern const char *config_stuck_name(StuckRule rule);

#endif							/* TWT_CONFIG_H */
