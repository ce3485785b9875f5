#include "base/port.h"

#include "pg/sqlstate.h"

bool
sqlstate_is_of_content(const char *sqlstate)
{
	return strncmp(sqlstate, "22", 2) == 0 ||	/* its encoding, say */
		strncmp(sqlstate, "54", 2) == 0 ||	/* too long or too deep */
		strncmp(sqlstate, "XX", 2) == 0;	/* damaged */
}
