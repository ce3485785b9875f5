/*-------------------------------------------------------------------------
 *
 * door.h
 *		A short cut for a lone trigger: a named pipe to a waiting sidecar.
 *
 *		from: queue.c			to: sidecar/queue/feed_door.c
 *
 * A trigger in the ring wakes the session that waits for a sidecar, and that
 * session wakes the sidecar.  The committing session can wake the sidecar
 * itself, so it writes the trigger to the sidecar's pipe too.  The ring still
 * gets every trigger, and the session is woken as before: a trigger that the
 * pipe loses costs nothing.  A sidecar gets most triggers of its pipe twice,
 * and drops the second.
 *
 * Each session that takes triggers makes a pipe in the directory
 * twtasks.door_directory, named after its process.  Only the server's own user
 * may create files there, so no role can choose what the server writes to, and
 * no other user can write to a pipe.  The directory's group may read pipes.
 *
 * A line is "<bucket> <trigger>".  It is shorter than PIPE_BUF, so lines of
 * several sessions never mix.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_DOOR_H
#define TWT_DOOR_H

#include "common/trigger.h"

/*
 * Makes the pipe of this session once, if the directory is set and safe, and the
 * server is not a standby.  Logs what is wrong with the directory.
 */
extern void door_make(void);

/*
 * Finds out whether a sidecar has opened this session's pipe.  door_is_read() has
 * the same answer until the next call.  A sidecar closes the pipe with the session.
 */
extern void door_look(void);
extern bool door_is_read(void);

/*
 * Writes the trigger to the pipe of that process, if there is room.  Never
 * waits, fails or allocates: it may be called at commit.
 */
extern void door_pass(int pid, const char *bucket, const TaskTrigger *trigger);

#endif							/* TWT_DOOR_H */
