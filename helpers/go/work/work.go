// Package work runs tasks under twtasksd.
package work

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"twtasks"
)

type worker struct {
	handlers twtasks.Handlers
	answers  *os.File
}

func (w worker) answer(task twtasks.Task, members twtasks.Answer) {
	line := map[string]any{"id": task.ID, "version": task.Version}
	maps.Copy(line, members)
	text, err := json.Marshal(line)
	if err != nil { // the work is done: nothing may run it again
		message := "the answer is no JSON: " + err.Error()
		text, _ = json.Marshal(map[string]any{"id": task.ID, "version": task.Version, "result": "error", "message": message})
	}
	_, _ = w.answers.Write(append(text, '\n')) // whole: os.File locks each Write
}

func (w worker) do(ctx context.Context, task twtasks.Task) {
	w.answer(task, twtasks.Answer{"started": true})
	answer := twtasks.Answer{"result": "done"}
	if err := w.handlers.Run(ctx, task); err != nil && !errors.As(err, &answer) {
		answer = twtasks.Answer{"result": "retry", "message": err.Error()}
	}
	w.answer(task, answer)
}

// Work runs tasks, up to "prefetch" at once, until its input ends.  After TERM it ends those that
// run, and gives back all others.
func Work(handlers twtasks.Handlers) {
	w := worker{handlers, takeStdout()}
	var running sync.WaitGroup
	var cancels sync.Map
	var isEnding atomic.Bool
	var busy atomic.Int64
	_ = unix.SetNonblock(0, true) // so that a deadline can end a read
	input := os.NewFile(0, "stdin")
	leave := func() {
		if busy.Add(-1) == 0 && isEnding.Load() {
			_ = input.SetReadDeadline(time.Now())
		}
	}
	begin := func(task twtasks.Task) {
		ctx, stop := context.WithCancel(context.Background())
		cancels.Store(task.ID, stop)
		busy.Add(1)
		running.Add(1)
		go func() {
			defer running.Done()
			defer leave()
			defer cancels.Delete(task.ID)
			w.do(ctx, task)
		}()
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	go func() {
		<-term
		isEnding.Store(true)
		busy.Add(1)
		leave()
	}()
	lines := bufio.NewReader(input)
	for line, err := lines.ReadBytes('\n'); err == nil; line, err = lines.ReadBytes('\n') {
		var given struct {
			twtasks.Task
			Cancel string
		}
		_ = json.Unmarshal(line, &given)
		if stop, is := cancels.Load(given.Cancel); is {
			stop.(context.CancelFunc)()
		} else if given.ID != "" && isEnding.Load() {
			w.answer(given.Task, twtasks.Answer{"result": "release", "retry_in": 1})
		} else if given.ID != "" {
			begin(given.Task)
		}
	}
	running.Wait()
}
