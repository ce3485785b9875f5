/*-------------------------------------------------------------------------
 *
 * allowed.h
 *		Which roles may add tasks of which types.
 *
 *		from: sql/add/allowed_types.sql		to: add.c
 *
 * The most special of the patterns that fit a type counts: its roles, and
 * their members, may add tasks of the type.  A type that no pattern fits is
 * free for all who may add tasks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ALLOWED_H
#define TWT_ALLOWED_H

/* Registers the callback; once per process, from _PG_init(). */
extern void allowed_init(void);

/*
 * 42501 when that role may not add tasks of that type.  Costs nothing where
 * nothing is restricted.  Between SPI_connect() and SPI_finish(), or outside.
 */
extern void allowed_check(const char *type, const char *role);

#endif							/* TWT_ALLOWED_H */
