// An application with the helper for Go: TwTasks/Helper.pm says what it is told.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"twtasks"
	"twtasks/work"
)

var errNoBike = errors.New("no bike")

type order struct {
	Name string `json:"name"`
}

type shop struct {
	pool *pgxpool.Pool
}

func (s shop) deliver(ctx context.Context, task twtasks.Task) error {
	var given order
	if err := json.Unmarshal(task.Data, &given); err != nil {
		return twtasks.Answer{"result": "error", "message": err.Error()}
	}
	if _, err := s.pool.Exec(ctx, "INSERT INTO deliveries VALUES ($1, $2, $3)", given.Name, task.Tries, os.Getpid()); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, "SELECT pg_advisory_xact_lock_shared(1)"); err != nil {
		return err
	}
	if strings.HasPrefix(given.Name, "fail") && task.Tries == 1 {
		panic("no van")
	}
	if given.Name == "noise" {
		fmt.Println("noise of a handler")
		child := exec.Command("echo", "noise of a child")
		child.Stdout = os.Stdout
		return child.Run()
	}
	if given.Name == "odd" {
		return twtasks.Answer{"result": "retry", "context": map[string]any{"price": math.Inf(1)}}
	}
	return nil
}

func (s shop) order(ctx context.Context, name string, options twtasks.Options, fault error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", name); err != nil {
			return err
		}
		var data any = order{name}
		if options["payload"] != nil {
			data = nil
		}
		if _, err := twtasks.Add(ctx, tx, "DELIVER", data, options); err != nil {
			return err
		}
		return fault
	})
}

func (s shop) test(ctx context.Context, handlers twtasks.Handlers, name string) error {
	ctx, added := twtasks.Testing(ctx)
	if err := s.order(ctx, name, nil, nil); err != nil {
		return err
	}
	if len(*added) != 1 || (*added)[0].Type != "DELIVER" {
		return fmt.Errorf("added: %v", *added)
	}
	return handlers.Run(ctx, (*added)[0])
}

func (s shop) do(ctx context.Context, handlers twtasks.Handlers, word, name string) error {
	switch word {
	case "print":
		fmt.Println(name)
		return nil
	case "add":
		return s.order(ctx, name, nil, nil)
	case "options":
		later := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		options := twtasks.Options{"key": name, "priority": 2, "run_after": later, "payload": []byte(name)}
		return s.order(ctx, name, options, nil)
	case "rollback":
		if err := s.order(ctx, name, nil, errNoBike); !errors.Is(err, errNoBike) {
			return fmt.Errorf("rollback: %v", err)
		}
		return nil
	case "test":
		return s.test(ctx, handlers, name)
	}
	return errors.New(word)
}

func main() {
	if os.Args[1] == "work" {
		fmt.Println("noise of a start")
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	s := shop{pool}
	handlers := twtasks.Handlers{"DELIVER": s.deliver}
	if os.Args[1] == "work" {
		work.Work(handlers)
		return
	}
	for _, name := range os.Args[2:] {
		if err := s.do(ctx, handlers, os.Args[1], name); err != nil {
			log.Fatal(err)
		}
	}
}
