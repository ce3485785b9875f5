// Package twtasks adds tasks in a transaction of pgx.  Its package work runs them under twtasksd.
package twtasks

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// Task is what a handler gets: see docs/handlers.md.  Payload takes the place of Data.
type Task struct {
	ID, Type, Key string
	Version       int64
	Tries         int
	Data, Context json.RawMessage
	Payload       []byte `json:"payload_base64"`
}

// Handlers has the handler of each type.
type Handlers map[string]func(context.Context, Task) error

// Options are those of twtasks.add_task(), such as {"key": "order-42", "run_after": time}.
type Options = map[string]any

// Answer is an error of a handler that answers other than "done" or "retry", such as
// {"result": "error", "message": "no such customer"} or {"result": "retry", "retry_in": 60}.
type Answer map[string]any

func (a Answer) Error() string { return fmt.Sprint(a["result"], ": ", a["message"]) }

type testing struct{}

// Testing makes a context for tests: Add with it stores no task, and appends it to the list.
func Testing(ctx context.Context) (context.Context, *[]Task) {
	added := &[]Task{}
	return context.WithValue(ctx, testing{}, added), added
}

// Add adds a task in a transaction of pgx, or on a connection or pool; it returns the id.
func Add(ctx context.Context, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, kind string, data any, options Options) (id string, err error) {
	encoded, err := json.Marshal(data)
	given := Options{"type": kind, "data": json.RawMessage(encoded)}
	maps.Copy(given, options)
	payload, is := options["payload"].([]byte)
	if is {
		given["payload"] = `\x` + hex.EncodeToString(payload)
	}
	text, wrong := json.Marshal([]any{given})
	if err = errors.Join(err, wrong); err != nil {
		return "", err
	}
	if added, is := ctx.Value(testing{}).(*[]Task); is {
		*added = append(*added, Task{Type: kind, Data: encoded, Payload: payload})
		return "", nil
	}
	err = db.QueryRow(ctx, "SELECT task_id::text FROM twtasks.add_tasks($1::text::jsonb)", string(text)).Scan(&id)
	return id, err
}

// Run calls the handler of a task, as a test does.  A panic of the handler is an error.
func (handlers Handlers) Run(ctx context.Context, task Task) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	if handlers[task.Type] == nil {
		return fmt.Errorf("no handler for type %s", task.Type)
	}
	return handlers[task.Type](ctx, task)
}
