package twtasks

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
	"syscall"
	"time"
)

func reply(task Task, answer Answer) {
	line := map[string]any{"id": task.ID, "version": task.Version}
	maps.Copy(line, answer)
	text, err := json.Marshal(line)
	if err != nil { // the work is done: nothing may run it again
		message := "the answer is no JSON: " + err.Error()
		text, _ = json.Marshal(map[string]any{"id": task.ID, "version": task.Version, "result": "error", "message": message})
	}
	_, _ = os.Stdout.Write(append(text, '\n')) // whole: os.File locks each Write
}

func (handlers Handlers) do(ctx context.Context, task Task) {
	reply(task, Answer{"started": true})
	answer := Answer{"result": "done"}
	if err := handlers.Run(ctx, task); err != nil && !errors.As(err, &answer) {
		answer = Answer{"result": "retry", "message": err.Error()}
	}
	reply(task, answer)
}

// Work runs tasks, up to "prefetch" at once, until its input ends.  After TERM it ends those that
// run, and begins no others.  Nothing else may write to stdout.
func (handlers Handlers) Work() {
	var running sync.WaitGroup
	var cancels sync.Map
	var isEnding atomic.Bool
	_ = syscall.SetNonblock(0, true) // so that a deadline can end a read
	input := os.NewFile(0, "stdin")
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		isEnding.Store(true)
		_ = input.SetReadDeadline(time.Now())
	}()
	lines := bufio.NewReader(input)
	for line, err := lines.ReadBytes('\n'); err == nil; line, err = lines.ReadBytes('\n') {
		var given struct {
			Task
			Cancel string
		}
		_ = json.Unmarshal(line, &given)
		if stop, is := cancels.Load(given.Cancel); is {
			stop.(context.CancelFunc)()
		} else if given.ID != "" && isEnding.Load() {
			reply(given.Task, Answer{"result": "release"})
		} else if given.ID != "" {
			ctx, stop := context.WithCancel(context.Background())
			cancels.Store(given.ID, stop)
			running.Add(1)
			go func() {
				defer running.Done()
				defer cancels.Delete(given.ID)
				handlers.do(ctx, given.Task)
			}()
		}
	}
	running.Wait()
}
