/*-------------------------------------------------------------------------
 *
 * api_sql.h
 *		The files of web/api that the program carries in itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_SQL_H
#define TWT_API_SQL_H

#include <jansson.h>

/* The text of web/api/sql/NAME.sql; NULL: there is no such file. */
extern const char *api_sql(const char *name);

/* The objects of web/api/schemas*.json as one; it is the caller's. */
extern json_t *api_schemas(void);

#endif							/* TWT_API_SQL_H */
