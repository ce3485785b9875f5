#include "base/port.h"

#include "pg/former.h"

void
former_keep(Former *former, PGconn *conn, int64 started_us)
{
	former_close(former);
	former->conn = conn;
	former->pid = started_us == 0 ? 0 : PQbackendPID(conn);
	former->started_us = started_us;
}

void
former_close(Former *former)
{
	if (former->conn != NULL)
		PQfinish(former->conn);
	former->conn = NULL;
}

bool
former_take(Former *former, WireParams *params)
{
	int			pid = former->pid;

	former_close(former);
	former->pid = 0;
	if (pid == 0)
		return false;
	wire_init(params);
	wire_add_int4(params, pid);
	wire_add_int8(params, former->started_us);
	return true;
}
