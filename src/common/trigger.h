/*-------------------------------------------------------------------------
 *
 * trigger.h
 *		A trigger: "version V of task I may run", and its wire format.
 *
 *		from: src/add/store.c			to: sidecar/table/table.c
 *
 * A trigger is a hint.  It may be lost, doubled, late or forged.  A receiver
 * asks the database, naming the version, before it does anything.
 *
 * The text form is one line,
 *		<uuid> <version> <priority> <size> <due> <type>
 * with due in microseconds since 1970 (0: at once) and no line end.  Plain C
 * without PostgreSQL's headers: both sides compile it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRIGGER_H
#define TWT_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIGGER_ID_BYTES 16
#define TRIGGER_TYPE_MAX 120
#define TRIGGER_BUCKET_MAX 48
#define TRIGGER_BUCKETS 100		/* at most, for one sidecar */
#define TRIGGER_PRIORITIES 10
#define TRIGGER_RISEN 1			/* waiting raises a task to this at most */

/* enough for any trigger in its text form, with the NUL */
#define TRIGGER_TEXT_MAX \
	(36 + 1 + 19 + 1 + 1 + 1 + 10 + 1 + 19 + 1 + TRIGGER_TYPE_MAX + 1)

/* The name of a pipe of the door (src/queue/door.h), before its number. */
#define TRIGGER_PIPE "door."

/* Not "Trigger": PostgreSQL's server has a struct of that name. */
typedef struct TaskTrigger
{
	int64_t		version;		/* 0 or more */
	int64_t		due_us;			/* since 1970; 0: at once */
	int32_t		size;			/* bytes of data and payload, for batching */
	uint8_t		priority;		/* 0 (urgent) .. 9 */
	uint8_t		type_len;
	uint8_t		id[TRIGGER_ID_BYTES];
	char		type[TRIGGER_TYPE_MAX + 1];
} TaskTrigger;

#ifdef FRONTEND
typedef TaskTrigger Trigger;	/* the sidecar's short name for it */
#endif

/* Letters, digits and _ . : | / - , 1 to TRIGGER_TYPE_MAX of them. */
extern bool trigger_type_valid(const char *type, size_t len);

/* Letters, digits, _ and - , 1 to TRIGGER_BUCKET_MAX of them. */
extern bool trigger_bucket_valid(const char *bucket, size_t len);

/*
 * Writes the text form with its NUL; buf has TRIGGER_TEXT_MAX bytes.  The
 * trigger is valid.  Returns the length of the text.
 */
extern size_t trigger_encode(const TaskTrigger *trigger, char *buf);

/*
 * Reads exactly len bytes.  False, and *trigger undefined, on anything that
 * trigger_encode() would not have written.
 */
extern bool trigger_decode(const char *text, size_t len,
						   TaskTrigger *trigger);

/* id in its usual form; buf has 37 bytes. */
extern void trigger_id_text(const uint8_t *id, char *buf);

/* Exactly 36 bytes in the usual form, either case. */
extern bool trigger_id_parse(const char *text, uint8_t *id);

/*
 * Exactly len bytes, in any form that PostgreSQL's uuid_in() takes: in either case, in
 * braces or not, with or without hyphens behind groups of four digits.
 */
extern bool trigger_id_read(const char *text, size_t len, uint8_t *id);

#endif							/* TWT_TRIGGER_H */
