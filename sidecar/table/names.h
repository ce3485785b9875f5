/*-------------------------------------------------------------------------
 *
 * names.h
 *		A small set of names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NAMES_H
#define TWT_NAMES_H

typedef struct Names Names;

/* The set has room for max names. */
extern Names *names_new(int max);
extern void names_free(Names *names);

/* Copies the name; returns false if the set has it already, or is full. */
extern bool names_add(Names *names, const char *name);
extern void names_clear(Names *names);
extern bool names_has(const Names *names, const char *name);

extern int	names_count(const Names *names);
extern const char *names_get(const Names *names, int i);

#endif							/* TWT_NAMES_H */
