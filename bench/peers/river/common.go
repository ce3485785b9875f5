// The commands of a driver, for programs in Go: see ../README.md.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The machine's monotonic clock, which the other programs write down, too.
func now() int64 {
	var spec syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&spec)), 0)
	if errno != 0 {
		panic(errno)
	}
	return spec.Nano()
}

type payload struct {
	I int    `json:"i"`
	P string `json:"p"`
	// Of a chain: how many are still to be added after this one.
	Left int `json:"left,omitempty"`
}

type producer interface {
	add(ctx context.Context, kind string, data payload) error
	addMany(ctx context.Context, kind string, list []payload, later time.Time) error
}

var (
	setting   = variable("BENCH_SETTING", "best")
	slowMs    = atoi(variable("BENCH_SLOW_MS", "1000"))
	slowLimit = atoi(variable("BENCH_SLOW_LIMIT", "5"))
	first     atomic.Int64
	handled   atomic.Int64
	traceFile *os.File
)

func variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func works(kind string) bool {
	return strings.Contains(" "+variable("BENCH_KINDS", "noop")+" ", " "+kind+" ")
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func atoi(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func seconds(text string) time.Duration {
	value, err := strconv.ParseFloat(text, 64)
	must(err)
	return time.Duration(value * float64(time.Second))
}

func makePayload(i, bytes int) payload {
	return payload{I: i, P: strings.Repeat("x", max(0, bytes-len(fmt.Sprintf(`{"i":%d,"p":""}`, i))))}
}

func say(values map[string]any) {
	line, err := json.Marshal(values)
	must(err)
	fmt.Println(string(line))
}

// Every handler calls this first ...
func started(kind string, i int) {
	if first.Load() == 0 {
		first.CompareAndSwap(0, now())
	}
	if traceFile != nil {
		fmt.Fprintf(traceFile, "%s %d %d\n", kind, i, now())
	}
}

// ... and this last.
func ended() {
	handled.Add(1)
}

func reportProgress() {
	before := int64(0)
	for range time.Tick(10 * time.Millisecond) {
		if count := handled.Load(); count != before {
			before = count
			say(map[string]any{"first": first.Load(), "handled": count, "at": now()})
		}
	}
}

func serveUntilStopped(ctx context.Context, serve func(context.Context) func()) {
	if path := os.Getenv("BENCH_TRACE"); path != "" {
		var err error
		traceFile, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(err)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if os.Getenv("BENCH_QUIET") == "" {
		go reportProgress()
	}
	stop := serve(ctx)
	say(map[string]any{"ready": now()})
	<-asked
	stop()
}

func fill(ctx context.Context, p producer, kind string, n, bytes int, later time.Time) {
	begin := now()
	for i := 0; i < n; i += 1000 {
		list := make([]payload, 0, 1000)
		for k := i; k < min(n, i+1000); k++ {
			list = append(list, makePayload(k, bytes))
			if kind == "chain" {
				list[len(list)-1].Left = atoi(variable("BENCH_DEPTH", "100")) - 1
			}
		}
		must(p.addMany(ctx, kind, list, later))
	}
	say(map[string]any{"added": n, "seconds": float64(now()-begin) / 1e9})
}

func enqueue(ctx context.Context, p producer, clients int, long time.Duration, bytes int) {
	var next atomic.Int64
	var all sync.WaitGroup
	begin := now()
	for range clients {
		all.Go(func() {
			for now() < begin+long.Nanoseconds() {
				must(p.add(ctx, "noop", makePayload(int(next.Add(1)-1), bytes)))
			}
		})
	}
	all.Wait()
	say(map[string]any{"added": next.Load(), "seconds": float64(now()-begin) / 1e9})
}

func openTrace() *bufio.Reader {
	file, err := os.OpenFile(os.Getenv("BENCH_TRACE"), os.O_RDWR, 0)
	must(err)
	return bufio.NewReader(file)
}

func nextStart(trace *bufio.Reader) (i int, at int64) {
	for {
		var kind string
		line, err := trace.ReadString('\n')
		must(err)
		_, err = fmt.Sscan(line, &kind, &i, &at)
		must(err)
		if kind == "noop" {
			return i, at
		}
	}
}

func latency(ctx context.Context, p producer, n int, long time.Duration, bytes int) {
	trace := openTrace()
	until := now() + long.Nanoseconds()
	fromCall, fromReturn := []int64{}, []int64{}
	for i := 0; i < n && now() < until; i++ {
		call := now()
		must(p.add(ctx, "noop", makePayload(i, bytes)))
		returned := now()
		seen, at := nextStart(trace)
		for seen != i {
			seen, at = nextStart(trace)
		}
		fromCall = append(fromCall, at-call)
		fromReturn = append(fromReturn, at-returned)
	}
	say(map[string]any{"from_call_ns": fromCall, "from_return_ns": fromReturn})
}

func probe(ctx context.Context, p producer, n int) {
	trace := openTrace()
	list := make([]payload, n)
	for i := range list {
		list[i] = makePayload(i, 256)
	}
	call := now()
	must(p.addMany(ctx, "noop", list, time.Time{}))
	last, missing := call, make(map[int]bool)
	for i := range list {
		missing[i] = true
	}
	for len(missing) > 0 {
		i, at := nextStart(trace)
		if missing[i] {
			delete(missing, i)
			last = max(last, at)
		}
	}
	say(map[string]any{"tasks": n, "call_ns": call, "last_start_ns": last - call})
}

func run(version string, prepare func(context.Context),
	newProducer func(context.Context, int) producer, serve func(context.Context) func()) {
	ctx, args := context.Background(), os.Args[2:]
	switch os.Args[1] {
	case "version":
		say(map[string]any{"version": version})
	case "prepare":
		prepare(ctx)
	case "serve":
		serveUntilStopped(ctx, serve)
	case "fill":
		later := time.Time{}
		if len(args) > 3 && args[3] == "later" {
			later = time.Now().Add(24 * time.Hour)
		}
		fill(ctx, newProducer(ctx, 2), args[0], atoi(args[1]), atoi(args[2]), later)
	case "enqueue":
		enqueue(ctx, newProducer(ctx, atoi(args[0])), atoi(args[0]), seconds(args[1]), atoi(args[2]))
	case "latency":
		latency(ctx, newProducer(ctx, 2), atoi(args[0]), seconds(args[1]), atoi(args[2]))
	case "probe":
		probe(ctx, newProducer(ctx, 2), atoi(args[0]))
	default:
		must(fmt.Errorf("unknown command: %s", os.Args[1]))
	}
}
