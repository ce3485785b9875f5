// Adds tasks through pgx: see ../README.md for what the commands mean.

package main

import (
	"context"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

type poolProducer struct {
	pool *pgxpool.Pool
}

func (p poolProducer) add(ctx context.Context, kind string, data payload) error {
	_, err := p.pool.Exec(ctx, "SELECT twtasks.add_task($1, $2)", kind, data)
	return err
}

func (p poolProducer) addMany(
	ctx context.Context, kind string, list []payload, later time.Time,
) error {
	var when *time.Time
	if !later.IsZero() {
		when = &later
	}
	_, err := p.pool.Exec(ctx,
		"SELECT count(*) FROM twtasks.add_tasks($1, $2::jsonb[], run_after => $3)", kind, list, when)
	return err
}

func newProducer(ctx context.Context, clients int) producer {
	config, err := pgxpool.ParseConfig("")
	must(err)
	config.MaxConns = int32(clients)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	return poolProducer{pool}
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "worker" {
		work(os.Args[2], os.Args[3])
		return
	}
	run("", nil, newProducer, nil)
}
