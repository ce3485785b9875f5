/*-------------------------------------------------------------------------
 *
 * json_member.h
 *		The text of a member of a JSON object.
 *
 *		from: worker_protocol.c, worker_usual.c, foreign_json.c, http_reply.c, to_do.c
 *
 * jansson would round numbers, and money must keep its digits.  So we take the
 * member's own text after jansson has found the object valid.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JSON_MEMBER_H
#define TWT_JSON_MEMBER_H

/*
 * text is valid JSON, of which the end may be missing, and ends in NUL.  Returns
 * the beginning of the value and sets len; of several members with that name the
 * last one counts.  Returns NULL if the text is not an object, or no member is so
 * named without escapes.
 */
extern const char *json_member(const char *text, const char *name, size_t *len);

/*
 * The end of the string that begins at text, with a quote, and may lack the other
 * one; the text ends at end.
 */
extern const char *json_string_end(const char *text, const char *end);

/*
 * The end of the value that begins at text, which ends at end.  Sets deepest to
 * the number of its levels of objects and arrays.
 */
extern const char *json_value_end(const char *text, const char *end, int *deepest);

/*
 * The length of the character or escape at json.  Sets flaw if PostgreSQL cannot
 * store it, else NULL.
 */
extern size_t json_piece(const char *json, const char *end, const char **flaw);

/* The first flaw, as words that follow "has"; NULL: PostgreSQL can store all of it. */
extern const char *json_flaw(const char *json, size_t len);

/* The flaw that JSON itself allows in any string. */
#define JSON_FLAW_NUL "a NUL"

#endif							/* TWT_JSON_MEMBER_H */
