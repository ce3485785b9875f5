/*-------------------------------------------------------------------------
 *
 * row_place.h
 *		Where a row lies in its table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ROW_PLACE_H
#define TWT_ROW_PLACE_H

/*
 * The place of a row in its table: a hint for the server, which uses the index
 * when the row is not there.  All zeros: no place.
 */
typedef struct RowPlace
{
	uint8		bytes[6];		/* a tid as it is sent */
} RowPlace;

#endif							/* TWT_ROW_PLACE_H */
