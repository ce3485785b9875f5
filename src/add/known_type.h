/*-------------------------------------------------------------------------
 *
 * known_type.h
 *		Refuses tasks of types that no sidecar or policy has announced.
 *
 *		from: check.c			to: sql/watch/blockers.sql (is_known_type)
 *
 * A mistyped type is stored like any other, and its task waits.  With
 * twtasks.refuse_unknown_types on, the caller learns of the mistake at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KNOWN_TYPE_H
#define TWT_KNOWN_TYPE_H

/*
 * Raises undefined_object (42704) for an unknown type, with the nearest known
 * one as a hint.  Costs nothing while the setting is off; otherwise one query
 * for each type that differs from the previous one in the transaction.
 */
extern void known_type_check(const char *type);

#endif							/* TWT_KNOWN_TYPE_H */
