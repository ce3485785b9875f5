/*-------------------------------------------------------------------------
 *
 * allowed.h
 *		Which roles may add tasks of which types.
 *
 *		from: sql/add/allowed_types.sql		to: add.c
 *
 * Among the patterns that match a type, the most special one decides: its
 * roles and their members may add tasks of the type.  A type that matches no
 * pattern is open to everybody who may add tasks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ALLOWED_H
#define TWT_ALLOWED_H

/* Registers the callback; once per process, from _PG_init(). */
extern void allowed_init(void);

/*
 * Raises 42501 if that role may not add tasks of that type.  Costs nothing
 * while nothing is restricted.
 */
extern void allowed_check(const char *type, const char *role);

/*
 * The same for a task that is to be added.  An extension asks for rights itself,
 * and adds the tasks of its own types as our owner: nobody else may, since its
 * on_end function would take any task for one of them.  by_owner: the owner's own
 * code made the task; it does not just pass on what a caller gave.
 */
extern void allowed_check_add(const char *type, const char *role, bool by_owner);

#endif							/* TWT_ALLOWED_H */
