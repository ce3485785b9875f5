// Driver of River: see ../README.md for what the commands mean.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type noopArgs struct{ payload }
type slowArgs struct{ payload }
type sqlArgs struct{ payload }
type chainArgs struct{ payload }

func (noopArgs) Kind() string  { return "noop" }
func (slowArgs) Kind() string  { return "slow" }
func (sqlArgs) Kind() string   { return "sql" }
func (chainArgs) Kind() string { return "chain" }

var pool *pgxpool.Pool

func noop(_ context.Context, job *river.Job[noopArgs]) error {
	started("noop", job.Args.I)
	ended()
	return nil
}

func slow(_ context.Context, job *river.Job[slowArgs]) error {
	started("slow", job.Args.I)
	time.Sleep(time.Duration(slowMs) * time.Millisecond)
	ended()
	return nil
}

func chain(ctx context.Context, job *river.Job[chainArgs]) error {
	started("chain", job.Args.I)
	defer ended()
	if job.Args.Left == 0 {
		return nil
	}
	next := job.Args
	next.Left--
	_, err := river.ClientFromContext[pgx.Tx](ctx).Insert(ctx, next, nil)
	return err
}

// The row and the end of the job in one transaction.
func count(ctx context.Context, job *river.Job[sqlArgs]) error {
	started("sql", job.Args.I)
	defer ended()
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", job.Args.I%1000)
		if err != nil {
			return err
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// The default is what its manual starts with; the best is what its own
// benchmark sets.
func config() *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(noop))
	river.AddWorker(workers, river.WorkFunc(slow))
	river.AddWorker(workers, river.WorkFunc(count))
	river.AddWorker(workers, river.WorkFunc(chain))
	config := &river.Config{
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		Workers: workers,
	}
	if setting == "best" {
		config.FetchCooldown = 2 * time.Millisecond
		config.FetchPollInterval = 20 * time.Millisecond
		workers := atoi(variable("BENCH_CONCURRENCY", "2000"))
		config.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: workers}
	}
	if works("slow") && setting == "best" {
		config.Queues["slow"] = river.QueueConfig{MaxWorkers: slowLimit}
	} else if works("slow") {
		config.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: slowLimit}
	}
	return config
}

func connect(ctx context.Context, connections int) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig("")
	must(err)
	if connections > 0 {
		config.MaxConns = int32(connections)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	return pool
}

type riverProducer struct {
	client *river.Client[pgx.Tx]
}

func args(kind string, p payload) river.JobArgs {
	switch kind {
	case "slow", "idle":
		return slowArgs{p}
	case "chain":
		return chainArgs{p}
	case "sql":
		return sqlArgs{p}
	}
	return noopArgs{p}
}

func options(kind string, later time.Time) *river.InsertOpts {
	opts := &river.InsertOpts{ScheduledAt: later}
	if kind == "slow" && setting == "best" {
		opts.Queue = "slow"
	}
	return opts
}

func (p riverProducer) add(ctx context.Context, kind string, data payload) error {
	_, err := p.client.Insert(ctx, args(kind, data), options(kind, time.Time{}))
	return err
}

func (p riverProducer) addMany(
	ctx context.Context, kind string, list []payload, later time.Time,
) error {
	params := make([]river.InsertManyParams, len(list))
	for i, data := range list {
		params[i] = river.InsertManyParams{Args: args(kind, data), InsertOpts: options(kind, later)}
	}
	_, err := p.client.InsertManyFast(ctx, params)
	return err
}

func newProducer(ctx context.Context, clients int) producer {
	config := &river.Config{}
	if setting == "best" {
		// How often a client notifies is limited by this, too.
		config.FetchCooldown = 2 * time.Millisecond
	}
	client, err := river.NewClient(riverpgxv5.New(connect(ctx, clients)), config)
	must(err)
	return riverProducer{client}
}

func serve(ctx context.Context) func() {
	pool = connect(ctx, 20)
	client, err := river.NewClient(riverpgxv5.New(pool), config())
	must(err)
	must(client.Start(ctx))
	return func() {
		stop, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := client.Stop(stop); err != nil {
			must(client.StopAndCancel(ctx))
		}
	}
}

func prepare(ctx context.Context) {
	pool := connect(ctx, 2)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	must(err)
	_, err = pool.Exec(ctx, "CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL)")
	must(err)
	_, err = pool.Exec(ctx, "INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i")
	must(err)
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/riverqueue/river" {
			return fmt.Sprintf("%s (%s)", module.Version[1:], info.GoVersion)
		}
	}
	return "?"
}

func main() {
	run(version(), prepare, newProducer, serve)
}
