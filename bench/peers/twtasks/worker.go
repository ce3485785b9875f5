// A worker in Go: runs each task in a goroutine of its own, and writes the
// answers together.  For the measurement it counts, and traces starts.
//
//	go-worker worker TALLY TRACE

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
)

type task struct {
	ID      string  `json:"id"`
	Version int64   `json:"version"`
	Type    string  `json:"type"`
	Data    payload `json:"data"`
}

type answer struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Result  string `json:"result"`
	Message string `json:"message,omitempty"`
}

func handle(_ context.Context, t *task) error {
	started(t.Type, t.Data.I)
	return nil
}

func runTask(ctx context.Context, t *task, answers chan<- answer) {
	a := answer{ID: t.ID, Version: t.Version, Result: "done"}
	if err := handle(ctx, t); err != nil {
		a.Result, a.Message = "retry", err.Error()
	}
	answers <- a
}

func writeTally(file *os.File) {
	var numbers [16]byte
	binary.NativeEndian.PutUint64(numbers[:8], uint64(first.Load()))
	binary.NativeEndian.PutUint64(numbers[8:], uint64(handled.Load()))
	_, err := file.WriteAt(numbers[:], 0)
	must(err)
}

// Writes when no further answer waits.
func writeAnswers(answers <-chan answer, tally *os.File) {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	encoder := json.NewEncoder(out)
	for a := range answers {
		must(encoder.Encode(a))
		ended()
		if len(answers) == 0 {
			must(out.Flush())
			writeTally(tally)
		}
	}
}

func work(tallyPath, tracePath string) {
	tally, err := os.Create(fmt.Sprintf("%s.%d", tallyPath, os.Getpid()))
	must(err)
	if tracePath != "-" {
		traceFile, err = os.OpenFile(tracePath, os.O_WRONLY|os.O_APPEND, 0)
		must(err)
	}
	answers := make(chan answer, 1000)
	go writeAnswers(answers, tally)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	for lines.Scan() {
		t := new(task)
		must(json.Unmarshal(lines.Bytes(), t))
		if t.ID != "" { // else the hello
			go runTask(context.Background(), t, answers)
		}
	}
}
